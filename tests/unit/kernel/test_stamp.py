"""Offsets, epoch and append time written into batches in place."""

from typing import Any

import pytest

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import Kernel
from esker.kernel.layout import INT64_MAX, Attribute
from unit.kernel.made import TIME, batch, message, record

TWO = batch(record(), record(1))
THREE = batch(record(), record(1), record(2), attributes=int(Attribute.TRANSACTIONAL))
APPEND = int(Attribute.LOG_APPEND_TIME)


def stamped(kernel: Kernel, data: bytes, *said: Any) -> bytes:
    buffer = bytearray(data)
    kernel.stamp(buffer, *said)
    return bytes(buffer)


def test_each_batch_follows_the_one_before_and_the_next_offset_is_answered(kernel: Kernel) -> None:
    buffer = bytearray(TWO + THREE)
    assert kernel.stamp(buffer, 40, 7) == 45
    first = batch(record(), record(1), base_offset=40, leader_epoch=7)
    second = batch(record(), record(1), record(2), base_offset=42, leader_epoch=7, attributes=0x10)
    assert buffer == first + second


def test_the_last_offset_counts_not_the_records(kernel: Kernel) -> None:
    assert kernel.stamp(bytearray(batch(record(), last_delta=9)), 40, 0) == 50


#    said                              of the batch afterwards
TIMES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((3, 1),                           {}),
    ((3, 1, TIME + 9),                 {"max_timestamp": TIME + 9}),
    ((3, 1, TIME + 9, True),           {"max_timestamp": TIME + 9, "attributes": APPEND}),
    ((3, 1, None, True),               {"attributes": APPEND}),
    ((3, 1, TIME + 9, False),          {"max_timestamp": TIME + 9}),
    ((3, 1, -1),                       {"max_timestamp": -1}),
]  # fmt: skip


@pytest.mark.parametrize(("said", "after"), TIMES)
def test_time_fields_are_written_where_given_and_the_checksum_is_right(
    kernel: Kernel, said: tuple[Any, ...], after: dict[str, Any]
) -> None:
    assert stamped(kernel, TWO, *said) == batch(record(), record(1), base_offset=3, leader_epoch=1, **after)
    assert kernel.check(stamped(kernel, TWO, *said)).finding is None


def test_the_other_attributes_stay(kernel: Kernel) -> None:
    data = batch(record(), attributes=0x7B)
    assert stamped(kernel, data, 0, -1, None, False) == batch(record(), attributes=0x73)
    assert stamped(kernel, data, 0, -1, None, True) == data


def test_offset_and_epoch_alone_leave_the_checksum_untouched(kernel: Kernel) -> None:
    assert stamped(kernel, TWO, 9, 9)[16:] == TWO[16:]


@pytest.mark.parametrize("said", [(9, 9), (9, 9, TIME + 9), (9, 9, TIME + 9, True)])
def test_a_damaged_batch_stays_damaged(kernel: Kernel, said: tuple[Any, ...]) -> None:
    for at in (20, 22, 26, 60, len(TWO) - 1):  # in the checksum, and in what it covers but is not stamped
        damaged = bytearray(TWO)
        damaged[at] ^= 0x40
        finding = kernel.check(stamped(kernel, bytes(damaged), *said)).finding
        assert finding is not None
        assert finding.fault is Fault.CRC


#    after a good batch             finding
UNKNOWN = [
    (TWO[:-1],                      Finding(Fault.PARTIAL, len(TWO))),
    (bytes(100),                    Finding(Fault.ZEROS, len(TWO))),
    (b"\1" + bytes(99),             Finding(Fault.SIZE, len(TWO))),
    (TWO[:16] + b"\3" + TWO[17:],   Finding(Fault.MAGIC, len(TWO))),
    (message(),                     Finding(Fault.LEGACY, len(TWO), -1, 2, 1)),
    (TWO + message(magic=0),        Finding(Fault.LEGACY, 2 * len(TWO), -1, 2, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("after", "finding"), UNKNOWN, ids=range(len(UNKNOWN)))
def test_nothing_is_written_unless_all_is_batches(kernel: Kernel, after: bytes, finding: Finding) -> None:
    buffer = bytearray(TWO + after)
    with pytest.raises(Corrupt) as raised:
        kernel.stamp(buffer, 3, 1, TIME, True)
    assert raised.value.finding == finding
    assert buffer == TWO + after


def test_no_batch_is_no_work(kernel: Kernel) -> None:
    assert kernel.stamp(bytearray(), 3, 1) == 3


def test_offsets_wrap_as_a_java_long_does(kernel: Kernel) -> None:
    assert kernel.stamp(bytearray(TWO), INT64_MAX, 1) == -INT64_MAX


def test_bytes_that_cannot_be_written_are_the_callers_mistake(kernel: Kernel) -> None:
    with pytest.raises((BufferError, TypeError, ValueError)):
        kernel.stamp(TWO, 3, 1)
