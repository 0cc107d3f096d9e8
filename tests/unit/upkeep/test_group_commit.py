"""Group commit with threads: appends go on while a sync runs, and share the next one."""

import errno
from threading import Event, Lock, Thread

import pytest

from esker.base.errors import EskerError, Rejected, StorageFailed
from esker.log.log import Log
from esker.testing.faults import Failure, FaultyFile, FaultyFiles
from esker.testing.files import CrashFiles
from esker.upkeep.group_commit import GroupCommit
from unit.upkeep.homes import append, loaded, made


class SlowFile(FaultyFile):
    def sync(self) -> None:
        files = self._files
        assert isinstance(files, SlowFiles)
        if self.path.endswith(".log"):
            files.is_syncing.set()
            assert files.may_sync.wait(30)
        super().sync()


class SlowFiles(FaultyFiles):
    """A sync of a log waits until it may go on."""

    def __init__(self) -> None:
        super().__init__(CrashFiles())
        self.is_syncing = Event()
        self.may_sync = Event()

    def open(self, path: str, *, create: bool = False) -> FaultyFile:
        return SlowFile(self, self.behind.open(path, create=create))


class Appender(Thread):
    def __init__(self, commit: GroupCommit, owner: Lock, log: Log) -> None:
        super().__init__()
        self.commit, self.owner, self.log = commit, owner, log
        self.error: EskerError | None = None
        self.start()

    def run(self) -> None:
        try:
            with self.owner:
                append(self.log)
                self.commit.flush(self.log)
        except EskerError as error:
            self.error = error


def test_many_appends_share_one_sync() -> None:
    files, owner = SlowFiles(), Lock()
    directories = loaded(files, paths=["/a"])
    log = made(directories, "t")
    commit = GroupCommit(directories, owner)
    first = Appender(commit, owner, log)
    assert files.is_syncing.wait(30)
    others = [Appender(commit, owner, log) for _ in range(10)]
    while log.cursors.log_end.offset < 33:
        files.is_syncing.wait(0.001)  # they append although a sync is running
    files.may_sync.set()
    for thread in [first, *others]:
        thread.join()
    assert log.cursors.recovery_point == 33
    assert commit.queue.statistics.times.measured == 2
    assert commit.queue.statistics.tickets == 11
    commit.close()


def test_a_failed_sync_is_told_to_all_and_takes_the_dir_offline() -> None:
    files, owner = FaultyFiles(CrashFiles()), Lock()
    directories = loaded(files)
    log, other = made(directories, "t"), made(directories, "u")
    files.failures.append(Failure("sync", errno.EIO, path="/a/t-0/0000", times=1000))
    commit = GroupCommit(directories, owner)
    failed = Appender(commit, owner, log)
    failed.join()
    assert isinstance(failed.error, StorageFailed)
    again = Appender(commit, owner, log)
    again.join()
    assert isinstance(again.error, Rejected)
    served = Appender(commit, owner, other)
    served.join()
    assert served.error is None
    assert [each.path for each in directories.online] == ["/b"]
    commit.close()


def test_a_flush_that_nobody_waits_for_is_done_before_the_end() -> None:
    owner = Lock()
    directories = loaded(CrashFiles())
    log = made(directories, "t")
    commit = GroupCommit(directories, owner)
    with owner:
        append(log)
        commit.begin(log)
    commit.close()
    assert log.cursors.recovery_point == 3
    with owner, pytest.raises(AssertionError, match="closed"):
        commit.flush(log)
