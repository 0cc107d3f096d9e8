"""From header to header: what is told at the end, and which batch an offset or a timestamp lies in."""

import pytest

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import BatchHeader, Kernel, Walk
from esker.kernel.layout import INT64_MAX
from unit.kernel.made import TIME, batch, header_of, message, record

ONE = batch(record(), base_offset=3, leader_epoch=5)
TWO = batch(record(0), record(1), base_offset=4)
OLD = message(6)
ALL = ONE + TWO + OLD


def sized(data: bytes, size: int) -> bytes:
    return data[:8] + size.to_bytes(4, "big", signed=True) + data[12:]


def of_magic(data: bytes, magic: int) -> bytes:
    return data[:16] + bytes([magic & 0xFF]) + data[17:]


#    after a good batch               the walk ends with
ENDS = [
    (b"",                             None),
    (ONE[:1],                         Fault.PARTIAL),
    (ONE[:16],                        Fault.PARTIAL),
    (ONE[:17],                        Fault.PARTIAL),
    (ONE[:-1],                        Fault.PARTIAL),
    (bytes(11),                       Fault.PARTIAL),  # the size field is not all there
    (bytes(12),                       Fault.ZEROS),
    (b"\1" + bytes(11),               Fault.SIZE),
    (bytes(17),                       Fault.ZEROS),
    (bytes(17) + ONE,                 Fault.ZEROS),
    (sized(ONE, 2**31 - 1),           Fault.PARTIAL),
    (sized(ONE, 48),                  Fault.SIZE),     # the header alone has 49
    (sized(ONE, 13),                  Fault.SIZE),
    (sized(ONE, 0),                   Fault.SIZE),
    (sized(ONE, -1),                  Fault.SIZE),
    (sized(OLD, 21),                  Fault.SIZE),     # magic 1 has 22 at least
    (of_magic(ONE, 3),                Fault.MAGIC),
    (of_magic(ONE, -1),               Fault.MAGIC),
    (sized(of_magic(ONE, 3), 13),     Fault.SIZE),     # a size that no magic has is told first
    (sized(of_magic(ONE, 3), 14),     Fault.MAGIC),
]  # fmt: skip


@pytest.mark.parametrize(("after", "fault"), ENDS, ids=range(len(ENDS)))
def test_walk_tells_why_it_ended(kernel: Kernel, after: bytes, fault: Fault | None) -> None:
    assert kernel.walk(TWO + after) == Walk([header_of(TWO)], len(TWO), fault)


def test_header_fields_are_those_of_the_bytes(kernel: Kernel) -> None:
    data = batch(
        record(), record(1), base_offset=9, leader_epoch=4, crc=0xFFFFFFFE, attributes=0x7B, last_delta=6,
        base_timestamp=-5, max_timestamp=TIME, producer_id=2**40, producer_epoch=7, base_sequence=2**31 - 1,
    )  # fmt: skip
    (header,) = kernel.walk(b"\1" * 5 + data, 5).headers
    assert header == BatchHeader(
        5, 9, len(data), 4, 2, 0xFFFFFFFE, 0x7B, 6, -5, TIME, 2**40, 7, 2**31 - 1, 2
    )  # fmt: skip
    assert type(header) is BatchHeader
    assert (header.end, header.last_offset, header.codec) == (5 + len(data), 15, 3)
    assert (header.log_append_time, header.transactional, header.control) == (True, True, True)
    assert header.delete_horizon_ms == -5


def test_messages_of_magic_0_and_1_look_like_batches(kernel: Kernel) -> None:
    old = [message(6, magic=0), message(7, timestamp=TIME), message(8, attributes=1)]
    zero, one, packed = kernel.walk(b"".join(old)).headers
    assert zero == BatchHeader(0, 6, 26, -1, 0, 7, 0, 0, -1, -1, -1, -1, -1, 1)
    assert one == BatchHeader(26, 7, 34, -1, 1, 7, 0, 0, TIME, TIME, -1, -1, -1, 1)
    assert packed == BatchHeader(60, 8, 34, -1, 1, 7, 1, 0, TIME, TIME, -1, -1, -1, -1)


def test_walk_stops_at_its_limit_without_a_fault(kernel: Kernel) -> None:
    walks = [kernel.walk(ALL + b"\1", limit=limit) for limit in range(5)]
    assert [len(walk.headers) for walk in walks] == [0, 1, 2, 3, 3]
    assert [walk.fault for walk in walks] == [None, None, None, None, Fault.PARTIAL]
    assert kernel.walk(ALL, len(ONE), 1).headers == [header_of(ALL, len(ONE))]


@pytest.mark.parametrize("position", [-1, len(ALL) + 1, INT64_MAX])
def test_position_outside_the_bytes_is_the_callers_mistake(kernel: Kernel, position: int) -> None:
    for call in (kernel.walk, kernel.check, kernel.unpack, kernel.decode):
        with pytest.raises(ValueError, match="position"):
            call(ALL, position)
    for find in (kernel.find_offset, kernel.find_timestamp):
        with pytest.raises(ValueError, match="position"):
            find(ALL, 0, position)


def test_position_at_the_end_is_an_empty_rest(kernel: Kernel) -> None:
    assert kernel.walk(ALL, len(ALL)) == Walk([], len(ALL), None)
    assert kernel.check(ALL, len(ALL)).batches == 0
    assert kernel.find_offset(ALL, 0, len(ALL)) is None


LATE = batch(record(), base_offset=10, max_timestamp=TIME + 10)
EMPTIED = batch(base_offset=11, last_delta=8, count=0, max_timestamp=TIME + 5)
GAPPED = ONE + TWO + LATE + EMPTIED
PLACES = {"one": 0, "two": len(ONE), "late": len(ONE + TWO), "emptied": len(ONE + TWO + LATE)}

#    offset    its batch
OFFSETS = [
    (-1,       "one"),
    (3,        "one"),
    (4,        "two"),
    (5,        "two"),
    (6,        "late"),     # in the gap: the next batch
    (10,       "late"),
    (11,       "emptied"),  # a batch reaches as far as it did before compaction
    (19,       "emptied"),
    (20,       None),
]  # fmt: skip

#    timestamp      its batch
TIMES = [
    (-1,            "one"),
    (TIME,          "one"),
    (TIME + 1,      "late"),
    (TIME + 10,     "late"),
    (TIME + 11,     None),
]  # fmt: skip


@pytest.mark.parametrize(("offset", "name"), OFFSETS)
def test_find_offset(kernel: Kernel, offset: int, name: str | None) -> None:
    found = kernel.find_offset(GAPPED, offset)
    assert found == (header_of(GAPPED, PLACES[name]) if name else None)


@pytest.mark.parametrize(("timestamp", "name"), TIMES)
def test_find_timestamp(kernel: Kernel, timestamp: int, name: str | None) -> None:
    found = kernel.find_timestamp(GAPPED, timestamp)
    assert found == (header_of(GAPPED, PLACES[name]) if name else None)


def test_search_begins_where_it_is_told_to(kernel: Kernel) -> None:
    assert kernel.find_offset(GAPPED, 0, PLACES["two"]) == header_of(GAPPED, PLACES["two"])
    assert kernel.find_timestamp(GAPPED, 0, PLACES["two"]) == header_of(GAPPED, PLACES["two"])


@pytest.mark.parametrize("after", [ONE[:20], bytes(100)], ids=["half", "zeros"])
def test_search_ends_quietly_where_the_log_does(kernel: Kernel, after: bytes) -> None:
    assert kernel.find_offset(ONE + after, 99) is None
    assert kernel.find_timestamp(ONE + after, TIME + 99) is None


def test_search_raises_on_what_cannot_be_stepped_over(kernel: Kernel) -> None:
    for bad, fault in [(sized(ONE, 13), Fault.SIZE), (of_magic(ONE, 3), Fault.MAGIC)]:
        for find, sought in [(kernel.find_offset, 99), (kernel.find_timestamp, TIME + 99)]:
            with pytest.raises(Corrupt) as raised:
                find(TWO + bad, sought)
            assert raised.value.finding == Finding(fault, len(TWO))
            assert find(TWO + bad, 0) == header_of(TWO)


def test_checksums_go_on_from_one_another(kernel: Kernel) -> None:
    assert kernel.crc32c(b"123456789") == 0xE3069283
    assert kernel.crc32c(b"") == 0
    assert kernel.crc32c(b"6789", kernel.crc32c(b"12345")) == 0xE3069283
