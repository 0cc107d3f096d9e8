"""The disk: what a flush makes durable, what a full disk refuses, and what a broken one ends."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from esker.base.errors import Rejected, StorageFailed
from esker.base.kafka_errors import ErrorCode
from esker.log.reading import Wanted, read
from esker.log.values import NotSynced
from esker.records.control import end_marker_batch
from esker.rules.read import Isolation
from esker.testing.faults import FOREVER, Failure, FaultyFiles
from unit.log.kit import (
    FOLDER,
    NOW,
    VERIFIED,
    Sender,
    all_records,
    append,
    check_log,
    client_batch,
    config,
    folder,
    leader_batch,
    marker,
    values,
)

if TYPE_CHECKING:
    from esker.log.log import Log
    from esker.testing.files import CrashFiles

Make = Callable[..., "Log"]


# Flush.


def test_flush_moves_the_recovery_point_to_the_end(make: Make) -> None:
    log = make()
    append(log)
    assert log.unflushed_count == 1
    log.flush()
    assert (log.cursors.recovery_point, log.unflushed_count) == (1, 0)
    assert log.begin_flush() is None


def test_flush_that_was_begun_covers_what_was_there_then(make: Make) -> None:
    log = make()
    append(log)
    flush = log.begin_flush()
    assert flush is not None
    append(log)
    flush.run()
    assert log.flushed(flush)
    assert log.cursors.recovery_point == 1


def test_flush_overtaken_by_a_truncation_says_nothing(make: Make) -> None:
    log = make()
    append(log)
    append(log)
    flush = log.begin_flush()
    assert flush is not None
    log.truncate_to(1, NOW)
    append(log)
    flush.run()
    assert not log.flushed(flush)
    assert log.cursors.recovery_point == 0


def test_flushes_may_end_out_of_order(make: Make) -> None:
    log = make()
    append(log)
    first = log.begin_flush()
    append(log)
    second = log.begin_flush()
    assert first is not None
    assert second is not None
    for each in (second, first):
        each.run()
        assert log.flushed(each)
    assert log.cursors.recovery_point == 2


def test_flush_syncs_closed_segments_with_their_indexes(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=100))
    append(log)
    log.flush()  # of the first segment the log alone, as it is active
    append(log)
    before = len(disk.operations)
    log.flush()
    synced = {each.target.rsplit("/", 1)[1] for each in disk.operations[before:] if each.name == "sync"}
    first, second = f"{0:020d}", f"{1:020d}"
    assert synced == {f"{first}.log", f"{first}.index", f"{first}.timeindex", f"{second}.snapshot", f"{second}.log"}


def test_names_are_synced_once(make: Make, disk: CrashFiles) -> None:
    log = make()
    for _ in range(3):
        append(log)
        log.flush()
    assert [each.target for each in disk.operations if each.name == "sync_folder"].count(FOLDER) == 2  # and the epoch's


def test_flush_goes_on_though_retention_takes_its_segments(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=100, retention_ms=0))
    for _ in range(4):
        append(log)
    log.increment_high_watermark(4)
    flush = log.begin_flush()
    assert flush is not None
    for each in log.retain(NOW + 10**6):
        each.remove(disk)
    flush.run()
    assert log.flushed(flush)


def test_many_segments_are_flushed_in_steps(make: Make) -> None:
    log = make(config(segment_bytes=100))
    for _ in range(80):
        append(log)
    flush = log.begin_flush()
    assert flush is not None
    assert len(flush.files) < 150
    assert flush.end_offset == 32
    log.flush()
    assert log.unflushed_count == 0


# A full disk.


def full(faulty: FaultyFiles, path: str, part: int = 0) -> None:
    faulty.failures = [Failure("write", errno.ENOSPC, path=path, part=part, times=FOREVER)]


def known(log: Log, disk: CrashFiles) -> tuple[object, ...]:
    logs = {name: data for name, data in folder(disk).items() if name.endswith((".log", ".txnindex"))}
    state = dict(log.producers.entries), list(log.producers.ongoing), log.segments.limits
    return log.cursors, state, len(log.segments), log.segments.snapshots, logs


@pytest.mark.parametrize("path", [".log", ".snapshot", "leader-epoch"])
@pytest.mark.parametrize("part", [0, 30])
def test_append_on_a_full_disk_leaves_the_log_as_it_was(
    make: Make, disk: CrashFiles, faulty: FaultyFiles, path: str, part: int
) -> None:
    log = make(config(segment_bytes=100))
    append(log)
    before = known(log, disk)
    full(faulty, path, part)
    with pytest.raises(Rejected) as raised:
        log.append_as_leader(client_batch(sender=Sender(5, 0, 0)), 1, NOW)
    assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert known(log, disk) == before
    assert values(log) == [b"x" * 10]
    faulty.failures.clear()
    assert log.append_as_leader(client_batch(sender=Sender(5, 0, 0)), 1, NOW).first_offset == 1


@pytest.mark.parametrize("operation", ["open", "truncate"])
@pytest.mark.parametrize("path", ["1.log", "1.index", "1.timeindex", "1.snapshot"])
def test_roll_on_a_full_disk_is_taken_back(
    make: Make, disk: CrashFiles, faulty: FaultyFiles, operation: str, path: str
) -> None:
    log = make(config(segment_bytes=100, preallocate=True))
    append(log)
    before = known(log, disk)
    faulty.failures = [Failure(operation, errno.ENOSPC, path=path)]
    with pytest.raises(Rejected):
        append(log)
    after = known(log, disk)
    assert after[:4] == before[:4]
    append(log)
    append(log)
    assert len(log.segments) == 3


@pytest.mark.parametrize("path", [".log", ".txnindex", "leader-epoch"])
def test_marker_on_a_full_disk_ends_no_transaction(
    make: Make, disk: CrashFiles, faulty: FaultyFiles, path: str
) -> None:
    log = make()
    for producer_id in (1, 2):
        log.append_as_leader(client_batch(sender=Sender(producer_id, 0, 0, True)), 0, NOW, VERIFIED)
    log.append_marker(marker(2, commit=False), 0, 0, NOW)
    before = known(log, disk)
    full(faulty, path, part=20)
    with pytest.raises(Rejected):
        log.append_marker(marker(1, commit=False), 1, 0, NOW)
    assert known(log, disk) == before
    faulty.failures.clear()
    log.append_marker(marker(1, commit=False), 1, 0, NOW)
    assert [each.producer_id for each in log.segments.active.txn_index.entries()] == [2, 1]


def test_follower_on_a_full_disk_takes_nothing_over(make: Make, disk: CrashFiles, faulty: FaultyFiles) -> None:
    log = make(config(segment_bytes=400))
    log.append_as_follower(leader_batch(0, [b"x" * 200], sender=Sender(1, 0, 0, True)), 0, NOW)
    before = known(log, disk)
    full(faulty, ".log")
    ending = leader_batch(50, epoch=1) + leader_batch(51, epoch=2) + end_marker_batch(marker(1, commit=False), 60)
    with pytest.raises(Rejected):
        log.append_as_follower(ending, 9, NOW)
    assert known(log, disk) == before
    assert log.epochs.latest == 0
    faulty.failures.clear()
    log.append_as_follower(leader_batch(10, epoch=3), 9, NOW)  # below where the roll had been
    assert [record.offset for record in all_records(log)] == [0, 10]
    assert disk.read(f"{FOLDER}/leader-epoch-checkpoint") == b"0\n2\n0 0\n3 10\n"


def test_retention_and_reads_go_on_when_the_disk_is_full(make: Make, disk: CrashFiles, faulty: FaultyFiles) -> None:
    log = make(config(segment_bytes=100, retention_ms=0))
    for epoch in range(4):
        log.append_as_leader(client_batch(), epoch, NOW)
    log.increment_high_watermark(4)
    full(faulty, "")
    gone = log.retain(NOW + 10**6)
    assert [each.segment.base_offset for each in gone] == [0, 1, 2]  # for more there is no room for a new segment
    for each in gone:
        each.remove(faulty)
    assert log.cursors.log_start == 3
    assert values(log) == [b"v"]
    faulty.failures.clear()
    log.append_as_leader(client_batch(), 4, NOW)
    assert disk.read(f"{FOLDER}/leader-epoch-checkpoint") == b"0\n2\n3 3\n4 4\n"


def test_epochs_that_a_full_disk_did_not_take_are_written_before_the_next_batch(
    make: Make, disk: CrashFiles, faulty: FaultyFiles
) -> None:
    log = make()
    for epoch in range(3):
        log.append_as_leader(client_batch(), epoch, NOW)
    full(faulty, "leader-epoch")
    log.truncate_to(1, NOW)
    with pytest.raises(Rejected):
        log.append_as_leader(client_batch(), 0, NOW)
    faulty.failures.clear()
    log.append_as_leader(client_batch(), 0, NOW)
    assert disk.read(f"{FOLDER}/leader-epoch-checkpoint") == b"0\n1\n0 0\n"


# A broken disk.


def broken(log: Log, faulty: FaultyFiles) -> None:
    """Nothing works any more, and nothing is touched."""
    faulty.failures.clear()
    faulty.seen.clear()
    for call in (
        lambda: append(log),
        lambda: log.append_as_follower(leader_batch(50), 0, NOW),
        lambda: log.append_marker(marker(1, commit=True), 0, 0, NOW),
        log.flush,
        log.begin_flush,
        lambda: log.retain(NOW),
        lambda: log.truncate_to(0, NOW),
        lambda: log.truncate_fully_and_start_at(0, NOW),
        lambda: log.advance_log_start(0),
        lambda: log.increment_high_watermark(0),
        lambda: log.update_high_watermark(0),
        log.close,
        lambda: read(log, Wanted(0, 100, Isolation.LOG_END)),
    ):
        with pytest.raises(Rejected) as raised:
            call()
        assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert not faulty.seen


def test_write_that_fails_takes_the_log_out_of_service(make: Make, faulty: FaultyFiles) -> None:
    log = make()
    append(log)
    faulty.failures = [Failure("write", errno.EIO, path=".log")]
    with pytest.raises(StorageFailed):
        append(log)
    broken(log, faulty)


def test_write_that_cannot_be_taken_back_does_so_on_a_full_disk_too(make: Make, faulty: FaultyFiles) -> None:
    log = make()
    append(log)
    faulty.failures = [Failure("write", errno.ENOSPC, path=".log", part=9), Failure("truncate", errno.EIO)]
    with pytest.raises(StorageFailed):
        append(log)
    broken(log, faulty)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_nothing_is_acknowledged_after_a_sync_failed(make: Make, faulty: FaultyFiles, error: int) -> None:
    log = make()
    append(log)
    first = log.begin_flush()
    append(log)
    second = log.begin_flush()
    assert first is not None
    assert second is not None
    faulty.failures = [Failure("sync", error)]
    with pytest.raises(NotSynced) as raised:
        first.run()
    assert isinstance(log.broken_by(raised.value), StorageFailed)
    second.run()  # the disk tells a failure once
    with pytest.raises(Rejected):
        log.flushed(second)
    assert log.cursors.recovery_point == 0
    broken(log, faulty)


@pytest.mark.parametrize(("operation", "path"), [("replace", ".log"), ("truncate", ".log"), ("sync", ".log")])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_truncation_that_fails_half_way_ends_the_log(
    make: Make, faulty: FaultyFiles, operation: str, path: str, error: int
) -> None:
    log = make(config(segment_bytes=200))
    for _ in range(5):
        append(log)
    faulty.failures = [Failure(operation, error, path=path)]
    with pytest.raises(StorageFailed):
        log.truncate_to(1, NOW)
    broken(log, faulty)


def test_read_that_fails_ends_the_log(make: Make, faulty: FaultyFiles) -> None:
    log = make()
    append(log)
    faulty.failures = [Failure("read", errno.EIO)]
    with pytest.raises(StorageFailed):
        read(log, Wanted(0, 100, Isolation.LOG_END))
    broken(log, faulty)


def test_bug_stops_the_log(make: Make, faulty: FaultyFiles) -> None:
    log = make()
    append(log)
    with pytest.raises(AssertionError):
        log.increment_high_watermark(2)
    broken(log, faulty)


def test_closed_log_answers_nothing(make: Make, faulty: FaultyFiles) -> None:
    log = make()
    append(log)
    log.close()
    broken(log, faulty)


def test_close_on_a_full_disk_can_be_tried_again(make: Make, faulty: FaultyFiles) -> None:
    log = make()
    append(log)
    full(faulty, ".snapshot", part=3)
    with pytest.raises(Rejected):
        log.close()
    faulty.failures.clear()
    check_log(log)
    log.close()
