"""The time index of a segment: from a timestamp to an offset before which all records are older.

An entry is 12 bytes: the timestamp, int64, and the offset less the segment's base, int32, big-endian. It says that
the largest timestamp so far is this one, in the batch that ends with this offset (older files: the record's own
offset). Both strictly rise. The last entry of a closed segment is its largest timestamp; negative timestamps never
stand here, so an index without entries says nothing.

It is full one slot before its last: that slot is kept for the entry which roll and close add.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from esker.kernel.layout import INT32_MAX
from esker.storage.index_file import IndexFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.storage.handles import Handles

NO_TIMESTAMP = -1

_ENTRY = Struct(">qi")
_pack = _ENTRY.pack
_TIMESTAMP = Struct(">q")
_RELATIVE = Struct(">i")


class TimeEntry(NamedTuple):
    timestamp: int
    offset: int


class TimeIndex(IndexFile):
    ENTRY = _ENTRY

    __slots__ = ("_largest",)

    def __init__(self, handles: Handles, path: str, base_offset: int, max_bytes: int) -> None:
        super().__init__(handles, path, base_offset, max_bytes)
        self._largest: int | None = None  # the last entry's timestamp, once somebody asked

    @property
    def is_full(self) -> bool:
        return self.entries >= self.capacity - 1

    @property
    def last(self) -> TimeEntry:
        """With no entry: no timestamp, at the segment's base."""
        return self._at(self.entries - 1) if self.entries else self._nothing

    def append(self, timestamp: int, offset: int, *, at_close: bool = False) -> None:
        """After `make_room`; only if the timestamp grew. `at_close` may take the last slot."""
        largest = self._largest
        if largest is None:
            largest = self._largest = self.last.timestamp
        relative = offset - self.base_offset
        if timestamp > largest and relative <= INT32_MAX and self.entries < self.capacity - (not at_close):
            self._tail += _pack(timestamp, relative)
            self.entries += 1
            self._largest = timestamp

    def lookup(self, timestamp: int) -> TimeEntry:
        """The greatest entry ≤ `timestamp`; every record before its batch is as old or older."""
        floor = self.search(timestamp, _TIMESTAMP).floor
        return TimeEntry(floor[0], self.base_offset + floor[1]) if floor else self._nothing

    def truncate_to(self, offset: int) -> None:
        """Entries from this offset on go."""
        self.truncate_entries(self.search(offset - self.base_offset - 1, _RELATIVE, 8).up_to)
        self._largest = None

    def all(self) -> Iterator[TimeEntry]:
        return (TimeEntry(timestamp, self.base_offset + relative) for timestamp, relative in self.raw())

    def fault(self, end_offset: int | None = None) -> str | None:
        """What is implausible about the file as it stands, by a look at its ends."""
        size = self._handles.files.size(self.path)
        if size % self.ENTRY.size:
            return f"its size of {size} bytes is no multiple of {self.ENTRY.size}"
        if not self.entries:
            return None
        first, last = self._at(0), self.last
        if last.offset < self.base_offset:
            return f"its last offset {last.offset} is below the segment's base {self.base_offset}"
        if self.entries > 1 and not (first.timestamp < last.timestamp and first.offset < last.offset):
            return f"its last entry {tuple(last)} is not above its first one {tuple(first)}"
        if end_offset is not None and last.offset >= end_offset:
            return f"its last offset {last.offset} is not below {end_offset}, where the next segment starts"
        return None

    @property
    def _nothing(self) -> TimeEntry:
        return TimeEntry(NO_TIMESTAMP, self.base_offset)

    def _at(self, slot: int) -> TimeEntry:
        timestamp, relative = self.entry(slot)
        return TimeEntry(timestamp, self.base_offset + relative)
