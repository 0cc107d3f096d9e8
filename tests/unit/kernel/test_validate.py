"""What a leader asks of a client's batch. With two things wrong, the first question in Kafka's order decides."""

from typing import Any

import pytest

from esker.base.faults import Fault, Finding
from esker.kernel.contract import Accepted, AppendLimits, Kernel, Refused
from esker.kernel.layout import INT64_MAX, Attribute, Codec
from unit.kernel.made import TIME, batch, header_of, message, record

LOOSE = AppendLimits(max_batch_bytes=10_000)
KEYED = LOOSE._replace(keys_required=True)
TIMED = LOOSE._replace(min_timestamp=TIME - 10, max_timestamp=TIME + 10)
STAMPING = LOOSE._replace(log_append_time=True)
ONE = batch(record())
NO_KEY, LATE = record(), record(later_ms=11)
BROKER_TIME = {"attributes": int(Attribute.LOG_APPEND_TIME)}


def accepted(kernel: Kernel, data: bytes, limits: AppendLimits = LOOSE) -> Accepted:
    found = kernel.validate(data, limits)
    assert type(found) is Accepted, found
    return found


def refused(kernel: Kernel, data: bytes, limits: AppendLimits = LOOSE) -> Refused:
    found = kernel.validate(data, limits)
    assert type(found) is Refused, found
    return found


#    what is wrong, in the order of the questions  said of the batch                      finding
ORDER: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    ("a base offset",                  {"base_offset": 7},                                (Fault.BASE_OFFSET, 0, 7)),
    ("too large",                      {"block": record(value=bytes(200)), "count": 1},   (Fault.BATCH_SIZE, 100, 270)),
    ("the checksum",                   {"crc": 7},                                        (Fault.CRC, 7)),
    ("the codec",                      {"attributes": 5},                                 (Fault.CODEC, 0, 5)),
    ("the count",                      {"last_delta": 4},                                 (Fault.COUNT, 5, 1)),
    ("a control batch",                {"attributes": 0x20},                              (Fault.CONTROL,)),
    ("a producer without a sequence",  {"producer_id": 9, "producer_epoch": 0},           (Fault.SEQUENCE, 0, -1)),
    ("the records",                    {"block": b"\0" * 7, "count": 1},                  (Fault.RECORD,)),
]  # fmt: skip
NAMES = [row[0] for row in ORDER]
SMALL = LOOSE._replace(max_batch_bytes=100)


def with_records(said: dict[str, Any]) -> bytes:
    return batch(*([] if "block" in said else [record()]), **said)


@pytest.mark.parametrize(("said", "finding"), [row[1:] for row in ORDER], ids=NAMES)
def test_one_thing_wrong(kernel: Kernel, said: dict[str, Any], finding: tuple[Any, ...]) -> None:
    fault, *figures = finding
    if fault is Fault.CRC:
        figures.append(header_of(ONE).crc)
    index = 0 if fault is Fault.RECORD else -1
    assert refused(kernel, with_records(said), SMALL) == Refused(Finding(fault, 0, index, *figures), [])


@pytest.mark.parametrize("first", range(len(ORDER) - 1), ids=NAMES[:-1])
def test_the_earlier_question_decides(kernel: Kernel, first: int) -> None:
    _, earlier, (fault, *_) = ORDER[first]
    for _, later, _ in ORDER[first + 1 :]:
        both = later | earlier
        if "attributes" in both:
            both["attributes"] = earlier.get("attributes", 0) | later.get("attributes", 0)
        assert refused(kernel, with_records(both), SMALL).finding.fault is fault


#    the bytes                                     finding
FRAMES = [
    (b"",                                          Finding(Fault.PARTIAL, 0)),
    (ONE[:-1],                                     Finding(Fault.PARTIAL, 0)),
    (bytes(100),                                   Finding(Fault.ZEROS, 0)),
    (ONE[:16] + b"\3" + ONE[17:],                  Finding(Fault.MAGIC, 0)),
    (message(magic=0),                             Finding(Fault.LEGACY, 0, -1, 2, 0)),
    (message(magic=1),                             Finding(Fault.LEGACY, 0, -1, 2, 1)),
    (ONE + ONE,                                    Finding(Fault.SEVERAL, len(ONE))),
    (ONE + message(),                              Finding(Fault.SEVERAL, len(ONE))),
    (ONE + bytes(100),                             Finding(Fault.ZEROS, len(ONE))),
    (ONE + bytes(12),                              Finding(Fault.ZEROS, len(ONE))),     # a size field is there
    (bytes(12),                                    Finding(Fault.ZEROS, 0)),
    (ONE + b"\1" + bytes(99),                      Finding(Fault.SIZE, len(ONE))),
    (ONE + ONE[:16] + b"\3" + ONE[17:],            Finding(Fault.MAGIC, len(ONE))),
]  # fmt: skip


@pytest.mark.parametrize(("data", "finding"), FRAMES, ids=range(len(FRAMES)))
def test_exactly_one_batch_of_magic_2(kernel: Kernel, data: bytes, finding: Finding) -> None:
    assert refused(kernel, data) == Refused(finding, [])


@pytest.mark.parametrize("tail", [b"", ONE[:1], ONE[:-1], bytes(11)], ids=range(4))
def test_a_partial_batch_after_it_is_cut_off(kernel: Kernel, tail: bytes) -> None:
    assert accepted(kernel, ONE + tail) == Accepted(header_of(ONE), TIME, True)


#    count, last delta      good?
COUNTS = [
    (1, 0,                  True),
    (2, 1,                  True),
    (2, 2,                  False),
    (2, 0,                  False),
    (0, -1,                 False),
    (0, 0,                  False),
    (-1, -2,                False),
]  # fmt: skip


@pytest.mark.parametrize(("count", "last_delta", "good"), COUNTS)
def test_the_count_is_that_of_the_offsets(kernel: Kernel, count: int, last_delta: int, good: bool) -> None:
    data = batch(*[record(i) for i in range(max(count, 0))], count=count, last_delta=last_delta)
    if good:
        accepted(kernel, data)
    else:
        assert refused(kernel, data).finding == Finding(Fault.COUNT, 0, -1, last_delta + 1, count)


def test_a_batch_as_large_as_allowed_passes(kernel: Kernel) -> None:
    accepted(kernel, ONE, LOOSE._replace(max_batch_bytes=len(ONE)))
    refused(kernel, ONE, LOOSE._replace(max_batch_bytes=len(ONE) - 1))


def test_a_producer_with_a_sequence_and_a_transaction_pass(kernel: Kernel) -> None:
    accepted(kernel, batch(record(), producer_id=9, producer_epoch=0, base_sequence=0))
    accepted(kernel, batch(record(), producer_id=9, producer_epoch=0, base_sequence=0, attributes=0x10))


def test_the_true_largest_timestamp_is_answered_whatever_the_header_says(kernel: Kernel) -> None:
    data = batch(record(0, later_ms=3), record(1, later_ms=9), record(2, later_ms=-4), max_timestamp=5)
    assert accepted(kernel, data).max_timestamp == TIME + 9
    assert accepted(kernel, batch(record(), base_timestamp=-1)).max_timestamp == -1
    assert accepted(kernel, batch(record(), max_timestamp=5, **BROKER_TIME)).max_timestamp == 5


#    offset deltas      consecutive
DELTAS = [
    ((0, 1, 2),         True),
    ((0, 2, 1),         False),
    ((0, 0, 0),         False),
    ((1, 2, 3),         False),
    ((-1, 5, 7),        False),
]  # fmt: skip


@pytest.mark.parametrize(("deltas", "consecutive"), DELTAS)
def test_offset_deltas_are_let_through_and_told(kernel: Kernel, deltas: tuple[int, ...], consecutive: bool) -> None:
    assert accepted(kernel, batch(*map(record, deltas))).consecutive is consecutive


TWO_BAD = batch(record(0, b"k"), record(1), record(2, b"k", later_ms=99), record(3, later_ms=99))

#    limits                                           records at fault                                   the summary's
RECORD_FAULTS = [
    (KEYED,                                           [(1, Fault.NO_KEY), (3, Fault.NO_KEY)],             0),
    (TIMED,                                           [(2, Fault.TIMESTAMP), (3, Fault.TIMESTAMP)],       0),
    (TIMED._replace(keys_required=True),              [(1, Fault.NO_KEY), (2, Fault.TIMESTAMP), (3, Fault.NO_KEY)], 1),
    (STAMPING,                                        [],                                                 None),
    (STAMPING._replace(keys_required=True),           [(1, Fault.NO_KEY), (3, Fault.NO_KEY)],             0),
]  # fmt: skip


@pytest.mark.parametrize(("limits", "faults", "summary"), RECORD_FAULTS)
def test_every_record_at_fault_is_named(
    kernel: Kernel, limits: AppendLimits, faults: list[tuple[int, Fault]], summary: int | None
) -> None:
    if summary is None:
        accepted(kernel, TWO_BAD, limits)
        return
    index, fault = faults[summary]
    found = refused(kernel, TWO_BAD, limits)
    assert found == Refused(Finding(fault, 0, index), faults)
    assert all(type(one) is Fault for _, one in found.records)


def test_a_record_that_cannot_be_read_outweighs_those_before_it(kernel: Kernel) -> None:
    data = batch(block=record() + b"\0" * 7, count=2)
    assert refused(kernel, data, KEYED) == Refused(Finding(Fault.RECORD, 0, 1), [])


#    timestamp        passes
BOUNDS = [
    (TIME - 11,       False),
    (TIME - 10,       True),
    (TIME + 10,       True),
    (TIME + 11,       False),
    (-1,              True),  # no timestamp
    (-2,              False),
    (INT64_MAX,       False),
]  # fmt: skip


@pytest.mark.parametrize(("timestamp", "passes"), BOUNDS)
def test_timestamp_bounds_are_inclusive_and_no_timestamp_passes(kernel: Kernel, timestamp: int, passes: bool) -> None:
    found = kernel.validate(batch(record(), base_timestamp=timestamp), TIMED)
    assert found == (
        Accepted(header_of(batch(record(), base_timestamp=timestamp)), timestamp, True)
        if passes
        else Refused(Finding(Fault.TIMESTAMP, 0, 0), [(0, Fault.TIMESTAMP)])
    )


def test_log_append_time_is_the_brokers_to_set(kernel: Kernel) -> None:
    data = batch(record(), record(1), **BROKER_TIME)
    both = [(0, Fault.TIMESTAMP_TYPE), (1, Fault.TIMESTAMP_TYPE)]
    assert refused(kernel, data, STAMPING) == Refused(Finding(Fault.TIMESTAMP_TYPE, 0, 0), both)


@pytest.mark.parametrize("codec", list(Codec))
def test_packed_records_are_looked_at_up_to_the_limit(kernel: Kernel, codec: Codec) -> None:
    block = record(0, b"k" * 50) + record(1)
    data = batch(block=kernel.compress(codec, block), count=2, attributes=codec)
    assert refused(kernel, data, KEYED).records == [(1, Fault.NO_KEY)]
    assert accepted(kernel, data, LOOSE._replace(unpacked_limit=len(block))).consecutive
    if codec is not Codec.NONE:
        over = refused(kernel, data, LOOSE._replace(unpacked_limit=len(block) - 1))
        assert over == Refused(Finding(Fault.UNPACKED_SIZE, 0, -1, len(block) - 1), [])
