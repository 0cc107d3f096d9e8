"""From a folder to a log: what is believed, what is scanned, what is cut, and what is kept of it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from esker.kernel.layout import INT32_MAX
from esker.log.opening import Left, Opening
from esker.log.reading import Wanted, read
from esker.records.control import end_marker_batch
from esker.rules.cursors import Checkpoints
from esker.rules.read import Isolation
from esker.testing.faults import FOREVER, Failure, FaultyFiles
from esker.testing.files import KILLED
from unit.log.kit import (
    CONFIG,
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
    names,
    place,
    reopened,
    values,
)

if TYPE_CHECKING:
    from esker.base.config import LogConfig
    from esker.log.log import Log
    from esker.log.opening import Opened
    from esker.testing.files import CrashFiles

Make = Callable[..., "Log"]
SMALL = config(segment_bytes=100)


def path(base: int, kind: str = ".log") -> str:
    return f"{FOLDER}/{base:020d}{kind}"


def damage(files: CrashFiles, base: int, at: int, kind: str = ".log") -> None:
    file = files.open(path(base, kind))
    position = at if at >= 0 else file.size() + at
    file.write(bytes([file.read(1, position)[0] ^ 0xFF]), position)


def opened(
    files: CrashFiles, chosen: LogConfig = CONFIG, saved: Checkpoints | None = None, *, clean: bool = False
) -> Opened:
    """And looked at, like every log."""
    found = reopened(files, chosen, saved, clean=clean)
    check_log(found.log)
    return found


def filled(make: Make, disk: CrashFiles, count: int = 4, chosen: LogConfig = SMALL) -> CrashFiles:
    """A disk with segments 0, 1, 2, … of one record each, after a kill."""
    log = make(chosen)
    for sequence in range(count):
        log.append_as_leader(client_batch([b"%d" % sequence], Sender(5, 0, sequence)), sequence, NOW)
    return disk.crash(None, KILLED)


def test_clean_log_is_believed(make: Make, reopen: Make, disk: CrashFiles) -> None:
    log = make(SMALL)
    for _ in range(3):
        append(log)
    log.close()
    before = folder(disk)
    found = reopened(disk, SMALL, Checkpoints(0, 3, 2), clean=True)
    assert (found.done, found.recovered_bytes) == ([], 0)
    assert (found.log.cursors.recovery_point, found.log.cursors.high_watermark.offset) == (3, 2)
    assert folder(disk) == before


def test_new_log_in_an_empty_folder(disk: CrashFiles) -> None:
    found = opened(disk, saved=Checkpoints(7, 7, 7), clean=True)
    assert (found.log.cursors.log_start, found.log.cursors.log_end.offset) == (7, 7)


def test_killed_log_is_scanned_from_the_recovery_point_on(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    found = opened(left, SMALL, Checkpoints(0, 3, 1))
    assert [line.split()[1] for line in found.done] == ["segment=2", "segment=3"]
    assert found.log.cursors.recovery_point == 3
    assert values(found.log) == [b"0", b"1", b"2", b"3"]
    assert found.log.producers.entries[5].last_sequence == 3


def test_torn_end_is_cut_and_kept_aside(make: Make, disk: CrashFiles) -> None:
    log = make()
    append(log)
    append(log)
    left = disk.crash(None, KILLED)
    size = left.size(path(0))
    left.open(path(0)).truncate(size - 7)
    found = opened(left)
    assert len(values(found.log)) == 1
    (kept,) = names(left, ".cut")
    assert kept == f"{0:020d}.log.{size // 2}-{size - 7}.cut"
    assert len(left.read(f"{FOLDER}/{kept}")) == size // 2 - 7
    assert any(kept in line for line in found.done)
    again = opened(left)
    assert not [line for line in again.done if line.startswith("cut")]


def test_what_follows_a_cut_is_dropped_and_kept_aside(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    dropped = {base: left.read(path(base)) for base in (2, 3)}
    damage(left, 1, -1)
    found = opened(left, SMALL)
    assert values(found.log) == [b"0"]
    assert (len(found.log.segments), found.log.cursors.log_end.offset) == (2, 1)
    for base, data in dropped.items():
        assert left.read(path(base) + f".0-{len(data)}.cut") == data
    assert found.log.producers.entries[5].last_sequence == 0
    assert [tuple(each) for each in found.log.epochs.entries] == [(0, 0)]


def test_cuts_are_thrown_away_when_nobody_wants_them(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    damage(left, 1, -1)
    Opening(place(left), SMALL, Checkpoints(), clean=False, keep_cuts=False).run()
    assert names(left, ".cut") == []


def test_log_comes_up_on_a_full_disk(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    damage(left, 3, -1)
    faulty = FaultyFiles(left, [Failure("write", errno.ENOSPC, path=".cut", times=FOREVER)])
    found = reopened(faulty, SMALL)
    assert values(found.log) == [b"0", b"1", b"2"]
    assert names(left, ".cut") == []
    assert any("kept=None" in line for line in found.done)


@pytest.mark.parametrize("chosen", [config(segment_bytes=100, preallocate=True), SMALL])
def test_unused_part_of_a_preallocated_file_is_no_damage(make: Make, disk: CrashFiles, chosen: LogConfig) -> None:
    left = filled(make, disk, chosen=chosen)
    found = opened(left, chosen)
    assert len(values(found.log)) == 4
    assert not [line for line in found.done if line.startswith("cut")]
    assert left.size(path(3)) == found.log.segments.active.size


@pytest.mark.parametrize("size", [0, 60])
def test_bytes_that_never_reached_the_disk_end_the_log(make: Make, disk: CrashFiles, size: int) -> None:
    left = filled(make, disk)
    left.open(path(1)).truncate(0)
    left.open(path(1)).truncate(size)  # zeros
    found = opened(left, SMALL)
    assert values(found.log) == [b"0"]
    assert found.log.cursors.log_end.offset == 1


@pytest.mark.parametrize("kind", [".index", ".timeindex"])
def test_index_that_is_missing_is_made_anew(make: Make, disk: CrashFiles, kind: str) -> None:
    log = make(config(index_interval_bytes=0, segment_bytes=400))
    for _ in range(12):
        append(log)
    log.close()
    before = folder(disk)
    disk.remove(path(0, kind))
    found = opened(disk, saved=Checkpoints(0, 12, 12), clean=True)
    assert [line.split()[:2] for line in found.done] == [["scanned", "segment=0"]]
    after = folder(disk)
    assert after[f"{0:020d}.timeindex"] == before[f"{0:020d}.timeindex"]
    assert len(values(found.log)) == 12


def test_damage_behind_an_index_that_is_missing_leaves_a_hole(make: Make, disk: CrashFiles) -> None:
    log = make(SMALL)
    for _ in range(3):
        append(log)
    log.close()
    disk.remove(path(1, ".index"))
    damage(disk, 1, -1)
    found = opened(disk, SMALL, Checkpoints(0, 3, 3), clean=True)
    assert [record.offset for record in all_records(found.log)] == [0, 2]
    assert len(names(disk, ".cut")) == 1


def test_implausible_index_is_not_believed(make: Make, disk: CrashFiles) -> None:
    log = make(config(index_interval_bytes=0))
    for _ in range(3):
        append(log)
    log.close()
    disk.open(path(0, ".index")).write(b"\x7f\xff\xff\xff\x7f\xff\xff\xff", 8)
    found = opened(disk, saved=Checkpoints(0, 3, 3), clean=True)
    assert found.done
    assert found.done[0].startswith("scanned")


@pytest.mark.parametrize("junk", [b"junk", bytes(200), b"\xff" * 100])
def test_junk_at_the_end_of_a_clean_log_is_found(make: Make, disk: CrashFiles, junk: bytes) -> None:
    log = make()
    append(log)
    log.close()
    disk.open(path(0)).write(junk, disk.size(path(0)))
    found = opened(disk, saved=Checkpoints(0, 1, 1), clean=True)
    append(found.log)
    assert len(values(found.log)) == 2


def test_indexes_of_a_segment_flushed_as_the_active_one_are_not_believed(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=400, index_interval_bytes=0))
    for late in range(4):
        append(log, timestamp=NOW + late)
    log.flush()
    append(log, size=200)
    disk.sync_folder(FOLDER)
    assert [segment.base_offset for segment in log.segments] == [0, 4]
    found = opened(disk.crash(), config(segment_bytes=400), Checkpoints(0, 4, 4))
    assert len(values(found.log)) == 4
    assert next(iter(found.log.segments)).largest.timestamp == NOW + 3


def test_torn_snapshot_is_removed_and_an_older_one_taken(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    damage(left, 3, -1, ".snapshot")
    found = opened(left, SMALL, Checkpoints(0, 4, 4))
    assert found.log.producers.entries[5].last_sequence == 3
    assert any("snapshot" in line and line.startswith("removed") for line in found.done)
    assert not opened(left, SMALL, Checkpoints(0, 4, 4)).done[0].startswith("removed")


def test_epochs_that_cannot_be_read_are_told_by_the_batches(make: Make, disk: CrashFiles) -> None:
    log = make(SMALL)
    for epoch in range(3):
        log.append_as_leader(client_batch(), epoch * 2, NOW)
    log.close()
    disk.write_new(f"{FOLDER}/leader-epoch-checkpoint", b"0\n5\nnonsense\n")
    found = opened(disk, SMALL, Checkpoints(0, 3, 3), clean=True)
    assert [tuple(each) for each in found.log.epochs.entries] == [(0, 0), (2, 1), (4, 2)]
    assert opened(disk, SMALL, Checkpoints(0, 3, 3), clean=True).log.epochs == found.log.epochs


def test_epochs_that_a_scan_finds_are_kept(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    left.remove(f"{FOLDER}/leader-epoch-checkpoint")
    found = opened(left, SMALL)
    assert [tuple(each) for each in found.log.epochs.entries] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert left.read(f"{FOLDER}/leader-epoch-checkpoint") == b"0\n4\n0 0\n1 1\n2 2\n3 3\n"


def test_log_that_ends_below_its_start_begins_there(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    found = opened(left, SMALL, Checkpoints(10, 4, 10))
    at = found.log.cursors
    assert (at.log_start, at.log_end.offset, at.high_watermark.offset) == (10, 10, 10)
    assert len(names(left, ".cut")) == 4


def test_leftovers_of_deletions_and_rewrites_go(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    for name in ("7.log.deleted", "7.index.deleted", "1.log.cleaned", "1.index.cleaned"):
        number, rest = name.split(".", 1)
        left.write_new(f"{FOLDER}/{int(number):020d}.{rest}", b"x")
    left.write_new(path(99, ".index"), b"")
    found = opened(left, SMALL)
    assert len(values(found.log)) == 4
    assert not names(left, ".deleted") + names(left, ".cleaned")
    assert not left.exists(path(99, ".index"))


def test_finished_rewrite_takes_its_place(make: Make, disk: CrashFiles) -> None:
    """Segments 1 and 2 were rewritten into one, and the crash came after the renames to `.swap`."""
    left = filled(make, disk)
    left.write_new(path(1, ".log.swap"), left.read(path(1)) + left.read(path(2)))
    for kind in (".index.swap", ".timeindex.swap"):
        left.write_new(path(1, kind), b"")
    found = opened(left, SMALL, Checkpoints(0, 0, 4))
    assert [segment.base_offset for segment in found.log.segments] == [0, 1, 3]
    assert values(found.log) == [b"0", b"1", b"2", b"3"]


def test_progress_can_be_watched(make: Make, disk: CrashFiles) -> None:
    left = filled(make, disk)
    opening = Opening(place(left), SMALL, Checkpoints(0, 3, 3), clean=False)
    seen: list[Left] = []
    scan = opening._scan

    def watched(*arguments: object) -> object:
        seen.append(opening.left)
        return scan(*arguments)  # type: ignore[arg-type]

    opening._scan = watched  # type: ignore[method-assign, assignment]
    opening.run()
    size = left.size(path(2))
    assert seen == [(2, 2 * size), (1, size)]
    assert opening.left == (0, 0)


# Transactions.


def test_transaction_indexes_are_made_anew(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=200))
    for producer_id in (1, 2):
        log.append_as_leader(client_batch(sender=Sender(producer_id, 0, 0, True)), 0, NOW, VERIFIED)
    append(log)
    for producer_id in (2, 1):
        log.append_marker(marker(producer_id, commit=False), 0, 0, NOW)
    before = {name: data for name, data in folder(disk).items() if name.endswith(".txnindex")}
    assert before
    left = disk.crash(None, KILLED)
    for name in names(left, ".txnindex"):
        left.remove(f"{FOLDER}/{name}")
    for name in names(left, ".snapshot"):
        left.remove(f"{FOLDER}/{name}")
    opened(left, config(segment_bytes=200))
    assert {name: data for name, data in folder(left).items() if name.endswith(".txnindex")} == before


def test_transaction_open_at_the_crash_is_open_still(make: Make, disk: CrashFiles) -> None:
    log = make(SMALL)
    append(log)
    log.append_as_leader(client_batch(sender=Sender(1, 0, 0, True)), 0, NOW, VERIFIED)
    append(log)
    log.increment_high_watermark(3)
    found = opened(disk.crash(None, KILLED), SMALL, Checkpoints(0, 0, 3))
    assert found.log.cursors.last_stable.offset == 1
    found.log.append_marker(marker(1, commit=True), 0, 0, NOW)
    found.log.increment_high_watermark(4)
    assert found.log.cursors.last_stable.offset == 4


# Splitting.

FAR = INT32_MAX + 10


def overlong(disk: CrashFiles, *, tail: bytes = b"") -> bytes:
    """A segment as an old Kafka's cleaner made them: offsets that no index can say."""
    disk.make_folder(FOLDER)
    data = bytes(
        leader_batch(0, [b"a"], sender=Sender(1, 0, 0, True))
        + leader_batch(5, [b"b"])
        + end_marker_batch(marker(1, commit=False), 6)
        + leader_batch(FAR, [b"c"], sender=Sender(1, 0, 1, True))
        + end_marker_batch(marker(1, commit=False), FAR + 1)
        + leader_batch(2 * FAR, [b"d"])
    )
    disk.write_new(path(0), data + tail)
    disk.set_modified_ms(path(0), NOW - 5)
    return data


@pytest.mark.parametrize("clean", [True, False])
def test_overlong_segment_is_split(disk: CrashFiles, *, clean: bool) -> None:
    data = overlong(disk)
    found = opened(disk, saved=Checkpoints(0, 2 * FAR + 1, 2 * FAR + 1), clean=clean)
    assert [segment.base_offset for segment in found.log.segments] == [0, FAR, 2 * FAR]
    assert b"".join(disk.read(path(base)) for base in (0, FAR, 2 * FAR)) == data
    assert values(found.log) == [b"a", b"b", b"c", b"d"]
    aborted = [[tuple(each) for each in segment.txn_index.entries()] for segment in found.log.segments]
    assert aborted == [[(1, 0, 6, 7)], [(1, FAR, FAR + 1, FAR + 2)], []]
    assert not names(disk, ".deleted") + names(disk, ".swap") + names(disk, ".cleaned")
    told = read(found.log, Wanted(0, 10_000, Isolation.LAST_STABLE)).aborted
    assert told is not None
    assert [each.first_offset for each in told] == [0]


def test_torn_end_of_an_overlong_segment_is_cut_and_what_follows_goes(disk: CrashFiles) -> None:
    data = overlong(disk, tail=b"torn")
    disk.write_new(path(3 * FAR), bytes(leader_batch(3 * FAR)))
    found = opened(disk)
    assert values(found.log) == [b"a", b"b", b"c", b"d"]
    assert found.log.cursors.log_end.offset == 2 * FAR + 1
    assert b"".join(disk.read(path(base)) for base in (0, FAR, 2 * FAR)) == data
    assert b"torn" in [disk.read(f"{FOLDER}/{name}") for name in names(disk, ".cut")]


def test_two_overlong_segments_are_split(disk: CrashFiles) -> None:
    overlong(disk)
    second = 3 * FAR
    disk.write_new(path(second), bytes(leader_batch(second) + leader_batch(second + FAR)))
    found = opened(disk)
    assert [segment.base_offset for segment in found.log.segments] == [0, FAR, 2 * FAR, second, second + FAR]


def test_close_leaves_a_snapshot_that_a_power_cut_does_not_take(make: Make, disk: CrashFiles) -> None:
    log = make()
    disk.sync_folder("/")
    disk.sync_folder("/logs")
    log.append_as_leader(client_batch(sender=Sender(5, 0, 0)), 0, NOW)
    log.flush()
    log.close()
    found = opened(disk.crash(), saved=Checkpoints(0, 1, 0), clean=True)
    assert found.log.producers.entries[5].last_sequence == 0


def test_epoch_that_the_batches_belie_is_forgotten(make: Make, disk: CrashFiles) -> None:
    log = make()
    append(log)
    append(log)
    left = disk.crash(None, KILLED)
    left.write_new(f"{FOLDER}/leader-epoch-checkpoint", b"0\n2\n0 0\n7 1\n")
    assert [tuple(each) for each in opened(left).log.epochs.entries] == [(0, 0)]


def test_segment_that_was_half_deleted_is_scanned(make: Make, disk: CrashFiles) -> None:
    log = make()
    log.append_as_leader(client_batch(sender=Sender(1, 0, 0, True)), 0, NOW, VERIFIED)
    log.append_marker(marker(1, commit=False), 0, 0, NOW)
    log.close()
    disk.replace(path(0, ".txnindex"), path(0, ".txnindex.deleted"))
    found = opened(disk, saved=Checkpoints(0, 2, 2), clean=True)
    assert [each.producer_id for each in found.log.segments.active.txn_index.entries()] == [1]
