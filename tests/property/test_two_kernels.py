"""The native kernel against plain Python, function by function: equal results, faults, places and figures, with the
same types all the way down. Compressed bytes are compared by what the other kernel unpacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.kernel.contract import (
    ALL_COLUMNS,
    Aborted,
    AppendLimits,
    Binary,
    Column,
    Columns,
    Encoding,
    Kernel,
    Rows,
    Selection,
)
from esker.kernel.layout import CRC_AT, INT32_MAX, INT64_MAX, Codec
from property.outcome import as_values, outcome, said
from property.strategies import (
    HALF,
    INT16,
    INT32,
    INT64,
    SOME_TIME,
    Segment,
    Written,
    batches,
    data_batches,
    encodings,
    rows,
    segments,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer

LIMITS = st.builds(
    AppendLimits,
    max_batch_bytes=st.sampled_from([100, 200, 1 << 20]),
    keys_required=st.booleans(),
    log_append_time=st.booleans(),
    min_timestamp=st.sampled_from([-INT64_MAX - 1, SOME_TIME + 10]),
    max_timestamp=st.sampled_from([INT64_MAX, SOME_TIME + 900]),
    unpacked_limit=st.sampled_from([50, 1 << 20]),
)
OFFSETS = st.integers(-1, 3000) | INT64
SELECTIONS = st.builds(
    Selection,
    columns=st.integers(0, ALL_COLUMNS),
    first_offset=st.just(0) | OFFSETS,
    end_offset=st.just(INT64_MAX) | OFFSETS,
    aborted=st.lists(st.builds(Aborted, st.integers(-1, 5), OFFSETS, OFFSETS), max_size=2),
    views=st.booleans(),
    verify_crc=st.booleans(),
    max_records=st.just(INT64_MAX) | st.integers(-1, 6),
    max_bytes=st.just(1 << 20) | st.integers(-1, 200),
    unpacked_limit=st.just(1 << 20) | st.integers(0, 100),
)
# Mostly the start, often a batch's, at times anything, outside the bytes too.
POSITIONS = st.just(0) | st.integers(0, 9) | st.integers(-2, 700)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A segment; half of the time a byte of it is changed."""
    data = bytearray(draw(segments()).data)
    if draw(st.booleans()):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


def places(reference: Kernel, data: bytes) -> list[int]:
    return [header.position for header in reference.walk(data).headers] or [0]


def assert_equal(reference: Kernel, native: Kernel, call: Callable[[Kernel], object]) -> None:
    expected, found = outcome(lambda: call(reference)), outcome(lambda: call(native))
    assert said(found) == said(expected)


@given(data=st.binary(max_size=200), crc=st.integers(0, 2**32 - 1))
def test_checksums_are_equal(reference: Kernel, native: Kernel, data: bytes, crc: int) -> None:
    assert_equal(reference, native, lambda kernel: (kernel.crc32c(data), kernel.crc32c(data, crc)))


@HALF
@given(data=damaged(), position=POSITIONS, limit=st.just(INT64_MAX) | st.integers(-1, 3))
def test_walks_are_equal(reference: Kernel, native: Kernel, data: bytes, position: int, limit: int) -> None:
    assert_equal(reference, native, lambda kernel: kernel.walk(data, position, limit))


@HALF
@given(data=damaged(), sought=OFFSETS, position=POSITIONS)
def test_found_offsets_are_equal(reference: Kernel, native: Kernel, data: bytes, sought: int, position: int) -> None:
    assert_equal(reference, native, lambda kernel: kernel.find_offset(data, sought, position))


@HALF
@given(data=damaged(), sought=INT64 | st.integers(SOME_TIME, SOME_TIME + 1000), position=POSITIONS)
def test_found_timestamps_are_equal(reference: Kernel, native: Kernel, data: bytes, sought: int, position: int) -> None:
    assert_equal(reference, native, lambda kernel: kernel.find_timestamp(data, sought, position))


@HALF
@given(
    data=damaged(), start=st.data(), next_offset=OFFSETS, deep=st.booleans(), limit=st.sampled_from([0, 20, 1 << 20])
)
def test_checks_are_equal(
    reference: Kernel,
    native: Kernel,
    data: bytes,
    start: st.DataObject,
    next_offset: int,
    deep: bool,
    limit: int,
) -> None:
    position = start.draw(st.sampled_from(places(reference, data)) | POSITIONS)
    assert_equal(reference, native, lambda kernel: kernel.check(data, position, next_offset, deep, limit))


@given(part=data_batches(0) | batches(), junk=st.sampled_from([b"", b"", bytes(17), b"\1" * 30]), limits=LIMITS)
def test_verdicts_on_a_clients_batch_are_equal(
    reference: Kernel, native: Kernel, part: Written, junk: bytes, limits: AppendLimits
) -> None:
    assert_equal(reference, native, lambda kernel: kernel.validate(part.data + junk, limits))


@given(content=rows(1, gaps=False), encoding=encodings(), limits=LIMITS)
def test_verdicts_on_a_proper_clients_batch_are_equal(
    reference: Kernel, native: Kernel, content: Rows, encoding: Encoding, limits: AppendLimits
) -> None:
    """No gaps and no stray sequence: what is left to judge are keys and times."""
    data = reference.encode(content, encoding._replace(producer_id=-1, base_sequence=-1))
    assert_equal(reference, native, lambda kernel: kernel.validate(data, limits))


@HALF
@given(data=damaged(), base=INT64, epoch=INT32, time=st.none() | INT64, append_time=st.none() | st.booleans())
def test_stamped_bytes_are_equal(
    reference: Kernel,
    native: Kernel,
    data: bytes,
    base: int,
    epoch: int,
    time: int | None,
    append_time: bool | None,
) -> None:
    def stamp(kernel: Kernel) -> tuple[object, bytes]:
        copy = bytearray(data)
        answer = outcome(lambda: kernel.stamp(copy, base, epoch, time, append_time))
        return answer, bytes(copy)

    assert_equal(reference, native, stamp)


@HALF
@given(data=damaged(), start=st.data(), verify_crc=st.booleans(), limit=st.sampled_from([0, 20, 1 << 20]))
def test_unpacked_records_are_equal(
    reference: Kernel,
    native: Kernel,
    data: bytes,
    start: st.DataObject,
    verify_crc: bool,
    limit: int,
) -> None:
    position = start.draw(st.sampled_from(places(reference, data)) | POSITIONS)
    assert_equal(reference, native, lambda kernel: kernel.unpack(data, position, verify_crc, limit))


@HALF
@given(data=damaged(), start=st.data(), selection=SELECTIONS)
def test_decoded_columns_are_equal(
    reference: Kernel, native: Kernel, data: bytes, start: st.DataObject, selection: Selection
) -> None:
    position = start.draw(st.sampled_from(places(reference, data)) | POSITIONS)
    assert_equal(reference, native, lambda kernel: kernel.decode(data, position, selection))


PLANS = st.builds(
    Encoding,
    codec=st.just(Codec.NONE) | st.integers(-1, 6),
    level=st.none() | st.integers(-30, 30),
    attributes=INT16,
    leader_epoch=INT32,
    producer_id=INT64,
    producer_epoch=INT16,
    base_sequence=INT32 | st.integers(INT32_MAX - 3, INT32_MAX),
    batch_bytes=st.none() | st.integers(-1, 400),
    base_offset=st.none() | st.none() | st.integers(-9, 9) | INT64,
    last_offset=st.none() | st.none() | st.integers(0, 5000) | INT64,
    base_timestamp=st.none() | INT64,
    max_timestamp=st.none() | INT64,
)


def unpacked_batches(other: Kernel, data: bytes) -> list[object]:
    """Headers but for size, position and checksum, and the records: what two builds of a codec agree on."""
    headers = other.walk(data).headers
    blank = [header._replace(position=0, size=0, crc=0) for header in headers]
    return [(head, other.unpack(data, header.position)) for head, header in zip(blank, headers, strict=True)]


def assert_encodes_equally(reference: Kernel, native: Kernel, records: Rows | Columns, plan: Encoding) -> None:
    if plan.codec == Codec.NONE:
        assert_equal(reference, native, lambda kernel: kernel.encode(records, plan))
        return
    others = {reference.NAME: native, native.NAME: reference}
    assert_equal(reference, native, lambda kernel: unpacked_batches(others[kernel.NAME], kernel.encode(records, plan)))


@given(content=rows(), dense=st.booleans(), plan=PLANS | encodings())
def test_encoded_lists_are_equal(
    reference: Kernel,
    native: Kernel,
    content: Rows,
    dense: bool,
    plan: Encoding,
) -> None:
    assert_encodes_equally(reference, native, content._replace(offsets=None) if dense else content, plan)


@given(content=rows(1), short=st.sampled_from(Rows._fields))
def test_lists_of_two_lengths_are_refused_by_both(reference: Kernel, native: Kernel, content: Rows, short: str) -> None:
    uneven = content._replace(**{short: getattr(content, short)[1:]})
    assert_equal(reference, native, lambda kernel: kernel.encode(uneven))


@HALF
@given(segment=segments(), columns=st.integers(0, ALL_COLUMNS), views=st.booleans(), plan=PLANS | encodings())
def test_encoded_columns_are_equal(
    reference: Kernel,
    native: Kernel,
    segment: Segment,
    columns: int,
    views: bool,
    plan: Encoding,
) -> None:
    kept = Selection(columns | Column.TIMESTAMP * (plan.attributes & 1), views=views and columns % 5 == 0)
    for maker in (reference, native):
        assert_encodes_equally(reference, native, maker.decode(segment.data, selection=kept), plan)


@HALF
@given(segment=segments(), data=st.data())
def test_damaged_columns_are_encoded_or_refused_equally(
    reference: Kernel, native: Kernel, segment: Segment, data: st.DataObject
) -> None:
    """Counts, offsets and bitmaps from outside are not believed."""
    columns = reference.decode(segment.data)
    count = max(1, columns.record_count + data.draw(st.integers(-1, 3)))
    assert isinstance(columns.key, Binary)
    assert columns.headers is not None
    key = columns.key._replace(offsets=spoilt(data, columns.key.offsets))
    headers = columns.headers._replace(offsets=spoilt(data, columns.headers.offsets))
    spoilt_columns = columns._replace(record_count=count, key=key, headers=headers)
    assert_equal(reference, native, lambda kernel: kernel.encode(spoilt_columns))


def spoilt(data: st.DataObject, offsets: ReadableBuffer) -> bytes:
    changed = bytearray(offsets)
    if data.draw(st.booleans()):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.sampled_from([0, 1, 7, 127, 255]))
    return bytes(changed[: len(changed) - data.draw(st.sampled_from([0, 0, 0, 4]))])


@pytest.mark.parametrize("codec", Codec)
@given(plain=st.binary(max_size=400) | st.integers(0, 1 << 17).map(bytes), level=st.none() | st.integers(1, 9))
def test_each_kernel_unpacks_what_the_other_packed(
    reference: Kernel, native: Kernel, codec: Codec, plain: bytes, level: int | None
) -> None:
    assert native.decompress(codec, reference.compress(codec, plain, level)) == plain
    assert reference.decompress(codec, native.compress(codec, plain, level)) == plain


@given(codec=st.integers(-2, 9), plain=st.binary(max_size=40), level=st.none() | st.integers(-30, 30))
def test_codecs_and_levels_are_known_to_both_or_neither(
    reference: Kernel, native: Kernel, codec: int, plain: bytes, level: int | None
) -> None:
    assert_equal(reference, native, lambda kernel: reference.decompress(codec, kernel.compress(codec, plain, level)))


@pytest.mark.parametrize("codec", Codec)
@given(size=st.integers(0, 200), limit=st.integers(0, 200))
def test_limits_of_unpacking_are_equal(reference: Kernel, native: Kernel, codec: Codec, size: int, limit: int) -> None:
    packed = reference.compress(codec, b"x" * size)
    assert_equal(reference, native, lambda kernel: kernel.decompress(codec, packed, limit))


@HALF
@given(segment=segments())
def test_buffers_of_any_kind_are_read(reference: Kernel, native: Kernel, segment: Segment) -> None:
    """Writable ones, parts of others, Arrow's (its bytes are signed), and items wider than a byte."""
    data = segment.data + bytes(-len(segment.data) % 8)
    buffers = [bytearray(data), memoryview(b"x" + data)[1:], pa.py_buffer(data), memoryview(data).cast("q")]

    def read(kernel: Kernel) -> list[object]:
        return [(kernel.check(buffer), as_values(kernel.decode(buffer))) for buffer in buffers]

    assert_equal(reference, native, read)


@HALF
@given(segment=segments())
def test_strided_buffers_are_refused(reference: Kernel, native: Kernel, segment: Segment) -> None:
    holes = memoryview(segment.data)[::2]
    for kernel in (reference, native):
        with pytest.raises((TypeError, BufferError, ValueError)):
            kernel.walk(holes)


@given(part=batches())
def test_read_only_bytes_are_not_stamped(reference: Kernel, native: Kernel, part: Written) -> None:
    before = bytes(bytearray(part.data))
    for kernel in (reference, native):
        with pytest.raises((TypeError, BufferError)):
            kernel.stamp(part.data, 5, 5)
        assert part.data == before


@given(part=batches(), by=st.integers(1, 2**32 - 1))
def test_damaged_batch_stays_damaged_when_stamped(reference: Kernel, native: Kernel, part: Written, by: int) -> None:
    for kernel in (reference, native):
        data = bytearray(part.data)
        crc = int.from_bytes(data[CRC_AT : CRC_AT + 4]) ^ by
        data[CRC_AT : CRC_AT + 4] = crc.to_bytes(4)
        kernel.stamp(data, 77, 7, SOME_TIME, True)
        assert kernel.check(data).finding is not None
