"""Appending as a follower: the leader's bytes as they are, where they fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from esker import kernel
from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import INT32_MAX, Attribute
from esker.records.control import end_marker_batch
from unit.log.kit import NOW, Sender, all_records, config, folder, leader_batch, marker, values

if TYPE_CHECKING:
    from esker.log.log import Log
    from esker.log.values import Appended
    from esker.testing.files import CrashFiles

Make = Callable[..., "Log"]


def follow(log: Log, *batches: bytes | bytearray, epoch: int = 9) -> Appended:
    return log.append_as_follower(b"".join(batches), epoch, NOW)


def magic_1(offset: int, value: bytes = b"v") -> bytes:
    """A message of the old format."""
    from struct import pack
    from zlib import crc32

    body = pack(">bbq", 1, 0, NOW) + pack(">i", -1) + pack(">i", len(value)) + value
    message = pack(">I", crc32(body)) + body
    return pack(">qi", offset, len(message)) + message


def test_bytes_go_in_as_they_are(make: Make) -> None:
    log = make()
    first, second = leader_batch(0, [b"a", b"b"], 3), leader_batch(2, [b"c"], 3)
    answer = follow(log, first, second)
    assert (answer.first_offset, answer.last_offset, answer.max_timestamp) == (0, 2, NOW + 1)
    assert log.segments.active.file.read(10_000, 0) == bytes(first + second)
    assert [tuple(each) for each in log.epochs.entries] == [(3, 0)]


def test_offsets_may_have_gaps(make: Make) -> None:
    log = make()
    follow(log, leader_batch(5), leader_batch(100))
    assert [record.offset for record in all_records(log)] == [5, 100]
    assert log.cursors.log_end.offset == 101


def test_partial_batch_at_the_end_is_left_out(make: Make) -> None:
    log = make()
    assert follow(log, leader_batch(0), leader_batch(1)[:69]).last_offset == 0
    assert follow(log, leader_batch(1)[:30]).cursors == log.cursors
    assert log.cursors.log_end.offset == 1


def test_batches_of_a_higher_epoch_and_all_after_are_left_out(make: Make) -> None:
    log = make()
    follow(log, leader_batch(0, epoch=4), leader_batch(1, epoch=5), leader_batch(2, epoch=4), epoch=4)
    assert log.cursors.log_end.offset == 1
    assert log.epochs.latest == 4
    answer = follow(log, leader_batch(1, epoch=5), epoch=4)
    assert (answer.first_offset, answer.last_offset) == (1, 0)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (leader_batch(0), ErrorCode.OFFSET_OUT_OF_RANGE),
        (leader_batch(5) + leader_batch(4), ErrorCode.OFFSET_OUT_OF_RANGE),
        (leader_batch(5) + bytes(40), ErrorCode.CORRUPT_MESSAGE),
        (leader_batch(5)[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
        (leader_batch(5) + leader_batch(INT32_MAX + 7), ErrorCode.CORRUPT_MESSAGE),
        (leader_batch(5, [b"x" * 3000]), ErrorCode.RECORD_LIST_TOO_LARGE),
    ],
)
def test_what_is_refused_changes_nothing(make: Make, disk: CrashFiles, data: bytearray, code: ErrorCode) -> None:
    log = make(config(segment_bytes=2000))
    follow(log, leader_batch(0, [b"a", b"b"]))
    before = log.cursors, log.epochs, folder(disk)
    with pytest.raises(Rejected) as raised:
        follow(log, data)
    assert raised.value.code is code
    assert (log.cursors, log.epochs, folder(disk)) == before


def test_first_and_last_offset_of_what_is_out_of_place_are_named(make: Make) -> None:
    log = make()
    follow(log, leader_batch(0, [b"a", b"b"]))
    with pytest.raises(Rejected, match="0 to 1 does not follow in a log that ends at 2"):
        follow(log, leader_batch(0, [b"a", b"b"]))


def test_empty_log_that_begins_inside_the_first_batch_begins_with_it(make: Make, disk: CrashFiles) -> None:
    log = make(start_offset=7)
    follow(log, leader_batch(5, [b"a", b"b", b"c"]), leader_batch(8))
    assert (log.cursors.log_start, log.cursors.log_end.offset) == (5, 9)
    assert not [name for name in folder(disk) if name.endswith(".deleted")]


def test_log_with_records_does_not_begin_anew(make: Make) -> None:
    log = make(start_offset=6)
    follow(log, leader_batch(6))
    with pytest.raises(Rejected):
        follow(log, leader_batch(5, [b"a", b"b", b"c"]))


def test_roll_takes_the_first_offset_as_base(make: Make) -> None:
    log = make(config(segment_bytes=200))
    follow(log, leader_batch(0, [b"x" * 80]))
    follow(log, leader_batch(50, [b"x" * 80]))
    assert [segment.base_offset for segment in log.segments] == [0, 50]


def test_offset_too_far_from_the_base_begins_a_segment(make: Make) -> None:
    log = make()
    follow(log, leader_batch(0))
    follow(log, leader_batch(INT32_MAX + 1))
    assert [segment.base_offset for segment in log.segments] == [0, INT32_MAX + 1]


def test_old_format_forgets_the_epochs(make: Make, disk: CrashFiles) -> None:
    log = make()
    follow(log, leader_batch(0, epoch=3))
    follow(log, magic_1(1))
    assert not log.epochs.entries
    assert disk.read("/logs/t-0/leader-epoch-checkpoint") == b"0\n0\n"
    follow(log, leader_batch(2, epoch=4))
    assert [tuple(each) for each in log.epochs.entries] == [(4, 2)]
    assert values(log) == [b"v"] * 3


def test_transactions_are_taken_over_unjudged(make: Make) -> None:
    log = make()
    follow(
        log,
        leader_batch(0, sender=Sender(1, 4, 77, True)),
        leader_batch(1, sender=Sender(2, 0, 5, True)),
        end_marker_batch(marker(1, commit=False, epoch=4), 2),
        end_marker_batch(marker(2, commit=False), 3),
    )
    assert [tuple(each) for each in log.segments.active.txn_index.entries()] == [(1, 0, 2, 1), (2, 1, 3, 4)]
    assert log.producers.entries[1].last_sequence == 77


def test_marker_that_says_nothing_changes_nothing(make: Make, disk: CrashFiles) -> None:
    log = make()
    follow(log, leader_batch(0, sender=Sender(1, 0, 0, True)))
    control = int(Attribute.TRANSACTIONAL | Attribute.CONTROL)
    encoding = Encoding(attributes=control, producer_id=1, producer_epoch=0)
    bad = kernel.encode(Rows([NOW], [b"?"], [b""], offsets=[2]), encoding)
    good = end_marker_batch(marker(1, commit=False), 1)
    before = log.cursors, dict(log.producers.entries), list(log.producers.ongoing), log.epochs
    with pytest.raises(Rejected) as raised:
        follow(log, good, bad)
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE
    assert (log.cursors, log.producers.entries, log.producers.ongoing, log.epochs) == before
    assert log.segments.active.txn_index.entries() == []
    follow(log, good)
    assert len(log.segments.active.txn_index.entries()) == 1


def test_flush_is_due_for_a_follower_too(make: Make) -> None:
    log = make(config(flush_messages=2))
    assert follow(log, leader_batch(0), leader_batch(1)).flush_due
