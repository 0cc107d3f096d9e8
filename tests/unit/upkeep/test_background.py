"""What is done again and again, and when: the clock only goes where the test puts it."""

import errno
from collections.abc import Callable
from threading import Event, Lock

import pytest

from esker.base.config import LogConfig
from esker.kernel.contract import Encoding
from esker.log.log import Log
from esker.rules.layout import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from esker.testing.faults import Failure, FaultyFiles
from esker.testing.files import CrashFiles
from esker.upkeep.background import Background, BackgroundThread, Job, Step, Task
from esker.upkeep.directories import LogDirectories, NoneOnline
from esker.upkeep.flush import FlushQueue
from esker.upkeep.reserve import NAME
from esker.upkeep.settings import TaskSettings
from esker.upkeep.tasks import Tasks
from unit.upkeep.homes import START_MS, Clock, append, loaded, made

HOUR_MS = 3_600_000
SHORT = LogConfig(retention_ms=1000, file_delete_delay_ms=500)


def background(directories: LogDirectories, settings: TaskSettings | None = None) -> Background:
    return Tasks(directories, FlushQueue(), settings).background(START_MS)


def counting(names: list[str]) -> Callable[[str, int], Task]:
    def task(name: str, interval_ms: int) -> Task:
        def steps(now_ms: int) -> list[Step]:
            names.append(name)
            return []

        return Task(name, lambda: interval_ms, steps)

    return task


def test_each_task_runs_by_its_own_interval() -> None:
    names: list[str] = []
    task = counting(names)
    scheduler = Background(loaded(CrashFiles()), [task("often", 10), task("seldom", 25)], 0)
    for now_ms in range(0, 51, 5):
        scheduler.run_due(now_ms)
    assert (names.count("often"), names.count("seldom")) == (6, 3)


def test_a_clock_that_jumps_back_makes_no_task_wait_longer() -> None:
    names: list[str] = []
    scheduler = Background(loaded(CrashFiles()), [counting(names)("t", 100)], 1_000_000)
    scheduler.run_due(1_000_000)
    scheduler.run_due(1_000_060)
    scheduler.run_due(500_000)
    assert scheduler.due_ms == 500_040
    scheduler.run_due(500_040)
    assert names == ["t", "t"]


def test_a_clock_that_jumps_ahead_makes_a_task_run_once() -> None:
    names: list[str] = []
    scheduler = Background(loaded(CrashFiles()), [counting(names)("t", 100)], 0)
    for _ in range(3):
        scheduler.run_due(10**9)
    assert names == ["t"]


def test_old_segments_go_and_their_files_after_the_delay() -> None:
    files = CrashFiles()
    directories = loaded(files, paths=["/a"])
    log = made(directories, "t", SHORT)
    append(log)
    scheduler = background(directories)
    now_ms = START_MS + HOUR_MS
    scheduler.run_due(now_ms)
    assert log.cursors.log_start == 3
    assert "00000000000000000000.log.deleted" in files.names("/a/t-0")
    scheduler.run_due(now_ms + 499)
    assert "00000000000000000000.log.deleted" in files.names("/a/t-0")
    scheduler.run_due(now_ms + 500)
    assert not [name for name in files.names("/a/t-0") if name.endswith(".deleted")]


@pytest.mark.parametrize("config", [SHORT, LogConfig(retention_ms=1000, cleanup_compact=True)])
def test_retention_leaves_held_and_compacted_logs_alone(config: LogConfig) -> None:
    directories = loaded(CrashFiles(), paths=["/a"])
    log = made(directories, "t", config)
    append(log)
    if not config.cleanup_compact:
        key = log.place.topic_partition
        directories.logs[key] = directories.logs[key]._replace(held="nobody knows its settings")
    background(directories).run_due(START_MS + HOUR_MS)
    assert log.cursors.log_start == 0


def test_one_log_that_fails_does_not_keep_retention_from_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = loaded(CrashFiles(), paths=["/a"])
    bad, good = made(directories, "bad", SHORT), made(directories, "good", SHORT)
    for log in (bad, good):
        append(log)
    whole = type(bad).retain

    def retain(log: Log, now_ms: int) -> object:
        assert log is not bad, "a bug"
        return whole(log, now_ms)

    monkeypatch.setattr(type(bad), "retain", retain)
    scheduler = background(directories)
    for hours in (1, 2, 3):
        scheduler.run_due(START_MS + hours * HOUR_MS)
    assert good.cursors.log_start == 3
    assert caplog.text.count("given up task=retention what=/a/bad-0") == 1


def test_checkpoints_are_written_when_they_say_something_new() -> None:
    files = FaultyFiles(CrashFiles())
    directories = loaded(files, paths=["/a"])
    append(made(directories, "t"))
    scheduler = background(directories)
    scheduler.run_due(START_MS + HOUR_MS)
    assert files.read(f"/a/{HIGH_WATERMARKS}") == b"0\n1\nt 0 3\n"
    assert files.read(f"/a/{RECOVERY_POINTS}") == b"0\n1\nt 0 0\n"
    assert not files.exists(f"/a/{LOG_STARTS}"), "there is nothing to say"
    written = files.seen["replace"]
    scheduler.run_due(START_MS + 2 * HOUR_MS)
    assert files.seen["replace"] == written


def test_flush_ms_counts_from_the_last_flush() -> None:
    directories = loaded(CrashFiles(), paths=["/a"])
    log, other = made(directories, "t", LogConfig(flush_ms=5_000)), made(directories, "u")
    scheduler = background(directories)
    now_ms = START_MS + HOUR_MS
    for each in (log, other):
        append(each)
    scheduler.run_due(now_ms)
    scheduler.run_due(now_ms + 4_000)
    assert log.cursors.recovery_point == 0
    scheduler.run_due(now_ms + 5_000)
    assert log.cursors.recovery_point == 3
    append(log)
    scheduler.run_due(now_ms + 9_000)
    assert log.cursors.recovery_point == 3
    scheduler.run_due(now_ms + 10_000)
    assert log.cursors.recovery_point == 6
    assert other.cursors.recovery_point == 0


def test_a_disk_that_fails_under_a_task_takes_its_dir_offline() -> None:
    files = FaultyFiles(CrashFiles())
    directories = loaded(files)
    for name in ("t", "u"):
        append(made(directories, name))
    files.failures.append(Failure("replace", errno.EIO, path="/a/", times=1000))
    background(directories).run_due(START_MS + HOUR_MS)
    assert [each.path for each in directories.online] == ["/b"]
    files.failures.append(Failure("replace", errno.EIO, path="/b/", times=1000))
    append(next(hosted.log for hosted in directories.hosted() if hosted.log_dir.is_online))
    with pytest.raises(NoneOnline):
        background(directories).run_due(START_MS + 2 * HOUR_MS)


def test_silent_producers_are_forgotten() -> None:
    directories = loaded(CrashFiles(), paths=["/a"])
    log = made(directories, "t")
    append(log, encoding=Encoding(producer_id=5, producer_epoch=0, base_sequence=0))
    scheduler = background(directories, TaskSettings(producer_expiration_ms=2 * HOUR_MS))
    scheduler.run_due(START_MS + HOUR_MS)
    assert set(log.producers.entries) == {5}
    scheduler.run_due(START_MS + 2 * HOUR_MS)
    assert not log.producers.entries


def test_the_reserve_lets_checkpoints_be_written_on_a_full_disk() -> None:
    files = CrashFiles()
    directories = loaded(files, paths=["/a"], reserve_bytes=4096)
    log = made(directories, "t")
    append(log)
    assert files.exists(f"/a/{NAME}")
    files.capacity = files.disk.used()
    scheduler = background(directories)
    scheduler.run_due(START_MS + HOUR_MS)
    assert directories.online, "a full disk serves"
    assert files.read(f"/a/{HIGH_WATERMARKS}") == b"0\n1\nt 0 3\n"
    assert not files.exists(f"/a/{NAME}")
    files.capacity = 1 << 30
    scheduler.run_due(START_MS + 2 * HOUR_MS)
    assert files.size(f"/a/{NAME}") == 4096, "freed space is used without a restart"


def test_a_disk_without_any_room_fails_no_dir() -> None:
    files = CrashFiles()
    directories = loaded(files, paths=["/a"], reserve_bytes=0)
    append(made(directories, "t"))
    files.capacity = 0
    background(directories).run_due(START_MS + HOUR_MS)
    assert directories.online


def test_the_thread_does_what_is_due_without_the_owners_lock_for_jobs() -> None:
    directories, owner, clock = loaded(CrashFiles()), Lock(), Clock()
    done, was_free = Event(), []

    def run() -> None:
        was_free.append(owner.acquire(timeout=30))
        owner.release()

    def finish(error: OSError | None) -> None:
        assert owner.locked()
        done.set()

    def steps(now_ms: int) -> list[Step]:
        log_dir = directories.dirs[0]
        return [Step("s", log_dir, lambda _: [Job("j", log_dir, run, finish)])]

    thread = BackgroundThread(Background(directories, [Task("t", lambda: 10, steps)], 0), owner, clock, poll_ms=1)
    assert done.wait(30)
    thread.close()
    assert was_free[0]
    assert thread.failure is None
