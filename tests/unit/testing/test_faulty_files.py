import errno

import pytest

from esker.testing.faults import FOREVER, Failure, FaultyFiles
from esker.testing.files import CrashFiles


def faulty(*failures: Failure) -> FaultyFiles:
    behind = CrashFiles()
    behind.write_new("/a", b"abc")
    return FaultyFiles(behind, failures)


def test_without_failures_it_is_the_file_system_behind() -> None:
    files = faulty()
    files.open("/a").write(b"d", 3)
    assert files.behind.read("/a") == files.read("/a") == b"abcd"


def test_the_nth_call_fails_and_the_next_does_not() -> None:
    files = faulty(Failure("sync", errno.EIO, at=1))
    file = files.open("/a")
    file.sync()
    with pytest.raises(OSError, match="Input/output") as caught:
        file.sync()
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, "/a")
    file.sync()


def test_failed_write_has_put_its_first_bytes() -> None:
    files = faulty(Failure("write", errno.ENOSPC, part=2))
    with pytest.raises(OSError, match="No space"):
        files.open("/a").write(b"wxyz", 1)
    assert files.read("/a") == b"awx"


def test_failure_may_last() -> None:
    files = faulty(Failure("replace", errno.EIO, at=1, times=FOREVER))
    files.replace("/a", "/b")
    for _ in range(5):
        with pytest.raises(OSError, match="Input/output"):
            files.replace("/b", "/a")


def test_failure_may_be_of_one_path_alone() -> None:
    files = faulty(Failure("open", errno.EACCES, times=FOREVER, path="secret"))
    files.open("/a")
    with pytest.raises(PermissionError):
        files.open("/secret", create=True)


def test_failed_sync_makes_nothing_durable() -> None:
    files = faulty(Failure("sync", errno.EIO))
    assert isinstance(files.behind, CrashFiles)
    files.behind.sync_folder("/")
    with pytest.raises(OSError, match="Input/output"):
        files.open("/a").sync()
    assert files.behind.crash().read("/a") == b""


def test_calls_are_counted() -> None:
    files = faulty()
    files.open("/a").write(b"x", 0)
    files.write_new("/b", b"y")
    assert (files.seen["open"], files.seen["write"], files.seen["sync"]) == (1, 2, 0)
