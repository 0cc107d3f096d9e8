"""Views over batches of all magics, and how the end of a buffer is told."""

import pytest

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Attribute, Codec
from esker.records import walk
from esker.records.batch import batches, check, tail
from esker.records.record import LogRecord, TimestampType
from unit.records.samples import TIME, batch_of, message, remade, wrapper

CREATE, APPEND, NONE = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME, TimestampType.NONE
TWO = batch_of([b"a", None], Encoding(base_offset=5))
ONE = batch_of([b"b"], Encoding(base_offset=7))


def records(data: bytes | bytearray | memoryview) -> list[LogRecord]:
    return [record for batch in batches(data) for record in batch.records()]


def test_each_batch_is_a_view_of_its_own_bytes() -> None:
    first, second = batches(TWO + ONE)
    assert bytes(first.bytes) == TWO
    assert bytes(second.bytes) == ONE
    assert second.bytes.obj is first.bytes.obj
    assert second.header.position == len(TWO)


def test_views_begin_where_they_are_asked_to() -> None:
    (only,) = batches(TWO + ONE, len(TWO))
    assert only.header.base_offset == 7


def test_records_have_offset_and_timestamp() -> None:
    assert records(TWO + ONE) == [
        LogRecord(5, TIME, CREATE, b"k0", b"a"),
        LogRecord(6, TIME + 1, CREATE, b"k1", None),
        LogRecord(7, TIME, CREATE, b"k0", b"b"),
    ]


def test_all_magics_give_the_same_kind_of_record() -> None:
    data = message(0, b"k", b"zero", magic=0) + wrapper(1, message(0, b"k", b"one")) + batch_of([b"two"], offsets=[2])
    assert records(data) == [
        LogRecord(0, -1, NONE, b"k", b"zero"),
        LogRecord(1, TIME, CREATE, b"k", b"one"),
        LogRecord(2, TIME, CREATE, b"k0", b"two"),
    ]


def test_records_stamped_by_the_broker_all_have_the_largest_timestamp() -> None:
    data = batch_of([b"a", b"b"], Encoding(attributes=int(Attribute.LOG_APPEND_TIME), max_timestamp=TIME + 99))
    assert {(record.timestamp, record.timestamp_type) for record in records(data)} == {(TIME + 99, APPEND)}


def test_deltas_count_from_the_delete_horizon_where_there_is_one() -> None:
    horizon = Encoding(attributes=int(Attribute.DELETE_HORIZON), base_timestamp=TIME + 10**9)
    data = batch_of([b"a", b"b"], horizon)
    (batch,) = batches(data)
    assert batch.header.delete_horizon_ms == TIME + 10**9
    assert [record.timestamp for record in batch.records()] == [TIME, TIME + 1]


def test_sums_wrap_as_a_java_long_does() -> None:
    past_the_end = Rows(timestamps=[-(2**63)], keys=[None], values=[None])
    data = kernel.encode(past_the_end, Encoding(base_timestamp=2**63 - 1))
    assert records(data)[0].timestamp == -(2**63)


def test_an_emptied_batch_has_no_records_and_keeps_its_offsets() -> None:
    data = kernel.encode(Rows([], [], []), Encoding(base_offset=5, last_offset=9))
    (batch,) = batches(data)
    assert batch.records() == []
    assert (batch.header.base_offset, batch.header.last_offset) == (5, 9)
    batch.verify()


ZEROS = bytes(100)
SMALL = TWO[:8] + b"\0\0\0\x0d" + TWO[12:]  # no batch of any magic has a size field of 13
THREE = TWO[:16] + b"\x03" + TWO[17:]

#   after two batches   raised        told by tail
ENDS = [
    (b"",               None,         None),
    (ONE[:16],          None,         Fault.PARTIAL),
    (ONE[:-1],          None,         Fault.PARTIAL),
    (ZEROS,             None,         Fault.ZEROS),
    (SMALL,             Fault.SIZE,   Fault.SIZE),
    (THREE,             Fault.MAGIC,  Fault.MAGIC),
]  # fmt: skip


@pytest.mark.parametrize(("after", "raised", "told"), ENDS, ids=range(len(ENDS)))
def test_a_log_still_being_written_ends_quietly_and_damage_is_raised(
    after: bytes, raised: Fault | None, told: Fault | None
) -> None:
    data, end = TWO + ONE + after, len(TWO + ONE)
    if raised is None:
        assert [batch.header.base_offset for batch in batches(data)] == [5, 7]
    else:
        with pytest.raises(Corrupt) as caught:
            list(batches(data))
        assert caught.value.finding == Finding(raised, end)
    assert tail(data) == (None if told is None else Finding(told, end))
    assert tail(data, end) == tail(data)


def test_the_good_batches_come_before_the_damage_is_raised() -> None:
    found = batches(TWO + ONE + SMALL)
    assert [next(found).header.base_offset, next(found).header.base_offset] == [5, 7]
    with pytest.raises(Corrupt):
        next(found)


def test_an_error_of_the_caller_is_not_taken_for_an_end() -> None:
    def fail() -> None:
        for _ in batches(TWO):
            raise Corrupt(Finding(Fault.PARTIAL, 0))

    with pytest.raises(Corrupt):
        fail()


def test_walking_goes_on_past_its_stride() -> None:
    count = 2 * walk.STRIDE + 1
    data = b"".join(message(i, None, None) for i in range(count))
    assert [batch.header.base_offset for batch in batches(data)] == list(range(count))


OLD_TWO = wrapper(6, message(0, b"k0", b"a") + message(1, b"k1", None))

DAMAGE = [(TWO, 70), (OLD_TWO, 60)]  # the bytes, and where one bit is turned


@pytest.mark.parametrize(("data", "at"), DAMAGE, ids=range(len(DAMAGE)))
def test_verify_names_the_damage_and_its_place_in_the_buffer(data: bytes, at: int) -> None:
    damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    good, bad, after = batches(ONE + damaged + ONE)
    for one in (good, after):
        one.verify()
    with pytest.raises(Corrupt) as raised:
        bad.verify()
    finding = raised.value.finding
    assert (finding.fault, finding.position, finding.record) == (Fault.CRC, len(ONE), -1)
    with pytest.raises(Corrupt) as raised:
        bad.records()
    assert raised.value.finding == finding
    assert bad.crc_found != bad.header.crc
    assert good.crc_found == good.header.crc


def test_offsets_that_pass_the_last_one_are_read_but_not_verified() -> None:
    data = remade(batch_of([b"a", b"b"]), 23, bytes(4))
    (batch,) = batches(data)
    assert [record.offset for record in batch.records()] == [0, 1]
    with pytest.raises(Corrupt) as raised:
        batch.verify()
    assert raised.value.finding == Finding(Fault.ORDER, 0, 1, 1, 1)


def test_verify_and_records_stop_at_the_limit_of_what_is_unpacked() -> None:
    plain = bytes(1000)
    for data in (batch_of([plain], Encoding(codec=Codec.ZSTD)), wrapper(0, message(0, None, plain))):
        (batch,) = batches(data)
        batch.verify(unpacked_limit=1100)
        for ask in (batch.verify, batch.records):
            with pytest.raises(Corrupt) as raised:
                ask(unpacked_limit=900)
            assert raised.value.finding == Finding(Fault.UNPACKED_SIZE, 0, -1, 900)


MIXED = message(0, None, b"0", magic=0) + wrapper(2, message(0, None, b"1") + message(1, None, b"2")) + batch_of(
    [b"3", b"4"], offsets=[3, 4]
)  # fmt: skip

#    bytes                                batches records  next  fault            at
CHECKS = [
    (b"",                                    0,      0,     0,   None,            0),
    (MIXED,                                  3,      5,     5,   None,            None),
    (MIXED + MIXED[:10],                     3,      5,     5,   Fault.PARTIAL,   len(MIXED)),
    (MIXED + message(4, None, b"again"),     3,      5,     5,   Fault.ORDER,     len(MIXED)),
    (MIXED + message(5, None, b"5"),         4,      6,     6,   None,            None),
    (MIXED + ZEROS,                          3,      5,     5,   Fault.ZEROS,     len(MIXED)),
]  # fmt: skip


@pytest.mark.parametrize(("data", "count", "records_", "next_offset", "fault", "at"), CHECKS, ids=range(len(CHECKS)))
def test_check_goes_on_over_every_magic(
    data: bytes, count: int, records_: int, next_offset: int, fault: Fault | None, at: int | None
) -> None:
    found = check(data)
    assert (found.batches, found.records, found.next_offset) == (count, records_, next_offset)
    assert found.end == (len(data) if at is None else at)
    assert (found.finding and found.finding.fault) == fault
    assert check(data).finding == check(data, deep=False).finding


def test_a_view_of_any_buffer_will_do() -> None:
    for data in (bytearray(TWO), memoryview(TWO), memoryview(bytearray(b"x" + TWO))[1:]):
        assert records(data) == records(TWO)
