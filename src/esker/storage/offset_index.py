"""The offset index of a segment: from an offset to a position in the log from which to walk.

An entry is 8 bytes: the offset less the segment's base, int32, and the position, int32, big-endian. Kafka 4.x and
Esker write the last offset of a batch and the position of its first byte; Kafka up to 3.9 one entry an append call:
the last offset of all its batches and the position of the first. Both keep the rule that readers need: every batch
before the position ends below the entry's offset. So the batch that holds an offset begins at or after the position
that the greatest entry ≤ that offset has.

It is full with its last slot, and a full one takes nothing more: lookups then walk farther. A segment rolls before.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from esker.kernel.layout import INT32_MAX
from esker.storage.index_file import IndexFile

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENTRY = Struct(">ii")
_pack = _ENTRY.pack
_RELATIVE = Struct(">i")
_POSITION = Struct(">i")


class OffsetEntry(NamedTuple):
    offset: int
    position: int


class OffsetIndex(IndexFile):
    ENTRY = _ENTRY

    __slots__ = ()

    @property
    def is_full(self) -> bool:
        return self.entries >= self.capacity

    @property
    def last(self) -> OffsetEntry | None:
        return self._at(self.entries - 1) if self.entries else None

    def append(self, offset: int, position: int) -> None:
        """After `make_room`. What cannot stand in an entry is left out: see the head of this file."""
        relative = offset - self.base_offset
        if relative <= INT32_MAX and self.entries < self.capacity:
            self._tail += _pack(relative, position)
            self.entries += 1

    def lookup(self, offset: int) -> OffsetEntry:
        """The greatest entry ≤ `offset`, or the segment's beginning."""
        floor = self.search(offset - self.base_offset, _RELATIVE).floor
        return OffsetEntry(self.base_offset + floor[0], floor[1]) if floor else OffsetEntry(self.base_offset, 0)

    def first_from(self, position: int) -> OffsetEntry | None:
        """The first entry whose position is `position` or more."""
        count = self.search(position - 1, _POSITION, 4).up_to
        return self._at(count) if count < self.entries else None

    def truncate_to(self, offset: int) -> None:
        """Entries from this offset on go."""
        self.truncate_entries(self.search(offset - self.base_offset - 1, _RELATIVE).up_to)

    def all(self) -> Iterator[OffsetEntry]:
        return (OffsetEntry(self.base_offset + relative, position) for relative, position in self.raw())

    def fault(self, log_size: int, end_offset: int | None = None) -> str | None:
        """What is implausible about the file as it stands, by a look at its ends. `end_offset` is the next segment's
        base, where known."""
        size = self._handles.files.size(self.path)
        if size % self.ENTRY.size:
            return f"its size of {size} bytes is no multiple of {self.ENTRY.size}"
        last = self.last
        if last is None:
            return None
        if last.offset < self.base_offset or (self.entries > 1 and last.offset <= self._at(0).offset):
            return f"its last offset {last.offset} is below its first one or the segment's base {self.base_offset}"
        if end_offset is not None and last.offset >= end_offset:
            return f"its last offset {last.offset} is not below {end_offset}, where the next segment starts"
        if not 0 <= last.position < log_size:
            return f"its last position {last.position} is outside the log's {log_size} bytes"
        return None

    def _at(self, slot: int) -> OffsetEntry:
        relative, position = self.entry(slot)
        return OffsetEntry(self.base_offset + relative, position)
