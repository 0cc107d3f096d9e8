"""What the offset index and the time index have in common: a file of entries of one width, both of whose fields rise.

An entry is added to a small tail in memory and the tail is written out in pieces, so that most appends touch no file.
Whoever appends asks for room first (`make_room`), while nothing is changed yet: it alone can fail.
The file is neither preallocated nor mapped for writing; its size says how many entries it has, and at rest it is what
Kafka leaves (docs/decisions/0008-index-files.md). Lookups go through a pooled map of the file and through the tail.

Crash story: the file may lack its newest entries, end inside one, or show zeros where the disk came too late. A
segment that was not closed is recovered, and its indexes are made anew; for the others `fault` looks at the two ends.

The surprise: a Kafka that was killed leaves zeros up to the full size of the file. They are no entries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from struct import Struct

    from _typeshed import ReadableBuffer

    from esker.storage.handles import Handles

PIECE = 1024


def count_written(data: ReadableBuffer, width: int) -> int:
    """How many whole entries stand before the zeros of a preallocated file. The first entry may be all zeros."""
    view = memoryview(data).cast("B")
    slots = range(1, len(view) // width)
    return min(len(view) // width, 1 + bisect_left(slots, True, key=lambda at: not any(view[at * width :][:width])))


class Found(NamedTuple):
    """How many entries have at most what was looked for, and the fields of the last of these."""

    up_to: int
    floor: tuple[int, int] | None


class IndexFile:
    """Entries in memory and on disk. `entries` counts both."""

    ENTRY: ClassVar[Struct]

    __slots__ = ("_handles", "_tail", "_written", "base_offset", "capacity", "entries", "path")

    def __init__(self, handles: Handles, path: str, base_offset: int, max_bytes: int) -> None:
        """Opens it: only a look at the file's end. `max_bytes` is `segment.index.bytes`."""
        self._handles = handles
        self.path = path
        self.base_offset = base_offset
        self.capacity = max_bytes // self.ENTRY.size
        self._tail = bytearray()
        self._written = self.entries = self._count()

    def _count(self) -> int:
        size, width = self._handles.files.size(self.path), self.ENTRY.size
        if size < 2 * width or any(self._handles.get(self.path).read(width, size // width * width - width)):
            return size // width
        return count_written(self._handles.map(self.path, size), width)

    @property
    def size(self) -> int:
        """In bytes, once all is written."""
        return self.entries * self.ENTRY.size

    def make_room(self) -> None:
        """Afterwards one entry can be added without touching the file. Raises OSError with nothing changed."""
        if len(self._tail) >= PIECE:
            self.write_out()

    def write_out(self) -> None:
        """A piece that could not be written whole stays in the tail, and is written over next time."""
        if self._tail:
            self._handles.get(self.path).write(self._tail, self._written * self.ENTRY.size)
            self._written = self.entries
            self._tail = bytearray()

    def flush(self) -> None:
        """All entries are durable when this returns."""
        self.write_out()
        self._handles.get(self.path).sync()

    def close(self) -> None:
        """The file at rest: whole entries and nothing else."""
        self.write_out()
        if self._handles.files.size(self.path) != self.size:
            self._cut()

    def _cut(self) -> None:
        file = self._handles.get(self.path)
        self._handles.forget(self.path)  # a map ends where the file did
        file.truncate(self._written * self.ENTRY.size)

    def truncate_entries(self, count: int) -> None:
        """The first `count` entries stay; the file is cut at once, so that nothing stale comes back."""
        if count >= self._written:
            del self._tail[(count - self._written) * self.ENTRY.size :]
            self.entries = min(self.entries, count)
            return
        self._tail = bytearray()
        self._written = self.entries = count
        self._cut()

    def entry(self, slot: int) -> tuple[int, int]:
        """The fields as they stand, the offset relative to the base."""
        width = self.ENTRY.size
        if slot >= self._written:
            first, second = self.ENTRY.unpack_from(self._tail, (slot - self._written) * width)
        else:
            first, second = self.ENTRY.unpack(self._handles.get(self.path).read(width, slot * width))
        return first, second

    def raw(self) -> Iterator[tuple[int, int]]:
        """All entries, the fields as they stand."""
        data = self._handles.get(self.path).read(self._written * self.ENTRY.size, 0)
        yield from self.ENTRY.iter_unpack(data + self._tail)

    def search(self, target: int, field: Struct, at: int = 0) -> Found:
        """Look for `target` in the field that starts `at` bytes into an entry."""
        view: ReadableBuffer = self._tail
        before, count = self._written, self.entries - self._written
        width, unpack = self.ENTRY.size, field.unpack_from
        if before and not (count and unpack(view, at)[0] <= target):
            before, count = 0, before
            view = self._handles.map(self.path, count * width)
        found = bisect_right(range(count), target, key=lambda slot: unpack(view, slot * width + at)[0])
        if not found:
            return Found(before, None)
        first, second = self.ENTRY.unpack_from(view, (found - 1) * width)
        return Found(before + found, (first, second))
