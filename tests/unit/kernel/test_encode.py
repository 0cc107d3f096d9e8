"""Records to batches: from lists and from columns, whole or split, and rewritten exactly."""

from typing import Any

import pytest

from esker.kernel.contract import BatchHeader, Column, Encoding, Kernel, Rows, Selection
from esker.kernel.layout import INT32_MAX, INT64_MAX, Attribute, Codec
from unit.kernel.made import TIME, Headers, batch, record

HEADERS: Headers = ((b"h", None), (b"", b"x"))
TWO = Rows([TIME, TIME + 3], [b"k", None], [None, b"v"], [(), HEADERS])


def rows(count: int, size: int = 0) -> Rows:
    return Rows([TIME] * count, [None] * count, [bytes(size)] * count)


def headers(kernel: Kernel, data: bytes) -> list[BatchHeader]:
    checked = kernel.check(data)
    assert checked.finding is None
    return kernel.walk(data).headers


def test_a_batch_is_made_byte_for_byte(kernel: Kernel) -> None:
    records = record(0, b"k"), record(1, None, b"v", 3, HEADERS)
    assert kernel.encode(TWO) == batch(*records, max_timestamp=TIME + 3)


def test_every_field_of_the_header_can_be_said(kernel: Kernel) -> None:
    encoding = Encoding(
        attributes=0x78, leader_epoch=4, producer_id=9, producer_epoch=2, base_sequence=7,
        base_offset=40, last_offset=49, base_timestamp=TIME - 5, max_timestamp=TIME + 99,
    )  # fmt: skip
    assert kernel.encode(rows(1), encoding) == batch(
        record(0, None, b"", 5), base_offset=40, leader_epoch=4, attributes=0x78, last_delta=9, producer_id=9,
        producer_epoch=2, base_sequence=7, base_timestamp=TIME - 5, max_timestamp=TIME + 99,
    )  # fmt: skip


def test_offsets_may_have_gaps_and_the_base_may_lie_before_the_first(kernel: Kernel) -> None:
    given = rows(2)._replace(offsets=[5, 11])
    assert kernel.encode(given) == batch(record(0, None, b""), record(6, None, b""), base_offset=5, last_delta=6)
    (header,) = headers(kernel, kernel.encode(given, Encoding(base_offset=2, last_offset=20)))
    assert (header.base_offset, header.last_offset) == (2, 20)


#    timestamps                     base, largest
TIMES = [
    ([TIME],                        (TIME, TIME)),
    ([TIME, TIME + 9, TIME - 9],    (TIME, TIME + 9)),
    ([-1],                          (-1, -1)),
    ([-1, TIME],                    (-1, TIME)),
    ([-7, -5],                      (-7, -1)),  # below no timestamp at all there is no largest one
    ([INT64_MAX, -INT64_MAX - 1],   (INT64_MAX, INT64_MAX)),
]  # fmt: skip


@pytest.mark.parametrize(("timestamps", "told"), TIMES)
def test_timestamps_of_the_header(kernel: Kernel, timestamps: list[int], told: tuple[int, int]) -> None:
    nulls = [None] * len(timestamps)
    (header,) = headers(kernel, kernel.encode(Rows(timestamps, nulls, nulls)))
    assert (header.base_timestamp, header.max_timestamp) == told


def test_nothing_makes_nothing_and_an_emptied_batch_when_asked_for(kernel: Kernel) -> None:
    assert kernel.encode(rows(0)) == b""
    emptied = Encoding(Codec.ZSTD, base_offset=5, last_offset=9, max_timestamp=TIME, producer_id=9, base_sequence=4)
    data = kernel.encode(rows(0), emptied)
    assert data == batch(base_offset=5, last_delta=4, base_timestamp=-1, producer_id=9, base_sequence=4)


ONE_RECORD = len(record(0, None, bytes(10)))

#    records  batch_bytes                counts
SPLITS = [
    (4,       None,                      [4]),
    (4,       61 + 4 * ONE_RECORD,       [4]),
    (4,       61 + 4 * ONE_RECORD - 1,   [3, 1]),
    (4,       61 + 2 * ONE_RECORD,       [2, 2]),
    (4,       61 + ONE_RECORD,           [1, 1, 1, 1]),
    (4,       1,                         [1, 1, 1, 1]),  # a batch has one record at least
]  # fmt: skip


@pytest.mark.parametrize(("count", "batch_bytes", "counts"), SPLITS)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_batch_ends_before_it_would_pass_its_size(
    kernel: Kernel, count: int, batch_bytes: int | None, counts: list[int], codec: Codec
) -> None:
    encoding = Encoding(codec, batch_bytes=batch_bytes, base_sequence=INT32_MAX - 1, base_offset=7)
    found = headers(kernel, kernel.encode(rows(count, 10), encoding))
    assert [header.record_count for header in found] == counts
    starts = [sum(counts[:i]) for i in range(len(counts))]
    assert [header.base_offset for header in found] == [7 + start for start in starts]
    sequences = [INT32_MAX - 1, INT32_MAX, 0, 1]  # after the largest number comes 0
    assert [header.base_sequence for header in found] == [sequences[start] for start in starts]


def test_each_split_batch_has_its_own_timestamps(kernel: Kernel) -> None:
    nulls = [None, None]
    found = headers(kernel, kernel.encode(Rows([TIME, TIME + 5], nulls, nulls), Encoding(batch_bytes=1)))
    assert [(header.base_timestamp, header.max_timestamp) for header in found] == [(TIME, TIME), (TIME + 5, TIME + 5)]


def test_offsets_further_apart_than_a_batch_reaches_split_it(kernel: Kernel) -> None:
    far = rows(3)._replace(offsets=[0, INT32_MAX, INT32_MAX + 1])
    found = headers(kernel, kernel.encode(far))
    assert [(header.base_offset, header.last_offset) for header in found] == [
        (0, INT32_MAX),
        (INT32_MAX + 1, INT32_MAX + 1),
    ]


#    what is wrong                    the records and their encoding
WRONG: list[tuple[str, Rows, Encoding]] = [
    ("fewer keys",                    rows(2)._replace(keys=[None]),     Encoding()),
    ("fewer headers",                 rows(2)._replace(headers=[()]),    Encoding()),
    ("fewer offsets",                 rows(2)._replace(offsets=[1]),     Encoding()),
    ("the same offset twice",         rows(2)._replace(offsets=[1, 1]),  Encoding()),
    ("falling offsets",               rows(2)._replace(offsets=[2, 1]),  Encoding()),
    ("a base above the first",        rows(1)._replace(offsets=[2]),     Encoding(base_offset=3)),
    ("a last offset below the last",  rows(2)._replace(offsets=[1, 2]),  Encoding(last_offset=1)),
    ("a last offset too far away",    rows(1),                           Encoding(last_offset=2**31)),
    ("an emptied batch of no size",   rows(0),                           Encoding(base_offset=5, last_offset=4)),
    ("codec 5",                       rows(1),                           Encoding(codec=5)),
    ("codec -1",                      rows(1),                           Encoding(codec=-1)),
]  # fmt: skip


@pytest.mark.parametrize(("given", "encoding"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_cannot_be_written_is_the_callers_mistake(kernel: Kernel, given: Rows, encoding: Encoding) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (the words are each kernel's own)
        kernel.encode(given, encoding)


@pytest.mark.parametrize("codec", list(Codec))
def test_columns_are_written_as_rows_are(kernel: Kernel, codec: Codec) -> None:
    given = TWO._replace(offsets=[40, 45])
    data = kernel.encode(given, Encoding(codec))
    assert kernel.encode(kernel.decode(data), Encoding(codec)) == data


def columns_of(kernel: Kernel, columns: int, **more: Any) -> Any:
    data = kernel.encode(TWO._replace(offsets=[40, 45]))
    return kernel.decode(data, selection=Selection(columns=columns, **more))


@pytest.mark.parametrize("batch_bytes", [None, 0])
def test_offsets_end_with_the_largest_number(kernel: Kernel, batch_bytes: int | None) -> None:
    plan = Encoding(base_offset=INT64_MAX - 1, batch_bytes=batch_bytes)
    assert kernel.walk(kernel.encode(rows(2), plan)).headers[-1].last_offset == INT64_MAX
    with pytest.raises(ValueError, match="offsets must rise"):
        kernel.encode(rows(3), plan)


def test_columns_that_are_not_there_are_null_and_offsets_consecutive(kernel: Kernel) -> None:
    data = kernel.encode(columns_of(kernel, Column.TIMESTAMP), Encoding(base_offset=7))
    assert data == batch(record(0), record(1, later_ms=3), base_offset=7, max_timestamp=TIME + 3)


def test_columns_without_timestamps_and_views_are_not_taken(kernel: Kernel) -> None:
    for columns in (columns_of(kernel, Column.KEY), columns_of(kernel, Column.TIMESTAMP | Column.KEY, views=True)):
        with pytest.raises(ValueError):  # noqa: PT011  (the words are each kernel's own)
            kernel.encode(columns)


def test_attributes_and_codec_share_a_field(kernel: Kernel) -> None:
    encoding = Encoding(Codec.LZ4, attributes=int(Attribute.TRANSACTIONAL | Attribute.DELETE_HORIZON))
    (header,) = headers(kernel, kernel.encode(rows(1), encoding))
    assert header.attributes == 0x53
