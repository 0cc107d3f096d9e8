"""What takes records away: retention, DeleteRecords, truncation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode
from esker.log.reading import Wanted, read
from esker.rules.cursors import Checkpoints
from esker.rules.read import Isolation
from esker.rules.retention import DeleteReason
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
    names,
    values,
)

if TYPE_CHECKING:
    from esker.base.config import LogConfig
    from esker.log.log import Log
    from esker.testing.files import CrashFiles

Make = Callable[..., "Log"]
ONE_EACH = {"segment_bytes": 100}


def filled(make: Make, count: int = 5, *, replicated: int | None = None, **fields: object) -> Log:
    """Segments 0, 1, 2, … of one record each, a second apart."""
    log = make(config(**ONE_EACH, **fields))
    for at in range(count):
        append(log, timestamp=NOW + 1000 * at)
    log.increment_high_watermark(count if replicated is None else replicated)
    return log


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


# Retention.


def test_old_segments_go_by_time(make: Make) -> None:
    log = filled(make, retention_ms=2500)
    gone = log.retain(NOW + 4000)
    assert [(each.segment.base_offset, each.reason) for each in gone] == [
        (0, DeleteReason.TIME),
        (1, DeleteReason.TIME),
    ]
    assert (log.cursors.log_start, bases(log)) == (2, [2, 3, 4])


def test_segments_over_the_size_go(make: Make) -> None:
    log = filled(make, retention_ms=-1, retention_bytes=200)
    assert {each.reason for each in log.retain(NOW)} == {DeleteReason.SIZE}
    assert bases(log) == [3, 4] or log.segments.size <= 200 + 100


def test_segments_below_the_log_start_go_whatever_the_policy(make: Make) -> None:
    log = filled(make, cleanup_delete=False, retention_ms=0)
    log.advance_log_start(3)
    assert [each.reason for each in log.retain(NOW + 10**9)] == [DeleteReason.LOG_START] * 3
    assert bases(log) == [3, 4]


def test_what_is_not_replicated_stays(make: Make) -> None:
    log = filled(make, replicated=2, retention_ms=0)
    log.retain(NOW + 10**9)
    assert bases(log) == [2, 3, 4]


def test_when_all_goes_a_new_segment_takes_over(make: Make) -> None:
    log = filled(make, retention_ms=0)
    assert len(log.retain(NOW + 10**9)) == 5
    assert (bases(log), log.cursors.log_start, log.cursors.log_end.offset) == ([5], 5, 5)
    append(log)
    assert [record.offset for record in all_records(log)] == [5]


def test_empty_log_stays(make: Make) -> None:
    log = make(config(retention_ms=0, retention_bytes=0))
    assert log.retain(NOW + 10**12) == []


def test_deleted_files_wait_to_be_removed(make: Make, disk: CrashFiles) -> None:
    log = filled(make, retention_ms=2500)
    gone = log.retain(NOW + 4000)
    assert len(names(disk, ".log.deleted")) == 2
    assert names(disk, ".snapshot.deleted") == ["00000000000000000001.snapshot.deleted"]
    for each in gone:
        each.remove(disk)
    assert names(disk, ".deleted") == []


def test_epochs_follow_the_log_start(make: Make, disk: CrashFiles) -> None:
    log = make(config(**ONE_EACH))
    for epoch in range(4):
        log.append_as_leader(client_batch(), epoch, NOW)
    log.increment_high_watermark(4)
    log.advance_log_start(2)
    assert [tuple(each) for each in log.epochs.entries] == [(2, 2), (3, 3)]
    assert disk.read("/logs/t-0/leader-epoch-checkpoint") == b"0\n2\n2 2\n3 3\n"


# DeleteRecords.


def test_log_start_moves_forward_only(make: Make) -> None:
    log = filled(make)
    assert log.advance_log_start(3)
    assert not log.advance_log_start(2)
    assert not log.advance_log_start(3)
    assert log.cursors.log_start == 3


def test_log_start_above_the_high_watermark_is_refused(make: Make) -> None:
    log = filled(make, replicated=2)
    before = log.cursors
    with pytest.raises(Rejected) as raised:
        log.advance_log_start(3)
    assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.cursors is before


def test_reading_begins_at_the_log_start_though_the_batch_is_whole(make: Make) -> None:
    log = make()
    append(log, 5)
    log.increment_high_watermark(5)
    log.advance_log_start(3)
    assert [record.offset for record in all_records(log)] == [3, 4]
    with pytest.raises(Rejected):
        read(log, Wanted(2, 100, Isolation.LOG_END))


def test_open_transaction_below_the_log_start_counts_from_it(make: Make) -> None:
    log = make()
    log.append_as_leader(client_batch([b"a"] * 4, Sender(1, 0, 0, True)), 0, NOW, VERIFIED)
    log.increment_high_watermark(4)
    log.advance_log_start(2)
    assert log.cursors.last_stable.offset == 2
    log.append_marker(marker(1, commit=True), 0, 0, NOW)
    log.increment_high_watermark(5)
    assert log.cursors.last_stable.offset == 5


# Truncation.


def test_truncation_within_a_segment_takes_whole_batches(make: Make) -> None:
    log = make(config(index_interval_bytes=0))
    for _ in range(4):
        append(log, 3)
    assert log.truncate_to(7, NOW) == []
    assert log.cursors.log_end.offset == 6
    assert len(all_records(log)) == 6
    append(log)
    assert all_records(log)[-1].offset == 6


def test_truncation_takes_later_segments_newest_first(make: Make) -> None:
    log = filled(make, replicated=0)
    gone = log.truncate_to(2, NOW)
    assert [(each.segment.base_offset, each.reason) for each in gone] == [
        (4, DeleteReason.TRUNCATION),
        (3, DeleteReason.TRUNCATION),
        (2, DeleteReason.TRUNCATION),
    ]
    assert (bases(log), log.cursors.log_end.offset, log.segments.snapshots) == ([0, 1], 2, [1])


def test_truncation_at_or_beyond_the_end_does_nothing(make: Make, disk: CrashFiles) -> None:
    log = filled(make)
    before, operations = log.cursors, len(disk.operations)
    assert log.truncate_to(5, NOW) == log.truncate_to(99, NOW) == []
    assert (log.cursors, len(disk.operations)) == (before, operations)


def test_all_cursors_come_down_with_the_end(make: Make) -> None:
    log = filled(make)
    log.flush()
    log.truncate_to(2, NOW)
    at = log.cursors
    assert (at.high_watermark.offset, at.recovery_point, at.last_stable.offset, at.log_start) == (2, 2, 2, 0)


def test_truncation_below_the_log_start_takes_it_down(make: Make) -> None:
    log = make()
    append(log)
    append(log)
    append(log)
    log.increment_high_watermark(3)
    log.advance_log_start(2)
    log.truncate_to(1, NOW)
    assert (log.cursors.log_start, log.cursors.log_end.offset) == (1, 1)


def test_truncation_below_the_first_segment_makes_it_the_next_offset(make: Make) -> None:
    log = filled(make, retention_ms=2500)
    for each in log.retain(NOW + 4000):
        each.remove(log.place.handles.files)
    log.truncate_to(1, NOW)
    assert (bases(log), log.cursors.log_start, log.cursors.log_end.offset) == ([1], 1, 1)


def test_epochs_go_with_their_batches(make: Make, disk: CrashFiles) -> None:
    log = make()
    for epoch in range(3):
        log.append_as_leader(client_batch(), epoch, NOW)
    log.truncate_to(1, NOW)
    assert [tuple(each) for each in log.epochs.entries] == [(0, 0)]
    assert disk.read("/logs/t-0/leader-epoch-checkpoint") == b"0\n1\n0 0\n"


@pytest.mark.parametrize("fields", [{}, ONE_EACH])
def test_producers_are_again_as_they_were(make: Make, fields: dict[str, int]) -> None:
    log = make(config(**fields))
    for sequence in range(4):
        log.append_as_leader(client_batch(sender=Sender(5, 0, sequence)), 0, NOW)
    log.truncate_to(2, NOW)
    assert log.producers.entries[5].last_sequence == 1
    assert log.append_as_leader(client_batch(sender=Sender(5, 0, 2)), 0, NOW).first_offset == 2


def test_transaction_whose_marker_went_is_open_again(make: Make) -> None:
    log = make()
    log.append_as_leader(client_batch(sender=Sender(1, 0, 0, True)), 0, NOW, VERIFIED)
    log.append_marker(marker(1, commit=False), 0, 0, NOW)
    log.increment_high_watermark(2)
    assert log.cursors.last_stable.offset == 2
    log.truncate_to(1, NOW)
    assert log.cursors.last_stable.offset == 0
    assert log.segments.active.txn_index.entries() == []


def test_transaction_finished_below_the_high_watermark_stays_so(make: Make) -> None:
    log = make()
    log.append_as_leader(client_batch(sender=Sender(1, 0, 0, True)), 0, NOW, VERIFIED)
    log.append_marker(marker(1, commit=True), 0, 0, NOW)
    append(log)
    append(log)
    log.increment_high_watermark(3)
    log.truncate_to(3, NOW)
    assert log.cursors.last_stable.offset == 3


def test_snapshot_above_the_new_end_is_not_believed_later(make: Make, reopen: Make) -> None:
    log = make()
    for sequence in range(3):
        log.append_as_leader(client_batch(sender=Sender(5, 0, sequence)), 0, NOW)
    log.close()
    log = reopen(saved=Checkpoints(0, 3, 0), clean=True)
    log.truncate_to(1, NOW)
    append(log)
    append(log)
    log.close()
    log = reopen(saved=Checkpoints(0, 3, 0), clean=True)
    assert log.producers.entries[5].last_sequence == 0


def test_gap_between_segments_is_not_counted_as_the_end(make: Make) -> None:
    log = make(config(**ONE_EACH))
    log.append_as_follower(leader_batch(0), 0, NOW)
    log.append_as_follower(leader_batch(50), 0, NOW)
    log.truncate_to(20, NOW)
    assert (log.cursors.log_end.offset, bases(log)) == (1, [0])
    log.append_as_follower(leader_batch(20), 0, NOW)
    assert bases(log) == [0, 20]


@pytest.mark.parametrize("offset", [0, 2, 5, 1000])
def test_log_begins_anew_where_it_is_told(make: Make, disk: CrashFiles, offset: int) -> None:
    log = filled(make)
    log.append_as_leader(client_batch(sender=Sender(5, 0, 0)), 0, NOW)
    gone = log.truncate_fully_and_start_at(offset, NOW)
    assert [each.segment.base_offset for each in gone] == [5, 4, 3, 2, 1, 0]
    at = log.cursors
    assert (bases(log), at.log_start, at.log_end) == ([offset], offset, (offset, offset, 0))
    assert at.high_watermark == at.last_stable == at.log_end
    assert (log.producers.entries, log.epochs.entries, log.segments.snapshots) == ({}, (), [])
    append(log)
    assert [record.offset for record in all_records(log)] == [offset]


def test_log_truncated_again_before_the_files_are_removed(make: Make, disk: CrashFiles) -> None:
    log = make()
    append(log)
    first = log.truncate_fully_and_start_at(0, NOW)
    append(log)
    second = log.truncate_fully_and_start_at(0, NOW)
    append(log)
    for each in first + second:
        each.remove(disk)
    assert names(disk, ".deleted") == []
    assert len(all_records(log)) == 1


# Settings at run time.


def test_settings_hold_from_now_on(make: Make) -> None:
    log = make()
    append(log)
    chosen: LogConfig = config(segment_bytes=100, compression_type="zstd", flush_messages=1, retention_ms=0)
    log.configure(chosen)
    answer = log.append_as_leader(client_batch([b"a"]), 0, NOW)
    assert answer.rolled
    assert answer.repacked
    assert answer.flush_due
    log.increment_high_watermark(2)
    assert len(log.retain(NOW + 10)) == 2


def test_age_counts_on_when_settings_change(make: Make) -> None:
    log = make()
    append(log, timestamp=NOW)
    log.configure(config(segment_ms=1000))
    assert log.append_as_leader(client_batch(timestamp=NOW + 1001), 0, NOW).rolled


def test_idle_producers_are_forgotten(make: Make) -> None:
    log = make()
    log.append_as_leader(client_batch(sender=Sender(5, 0, 0)), 0, NOW)
    assert log.expire_producers(NOW + 1000, 1001) == 0
    assert log.expire_producers(NOW + 1000, 1000) == 1
    assert log.producers.entries == {}
    assert values(log) == [b"v"]
