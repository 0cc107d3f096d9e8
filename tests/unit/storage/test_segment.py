import errno
import tracemalloc
from random import Random

import pytest

from esker.kernel.layout import CRC_AT
from esker.rules.layout import FileKind, Suffix
from esker.storage.data_file import Slice
from esker.storage.handles import Handles
from esker.storage.segment import Segment, SegmentSettings
from esker.storage.txn_index import AbortedTransaction
from esker.testing.faults import Failure, FaultyFiles
from esker.testing.files import KILLED, CrashFiles
from unit.storage.made import FOLDER, append, fill, made_batch, memory, new_segment, old_segment

DENSE = SegmentSettings(index_interval_bytes=100)
LOG, INDEX, TIMES, TXNS = (
    f"{FOLDER}/00000000000000000000{kind}" for kind in (".log", ".index", ".timeindex", ".txnindex")
)


def contents(files: CrashFiles) -> dict[str, bytes]:
    return {name: files.read(f"{FOLDER}/{name}") for name in sorted(files.names(FOLDER))}


class TestIndexing:
    def test_entry_is_due_after_more_than_the_interval_before_the_batch_is_counted(self) -> None:
        size = len(made_batch(0, [1]).data)
        segment = new_segment(memory(), settings=SegmentSettings(index_interval_bytes=2 * size))
        fill(segment, 8, records=1)
        # bytes since the last entry, before each batch, in batches:  0 1 2 3! 1 2 3! 1
        assert list(segment.offset_index.all()) == [(3, 3 * size), (6, 6 * size)]

    def test_batches_of_one_write_are_indexed_each(self) -> None:
        one, other = new_segment(memory(), settings=DENSE), new_segment(memory(), settings=DENSE)
        made = fill(one, 30)
        other.append_all(b"".join(batch.data for batch in made), [batch.header for batch in made])
        assert list(one.offset_index.all()) == list(other.offset_index.all())
        assert list(one.time_index.all()) == list(other.time_index.all())
        assert other.size == one.size

    def test_time_entry_tells_the_largest_timestamp_so_far(self) -> None:
        segment = new_segment(memory(), settings=SegmentSettings(index_interval_bytes=0))
        for offset, timestamp in enumerate([50, 90, 70, 80, 95]):
            append(segment, made_batch(offset, [timestamp]))
        assert list(segment.time_index.all()) == [(90, 1), (95, 4)]
        assert segment.largest == (95, 4)

    def test_closed_segment_ends_with_its_largest_timestamp(self) -> None:
        files = memory()
        segment = new_segment(files)
        fill(segment, 2)
        segment.close()
        assert (list(segment.time_index.all()), files.size(INDEX)) == ([(1005, 5)], 0)
        assert old_segment(files).largest == (1005, 5)

    def test_segment_without_timestamps_has_no_time_entry(self) -> None:
        files = memory()
        segment = new_segment(files)
        append(segment, made_batch(0, [-1]))
        segment.close()
        assert files.size(TIMES) == 0
        assert old_segment(files).largest.timestamp == -1

    def test_count_starts_again_at_reopening(self) -> None:
        files = memory()
        segment = new_segment(files, settings=DENSE)
        fill(segment, 2)
        segment.close()
        again = old_segment(files, settings=DENSE)
        before = again.offset_index.entries
        append(again, made_batch(6, [2000]))
        assert again.offset_index.entries == before

    def test_full_index_says_so(self) -> None:
        segment = new_segment(memory(), settings=SegmentSettings(index_interval_bytes=0, index_bytes=40))
        fill(segment, 2)
        assert not segment.is_index_full
        fill(segment, 1, first_timestamp=2000)
        assert segment.is_index_full  # the time index has 3 slots, one of which is kept


class TestFinding:
    def test_each_offset_leads_to_its_batch(self, seed: int) -> None:
        segment = new_segment(memory(), settings=DENSE)
        chance = Random(seed)
        at, places = 0, []
        for _ in range(200):
            batch = made_batch(at, [1] * chance.randrange(1, 5), size=chance.randrange(200))
            places.append((batch.header.base_offset, batch.header.last_offset, append(segment, batch)))
            at = batch.header.last_offset + chance.choice([1, 1, 4])
        for offset in range(at):
            first, _, position = (
                next(place for place in places if place[1] >= offset) if offset <= places[-1][1] else (None, None, None)
            )
            header = segment.find(offset)
            assert (header and header.base_offset, header and header.position) == (first, position)

    def test_timestamp_is_found_in_the_record_not_the_batch(self) -> None:
        segment = new_segment(memory(), settings=SegmentSettings(index_interval_bytes=0))
        append(segment, made_batch(0, [10, 30, 20], leader_epoch=4))
        append(segment, made_batch(3, [25, 40], leader_epoch=5))
        found = [segment.find_timestamp(timestamp, 0) for timestamp in (5, 10, 11, 30, 31, 41)]
        assert found == [(0, 10, 4), (0, 10, 4), (1, 30, 4), (1, 30, 4), (4, 40, 5), None]

    def test_timestamp_search_begins_at_the_start_offset(self) -> None:
        segment = new_segment(memory(), settings=SegmentSettings(index_interval_bytes=0))
        append(segment, made_batch(0, [10, 30]))
        append(segment, made_batch(2, [20, 30]))
        assert segment.find_timestamp(20, 2) == (2, 20, 0)
        assert segment.find_timestamp(30, 3) == (3, 30, 0)

    def test_next_offset_follows_the_last_batch(self) -> None:
        files = memory()
        segment = new_segment(files, 70, DENSE)
        assert segment.next_offset() == 70
        fill(segment, 40)
        assert segment.next_offset() == 190

    def test_offset_past_a_position_is_an_upper_bound(self) -> None:
        segment = new_segment(memory(), settings=DENSE)
        made = fill(segment, 40)
        size = len(made[0].data)
        bound = segment.offset_past(10 * size)
        assert bound is not None
        assert bound >= 30
        assert segment.offset_past(40 * size) is None


class TestSlices:
    def test_slice_ends_where_the_log_does(self) -> None:
        segment = new_segment(memory())
        (batch,) = fill(segment, 1)
        assert segment.slice(10, 10**6).read() == batch.data[10:]

    def test_slice_outlives_renaming_and_deletion(self) -> None:
        segment = new_segment(memory())
        (batch,) = fill(segment, 1)
        part: Slice = segment.slice(0, 10**6)
        segment.rename(Suffix.DELETED)
        assert segment.slice(0, 10**6).read() == batch.data
        segment.delete()
        assert part.read() == batch.data


class TestAtRest:
    def test_preallocated_log_is_cut_at_close(self) -> None:
        files = memory()
        segment = new_segment(files, settings=SegmentSettings(preallocated_bytes=10_000))
        assert files.size(LOG) == 10_000
        (batch,) = fill(segment, 1)
        assert files.read(LOG) == batch.data + bytes(10_000 - len(batch.data))
        segment.close()
        assert files.read(LOG) == batch.data

    def test_preallocated_log_without_a_batch_is_cut_to_nothing(self) -> None:
        files = memory()
        new_segment(files, settings=SegmentSettings(preallocated_bytes=10_000)).close()
        assert files.size(LOG) == 0

    def test_closing_an_idle_segment_touches_no_file(self) -> None:
        behind = memory()
        fill(segment := new_segment(behind), 3)
        segment.close()
        files = FaultyFiles(behind)
        idle = Segment.open(Handles(files, 8), FOLDER, 0, SegmentSettings())
        assert idle.find(3) is not None
        files.seen.clear()
        idle.close()
        assert not files.seen

    def test_idle_segment_is_small(self) -> None:
        files = memory()
        fill(segment := new_segment(files), 3)
        segment.close()
        handles, settings = Handles(files, 8), SegmentSettings()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            kept = [Segment.open(handles, FOLDER, 0, settings) for _ in range(200)]
            each = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
        finally:
            tracemalloc.stop()
        assert each < 600

    def test_new_segment_on_bytes_is_a_bug(self) -> None:
        files = memory()
        fill(new_segment(files), 1)
        with pytest.raises(AssertionError):
            new_segment(files)

    def test_new_segment_on_an_empty_one_starts_anew(self) -> None:
        files = memory()
        files.write_new(INDEX, b"left over")
        new_segment(files).close()
        assert contents(files) == dict.fromkeys(contents(files), b"")


class TestFlush:
    def test_flushed_batches_survive_a_power_cut(self) -> None:
        files = memory()
        files.sync_folder("/")
        segment = new_segment(files, settings=DENSE)
        fill(segment, 10)
        segment.flush()
        after = files.crash()
        assert after.read(LOG) == files.read(LOG)
        assert after.size(INDEX) == segment.offset_index.size > 0
        assert after.size(TIMES) == segment.time_index.size > 0

    def test_flush_of_the_log_alone_keeps_its_bytes_and_names(self) -> None:
        files = memory()
        files.sync_folder("/")
        segment = new_segment(files, settings=DENSE)
        fill(segment, 10)
        segment.flush(log_only=True)
        after = files.crash()
        assert (after.read(LOG), after.size(INDEX)) == (files.read(LOG), 0)

    def test_names_are_synced_once(self) -> None:
        files = memory()
        segment = new_segment(files)
        segment.flush()
        segment.flush()
        assert [str(each) for each in files.operations].count(f"sync_folder {FOLDER}") == 1

    def test_transaction_index_is_flushed_with_its_name(self) -> None:
        files = memory()
        files.sync_folder("/")
        segment = new_segment(files)
        segment.flush()
        segment.append_aborted(AbortedTransaction(1, 2, 3, 2))
        segment.flush()
        assert files.crash().size(TXNS) == 34


class TestTruncation:
    def test_batch_that_holds_the_offset_goes_too(self) -> None:
        segment = new_segment(memory(), settings=SegmentSettings(index_interval_bytes=0))
        made = fill(segment, 5)
        gone = segment.truncate_to(7)
        assert gone == 3 * len(made[0].data)
        assert [header.base_offset for header in segment.headers()] == [0, 3]
        assert list(segment.offset_index.all()) == [(5, len(made[0].data))]
        assert segment.largest == (1005, 5)

    def test_offset_behind_the_end_takes_nothing(self) -> None:
        segment = new_segment(memory())
        fill(segment, 2)
        assert segment.truncate_to(6) == 0

    def test_largest_timestamp_is_looked_for_behind_the_last_time_entry(self) -> None:
        segment = new_segment(memory())
        for offset, timestamp in enumerate([10, 90, 50, 99]):
            append(segment, made_batch(offset, [timestamp]))
        segment.truncate_to(3)
        assert segment.largest == (90, 1)

    def test_truncated_segment_is_as_if_nothing_else_was_ever_appended(self, seed: int) -> None:
        """But for the count to the next index entry, which starts again: so every batch has an entry here."""
        chance = Random(seed)
        settings = SegmentSettings(index_interval_bytes=0)
        for _ in range(20):
            once, again = memory(), memory()
            made = fill(segment := new_segment(once, settings=settings), chance.randrange(2, 40))
            kept = chance.randrange(1, len(made))
            segment.truncate_to(made[kept].header.base_offset + chance.randrange(3))
            segment.close()
            short = new_segment(again, settings=settings)
            for batch in made[:kept]:
                append(short, batch)
            short.close()
            assert contents(once) == contents(again)

    def test_markers_that_went_are_forgotten(self) -> None:
        segment = new_segment(memory())
        fill(segment, 3)
        for entry in (AbortedTransaction(1, 0, 2, 0), AbortedTransaction(1, 3, 5, 3)):
            segment.append_aborted(entry)
        segment.truncate_to(4)
        assert segment.txn_index.entries() == [AbortedTransaction(1, 0, 2, 0)]


class TestRecovery:
    def test_rebuilt_indexes_are_those_of_appending(self, seed: int) -> None:
        chance = Random(seed)
        files = memory()
        segment = new_segment(files, settings=SegmentSettings(index_interval_bytes=300))
        for at in range(100):
            append(segment, made_batch(at, [chance.randrange(10**6)], size=chance.randrange(400)))
        segment.close()
        expected = contents(files)
        for path in (INDEX, TIMES):
            files.write_new(path, chance.randbytes(1000))
        recovered(files, segment.settings)
        assert contents(files) == expected

    def test_what_stands_behind_damage_is_there_until_it_is_cut(self) -> None:
        files = memory()
        made = fill(segment := new_segment(files, settings=DENSE), 10)
        segment.close()
        size = len(made[0].data)
        files.open(LOG).write(b"\xff", 4 * size + CRC_AT)
        segment = old_segment(files, settings=DENSE)
        scan = segment.scan()
        seen = [header.base_offset for stretch in segment.recover(scan) for header in stretch.headers]
        assert (seen, scan.end, scan.next_offset, segment.size) == ([0, 3, 6, 9], 4 * size, 12, 10 * size)
        segment.cut(scan.end)
        assert (files.size(LOG), segment.largest, segment.fault()) == (4 * size, (1011, 11), None)

    def test_cut_and_recovered_segment_goes_on(self) -> None:
        files = memory()
        fill(new_segment(files), 3)
        files.open(LOG).write(b"torn", files.size(LOG))
        segment = recovered(files.crash(keep=KILLED), SegmentSettings())
        append(segment, made_batch(9, [2000]))
        assert segment.next_offset() == 10
        assert segment.largest == (2000, 9)

    def test_transaction_index_is_emptied_for_who_follows_the_transactions(self) -> None:
        files = memory()
        segment = new_segment(files)
        fill(segment, 3)
        segment.append_aborted(AbortedTransaction(1, 0, 2, 0))
        assert recovered(files, SegmentSettings()).txn_index.entries() == []


def recovered(files: CrashFiles, settings: SegmentSettings) -> Segment:
    segment = old_segment(files, settings=settings)
    scan = segment.scan()
    for _ in segment.recover(scan):
        pass
    segment.cut(scan.end)
    return segment


class TestPlausible:
    def closed(self) -> CrashFiles:
        files = memory()
        fill(segment := new_segment(files, settings=DENSE), 10)
        segment.close()
        return files

    def test_closed_segment_is_plausible(self) -> None:
        assert old_segment(self.closed()).fault(30) is None

    @pytest.mark.parametrize("path", [INDEX, TIMES])
    def test_missing_index_is_named(self, path: str) -> None:
        files = self.closed()
        files.remove(path)
        assert old_segment(files).fault() == (path, "it is missing")

    @pytest.mark.parametrize("path", [INDEX, TIMES, TXNS])
    def test_bad_index_is_named(self, path: str) -> None:
        files = self.closed()
        files.write_new(path, b"odd")
        fault = old_segment(files).fault()
        assert fault is not None
        assert fault.path == path

    def test_indexes_beyond_the_next_segment_are_implausible(self) -> None:
        assert old_segment(self.closed()).fault(20) is not None


class TestNames:
    def test_all_files_take_the_suffix_and_give_it_back(self) -> None:
        files = memory()
        segment = new_segment(files, 5)
        fill(segment, 3)
        segment.append_aborted(AbortedTransaction(1, 5, 6, 5))
        before = sorted(files.names(FOLDER))
        segment.rename(Suffix.DELETED)
        assert sorted(files.names(FOLDER)) == [name + ".deleted" for name in before]
        segment.rename(Suffix.IN_PLACE)
        assert sorted(files.names(FOLDER)) == before
        assert segment.next_offset() == 14

    def test_the_log_is_renamed_first(self) -> None:
        files = memory()
        new_segment(files).rename(Suffix.SWAP)
        renamed = [each.target for each in files.operations if each.name == "replace"]
        assert [target.partition(" ")[0] for target in renamed] == [LOG, INDEX, TIMES]

    def test_moved_segment_goes_on_in_its_folder(self) -> None:
        files = memory()
        segment = new_segment(files, settings=DENSE)
        fill(segment, 10)
        files.replace(FOLDER, "/other")
        segment.moved("/other")
        append(segment, made_batch(30, [9000]))
        segment.close()
        assert files.size("/other/00000000000000000000.log") == segment.size
        assert segment.find(30) is not None

    def test_deletion_takes_the_files_that_are_there(self) -> None:
        files = memory()
        segment = new_segment(files)
        files.remove(TIMES)
        segment.delete()
        assert files.names(FOLDER) == []
        assert segment.path(FileKind.LOG) == LOG


class TestFailures:
    def faulty(self) -> tuple[FaultyFiles, Segment]:
        files = FaultyFiles(memory())
        segment = Segment.create(Handles(files, 8), FOLDER, 0, SegmentSettings(index_interval_bytes=0))
        return files, segment

    @pytest.mark.parametrize("at", range(11))
    def test_append_that_fails_changes_nothing(self, at: int) -> None:
        """Every write in turn, of the log and of an index's piece."""
        files, segment = self.faulty()
        made = fill(segment, 127)
        files.failures.append(Failure("write", errno.ENOSPC, at=at, part=7))
        for batch in (made_batch(381 + each, [5000 + each]) for each in range(10)):
            before = segment.size, segment.largest, segment.offset_index.entries, segment.time_index.entries
            try:
                append(segment, batch)
            except OSError:
                after = segment.size, segment.largest, segment.offset_index.entries, segment.time_index.entries
                assert after == before
                append(segment, batch)
            made.append(batch)
        segment.close()
        assert segment.next_offset() == 391
        assert list(segment.offset_index.all()) == [
            (header.last_offset, header.position) for header in list(segment.headers())[1:]
        ]

    def test_failed_sync_is_told_and_the_names_wait_for_the_next(self) -> None:
        files, segment = self.faulty()
        fill(segment, 1)
        files.failures.append(Failure("sync", errno.EIO))
        with pytest.raises(OSError, match="Input/output"):
            segment.flush()
        assert files.seen["sync_folder"] == 0
        segment.flush()
        assert files.seen["sync_folder"] == 1
