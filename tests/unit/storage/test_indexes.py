"""The offset index and the time index; the twin beside both is a list of entries that is looked through."""

import errno
from random import Random

import pytest

from esker.kernel.layout import INT32_MAX
from esker.storage.handles import Handles
from esker.storage.index_file import PIECE, count_written
from esker.storage.offset_index import OffsetEntry, OffsetIndex
from esker.storage.time_index import TimeEntry, TimeIndex
from esker.testing.faults import Failure, FaultyFiles
from esker.testing.files import CrashFiles

BASE = 1000
PATH = "/index"
ROOM = 10 << 20


def offset_index(files: CrashFiles | None = None, max_bytes: int = ROOM) -> OffsetIndex:
    files = files or CrashFiles()
    files.open(PATH, create=True)
    return OffsetIndex(Handles(files, 8), PATH, BASE, max_bytes)


def time_index(files: CrashFiles | None = None, max_bytes: int = ROOM) -> TimeIndex:
    files = files or CrashFiles()
    files.open(PATH, create=True)
    return TimeIndex(Handles(files, 8), PATH, BASE, max_bytes)


def filled(count: int, files: CrashFiles | None = None) -> tuple[OffsetIndex, list[OffsetEntry]]:
    """Every tenth offset, a hundred bytes apart."""
    index = offset_index(files)
    entries = [OffsetEntry(BASE + 9 + 10 * at, 100 * at) for at in range(count)]
    for entry in entries:
        index.make_room()
        index.append(*entry)
    return index, entries


class TestBytes:
    def test_offset_entry_is_relative_offset_and_position(self) -> None:
        files = CrashFiles()
        index = offset_index(files)
        index.append(BASE + 5, 4097)
        index.close()
        assert files.read(PATH).hex(" ", 4) == "00000005 00001001"

    def test_time_entry_is_timestamp_and_relative_offset(self) -> None:
        files = CrashFiles()
        index = time_index(files)
        index.append(1_700_000_000_000, BASE + 5)
        index.close()
        assert files.read(PATH).hex(" ", 4) == "0000018b cfe56800 00000005"

    def test_closed_file_has_whole_entries_and_nothing_else(self) -> None:
        files = CrashFiles()
        files.write_new(PATH, bytes(ROOM))
        index = offset_index(files)
        index.truncate_entries(0)
        index.append(BASE + 5, 1)
        index.close()
        assert len(files.read(PATH)) == 8

    def test_entries_are_written_in_pieces(self) -> None:
        files = CrashFiles()
        index, entries = filled(1000, files)
        writes = [each for each in files.operations if each.name == "write"]
        assert len(writes) == 1000 * 8 // PIECE
        index.close()
        assert list(offset_index(files).all()) == entries


class TestLookup:
    @pytest.mark.parametrize(
        ("offset", "expected"),
        [
            (0, (BASE, 0)),
            (BASE + 8, (BASE, 0)),
            (BASE + 9, (BASE + 9, 0)),
            (BASE + 18, (BASE + 9, 0)),
            (BASE + 19, (BASE + 19, 100)),
            (BASE + 5000, (BASE + 29, 200)),
            (BASE + 2**40, (BASE + 29, 200)),
        ],
    )
    def test_greatest_entry_not_above_it_is_found(self, offset: int, expected: tuple[int, int]) -> None:
        assert filled(3)[0].lookup(offset) == expected

    @pytest.mark.parametrize("count", [0, 1, 2, 127, 128, 129, 1000])
    def test_lookup_in_file_and_tail_is_as_in_a_list(self, count: int, seed: int) -> None:
        index, entries = filled(count)
        chance = Random(seed)
        for offset in [chance.randrange(BASE - 5, BASE + 10 * count + 15) for _ in range(200)]:
            floor = [entry for entry in entries if entry.offset <= offset]
            assert index.lookup(offset) == (floor[-1] if floor else (BASE, 0))
        for position in [chance.randrange(100 * count + 150) for _ in range(100)]:
            later = [entry for entry in entries if entry.position >= position]
            assert index.first_from(position) == (later[0] if later else None)

    @pytest.mark.parametrize("count", [0, 1, 85, 86, 87, 500])
    def test_time_lookup_is_as_in_a_list(self, count: int, seed: int) -> None:
        index = time_index()
        entries = [TimeEntry(1000 + 7 * at, BASE + at) for at in range(count)]
        for entry in entries:
            index.make_room()
            index.append(*entry)
        chance = Random(seed)
        for timestamp in [chance.randrange(900, 1100 + 7 * count) for _ in range(200)]:
            floor = [entry for entry in entries if entry.timestamp <= timestamp]
            assert index.lookup(timestamp) == (floor[-1] if floor else (-1, BASE))

    def test_entries_of_an_append_call_of_several_batches_keep_the_rule(self) -> None:
        """Kafka 3.9: batches 0-4 and 5-9 in one call, at 0 and 50; one entry: last offset, first position."""
        index = offset_index()
        index.append(BASE + 9, 0)
        assert index.lookup(BASE + 9).position == 0
        assert index.lookup(BASE + 7) == (BASE, 0)

    def test_lookup_sees_what_was_written_after_the_file_was_mapped(self) -> None:
        index, _ = filled(200)
        assert index.lookup(BASE + 19).position == 100
        for at in range(200, 400):
            index.make_room()
            index.append(BASE + 9 + 10 * at, 100 * at)
        assert index.lookup(BASE + 10 * 250).position == 24900


class TestFull:
    def test_offset_index_is_full_with_its_last_slot(self) -> None:
        index = offset_index(max_bytes=3 * 8 + 7)
        fullness = []
        for at in range(4):
            fullness.append(index.is_full)
            index.append(BASE + at, at)
        assert fullness == [False, False, False, True]
        assert index.entries == 3

    def test_time_index_is_full_one_slot_earlier_and_keeps_that_for_close(self) -> None:
        index = time_index(max_bytes=3 * 12)
        fullness = []
        for at in range(4):
            fullness.append(index.is_full)
            index.append(1 + at, BASE + at)
        assert fullness == [False, False, True, True]
        index.append(9, BASE + 9, at_close=True)
        assert index.last == (9, BASE + 9)
        index.append(10, BASE + 10, at_close=True)
        assert index.last == (9, BASE + 9)

    def test_offset_too_far_from_the_base_gets_no_entry(self) -> None:
        index, times = offset_index(), time_index()
        index.append(BASE + INT32_MAX + 1, 5)
        times.append(5, BASE + INT32_MAX + 1)
        assert index.entries == times.entries == 0
        index.append(BASE + INT32_MAX, 5)
        assert index.last == (BASE + INT32_MAX, 5)


class TestTimestampsGrow:
    @pytest.mark.parametrize("timestamp", [-1, 0, 99, 100])
    def test_no_entry_for_a_timestamp_that_is_not_larger(self, timestamp: int) -> None:
        index = time_index()
        index.append(100, BASE + 1)
        index.append(timestamp, BASE + 2)
        assert list(index.all()) == [(100, BASE + 1)]

    def test_negative_timestamps_never_come_in(self) -> None:
        index = time_index()
        index.append(-1, BASE + 1)
        assert index.last == (-1, BASE)
        index.append(0, BASE + 2)
        assert index.last == (0, BASE + 2)

    def test_reopened_index_knows_its_largest(self) -> None:
        files = CrashFiles()
        index = time_index(files)
        index.append(100, BASE + 1)
        index.close()
        again = time_index(files)
        again.append(100, BASE + 2)
        assert list(again.all()) == [(100, BASE + 1)]


class TestTruncation:
    @pytest.mark.parametrize("count", [50, 128, 500])
    def test_entries_from_the_offset_on_go(self, count: int, seed: int) -> None:
        chance = Random(seed)
        index, entries = filled(count)
        while entries:
            offset = chance.randrange(BASE, entries[-1].offset + 20)
            index.truncate_to(offset)
            entries = [entry for entry in entries if entry.offset < offset]
            assert list(index.all()) == entries
            assert index.lookup(BASE + 10**6) == (entries[-1] if entries else (BASE, 0))

    def test_truncated_entries_do_not_come_back(self) -> None:
        files = CrashFiles()
        index, entries = filled(300, files)
        index.flush()
        index.truncate_to(entries[10].offset)
        assert list(offset_index(files.crash(keep="killed")).all()) == entries[:10]

    def test_time_index_grows_again_from_what_is_left(self) -> None:
        index = time_index()
        for timestamp, offset in [(10, 1), (20, 2), (30, 3)]:
            index.append(timestamp, BASE + offset)
        index.truncate_to(BASE + 2)
        index.append(15, BASE + 2)
        assert list(index.all()) == [(10, BASE + 1), (15, BASE + 2)]


class TestPlausible:
    def written(self, *entries: tuple[int, int], end: bytes = b"") -> OffsetIndex:
        files = CrashFiles()
        files.write_new(PATH, b"".join(OffsetIndex.ENTRY.pack(*entry) for entry in entries) + end)
        return offset_index(files)

    def times(self, *entries: tuple[int, int], end: bytes = b"") -> TimeIndex:
        files = CrashFiles()
        files.write_new(PATH, b"".join(TimeIndex.ENTRY.pack(*entry) for entry in entries) + end)
        return time_index(files)

    def test_good_ones_have_no_fault(self) -> None:
        assert self.written().fault(0) is None
        assert self.written((9, 0), (19, 100)).fault(101, BASE + 20) is None
        assert self.times().fault() is None
        assert self.times((0, 0)).fault(BASE + 1) is None
        assert self.times((5, 9), (6, 19)).fault(BASE + 20) is None

    @pytest.mark.parametrize(
        ("entries", "end", "expected"),
        [
            ([(9, 0)], b"xyz", "its size of 11 bytes is no multiple of 8"),
            ([(-1, 0)], b"", "its last offset 999 is below"),
            ([(9, 0), (9, 100)], b"", "its last offset 1009 is below its first one or the segment's base 1000"),
            ([(9, 0), (20, 100)], b"", "its last offset 1020 is not below 1020, where the next segment starts"),
            ([(9, 0), (19, 150)], b"", "its last position 150 is outside the log's 150 bytes"),
            ([(9, -1)], b"", "its last position -1 is outside"),
        ],
    )
    def test_implausible_offset_index_says_why(self, entries: list[tuple[int, int]], end: bytes, expected: str) -> None:
        fault = self.written(*entries, end=end).fault(150, BASE + 20)
        assert fault is not None
        assert fault.startswith(expected)

    @pytest.mark.parametrize(
        ("entries", "end", "expected"),
        [
            ([(5, 9)], b"x", "its size of 13 bytes is no multiple of 12"),
            ([(5, -1)], b"", "its last offset 999 is below the segment's base 1000"),
            ([(5, 9), (5, 19)], b"", "its last entry (5, 1019) is not above its first one (5, 1009)"),
            ([(5, 9), (6, 9)], b"", "its last entry (6, 1009) is not above its first one (5, 1009)"),
            ([(5, 9), (6, 20)], b"", "its last offset 1020 is not below 1020, where the next segment starts"),
        ],
    )
    def test_implausible_time_index_says_why(self, entries: list[tuple[int, int]], end: bytes, expected: str) -> None:
        assert self.times(*entries, end=end).fault(BASE + 20) == expected


class TestPreallocatedByKafka:
    """A broker that was killed, or lives, leaves 10 MiB of which the most are zeros."""

    @pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 1023, 1024])
    def test_zeros_are_no_entries(self, count: int) -> None:
        written = b"".join(OffsetIndex.ENTRY.pack(9 + 10 * at, 100 * at) for at in range(count))
        files = CrashFiles()
        files.write_new(PATH, written + bytes(8 * 1024 - len(written)))
        index = offset_index(files)
        expected = max(count, 1)  # the first slot may hold an entry of zeros
        assert index.entries == expected
        assert index.lookup(BASE + 10**6).position == 100 * (expected - 1)

    def test_count_ignores_a_cut_entry(self) -> None:
        assert count_written(b"", 8) == 0
        assert count_written(bytes(7), 8) == 0
        assert count_written(bytes(7) + b"\1" + bytes(7), 8) == 1


class TestFailures:
    def faulty(self, *failures: Failure) -> tuple[FaultyFiles, OffsetIndex]:
        files = FaultyFiles(CrashFiles())
        files.open(PATH, create=True)
        index = OffsetIndex(Handles(files, 8), PATH, BASE, ROOM)
        files.failures.extend(failures)
        return files, index

    def test_piece_that_was_not_written_whole_is_written_again(self) -> None:
        files, index = self.faulty(Failure("write", errno.ENOSPC, part=13))
        for at in range(PIECE // 8):
            index.make_room()
            index.append(BASE + at, at)
        with pytest.raises(OSError, match="No space"):
            index.make_room()
        assert index.entries == PIECE // 8
        index.make_room()
        index.close()
        assert [position for _, position in index.all()] == list(range(PIECE // 8))
        assert files.size(PATH) == PIECE

    def test_what_a_failed_write_left_is_cut_at_close(self) -> None:
        files, index = self.faulty(Failure("write", errno.EIO, part=11))
        for at in range(2):
            index.append(BASE + at, at)
        with pytest.raises(OSError, match="Input/output"):
            index.flush()
        index.truncate_to(BASE + 1)
        index.close()
        assert files.size(PATH) == 8
