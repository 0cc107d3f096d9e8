import errno

import pytest

from esker.ports.files import File
from esker.storage.handles import Handles, Held
from esker.testing.faults import Failure, FaultyFiles
from esker.testing.files import CrashFiles


@pytest.fixture
def files() -> FaultyFiles:
    behind = CrashFiles()
    for name in "abcdefgh":
        behind.write_new(f"/{name}", name.encode())
    return FaultyFiles(behind)


def got(handles: Handles, names: str) -> list[File]:
    return [handles.get(f"/{name}") for name in names]


def test_file_is_opened_once(files: FaultyFiles) -> None:
    handles = Handles(files, 8)
    assert handles.get("/a") is handles.get("/a")
    assert files.seen["open"] == 1


def test_least_recently_used_file_is_dropped(files: FaultyFiles) -> None:
    handles = Handles(files, 4)  # three of them for files, one for a map
    a, b = got(handles, "abcad")[:2]
    assert handles.held == Held(files=3, maps=0)
    assert handles.get("/a") is a
    assert handles.get("/b") is not b


def test_dropped_file_still_reads_for_who_holds_it(files: FaultyFiles) -> None:
    handles = Handles(files, 4)
    held = handles.get("/a")
    got(handles, "bcdefgh")
    handles.clear()
    assert held.read(1, 0) == b"a"


def test_maps_are_kept_apart_and_dropped_alike(files: FaultyFiles) -> None:
    handles = Handles(files, 8)
    first = handles.map("/a", 1)
    assert handles.map("/a", 1) is first
    for name in "bcd":
        handles.map(f"/{name}", 1)
    assert handles.held == Held(files=0, maps=2)
    assert handles.map("/a", 1) is not first
    assert bytes(first) == b"a"


def test_map_that_has_become_too_short_is_made_anew(files: FaultyFiles) -> None:
    handles = Handles(files, 8)
    handles.map("/a", 1)
    handles.get("/a").write(b"bc", 1)
    assert bytes(handles.map("/a", 3)) == b"abc"


def test_forgotten_name_is_opened_anew(files: FaultyFiles) -> None:
    handles = Handles(files, 8)
    handles.get("/a")
    handles.map("/a", 1)
    files.replace("/b", "/a")
    handles.forget("/a")
    assert handles.get("/a").read(1, 0) == b"b"
    assert bytes(handles.map("/a", 1)) == b"b"


def test_when_the_process_is_out_of_handles_half_of_ours_go(files: FaultyFiles) -> None:
    handles = Handles(files, 16)
    got(handles, "abcd")
    handles.map("/e", 1)
    files.failures.append(Failure("open", errno.EMFILE))
    assert handles.get("/f").read(1, 0) == b"f"
    assert handles.held == Held(files=3, maps=0)


def test_being_out_of_handles_is_told_when_none_of_them_are_ours(files: FaultyFiles) -> None:
    files.failures.append(Failure("open", errno.EMFILE))
    with pytest.raises(OSError, match="Too many open files"):
        Handles(files, 16).get("/a")


def test_missing_file_is_created_only_on_demand(files: FaultyFiles) -> None:
    handles = Handles(files, 16)
    with pytest.raises(FileNotFoundError):
        handles.get("/z")
    assert handles.get("/z", create=True).size() == 0
