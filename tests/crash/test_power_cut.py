"""What each flush setting keeps after a kill and after a power cut: the proofs of `docs/durability.md`.

A process's whole life runs on a disk in memory; then it is cut off after each of its operations, with what the disk
had not synced lost, torn or reordered.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest

from esker.base.config import LogConfig
from esker.log.log import Log
from esker.log.reading import Wanted, read
from esker.records.batch import batches
from esker.rules.read import Isolation
from esker.testing.files import KILLED, SYNCED, CrashFiles
from esker.upkeep.directories import LogDirectories
from esker.upkeep.flush import FlushQueue
from esker.upkeep.partitions import delete_log, truncate_to
from esker.upkeep.settings import TaskSettings
from esker.upkeep.tasks import Tasks
from unit.upkeep.homes import START_MS, Clock, append, loaded, made

STATES = {"quick": 60, "test": 300, "campaign": 5_000, "night": 100_000}
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)
APPENDS = 12
RECORDS = 3


class Promise(NamedTuple):
    """From this operation on, these many records of the log are to be there whatever happens."""

    operations: int
    end_offset: int


Life = Callable[[CrashFiles], list[Promise]]


def flush_each(files: CrashFiles) -> list[Promise]:
    """flush.messages=1."""
    directories = loaded(files, paths=["/a"])
    log = made(directories, "t", replace(SMALL, flush_messages=1))
    promises = []
    for _ in range(APPENDS):
        if append(log).flush_due:
            log.flush()
        promises.append(Promise(len(files.operations), log.cursors.log_end.offset))
    return promises


def flush_by_count(files: CrashFiles) -> list[Promise]:
    """flush.messages=8, appends of three: what waits since the last flush is fewer than eight records."""
    log = made(loaded(files, paths=["/a"]), "t", replace(SMALL, flush_messages=8))
    promises = []
    for _ in range(APPENDS):
        if append(log).flush_due:
            log.flush()
        assert log.unflushed_count < 8
        promises.append(Promise(len(files.operations), log.cursors.log_end.offset - log.unflushed_count))
    return promises


def flush_by_time(files: CrashFiles) -> list[Promise]:
    """flush.ms=1000, an append every 400 ms: what is older than the last flush is promised."""
    directories, clock, queue = loaded(files, paths=["/a"]), Clock(), FlushQueue()
    log = made(directories, "t", replace(SMALL, flush_ms=1000))
    background = Tasks(directories, queue, TaskSettings(initial_delay_ms=0)).background(START_MS)
    promises = []
    for _ in range(APPENDS):
        append(log)
        clock.ms += 400
        background.run_due(clock.ms)
        promises.append(Promise(len(files.operations), log.cursors.recovery_point))
    return promises


def no_flush(files: CrashFiles) -> list[Promise]:
    """Neither: the clean close is what promises."""
    directories = loaded(files, paths=["/a"])
    log = made(directories, "t", SMALL)
    for _ in range(APPENDS):
        append(log)
    end_offset = log.cursors.log_end.offset
    directories.close()
    return [Promise(len(files.operations), end_offset)]


def kill_keeps_all(files: CrashFiles) -> list[Promise]:
    """What any append promises where only the process dies."""
    log = made(loaded(files, paths=["/a"]), "t", SMALL)
    promises = []
    for _ in range(APPENDS):
        append(log)
        promises.append(Promise(len(files.operations), log.cursors.log_end.offset))
    return promises


def promised(promises: list[Promise], at: int) -> int:
    return max((each.end_offset for each in promises if each.operations <= at), default=0)


def check(files: CrashFiles, end_offset: int) -> None:
    """At least so many records, none invented, and the log works."""
    directories = loaded(files, paths=["/a"])
    for hosted in directories.hosted():
        log = hosted.log
        at = log.cursors.log_end.offset
        assert end_offset <= at <= APPENDS * RECORDS
        found = offsets(log)
        assert found[:end_offset] == list(range(end_offset))
        assert found == sorted(set(found)), "holes may be where nothing was promised, but no offset twice"
        assert len(found) % RECORDS == 0, "a batch is there whole or not at all"
        append(log)
        log.flush()
    assert directories.logs or not end_offset
    assert directories.not_loaded == []
    directories.close()


def offsets(log: Log) -> list[int]:
    found: list[int] = []
    offset = 0
    while (got := read(log, Wanted(offset, 1 << 20, Isolation.LOG_END))).slice is not None:
        records = [record for each in batches(got.slice.read()) for record in each.records()]
        assert {record.value for record in records} == {b"value"}
        found += [record.offset for record in records]
        offset = found[-1] + 1
    return found


def cut_everywhere(life: Life, keeps: list[str | int], states: int, seed: int) -> None:
    files = CrashFiles()
    promises = life(files)
    chance = random.Random(f"{seed} {life.__name__}")
    every = [(at, keep) for at in range(len(files.operations) + 1) for keep in keeps]
    for at, keep in chance.sample(every, min(states, len(every))):
        try:
            check(files.crash(at, keep), promised(promises, at))
        except BaseException as error:
            error.add_note(f"cut after {at} operations of {len(files.operations)}, keeping {keep}")
            raise


@pytest.mark.parametrize("life", [flush_each, flush_by_count, flush_by_time, no_flush])
def test_what_was_flushed_is_there_after_a_power_cut(life: Life, profile: str, seed: int) -> None:
    states = STATES[profile]
    keeps: list[str | int] = [SYNCED, *range(max(3, states // 200))]
    cut_everywhere(life, keeps, states, seed)


@pytest.mark.parametrize("life", [flush_each, flush_by_count, flush_by_time, no_flush, kill_keeps_all])
def test_all_that_was_appended_is_there_after_a_kill(life: Life, profile: str, seed: int) -> None:
    cut_everywhere(life, [KILLED], STATES[profile], seed)


def test_without_a_flush_a_power_cut_may_take_everything() -> None:
    """The other side of the promise, so that nobody takes it for more than it is."""
    files = CrashFiles()
    log = made(loaded(files, paths=["/a"]), "t")
    append(log)
    after = loaded(files.crash(), paths=["/a"])
    assert [hosted.log.cursors.log_end.offset for hosted in after.hosted()] == [0]


def test_a_truncation_is_not_undone_by_an_old_recovery_point(profile: str, seed: int) -> None:
    """What follows a truncation may be lost, but nothing unsynced is believed because of an older checkpoint."""

    def life(files: CrashFiles) -> list[Promise]:
        directories = loaded(files, paths=["/a"])
        log = made(directories, "t", SMALL)
        for _ in range(APPENDS):
            append(log)
        log.flush()
        directories.checkpoint("recovery-point-offset-checkpoint", directories.dirs[0])
        truncate_to(directories, log, 7)
        promises = [Promise(len(files.operations), 6)]
        for _ in range(4):
            append(log)
        return promises

    cut_everywhere(life, [SYNCED, *range(5)], STATES[profile], seed)


def test_a_deleted_log_does_not_come_back(profile: str, seed: int) -> None:
    files = CrashFiles()
    directories = loaded(files, paths=["/a"])
    append(made(directories, "t"))
    delete_log(directories, next(iter(directories.logs)))
    done = len(files.operations)
    Tasks(directories, FlushQueue()).background(START_MS).run_due(START_MS + 10**9)
    for at in range(done, len(files.operations) + 1):
        for keep in (KILLED, SYNCED, *range(3)):
            after: LogDirectories = loaded(files.crash(at, keep), paths=["/a"])
            assert after.logs == {}
            after.close()
