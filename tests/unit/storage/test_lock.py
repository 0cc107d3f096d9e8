import os
import subprocess
import sys
from pathlib import Path

import pytest

from esker.ports.files import RealFiles
from esker.storage.lock import FolderLock, Locked
from esker.testing.files import CrashFiles

HOLD = """
import sys
from esker.ports.files import RealFiles
from esker.storage.lock import FolderLock
lock = FolderLock(RealFiles(), sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_second_lock_in_this_process_is_refused(tmp_path: Path) -> None:
    lock = FolderLock(RealFiles(), str(tmp_path))
    other = tmp_path.parent / "link"
    other.unlink(missing_ok=True)
    other.symlink_to(tmp_path)
    for path in (tmp_path, other):
        with pytest.raises(Locked, match=f"{path} is in use by this process: only one may work in a log dir"):
            FolderLock(RealFiles(), str(path))
    lock.release()


def test_lock_can_be_taken_again_after_release(tmp_path: Path) -> None:
    lock = FolderLock(RealFiles(), str(tmp_path))
    lock.release()
    assert list(tmp_path.iterdir()) == []
    lock.release()
    FolderLock(RealFiles(), str(tmp_path)).release()


def test_late_release_does_not_end_the_next_lock(tmp_path: Path) -> None:
    first = FolderLock(RealFiles(), str(tmp_path))
    first.release()
    second = FolderLock(RealFiles(), str(tmp_path))
    first.release()
    with pytest.raises(Locked):
        FolderLock(RealFiles(), str(tmp_path))
    second.release()


def test_other_process_is_named_and_its_end_frees_the_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Locked, match=f"{tmp_path} is in use by process {holder.pid}:") as caught:
            FolderLock(RealFiles(), str(tmp_path))
        assert caught.value.pid == holder.pid
        holder.kill()
    assert (tmp_path / ".lock").exists()
    FolderLock(RealFiles(), str(tmp_path)).release()


def test_refused_lock_leaves_that_of_the_holder_alone(tmp_path: Path) -> None:
    lock = FolderLock(RealFiles(), str(tmp_path))
    with pytest.raises(Locked):
        FolderLock(RealFiles(), str(tmp_path))
    ask = f"from esker.ports.files import RealFiles; print(RealFiles().open('{tmp_path}/.lock').lock())"
    asked = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert int(asked.stdout) == os.getpid()
    lock.release()


def test_two_file_systems_do_not_meet() -> None:
    one, other = CrashFiles(), CrashFiles()
    for files in (one, other):
        files.make_folder("/data")
    locks = [FolderLock(one, "/data"), FolderLock(other, "/data")]
    with pytest.raises(Locked):
        FolderLock(one, "/data")
    for lock in locks:
        lock.release()
