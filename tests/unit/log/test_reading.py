"""Reading: how far, how much, which transactions, and which offset."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode
from esker.log.reading import FoundOffset, Special, Wanted, end_offset_for, offset_for, read
from esker.records import batch
from esker.rules.cursors import Checkpoints
from esker.rules.read import Isolation
from unit.log.kit import (
    NOW,
    VERIFIED,
    Sender,
    all_records,
    append,
    client_batch,
    config,
    leader_batch,
    marker,
    values,
)

if TYPE_CHECKING:
    from esker.log.log import Log
    from esker.testing.files import CrashFiles

Make = Callable[..., "Log"]
END, HIGH, STABLE = Isolation.LOG_END, Isolation.HIGH_WATERMARK, Isolation.LAST_STABLE


def offsets(log: Log, wanted: Wanted) -> list[int] | None:
    """The base offsets of the whole batches in the slice."""
    answer = read(log, wanted)
    return None if answer.slice is None else [each.header.base_offset for each in batch.batches(answer.slice.read())]


def test_readers_end_where_their_isolation_says(make: Make) -> None:
    log = make()
    append(log)
    log.append_as_leader(client_batch(sender=Sender(1, 0, 0, True)), 0, NOW, VERIFIED)
    append(log)
    append(log)
    log.increment_high_watermark(3)
    assert offsets(log, Wanted(0, 10_000, END)) == [0, 1, 2, 3]
    assert offsets(log, Wanted(0, 10_000, HIGH)) == [0, 1, 2]
    assert offsets(log, Wanted(0, 10_000, STABLE)) == [0]


def test_between_bound_and_end_there_is_nothing_yet(make: Make) -> None:
    log = make()
    append(log)
    answer = read(log, Wanted(0, 100, HIGH))
    assert (answer.slice, answer.cursors, answer.aborted) == (None, log.cursors, None)
    assert read(log, Wanted(1, 100, END)).slice is None
    assert read(log, Wanted(1, 100, STABLE)).aborted == []


@pytest.mark.parametrize("offset", [-1, 4, 8])
def test_outside_of_the_log_is_out_of_range(make: Make, offset: int) -> None:
    log = make(start_offset=5)
    append(log, 2)
    with pytest.raises(Rejected) as raised:
        read(log, Wanted(offset, 100, END))
    assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_slice_begins_with_the_batch_that_holds_the_offset(make: Make) -> None:
    log = make(config(index_interval_bytes=0))
    for _ in range(5):
        append(log, 3)
    assert offsets(log, Wanted(7, 10_000, END)) == [6, 9, 12]


def test_slice_is_cut_at_max_bytes_inside_a_batch(make: Make) -> None:
    log = make()
    append(log)
    append(log)
    size = log.segments.active.size // 2
    found = read(log, Wanted(0, size + 10, END)).slice
    assert found is not None
    assert found.size == size + 10
    assert offsets(log, Wanted(0, size + 10, END)) == [0]


def test_first_batch_too_large_is_given_whole_or_not_at_all(make: Make) -> None:
    log = make()
    append(log, size=500)
    append(log, size=500)
    assert offsets(log, Wanted(0, 10, END, min_one=True)) == [0]
    assert offsets(log, Wanted(0, 10, END, min_one=False)) is None


def test_slice_stays_within_a_segment_and_the_next_one_follows(make: Make) -> None:
    log = make(config(segment_bytes=100))
    append(log)
    append(log)
    assert offsets(log, Wanted(0, 10_000, END)) == [0]
    assert offsets(log, Wanted(1, 10_000, END)) == [1]


def test_offset_in_a_gap_leads_to_what_follows(make: Make) -> None:
    log = make(config(segment_bytes=150))
    for offset in (0, 10, 20, 30):
        log.append_as_follower(leader_batch(offset), 0, NOW)
    assert len(log.segments) > 1
    assert [offsets(log, Wanted(at, 70, END)) for at in (1, 11, 21)] == [[10], [20], [30]]


def test_slice_is_good_after_its_segment_was_deleted(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=100, retention_ms=0))
    append(log)
    append(log)
    log.increment_high_watermark(2)
    found = read(log, Wanted(0, 10_000, END)).slice
    assert found is not None
    for deleted in log.retain(NOW + 10):
        deleted.remove(disk)
    assert [each.records()[0].value for each in batch.batches(found.read())] == [b"x" * 10]


def test_high_watermark_inside_a_batch_ends_before_it(make: Make) -> None:
    log = make()
    append(log, 3)
    append(log, 3)
    log.update_high_watermark(4)
    assert offsets(log, Wanted(0, 10_000, HIGH)) == [0]


def test_high_watermark_known_as_a_number_is_resolved_when_opened(make: Make, reopen: Make) -> None:
    log = make()
    for _ in range(3):
        append(log)
    log.close()
    log = reopen(saved=Checkpoints(0, 3, 2), clean=True)
    assert log.cursors.high_watermark == (2, 0, 2 * log.segments.active.size // 3)
    assert offsets(log, Wanted(0, 10_000, HIGH)) == [0, 1]


# Aborted transactions.


def aborting(log: Log, producer_id: int, sequence: int = 0) -> None:
    log.append_as_leader(client_batch(sender=Sender(producer_id, 0, sequence, True)), 0, NOW, VERIFIED)
    log.append_marker(marker(producer_id, commit=False), 0, 0, NOW)


def test_aborted_transactions_come_with_the_slice(make: Make) -> None:
    log = make()
    aborting(log, 1)
    append(log)
    log.increment_high_watermark(3)
    answer = read(log, Wanted(0, 10_000, STABLE))
    assert answer.aborted is not None
    assert [tuple(each) for each in answer.aborted] == [(1, 0, 1, 2)]
    assert read(log, Wanted(0, 10_000, HIGH)).aborted is None


def test_transaction_aborted_before_the_offset_is_left_out(make: Make) -> None:
    log = make()
    aborting(log, 1)
    append(log)
    log.increment_high_watermark(3)
    assert read(log, Wanted(2, 10_000, STABLE)).aborted == []


def test_marker_in_a_later_segment_is_found(make: Make) -> None:
    log = make(config(segment_bytes=100))
    log.append_as_leader(client_batch(sender=Sender(1, 0, 0, True)), 0, NOW, VERIFIED)
    append(log)
    append(log)
    log.append_marker(marker(1, commit=False), 0, 0, NOW)
    log.increment_high_watermark(4)
    answer = read(log, Wanted(0, 10_000, STABLE))
    assert answer.aborted is not None
    assert [each.producer_id for each in answer.aborted] == [1]


def test_aborted_transactions_are_known_after_a_restart(make: Make, reopen: Make) -> None:
    log = make(config(segment_bytes=200))
    aborting(log, 1)
    append(log)
    log.close()
    for clean in (True, False):
        log = reopen(config(segment_bytes=200), Checkpoints(0, 3, 3), clean=clean)
        answer = read(log, Wanted(0, 10_000, STABLE))
        assert answer.aborted is not None
        assert [each.producer_id for each in answer.aborted] == [1]


# Offsets by timestamp and by epoch.


@pytest.fixture
def timed(make: Make) -> Log:
    """Timestamps NOW, +1 | +100, +101 | +50, +51 in segments of their own; all but the last replicated."""
    log = make(config(segment_bytes=120))
    for epoch, late in enumerate((0, 100, 50)):
        log.append_as_leader(client_batch([b"a", b"b"], timestamp=NOW + late), epoch, NOW)
    log.increment_high_watermark(4)
    return log


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        (0, (0, NOW, 0)),
        (NOW + 1, (1, NOW + 1, 0)),
        (NOW + 2, (2, NOW + 100, 1)),
        (NOW + 101, (3, NOW + 101, 1)),
        (NOW + 102, None),
    ],
)
def test_timestamp_leads_to_the_first_record_as_young(
    timed: Log, timestamp: int, found: tuple[int, int, int] | None
) -> None:
    assert offset_for(timed, timestamp, END) == found


def test_record_beyond_the_bound_is_no_answer(timed: Log) -> None:
    timed.append_as_leader(client_batch(timestamp=NOW + 500), 3, NOW)
    assert offset_for(timed, NOW + 200, HIGH) is None
    assert offset_for(timed, NOW + 200, END) == (6, NOW + 500, 3)


def test_record_below_the_log_start_is_no_answer(timed: Log) -> None:
    timed.advance_log_start(1)
    assert offset_for(timed, 0, END) == (1, NOW + 1, 0)


@pytest.mark.parametrize(
    ("special", "isolation", "found"),
    [
        (Special.EARLIEST, HIGH, FoundOffset(0, leader_epoch=0)),
        (Special.EARLIEST_LOCAL, HIGH, FoundOffset(0, leader_epoch=0)),
        (Special.EARLIEST_PENDING_UPLOAD, HIGH, FoundOffset(0, leader_epoch=0)),
        (Special.LATEST, HIGH, FoundOffset(4, leader_epoch=2)),
        (Special.LATEST, END, FoundOffset(6, leader_epoch=2)),
        (Special.LATEST_TIERED, END, None),
        (Special.MAX_TIMESTAMP, END, FoundOffset(3, NOW + 101, 1)),
    ],
)
def test_special_timestamps(timed: Log, special: Special, isolation: Isolation, found: FoundOffset | None) -> None:
    assert offset_for(timed, special, isolation) == found


def test_oldest_of_equal_maxima_is_the_one(make: Make) -> None:
    log = make(config(segment_bytes=100))
    append(log, timestamp=NOW)
    append(log, timestamp=NOW)
    assert offset_for(log, Special.MAX_TIMESTAMP, END) == (0, NOW, 0)


def test_empty_log_has_no_timestamps(make: Make) -> None:
    log = make()
    assert offset_for(log, Special.MAX_TIMESTAMP, END) is None
    assert offset_for(log, 0, END) is None
    assert offset_for(log, Special.EARLIEST, END) == FoundOffset(0)


def test_segment_without_timestamps_does_not_hide_the_next(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=100))
    log.append_as_leader(client_batch(timestamp=-1, max_timestamp=-1), 0, NOW)
    append(log, timestamp=NOW - 50)
    assert offset_for(log, NOW - 60, END) == (1, NOW - 50, 0)


def test_epochs_end_where_the_next_begins(timed: Log) -> None:
    assert [tuple(end_offset_for(timed, epoch)) for epoch in (0, 1, 2, 3, -1)] == [
        (0, 2),
        (1, 4),
        (2, 6),
        (-1, -1),
        (-1, -1),
    ]


def test_all_records_are_read_in_order(make: Make) -> None:
    log = make(config(segment_bytes=300, index_interval_bytes=50))
    for at in range(30):
        log.append_as_leader(client_batch([b"%d" % at, b"%d." % at]), 0, NOW)
    assert [record.offset for record in all_records(log)] == list(range(60))
    assert values(log)[-2:] == [b"29", b"29."]


def test_high_watermark_in_a_gap_before_the_end_stays_what_it_is(make: Make, disk: CrashFiles, reopen: Make) -> None:
    log = make(config(segment_bytes=100))
    append(log)
    log.append_as_follower(leader_batch(50), 0, NOW)
    disk.open("/logs/t-0/00000000000000000050.log").truncate(0)
    log = reopen(config(segment_bytes=100))
    assert log.cursors.log_end.offset == 50
    log.increment_high_watermark(20)
    assert log.cursors.high_watermark.offset == 20
    assert offsets(log, Wanted(0, 10_000, HIGH)) == [0]
