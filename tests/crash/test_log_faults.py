"""Each call on a file fails once, while a log is at work: it goes on as if nothing had been asked, or it is out of
service, acknowledges nothing more, and opens again with all that was synced."""

from __future__ import annotations

import errno
from random import Random
from typing import TYPE_CHECKING

import pytest

from esker.base.errors import Rejected, StorageFailed
from esker.records import batch
from esker.rules.cursors import Checkpoints
from esker.testing.faults import Failure, FaultyFiles
from esker.testing.files import KILLED, CrashFiles
from unit.log.kit import (
    NOW,
    VERIFIED,
    Sender,
    check_log,
    client_batch,
    config,
    leader_batch,
    marker,
    new_log,
    reopened,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from esker.log.log import Log

STATES = {"quick": 100, "test": 400, "campaign": 4_000, "night": 40_000}
CONFIG = config(segment_bytes=330, index_interval_bytes=0, retention_ms=100, preallocate=True)
GROWING = ("open", "write", "truncate", "sync", "replace", "sync_folder")  # what a full disk can refuse
OPERATIONS = {errno.ENOSPC: GROWING, errno.EIO: (*GROWING, "remove", "exists", "size", "read")}


def acts(log: Log) -> Iterator[Callable[[], object]]:
    """What a log does in its life, each act good on its own."""
    for step in range(14):
        sender = Sender(1, 0, step, True) if step % 3 else Sender()
        sent = client_batch([b"v" * 20], sender, timestamp=NOW + step)
        yield lambda sent=sent, step=step: log.append_as_leader(sent, step // 4, NOW, VERIFIED)  # type: ignore[misc]
        if step % 4 == 1:
            yield lambda: log.append_marker(marker(1, commit=False), 9, 0, NOW)
        if step % 5 == 2:
            yield lambda: log.append_as_follower(leader_batch(log.cursors.log_end.offset + 3, epoch=9), 9, NOW)
        if step % 3 == 0:
            yield log.flush
        if step == 7:
            yield lambda: log.truncate_to(log.cursors.log_end.offset - 2, NOW)
        if step == 11:
            yield lambda: log.increment_high_watermark(log.cursors.log_end.offset)
            yield lambda: log.retain(NOW + 104)


def batches(log: Log) -> dict[int, bytes]:
    found = {}
    for segment in log.segments:
        for each in batch.batches(segment.file.read(segment.size, 0)):
            found[each.header.last_offset] = bytes(each.bytes)
    return found


def worked(files: FaultyFiles, failures: list[Failure]) -> Log:
    """All of its life, with these failures on the way."""
    log = new_log(files, CONFIG)
    files.seen.clear()
    files.failures = failures
    for act in acts(log):
        before = log.cursors
        try:
            act()
        except Rejected:
            assert log.out_of_service or log.cursors == before
        except StorageFailed:
            assert log.out_of_service
        if log.out_of_service:
            assert log.cursors.recovery_point <= before.log_end.offset
        else:
            failing, files.failures = files.failures, []
            check_log(log)
            files.failures = failing
    files.failures = []
    return log


def after(disk: CrashFiles, log: Log) -> None:
    """It opens, and has what it had, up to what was synced at least."""
    at = log.cursors
    known = {last: data for last, data in batches(log).items() if at.log_start <= last < at.recovery_point}
    left = disk.crash(None, KILLED)
    opened = reopened(left, CONFIG, Checkpoints(at.log_start, 0, at.high_watermark.offset))
    check_log(opened.log)
    assert known.items() <= batches(opened.log).items()


def seen_calls() -> dict[str, int]:
    files = FaultyFiles(CrashFiles())
    worked(files, [])
    return dict(files.seen)


@pytest.mark.parametrize("error", OPERATIONS)
def test_log_survives_a_failure_of_any_call(error: int, profile: str, seed: int) -> None:
    calls = [
        (operation, at)
        for operation, count in seen_calls().items()
        if operation in OPERATIONS[error]
        for at in range(count)
    ]
    chance = Random(f"{seed} {error}")
    chosen = chance.choices(calls, k=STATES[profile] // 2) if len(calls) > STATES[profile] // 2 else calls
    for operation, at in chosen:
        disk = CrashFiles()
        failure = Failure(operation, error, at=at, part=chance.choice([0, 0, 1, 7, 100]))
        try:
            log = worked(FaultyFiles(disk), [failure])
            if log.out_of_service is None:
                check_log(log)
            after(disk, log)
        except (AssertionError, Rejected, OSError) as problem:
            raise AssertionError(f"{failure}, seed={seed}: {problem!r}") from problem


def test_nothing_fails_where_nothing_is_told_to() -> None:
    disk = CrashFiles()
    log = worked(FaultyFiles(disk), [])
    assert log.out_of_service is None
    assert log.cursors.log_start > 0  # something was written, rolled and deleted
    after(disk, log)
