"""Columns of records: which records, which columns, and what Arrow says of the buffers."""

import pytest

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import (
    ALL_COLUMNS,
    DECODED_BYTES_MAX,
    Aborted,
    Binary,
    BinaryView,
    Column,
    Columns,
    Kernel,
    Selection,
)
from esker.kernel.layout import INT64_MAX, Attribute, Codec
from property.arrow import arrays, records
from unit.kernel.made import TIME, Headers, batch, message, record

TRANSACTIONAL = int(Attribute.TRANSACTIONAL)
CONTROL = int(Attribute.TRANSACTIONAL | Attribute.CONTROL)
OFFSETS = Column.OFFSET
LONG = b"more than twelve bytes"
HEADERS: Headers = ((b"h", b"1"), (b"h", None), (b"", b""))

FIRST = batch(record(0, b"k", LONG), record(2, None, b""), base_offset=3, last_delta=2)
SECOND = batch(record(0, b"", None, 7, HEADERS), base_offset=10)
BOTH = FIRST + SECOND
ROWS = [
    (3, TIME, 0, b"k", LONG, ()),
    (5, TIME, 0, None, b"", ()),
    (10, TIME + 7, 0, b"", None, (("h", b"1"), ("h", None), ("", b""))),
]


def offsets(columns: Columns) -> list[int]:
    found: list[int] = arrays(columns)["offset"].to_pylist()
    assert len(found) == columns.record_count
    return found


def bounds(columns: Columns) -> tuple[int, int]:
    return columns.end, columns.next_offset


def damaged(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("codec", list(Codec))
def test_rows_are_the_records(kernel: Kernel, codec: Codec, views: bool) -> None:
    def packed(data: bytes, **said: int) -> bytes:
        return batch(block=kernel.compress(codec, data[61:]), attributes=codec, **said)

    both = packed(FIRST, base_offset=3, last_delta=2, count=2) + packed(SECOND, base_offset=10, count=1)
    columns = kernel.decode(both, selection=Selection(views=views))
    assert records(columns) == ROWS
    assert bounds(columns) == (len(both), 11)
    assert type(columns) is Columns


def test_copies_and_views_are_of_two_kinds(kernel: Kernel) -> None:
    copied, viewed = kernel.decode(BOTH), kernel.decode(BOTH, selection=Selection(views=True))
    assert type(copied.key) is type(copied.value) is Binary
    assert type(viewed.key) is type(viewed.value) is BinaryView
    assert type(viewed.headers) is type(copied.headers)
    assert copied.key is not None
    assert copied.key.nulls == 1


def test_views_point_into_the_callers_buffer(kernel: Kernel) -> None:
    buffer = bytearray(FIRST)
    value = kernel.decode(buffer, selection=Selection(views=True)).value
    assert isinstance(value, BinaryView)
    buffer[buffer.index(LONG) + len(LONG) - 1] = ord("X")
    assert bytes(memoryview(value.buffers[0])) == buffer


@pytest.mark.parametrize("column", list(Column))
def test_only_the_columns_asked_for(kernel: Kernel, column: Column) -> None:
    columns = kernel.decode(BOTH, selection=Selection(columns=column))
    assert list(arrays(columns)) == [str(column.name).lower()]
    assert columns.record_count == 3


def test_no_columns_still_count(kernel: Kernel) -> None:
    columns = kernel.decode(BOTH, selection=Selection(columns=0))
    assert columns == Columns(3, len(BOTH), 11, None, None, None, None, None, None)


#    first     end            offsets          end, next offset
BOUNDS = [
    (0,        INT64_MAX,     [3, 5, 10],      (len(BOTH), 11)),
    (4,        INT64_MAX,     [5, 10],         (len(BOTH), 11)),
    (5,        6,             [5],             (len(BOTH), 11)),
    (3,        3,             [],              (len(BOTH), 11)),
    (6,        INT64_MAX,     [10],            (len(BOTH), 11)),
    (11,       INT64_MAX,     [],              (len(BOTH), 11)),
    (0,        5,             [3],             (len(BOTH), 11)),
    (-9,       -3,            [],              (len(BOTH), 11)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "end", "found", "told"), BOUNDS)
def test_offset_bounds(kernel: Kernel, first: int, end: int, found: list[int], told: tuple[int, int]) -> None:
    columns = kernel.decode(BOTH, selection=Selection(ALL_COLUMNS, first, end))
    assert offsets(columns) == found
    assert bounds(columns) == told


def test_batches_outside_the_bounds_are_not_unpacked(kernel: Kernel) -> None:
    broken = batch(block=b"no gzip", count=1, attributes=Codec.GZIP)
    assert offsets(kernel.decode(broken + SECOND, selection=Selection(first_offset=5))) == [10]


def test_control_batches_are_left_out(kernel: Kernel) -> None:
    marker = batch(record(0, b"\0\0\0\1", bytes(6)), base_offset=6, attributes=CONTROL, producer_id=9)
    columns = kernel.decode(FIRST + marker)
    assert offsets(columns) == [3, 5]
    assert bounds(columns) == (len(FIRST + marker), 7)


#    producer  attributes       at     aborted from 10 to 20 of producer 9
ABORTED = [
    (9,        TRANSACTIONAL,   10,    True),
    (9,        TRANSACTIONAL,   20,    True),
    (9,        TRANSACTIONAL,    9,    False),
    (9,        TRANSACTIONAL,   21,    False),
    (8,        TRANSACTIONAL,   15,    False),
    (9,        0,               15,    False),
]  # fmt: skip


@pytest.mark.parametrize(("producer", "attributes", "at", "left_out"), ABORTED)
def test_aborted_transactions_are_left_out(
    kernel: Kernel, producer: int, attributes: int, at: int, left_out: bool
) -> None:
    data = batch(record(), base_offset=at, producer_id=producer, attributes=attributes)
    found = kernel.decode(data, selection=Selection(OFFSETS, aborted=[Aborted(7, 0, 99), Aborted(9, 10, 20)]))
    assert offsets(found) == ([] if left_out else [at])
    assert bounds(found) == (len(data), at + 1)


def test_compacted_batches(kernel: Kernel) -> None:
    emptied = batch(base_offset=6, last_delta=3, base_timestamp=-1)
    horizon = batch(record(1, b"k", None, -50), base_offset=20, last_delta=4, attributes=int(Attribute.DELETE_HORIZON))
    columns = kernel.decode(FIRST + emptied + horizon)
    assert [row[:2] for row in records(columns)] == [(3, TIME), (5, TIME), (21, TIME - 50)]
    assert columns.next_offset == 25


def test_log_append_time_counts_for_every_record(kernel: Kernel) -> None:
    data = batch(record(0, later_ms=5), record(1), max_timestamp=TIME + 99, attributes=int(Attribute.LOG_APPEND_TIME))
    assert [row[1:3] for row in records(kernel.decode(data))] == [(TIME + 99, 1), (TIME + 99, 1)]


def test_header_keys_become_text_and_values_stay_bytes(kernel: Kernel) -> None:
    headers = (("é".encode(), b"\xff"), (b"a\xffb", None), (b"\xed\xa0\x80", b""), (b"\xf0\x9f\x98", b""))
    ((*_, found),) = records(kernel.decode(batch(record(headers=headers))))
    assert found == (("é", b"\xff"), ("a\ufffdb", None), ("\ufffd" * 3, b""), ("\ufffd", b""))


MANY = INT64_MAX
FIRST_BYTES = len(FIRST) - 61  # of its records

#    max_records   max_bytes            batches taken
LIMITS = [
    (0,            MANY,                0),
    (1,            MANY,                1),  # the whole batch with which it is reached
    (2,            MANY,                1),
    (3,            MANY,                2),
    (MANY,         0,                   0),
    (MANY,         1,                   1),
    (MANY,         FIRST_BYTES,         1),
    (MANY,         FIRST_BYTES + 1,     2),
]  # fmt: skip


@pytest.mark.parametrize(("max_records", "max_bytes", "taken"), LIMITS)
def test_it_stops_after_the_batch_that_reaches_a_limit(
    kernel: Kernel, max_records: int, max_bytes: int, taken: int
) -> None:
    asked = Selection(max_records=max_records, max_bytes=min(max_bytes, 1 << 20))
    assert bounds(kernel.decode(BOTH, selection=asked)) == [(0, 0), (len(FIRST), 6), (len(BOTH), 11)][taken]


def test_pieces_go_on_where_the_last_one_ended(kernel: Kernel) -> None:
    one = kernel.decode(BOTH, selection=Selection(max_records=1))
    two = kernel.decode(BOTH, one.end, Selection(max_records=1))
    assert records(one) + records(two) == ROWS


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_batch_with_more_bytes_than_the_limit_is_refused(kernel: Kernel, codec: Codec) -> None:
    block = record(0, LONG * 10)
    data = batch(block=kernel.compress(codec, block), count=1, attributes=codec)
    assert kernel.decode(data, selection=Selection(unpacked_limit=len(block))).record_count == 1
    with pytest.raises(Corrupt) as raised:
        kernel.decode(data, selection=Selection(unpacked_limit=len(block) - 1))
    assert raised.value.finding == Finding(Fault.UNPACKED_SIZE, 0, -1, len(block) - 1)


#    what stands after a good batch          the answer for it alone
AFTER = [
    (b"",                                    None),
    (SECOND[:-1],                            None),
    (bytes(100),                             None),
    (damaged(SECOND),                        Fault.CRC),
    (SECOND[:16] + b"\3" + SECOND[17:],      Fault.MAGIC),
    (b"\1" + bytes(99),                      Fault.SIZE),
    (message(),                              Fault.LEGACY),
    (batch(block=b"\0" * 7, count=1),        Fault.RECORD),
]  # fmt: skip


@pytest.mark.parametrize(("after", "fault"), AFTER, ids=range(len(AFTER)))
def test_a_bad_batch_ends_the_answer_and_the_next_call_raises(
    kernel: Kernel, after: bytes, fault: Fault | None
) -> None:
    columns = kernel.decode(FIRST + after)
    assert offsets(columns) == [3, 5]
    assert bounds(columns) == (len(FIRST), 6)
    if fault is None:
        again = kernel.decode(FIRST + after, columns.end, Selection(first_offset=columns.next_offset))
        assert (again.record_count, bounds(again)) == (0, (len(FIRST), 6))
    else:
        with pytest.raises(Corrupt) as raised:
            kernel.decode(FIRST + after, columns.end)
        finding = raised.value.finding
        assert (finding.fault, finding.position) == (fault, len(FIRST))


def test_checksums_are_left_alone_where_that_is_asked(kernel: Kernel) -> None:
    assert kernel.decode(batch(record(), crc=7), selection=Selection(verify_crc=False)).record_count == 1


def test_sums_wrap_as_a_java_long_does(kernel: Kernel) -> None:
    data = batch(record(0, later_ms=1), base_timestamp=INT64_MAX)
    assert records(kernel.decode(data))[0][1] == -INT64_MAX - 1


def test_limits_that_arrow_could_not_hold_are_the_callers_mistake(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="max_bytes"):
        kernel.decode(b"", selection=Selection(max_bytes=DECODED_BYTES_MAX, unpacked_limit=1))
    kernel.decode(b"", selection=Selection(max_bytes=DECODED_BYTES_MAX - 1, unpacked_limit=1))


@pytest.mark.parametrize("views", [False, True])
def test_nothing_makes_empty_columns(kernel: Kernel, views: bool) -> None:
    columns = kernel.decode(b"", selection=Selection(views=views))
    assert {name: len(array) for name, array in arrays(columns).items()} == dict.fromkeys(
        ("offset", "timestamp", "timestamp_type", "key", "value", "headers"), 0
    )
    assert bounds(columns) == (0, 0)


@pytest.mark.parametrize("size", [0, 1, 11, 12, 13, 100])
def test_views_of_every_size(kernel: Kernel, size: int) -> None:
    values = [bytes([i]) * size for i in range(3)]
    data = batch(*[record(i, None, value) for i, value in enumerate(values)])
    columns = kernel.decode(data, selection=Selection(columns=Column.VALUE, views=True))
    assert arrays(columns)["value"].to_pylist() == values
