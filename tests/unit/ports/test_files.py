"""The real file system, and the one in memory that stands for it in other tests: each test runs on both."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from esker.ports.files import Files, RealFiles
from esker.testing.files import CrashFiles


@pytest.fixture(params=["real", "memory"])
def files(request: pytest.FixtureRequest) -> Files:
    return RealFiles() if request.param == "real" else CrashFiles()


@pytest.fixture
def folder(files: Files, tmp_path: Path) -> str:
    files.make_folder(str(tmp_path))
    return str(tmp_path)


def test_file_reads_what_was_written_at_a_position(files: Files, folder: str) -> None:
    file = files.open(f"{folder}/a", create=True)
    file.write(b"abcdef", 0)
    file.write(memoryview(b"XY"), 2)
    assert file.read(3, 1) == b"bXY"
    assert file.read(100, 4) == b"ef"
    assert file.read(100, 6) == b""
    assert file.size() == 6


def test_write_past_the_end_leaves_zeros_between(files: Files, folder: str) -> None:
    file = files.open(f"{folder}/a", create=True)
    file.write(b"x", 3)
    assert file.read(10, 0) == b"\0\0\0x"


def test_read_into_fills_as_much_as_there_is(files: Files, folder: str) -> None:
    file = files.open(f"{folder}/a", create=True)
    file.write(b"abc", 0)
    buffer = bytearray(b"-----")
    assert file.read_into(buffer, 1) == 2
    assert buffer == b"bc---"


def test_truncate_cuts_and_grows_by_zeros(files: Files, folder: str) -> None:
    file = files.open(f"{folder}/a", create=True)
    file.write(b"abc", 0)
    file.truncate(1)
    file.truncate(3)
    assert file.read(10, 0) == b"a\0\0"


def test_map_shows_the_bytes_read_only(files: Files, folder: str) -> None:
    file = files.open(f"{folder}/a", create=True)
    assert len(file.map()) == 0
    file.write(b"abc", 0)
    view = file.map()
    assert bytes(view) == b"abc"
    assert view.readonly


def test_file_that_is_held_outlives_its_name(files: Files, folder: str) -> None:
    files.write_new(f"{folder}/a", b"old")
    file = files.open(f"{folder}/a")
    view = file.map()
    files.write_new(f"{folder}/b", b"new")
    files.replace(f"{folder}/b", f"{folder}/a")
    assert (file.read(9, 0), bytes(view), files.read(f"{folder}/a")) == (b"old", b"old", b"new")
    assert not file.is_named()
    files.remove(f"{folder}/a")
    assert file.read(9, 0) == b"old"


def test_open_file_goes_where_its_name_goes(files: Files, folder: str) -> None:
    file = files.open(f"{folder}/a", create=True)
    files.replace(f"{folder}/a", f"{folder}/b")
    file.write(b"x", 0)
    assert files.read(f"{folder}/b") == b"x"


def test_write_new_leaves_nothing_of_what_was_there(files: Files, folder: str) -> None:
    files.write_new(f"{folder}/a", b"a long one")
    files.write_new(f"{folder}/a", b"short")
    assert files.read(f"{folder}/a") == b"short"


def test_create_keeps_what_is_there(files: Files, folder: str) -> None:
    files.write_new(f"{folder}/a", b"x")
    assert files.open(f"{folder}/a", create=True).size() == 1


def test_folders_are_made_with_their_parents_and_removed_with_all_in_them(files: Files, folder: str) -> None:
    files.make_folder(f"{folder}/a/b")
    files.make_folder(f"{folder}/a/b")
    files.write_new(f"{folder}/a/b/c", b"x")
    assert files.names(f"{folder}/a") == ["b"]
    files.remove_tree(f"{folder}/a")
    assert files.names(folder) == []


def test_renamed_folder_takes_its_files_along(files: Files, folder: str) -> None:
    files.make_folder(f"{folder}/a")
    files.write_new(f"{folder}/a/c", b"x")
    files.replace(f"{folder}/a", f"{folder}/b")
    files.sync_folder(folder)
    assert files.read(f"{folder}/b/c") == b"x"
    assert not files.exists(f"{folder}/a/c")


def test_modification_time_can_be_set(files: Files, folder: str) -> None:
    files.write_new(f"{folder}/a", b"x")
    files.set_modified_ms(f"{folder}/a", 1_700_000_000_123)
    assert files.modified_ms(f"{folder}/a") == 1_700_000_000_123


def test_first_lock_is_taken(files: Files, folder: str) -> None:
    assert files.open(f"{folder}/a", create=True).lock() == 0


def test_there_is_room_on_the_disk(files: Files, folder: str) -> None:
    assert files.free_bytes(folder) > 0


MISSING: dict[str, Callable[[Files, str], object]] = {
    "open": lambda files, path: files.open(path),
    "read": lambda files, path: files.read(path),
    "size": lambda files, path: files.size(path),
    "names": lambda files, path: files.names(path),
    "remove": lambda files, path: files.remove(path),
    "remove_tree": lambda files, path: files.remove_tree(path),
    "replace": lambda files, path: files.replace(path, path + "x"),
    "modified": lambda files, path: files.modified_ms(path),
    "sync_folder": lambda files, path: files.sync_folder(path),
    "create in it": lambda files, path: files.open(f"{path}/b", create=True),
}


@pytest.mark.parametrize("name", MISSING)
def test_error_names_the_path(files: Files, folder: str, name: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        MISSING[name](files, f"{folder}/none")
    assert str(caught.value.filename).startswith(f"{folder}/none")


def test_nothing_exists_below_a_file(files: Files, folder: str) -> None:
    files.write_new(f"{folder}/a", b"")
    assert not files.exists(f"{folder}/a/b")


def test_memory_does_what_the_real_one_does(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    pair: list[Files] = [RealFiles(), CrashFiles()]
    for files in pair:
        files.make_folder(str(tmp_path))
    for _ in range(300):
        act = random_act(chance, str(tmp_path))
        assert outcome(act, pair[0]) == outcome(act, pair[1])


def random_act(chance: Random, folder: str) -> Callable[[Files], object]:
    one, other = (f"{folder}/{chance.choice('abc')}" for _ in range(2))
    position, size, data = chance.randrange(20), chance.randrange(20), chance.randbytes(chance.randrange(1, 20))
    return chance.choice(
        [
            lambda files: files.open(one, create=True).write(data, position),
            lambda files: files.open(one).truncate(size),
            lambda files: files.open(one).read(size, position),
            lambda files: files.write_new(one, data),
            lambda files: files.replace(one, other),
            lambda files: files.remove(one),
            lambda files: (
                sorted(files.names(folder)),
                [(files.size(path), files.exists(path)) for path in (one, other)],
            ),
        ]
    )


def outcome(act: Callable[[Files], object], files: Files) -> object:
    try:
        return act(files)
    except OSError as error:
        return error.errno, error.filename


class TestTheRealOne:
    """What only the operating system does."""

    def test_write_goes_on_where_the_system_stopped(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda fd, data, position: whole(fd, memoryview(data)[:3], position))
        file = RealFiles().open(str(tmp_path / "a"), create=True)
        file.write(b"abcdefgh", 1)
        assert (tmp_path / "a").read_bytes() == b"\0abcdefgh"

    def test_read_goes_on_where_the_system_stopped(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = os.pread
        monkeypatch.setattr(os, "pread", lambda fd, size, position: whole(fd, min(size, 3), position))
        (tmp_path / "a").write_bytes(b"abcdefgh")
        assert RealFiles().open(str(tmp_path / "a")).read(7, 0) == b"abcdefg"

    def test_error_of_a_handle_names_the_path(self, tmp_path: Path) -> None:
        path = str(tmp_path / "a")
        file = RealFiles().open(path, create=True)
        file.close()
        for act in (lambda: file.read(1, 0), lambda: file.write(b"x", 0), file.size, file.map):
            with pytest.raises(OSError, match="Bad file descriptor") as caught:
                act()
            assert caught.value.filename == path

    def test_sync_that_fails_names_the_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def failing(fd: int) -> None:
            raise OSError(errno.EIO, "broken")

        monkeypatch.setattr("esker.ports.files.sync_data", failing)
        file = RealFiles().open(str(tmp_path / "a"), create=True)
        with pytest.raises(OSError, match="broken") as caught:
            file.sync()
        assert caught.value.filename == str(tmp_path / "a")

    def test_handle_closes_when_nobody_holds_the_file(self, tmp_path: Path) -> None:
        file = RealFiles().open(str(tmp_path / "a"), create=True)
        fd = file.fileno()
        del file
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)

    def test_refused_write_access_falls_back_to_reading(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = os.open

        def refusing(path: str, flags: int, mode: int = 0o777) -> int:
            if flags & os.O_RDWR:
                raise PermissionError(errno.EACCES, "refused", path)
            return whole(path, flags, mode)

        monkeypatch.setattr(os, "open", refusing)
        (tmp_path / "a").write_bytes(b"x")
        assert RealFiles().open(str(tmp_path / "a")).read(1, 0) == b"x"
        with pytest.raises(PermissionError):
            RealFiles().open(str(tmp_path / "b"), create=True)

    def test_lock_of_another_process_is_named(self, tmp_path: Path) -> None:
        path = str(tmp_path / "a")
        holder = RealFiles().open(path, create=True)
        assert holder.lock() == 0
        ask = f"from esker.ports.files import RealFiles; print(RealFiles().open({path!r}).lock())"
        asked = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
        assert int(asked.stdout) == os.getpid()

    def test_all_of_them_are_the_same(self) -> None:
        assert RealFiles() == RealFiles()
        assert hash(RealFiles()) == hash(RealFiles())
        assert RealFiles() != CrashFiles()
