"""What may be left after a crash, and what may not: the promises that all crash tests stand on."""

import errno
from collections.abc import Callable

import pytest

from esker.testing.disk import SECTOR
from esker.testing.files import KILLED, SYNCED, CrashFiles

SEEDS = range(300)


def durable(files: CrashFiles, path: str, data: bytes) -> None:
    files.write_new(path, data)
    files.open(path).sync()
    files.sync_folder(path.rpartition("/")[0] or "/")


def left(files: CrashFiles, look: Callable[[CrashFiles], object]) -> set[object]:
    """All that is seen after a power cut, over many seeds."""
    return {look(files.crash(keep=seed)) for seed in SEEDS}


def content(path: str) -> Callable[[CrashFiles], object]:
    return lambda files: files.read(path) if files.exists(path) else None


def names(folder: str) -> Callable[[CrashFiles], object]:
    return lambda files: tuple(sorted(files.names(folder)))


class TestBytes:
    def test_synced_bytes_stay(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"abc")
        assert left(files, content("/a")) == {b"abc"}
        assert files.crash().read("/a") == b"abc"

    def test_unsynced_append_is_there_or_zeros_or_not(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"abc")
        files.open("/a").write(b"def", 3)
        assert left(files, content("/a")) == {b"abcdef", b"abc\0\0\0", b"abc"}
        assert files.crash(keep=SYNCED).read("/a") == b"abc"
        assert files.crash(keep=KILLED).read("/a") == b"abcdef"

    def test_writes_reach_the_disk_in_any_order(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"--")
        file = files.open("/a")
        file.write(b"x", 0)
        file.write(b"y", 1)
        assert left(files, content("/a")) == {b"--", b"x-", b"-y", b"xy"}

    def test_large_write_is_torn_at_sectors(self) -> None:
        files = CrashFiles()
        durable(files, "/a", bytes(3 * SECTOR))
        files.open("/a").write(b"x" * 2 * SECTOR, SECTOR // 2)
        half, whole = SECTOR // 2, SECTOR
        pieces = set()
        for data in left(files, content("/a")):
            assert isinstance(data, bytes)
            parts = data[:half], data[half:whole], data[whole : 2 * whole], data[2 * whole : 2 * whole + half]
            assert [len(set(part)) for part in parts] == [1, 1, 1, 1]
            pieces.add(tuple(part[0] for part in parts[1:]))
        assert len(pieces) == 8

    def test_truncation_may_be_undone(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"abc")
        files.open("/a").truncate(1)
        assert left(files, content("/a")) == {b"abc", b"a"}

    def test_what_was_truncated_may_shine_through_the_next_write(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"abc")
        files.open("/a").truncate(0)
        files.open("/a").write(b"XY", 0)
        assert left(files, content("/a")) == {b"abc", b"", b"XY", b"XYc", b"\0\0"}

    def test_sync_of_one_file_says_nothing_of_another(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"a")
        durable(files, "/b", b"b")
        files.open("/a").write(b"A", 0)
        files.open("/b").sync()
        assert files.crash().read("/a") == b"a"


class TestNames:
    def test_synced_file_without_a_synced_name_may_be_gone(self) -> None:
        files = CrashFiles()
        files.write_new("/a", b"abc")
        files.open("/a").sync()
        assert left(files, content("/a")) == {b"abc", None}
        assert files.crash().names("/") == []

    def test_rename_is_there_whole_or_not_at_all(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"old")
        durable(files, "/b", b"new")
        files.replace("/b", "/a")
        both = left(files, lambda after: (content("/a")(after), content("/b")(after)))
        assert both == {(b"old", b"new"), (b"new", None)}

    def test_removed_file_may_come_back(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"abc")
        files.remove("/a")
        assert left(files, content("/a")) == {b"abc", None}
        files.sync_folder("/")
        assert left(files, content("/a")) == {None}

    @pytest.mark.parametrize(
        ("ordered", "expected"),
        [
            (True, {("a", "b"), ("A", "b"), ("A", "B")}),
            (False, {("a", "b"), ("A", "b"), ("A", "B"), ("B", "a")}),
        ],
    )
    def test_order_of_renames_is_kept_or_not(self, ordered: bool, expected: set[object]) -> None:
        files = CrashFiles(ordered=ordered)
        durable(files, "/a", b"")
        durable(files, "/b", b"")
        files.replace("/a", "/A")
        files.replace("/b", "/B")
        assert left(files, names("/")) == {tuple(sorted(each)) for each in expected}  # type: ignore[call-overload]

    @pytest.mark.parametrize("ordered", [True, False])
    def test_renames_of_one_file_are_never_turned_around(self, ordered: bool) -> None:
        files = CrashFiles(ordered=ordered)
        durable(files, "/a", b"")
        files.replace("/a", "/b")
        files.replace("/b", "/c")
        assert left(files, names("/")) == {("a",), ("b",), ("c",)}

    @pytest.mark.parametrize("ordered", [True, False])
    def test_a_name_is_never_taken_before_it_is_free(self, ordered: bool) -> None:
        files = CrashFiles(ordered=ordered)
        durable(files, "/a", b"1")
        durable(files, "/b", b"2")
        files.replace("/a", "/c")
        files.replace("/b", "/a")
        assert left(files, names("/")) == {("a", "b"), ("b", "c"), ("a", "c")}

    def test_folder_that_is_lost_takes_its_files_along(self) -> None:
        files = CrashFiles(ordered=False)
        files.make_folder("/f")
        files.write_new("/f/a", b"x")
        files.open("/f/a").sync()
        files.sync_folder("/f")
        assert not files.crash().exists("/f")
        files.sync_folder("/")
        assert files.crash().read("/f/a") == b"x"

    def test_ordered_sync_of_a_folder_settles_what_came_before_elsewhere(self) -> None:
        for ordered in (True, False):
            files = CrashFiles(ordered=ordered)
            files.make_folder("/f")
            files.sync_folder("/")
            files.write_new("/a", b"")
            files.write_new("/f/b", b"")
            files.sync_folder("/f")
            assert files.crash().exists("/a") == ordered


class TestReplay:
    def test_crash_before_an_operation_knows_nothing_of_it(self) -> None:
        files = CrashFiles()
        files.write_new("/a", b"1")
        at = len(files.operations)
        files.open("/a").write(b"2", 0)
        assert files.crash(at, KILLED).read("/a") == b"1"
        assert files.crash(at + 1, KILLED).read("/a") == b"2"
        assert files.crash(0, KILLED).names("/") == []

    def test_same_seed_leaves_the_same(self) -> None:
        files = CrashFiles()
        for number in range(20):
            files.write_new(f"/{number}", bytes([number]) * 2000)
        for seed in range(20):
            one, other = files.crash(keep=seed), files.crash(keep=seed)
            assert {name: one.read(f"/{name}") for name in one.names("/")} == {
                name: other.read(f"/{name}") for name in other.names("/")
            }

    def test_crash_leaves_the_original_alone_and_can_be_crashed_again(self) -> None:
        files = CrashFiles()
        durable(files, "/a", b"1")
        after = files.crash()
        after.open("/a").write(b"2", 0)
        assert (files.read("/a"), after.crash().read("/a"), after.crash(keep=KILLED).read("/a")) == (b"1", b"1", b"2")

    def test_operations_say_what_they_did(self) -> None:
        files = CrashFiles()
        files.write_new("/a", b"1")
        files.replace("/a", "/b")
        assert [str(each) for each in files.operations] == ["create /a", "truncate /a", "write /a", "replace /a -> /b"]

    def test_reading_is_no_operation(self) -> None:
        files = CrashFiles()
        files.write_new("/a", b"1")
        before = len(files.operations)
        file = files.open("/a")
        file.close()
        assert (file.read(1, 0), file.size(), bytes(file.map())) == (b"1", 1, b"1")
        assert (files.names("/"), files.exists("/b"), files.size("/a")) == (["a"], False, 1)
        assert len(files.operations) == before


class TestSmallDisk:
    def test_full_disk_takes_what_still_fits(self) -> None:
        files = CrashFiles(capacity=10)
        files.write_new("/a", b"12345678")
        with pytest.raises(OSError, match="No space") as caught:
            files.open("/a").write(b"9012", 8)
        assert (caught.value.errno, caught.value.filename, files.read("/a")) == (errno.ENOSPC, "/a", b"1234567890")

    def test_overwriting_needs_no_room_and_removing_frees_some(self) -> None:
        files = CrashFiles(capacity=10)
        files.write_new("/a", b"1234567890")
        files.open("/a").write(b"x", 0)
        assert files.free_bytes("/") == 0
        files.remove("/a")
        assert files.free_bytes("/") == 10


def test_modification_time_is_the_tests_own() -> None:
    files = CrashFiles()
    files.now_ms = 7
    files.write_new("/a", b"")
    files.now_ms = 9
    assert files.modified_ms("/a") == 7
    files.open("/a").write(b"x", 0)
    assert files.modified_ms("/a") == 9


def test_folder_is_no_file_and_the_other_way_round() -> None:
    files = CrashFiles()
    files.make_folder("/f")
    files.write_new("/a", b"")
    with pytest.raises(IsADirectoryError):
        files.read("/f")
    with pytest.raises(NotADirectoryError):
        files.names("/a")
