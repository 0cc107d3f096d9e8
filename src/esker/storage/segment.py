"""A segment: a `.log` file and its indexes, all named by the base offset.

Opening one touches no file, and an idle one is a few hundred bytes: files are opened by the pool and indexes looked
at when somebody needs them. A segment knows nothing of cursors, epochs or producers; it answers what it was asked.

- Index entries are due after more than `index.interval.bytes` since the last one, *before* the new batch is counted.
  The count starts at 0 again after opening and truncation, so the same batches may have other entries after a restart.
- An append changes nothing when it fails: indexes make room first, then the log is written, then entries are added.
- The time index of a segment at rest ends with its largest timestamp; so nobody has to look for it in the log.

Crash story: bytes and entries may be lost or torn until `flush`; whatever recovery point it was told, the log recovers
the segment in which it lies, and so trusts no index of a segment that was not closed. A roll must not let the recovery
point pass the old segment's end before `flush` has synced its indexes too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from esker.records.batch import Batch
from esker.rules.layout import FileKind, SegmentFile, Suffix
from esker.storage.data_file import DataFile, Slice
from esker.storage.offset_index import OffsetIndex
from esker.storage.scan import Scan
from esker.storage.time_index import NO_TIMESTAMP, TimeEntry, TimeIndex
from esker.storage.txn_index import AbortedTransaction, TxnIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esker.kernel.contract import BatchHeader
    from esker.ports.files import File
    from esker.storage.handles import Handles
    from esker.storage.scan import Stretch

Data = bytes | bytearray | memoryview

# In the order in which a segment's files are renamed: the log decides what it is.
KINDS = (FileKind.LOG, FileKind.INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)


class SegmentSettings(NamedTuple):
    """What of a topic's settings its segments need."""

    index_interval_bytes: int = 4096
    index_bytes: int = 10 << 20  # segment.index.bytes
    preallocated_bytes: int = 0  # segment.bytes where `preallocate` is set


class TimestampedOffset(NamedTuple):
    """A record found by its timestamp."""

    offset: int
    timestamp: int
    leader_epoch: int


class IndexFault(NamedTuple):
    """Why an index is not believed."""

    path: str
    why: str


class Segment:
    """One segment. `base_offset` is its name for life; only its owner changes it."""

    __slots__ = (
        "_at_rest",
        "_handles",
        "_largest_offset",
        "_largest_timestamp",
        "_log",
        "_names_synced",
        "_offset_index",
        "_since_entry",
        "_time_index",
        "base_offset",
        "folder",
        "settings",
        "suffix",
    )

    def __init__(
        self, handles: Handles, folder: str, base_offset: int, settings: SegmentSettings, suffix: Suffix, size: int
    ) -> None:
        self._handles = handles
        self.folder = folder
        self.base_offset = base_offset
        self.settings = settings
        self.suffix = suffix
        self._log = DataFile(handles, self.path(FileKind.LOG), size)
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._largest_timestamp: int | None = None  # not known yet
        self._largest_offset = -1
        self._since_entry = 0
        self._names_synced = True
        self._at_rest = True  # its files have the form in which they rest

    @classmethod
    def create(
        cls,
        handles: Handles,
        folder: str,
        base_offset: int,
        settings: SegmentSettings,
        suffix: Suffix = Suffix.IN_PLACE,
    ) -> Self:
        """A new one, empty; what stands there under its names must be empty too."""
        segment = cls(handles, folder, base_offset, settings, suffix, 0)
        log = handles.get(segment._log.path, create=True)
        assert not log.size(), f"{segment._log.path} is not empty"
        if settings.preallocated_bytes:
            log.truncate(settings.preallocated_bytes)
        for kind in (FileKind.INDEX, FileKind.TIME_INDEX):
            handles.get(segment.path(kind), create=True).truncate(0)
        segment._names_synced = segment._at_rest = False
        segment._largest_timestamp = NO_TIMESTAMP
        return segment

    @classmethod
    def open(
        cls,
        handles: Handles,
        folder: str,
        base_offset: int,
        settings: SegmentSettings,
        suffix: Suffix = Suffix.IN_PLACE,
    ) -> Self:
        """One that is there. Its size is the file's: after a kill, `recover` and `cut` put that right."""
        segment = cls(handles, folder, base_offset, settings, suffix, 0)
        segment._log.size = handles.files.size(segment._log.path)
        return segment

    def path(self, kind: FileKind) -> str:
        return f"{self.folder}/{SegmentFile(self.base_offset, kind, self.suffix).name}"

    @property
    def size(self) -> int:
        """In bytes, of the log."""
        return self._log.size

    @property
    def file(self) -> File:
        """The log, open for as long as the answer is held."""
        return self._log.file

    @property
    def modified_ms(self) -> int:
        return self._handles.files.modified_ms(self._log.path)

    @property
    def offset_index(self) -> OffsetIndex:
        if self._offset_index is None:
            path = self.path(FileKind.INDEX)
            self._offset_index = OffsetIndex(self._handles, path, self.base_offset, self.settings.index_bytes)
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        if self._time_index is None:
            path = self.path(FileKind.TIME_INDEX)
            self._time_index = TimeIndex(self._handles, path, self.base_offset, self.settings.index_bytes)
        return self._time_index

    @property
    def txn_index(self) -> TxnIndex:
        return TxnIndex(self._handles, self.path(FileKind.TXN_INDEX), self.base_offset)

    @property
    def is_index_full(self) -> bool:
        """Then it must roll."""
        return self.offset_index.is_full or self.time_index.is_full

    @property
    def largest(self) -> TimeEntry:
        """The largest timestamp, -1 for none, and the last offset of the first batch that has it."""
        if self._largest_timestamp is None:
            self._largest_timestamp, self._largest_offset = self.time_index.last
        return TimeEntry(self._largest_timestamp, self._largest_offset)

    # Writing.

    def append(self, data: Data, last_offset: int, max_timestamp: int) -> int:
        """One batch; answers its position. OSError: nothing has changed. WriteNotTakenBack: see there."""
        is_due = self._since_entry > self.settings.index_interval_bytes
        if is_due:
            self._make_room()
        size = len(data)
        position = self._log.append(data, size)
        self._count(position, size, last_offset, max_timestamp)
        return position

    def append_all(self, data: Data, headers: Sequence[BatchHeader]) -> int:
        """Batches back to back, which `headers` describe; one write, all of it or nothing."""
        self._make_room()
        position = at = self._log.append(data, len(data))
        for header in headers:
            self._count(at, header.size, header.last_offset, header.max_timestamp)
            at += header.size
        assert at == self.size, f"{at - position} bytes of batches in {len(data)} bytes"
        return position

    def append_aborted(self, entry: AbortedTransaction) -> None:
        """A transaction was aborted by a marker in this segment."""
        index = self.txn_index
        self._names_synced = self._names_synced and index.size > 0
        index.append(entry)

    def _make_room(self) -> None:
        self.offset_index.make_room()
        self.time_index.make_room()

    def _count(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """A batch was written: its timestamp, and its entries if they are due."""
        self._at_rest = False
        largest = self._largest_timestamp
        if largest is None:
            largest = self.largest.timestamp
        if max_timestamp > largest:
            self._largest_timestamp, self._largest_offset = max_timestamp, last_offset
        if self._since_entry > self.settings.index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self._add_time_entry()
            self._since_entry = 0
        self._since_entry += size

    def _add_time_entry(self, *, at_close: bool = False) -> None:
        timestamp, offset = self.largest
        self.time_index.append(timestamp, offset, at_close=at_close)

    def flush(self, *, log_only: bool = False) -> None:
        """All that was appended is durable when this returns. `log_only` leaves the indexes out: enough while the
        segment is active, since it would be recovered. The first flush makes the files' names durable as well.
        Another thread than the owner's may flush the log alone, and an inactive segment as a whole."""
        names_synced, self._names_synced = self._names_synced, True  # what is created meanwhile waits for the next
        try:
            self._log.file.sync()
            if not log_only:
                self.offset_index.flush()
                self.time_index.flush()
                self.txn_index.flush()
            if not names_synced:
                self._handles.files.sync_folder(self.folder)
        except OSError:
            self._names_synced = names_synced
            raise

    def become_inactive(self) -> None:
        """At roll, and before it is closed: the files get the form in which they rest. Nothing is synced. It may be
        appended to afterwards."""
        if self._at_rest:
            return
        self._make_room()
        self._add_time_entry(at_close=True)
        self.offset_index.close()
        self.time_index.close()
        if self._log.file.size() != self.size:
            self._log.cut(self.size)
        self._at_rest = True

    def close(self) -> None:
        self.become_inactive()
        self._let_go()

    # Reading.

    def find(self, offset: int) -> BatchHeader | None:
        """The first batch whose last offset is ≥ `offset`; None: it would be in the next segment. Raises Corrupt."""
        return self._log.find(offset, self.offset_index.lookup(offset).position)

    def slice(self, position: int, size: int) -> Slice:
        """Bytes of the log, at most up to its end, without reading them."""
        return Slice(self._log.file, position, min(size, self.size - position))

    def headers(self, position: int = 0) -> Iterator[BatchHeader]:
        """Of each whole batch from `position` on. Raises Corrupt."""
        return self._log.headers(position)

    def read_batch(self, header: BatchHeader) -> Batch:
        """The bytes of a batch that `find` or `headers` answered; its header's position is then 0."""
        data = self._log.file.read(header.size, header.position)
        return Batch(header._replace(position=0), memoryview(data))

    def next_offset(self) -> int:
        """The offset after its last batch, its base when it has none: a walk from the last index entry on, or from
        the beginning where the index is missing or implausible."""
        end = self.base_offset
        for header in self._log.headers(self._last_indexed_position()):
            end = header.last_offset + 1
        return end

    def _last_indexed_position(self) -> int:
        if not self._handles.files.exists(self.path(FileKind.INDEX)) or self.offset_index.fault(self.size):
            return 0
        last = self.offset_index.last
        return last.position if last else 0

    def offset_past(self, position: int) -> int | None:
        """The first indexed offset whose batch begins at `position` or later: an upper bound for what ends there."""
        entry = self.offset_index.first_from(position)
        return entry.offset if entry else None

    def find_timestamp(self, timestamp: int, start_offset: int) -> TimestampedOffset | None:
        """The first record from `start_offset` on that is as young as this, or younger. Raises Corrupt."""
        entry = self.time_index.lookup(timestamp)
        position = self.offset_index.lookup(max(entry.offset, start_offset)).position
        while (header := self._log.find_timestamp(timestamp, position)) is not None:
            for record in self.read_batch(header).records():
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return TimestampedOffset(record.offset, record.timestamp, header.leader_epoch)
            position = header.end
        return None

    # Cutting and recovering.

    def truncate_to(self, offset: int) -> int:
        """Whole batches go, the one that holds `offset` too; answers how many bytes. The indexes are cut first: one
        that says too little does no harm."""
        header = self.find(offset)
        if header is None:
            return 0
        self._at_rest = False
        first_gone = min(offset, header.base_offset)
        self.offset_index.truncate_to(first_gone)
        self.time_index.truncate_to(first_gone)
        self.txn_index.truncate_to(first_gone)
        gone = self.size - header.position
        self._log.cut(header.position)
        self._since_entry = 0
        self._largest_timestamp, self._largest_offset = self._read_largest()
        return gone

    def _read_largest(self) -> TimeEntry:
        """The last time entry may be older than what was appended after it."""
        largest = self.time_index.last
        for header in self._log.headers(self.offset_index.lookup(largest.offset).position):
            if header.max_timestamp > largest.timestamp:
                largest = TimeEntry(header.max_timestamp, header.last_offset)
        return largest

    def fault(self, end_offset: int | None = None) -> IndexFault | None:
        """A missing or implausible index, by a look at its ends; then the segment is to be recovered. `end_offset` is
        the next segment's base, where known. Opens the indexes for a moment only."""
        files = self._handles.files
        for kind in (FileKind.INDEX, FileKind.TIME_INDEX):
            if not files.exists(self.path(kind)):
                return IndexFault(self.path(kind), "it is missing")
        whys = {
            FileKind.INDEX: self.offset_index.fault(self.size, end_offset),
            FileKind.TIME_INDEX: self.time_index.fault(end_offset),
            FileKind.TXN_INDEX: self.txn_index.fault(end_offset),
        }
        return next((IndexFault(self.path(kind), why) for kind, why in whys.items() if why), None)

    def scan(self, *, deep: bool = True) -> Scan:
        """To look at every byte: offsets must rise from the base on."""
        return Scan(self._log.file, self.base_offset, deep=deep)

    def recover(self, scan: Scan) -> Iterator[Stretch]:
        """Make the indexes anew from what the scan finds good, and hand on what it finds. Then `cut(scan.end)`: what
        stands behind is still there until then, to be set aside. The transaction index is emptied, and filled by who
        follows the transactions, with `append_aborted`."""
        self._forget_indexes()
        for stretch in scan:
            for header in stretch.headers:
                self._make_room()
                position = stretch.position + header.position
                self._count(position, header.size, header.last_offset, header.max_timestamp)
            yield stretch

    def cut(self, size: int) -> None:
        """The log ends here, and rests."""
        self._log.cut(size)
        self.become_inactive()
        self._since_entry = 0

    def _forget_indexes(self) -> None:
        self._offset_index = self._time_index = None
        for kind in (FileKind.INDEX, FileKind.TIME_INDEX):
            self._handles.forget(self.path(kind))
            self._handles.get(self.path(kind), create=True).truncate(0)
        self.txn_index.clear()
        self._names_synced = self._at_rest = False
        self._largest_timestamp, self._largest_offset = NO_TIMESTAMP, -1
        self._since_entry = 0

    # Names.

    def rename(self, suffix: Suffix) -> None:
        """All its files get this suffix, the log first. Slices that are held stay good."""
        files = self._handles.files
        self._write_out()
        for kind in KINDS:
            source = self.path(kind)
            if files.exists(source):
                files.replace(source, f"{self.folder}/{SegmentFile(self.base_offset, kind, suffix).name}")
        self._let_go()
        self.suffix = suffix
        self._log = DataFile(self._handles, self.path(FileKind.LOG), self.size)

    def moved(self, folder: str) -> None:
        """Its folder was renamed."""
        self._write_out()
        self._let_go()
        self.folder = folder
        self._log = DataFile(self._handles, self.path(FileKind.LOG), self.size)

    def delete(self) -> None:
        """Remove its files, those that are there."""
        files = self._handles.files
        self._let_go()
        for kind in KINDS:
            if files.exists(self.path(kind)):
                files.remove(self.path(kind))

    def _write_out(self) -> None:
        for index in (self._offset_index, self._time_index):
            if index is not None:
                index.write_out()

    def _let_go(self) -> None:
        """No handle and no index stays open under the names of now."""
        for kind in KINDS:
            self._handles.forget(self.path(kind))
        self._offset_index = self._time_index = None
