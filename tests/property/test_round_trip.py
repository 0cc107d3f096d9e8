"""What is encoded comes back: whole, in pieces, as copies and as views. Each test runs on both kernels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.kernel.contract import ALL_COLUMNS, Aborted, Column, Columns, Encoding, Kernel, Record, Rows, Selection
from esker.kernel.layout import HEADER_SIZE, INT64_MAX, Attribute, Codec
from property import arrow
from property.strategies import HALF, INT64, Decoded, Segment, Written, batches, data_batches, encodings, rows, segments

if TYPE_CHECKING:
    from collections.abc import Iterator

VIEWS = Selection(views=True)
BATCH_BYTES = st.none() | st.integers(HEADER_SIZE, 600)


def wrap64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def records_of(part: Written, base_timestamp: int) -> list[Record]:
    """What `unpack` must give: deltas as they stand."""
    offsets = part.rows.offsets or []
    base = offsets[0] if part.encoding.base_offset is None and offsets else part.encoding.base_offset or 0
    headers = part.rows.headers or [()] * len(offsets)
    columns = zip(part.rows.timestamps, offsets, part.rows.keys, part.rows.values, headers, strict=True)
    return [
        Record(0, wrap64(time - base_timestamp), offset - base, key, value, tuple(map(tuple, pairs)))  # type: ignore[arg-type]
        for time, offset, key, value, pairs in columns
    ]


@given(part=batches())
def test_header_says_what_was_encoded(kernel: Kernel, part: Written) -> None:
    data = kernel.encode(part.rows, part.encoding)
    headers, end, fault = kernel.walk(data)
    (header,) = headers
    wanted = part.encoding
    assert (end, header.size, fault) == (len(data), len(data), None)
    assert header.record_count == len(part.rows.timestamps)
    assert header.attributes == wanted.codec | wanted.attributes
    assert (header.leader_epoch, header.producer_id) == (wanted.leader_epoch, wanted.producer_id)
    assert (header.producer_epoch, header.base_sequence) == (wanted.producer_epoch, wanted.base_sequence)
    assert header.crc == kernel.crc32c(data[21:])


@given(part=batches())
def test_records_unpack_as_they_went_in(kernel: Kernel, part: Written) -> None:
    data = kernel.encode(part.rows, part.encoding)
    (header,) = kernel.walk(data).headers
    assert kernel.unpack(data) == records_of(part, header.base_timestamp)


@HALF
@given(segment=segments())
def test_deep_check_passes_up_to_the_tail(kernel: Kernel, segment: Segment) -> None:
    good = sum(len(part.data) for part in segment.parts)
    found = kernel.check(segment.data)
    assert (found.batches, found.end) == (len(segment.parts), good)
    assert found.records == sum(len(part.rows.timestamps) for part in segment.parts)
    assert (found.finding is None) == (not segment.tail)
    assert found == kernel.check(segment.data, deep=False)


@HALF
@given(segment=segments())
def test_columns_are_the_records_that_went_in(kernel: Kernel, segment: Segment) -> None:
    columns = kernel.decode(segment.data)
    assert arrow.records(columns) == segment.records
    assert columns.end == sum(len(part.data) for part in segment.parts)


@HALF
@given(segment=segments())
def test_views_equal_copies(kernel: Kernel, segment: Segment) -> None:
    columns = kernel.decode(segment.data, selection=VIEWS)
    assert arrow.records(columns) == segment.records


@HALF
@given(segment=segments(), columns=st.integers(0, ALL_COLUMNS), views=st.booleans())
def test_only_the_columns_asked_for_are_made(kernel: Kernel, segment: Segment, columns: int, views: bool) -> None:
    whole = arrow.arrays(kernel.decode(segment.data, selection=Selection(views=views)))
    some = arrow.arrays(kernel.decode(segment.data, selection=Selection(columns, views=views)))
    names = [column.name.lower() for column in Column if columns & column]  # type: ignore[union-attr]
    assert list(some) == names
    assert all(some[name].equals(whole[name]) for name in names)


def pieces(kernel: Kernel, data: bytes, selection: Selection) -> Iterator[Columns]:
    """Decode call after call, each from where the last one ended, until no whole batch is left."""
    position = 0
    while True:
        columns = kernel.decode(data, position, selection)
        if columns.end == position:
            return
        yield columns
        position = columns.end


@HALF
@given(segment=segments(), max_records=st.integers(1, 5), views=st.booleans())
def test_pieces_join_to_the_whole(kernel: Kernel, segment: Segment, max_records: int, views: bool) -> None:
    data = segment.data[: len(segment.data) - len(segment.tail)]
    parts = list(pieces(kernel, data, Selection(max_records=max_records, views=views)))
    assert [record for part in parts for record in arrow.records(part)] == segment.records
    assert parts[-1].next_offset == kernel.decode(data).next_offset
    assert all(one.next_offset <= other.next_offset for one, other in pairwise(parts))


@HALF
@given(segment=segments())
def test_smallest_max_bytes_gives_batch_by_batch(kernel: Kernel, segment: Segment) -> None:
    data = b"".join(part.data for part in segment.parts if part.rows.timestamps)
    parts = list(pieces(kernel, data, Selection(max_bytes=1)))
    # Control batches are stepped over without being unpacked, so they do not end a piece.
    stops = [
        part for part in segment.parts if part.rows.timestamps and not part.encoding.attributes & Attribute.CONTROL
    ]
    assert len([part for part in parts if part.record_count]) == len(stops)


@HALF
@given(segment=segments(), data=st.data())
def test_offset_bounds_choose_what_a_filter_would(kernel: Kernel, segment: Segment, data: st.DataObject) -> None:
    edges = [0, INT64_MAX, *(record.offset + near for record in segment.records for near in (0, 1))]
    first, end = data.draw(st.sampled_from(edges)), data.draw(st.sampled_from(edges))
    columns = kernel.decode(segment.data, selection=Selection(first_offset=first, end_offset=end))
    assert arrow.records(columns) == [record for record in segment.records if first <= record.offset < end]


@HALF
@given(segment=segments(), data=st.data())
def test_aborted_transactions_are_left_out(kernel: Kernel, segment: Segment, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from(segment.parts))
    base = kernel.walk(part.data).headers[0].base_offset
    aborted = Aborted(part.encoding.producer_id, base, base)
    columns = kernel.decode(segment.data, selection=Selection(aborted=[aborted]))
    gone = Segment([part], b"").records if part.encoding.attributes & Attribute.TRANSACTIONAL else []
    assert arrow.records(columns) == [record for record in segment.records if record not in gone]


@pytest.mark.parametrize("codec", Codec)
@given(content=rows(1), encoding=encodings())
def test_encoding_what_was_decoded_gives_the_same_batch(
    kernel: Kernel, codec: Codec, content: Rows, encoding: Encoding
) -> None:
    plain_names = [
        [(name.decode(errors="replace").encode(), value) for name, value in pairs] for pairs in content.headers or ()
    ]
    bits = encoding.attributes & ~Attribute.LOG_APPEND_TIME  # which forgets the single times
    encoding = encoding._replace(codec=codec, level=None, attributes=bits)
    data = kernel.encode(content._replace(headers=plain_names), encoding)
    assert kernel.encode(kernel.decode(data), encoding) == data


@given(content=rows(1, 12), encoding=encodings(), batch_bytes=BATCH_BYTES)
def test_batches_split_by_size_hold_all_records(
    kernel: Kernel, content: Rows, encoding: Encoding, batch_bytes: int | None
) -> None:
    encoding = encoding._replace(codec=Codec.NONE, batch_bytes=batch_bytes)
    data = kernel.encode(content, encoding)
    headers = kernel.walk(data).headers
    assert sum(header.record_count for header in headers) == len(content.timestamps)
    assert all(header.record_count == 1 or header.size <= (batch_bytes or header.size) for header in headers)
    offsets = [record.offset for record in arrow.records(kernel.decode(data))]
    assert offsets == content.offsets


@given(
    part=data_batches(0), base_offset=st.integers(0, 2**62), epoch=st.integers(-1, 2**31 - 1), time=st.none() | INT64
)
def test_stamped_batch_is_good_at_its_new_place(
    kernel: Kernel, part: Written, base_offset: int, epoch: int, time: int | None
) -> None:
    data = bytearray(part.data)
    moved = base_offset - (part.rows.offsets or [0])[0]
    before = arrow.records(kernel.decode(part.data))
    next_offset = kernel.stamp(data, base_offset, epoch, time, None if time is None else True)
    assert kernel.check(data).finding is None
    assert (kernel.check(data).next_offset, kernel.walk(data).headers[0].leader_epoch) == (next_offset, epoch)
    after = arrow.records(kernel.decode(data))
    assert after == [moved_record(record, moved, time) for record in before]


def moved_record(record: Decoded, by: int, time: int | None) -> Decoded:
    moved = record._replace(offset=record.offset + by)
    return moved if time is None else moved._replace(timestamp=time, timestamp_type=1)


@HALF
@given(segment=segments(), offset=st.integers(0, 5000))
def test_batch_of_an_offset_is_the_first_that_reaches_it(kernel: Kernel, segment: Segment, offset: int) -> None:
    data = segment.data[: len(segment.data) - len(segment.tail)]
    reach = [header for header in kernel.walk(data).headers if header.last_offset >= offset]
    assert kernel.find_offset(data, offset) == (reach[0] if reach else None)


@HALF
@given(segment=segments(), timestamp=INT64)
def test_batch_of_a_timestamp_is_the_first_that_reaches_it(kernel: Kernel, segment: Segment, timestamp: int) -> None:
    data = segment.data[: len(segment.data) - len(segment.tail)]
    reach = [header for header in kernel.walk(data).headers if header.max_timestamp >= timestamp]
    assert kernel.find_timestamp(data, timestamp) == (reach[0] if reach else None)


@pytest.mark.parametrize("codec", Codec)
@given(plain=st.binary(max_size=300) | st.integers(0, 100_000).map(lambda size: b"esker"[: size % 5] * size))
def test_block_unpacks_to_what_was_packed(kernel: Kernel, codec: Codec, plain: bytes) -> None:
    assert kernel.decompress(codec, kernel.compress(codec, plain)) == plain
