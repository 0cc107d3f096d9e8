"""The transaction index of a segment: the aborted transactions whose markers stand in it.

An entry is 34 bytes, big-endian: version int16 (0), producer id, first offset, last offset (the marker's), and the
last stable offset as of then, each int64. Entries are in the order of their markers. There is no file until the first
one. Entries are rare: each is written at once and read from the file each time.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from esker.storage.handles import Handles

VERSION = 0
ENTRY = Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """All offsets inclusive but `last_stable`, which is the last stable offset when the marker was written."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable: int


class Overlap(NamedTuple):
    """What a reader must leave out, as far as one segment knows. `closed`: later segments know nothing more."""

    aborted: list[AbortedTransaction]
    closed: bool


def format_entry(entry: AbortedTransaction) -> bytes:
    return ENTRY.pack(VERSION, *entry)


def parse_entries(data: ReadableBuffer, path: str) -> list[AbortedTransaction]:
    """Raises BadFile where an entry is cut off, of an unknown version, or not after the one before."""
    view = memoryview(data).cast("B")
    entries: list[AbortedTransaction] = []
    for position in range(0, len(view), ENTRY.size):
        place = f"byte {position}"
        if position + ENTRY.size > len(view):
            raise BadFile(path, place, f"an entry of {ENTRY.size} bytes", f"{len(view) - position} bytes")
        version, *fields = ENTRY.unpack_from(view, position)
        entry = AbortedTransaction(*fields)
        if version != VERSION:
            raise BadFile(path, place, f"version {VERSION}", str(version))
        if entry.first_offset > entry.last_offset:
            raise BadFile(path, place, "a first offset up to the last one", f"{entry.first_offset}")
        if entries and entry.last_offset <= entries[-1].last_offset:
            raise BadFile(path, place, f"a last offset above {entries[-1].last_offset}", str(entry.last_offset))
        entries.append(entry)
    return entries


class TxnIndex:
    """The file of one segment, there or not."""

    __slots__ = ("_handles", "base_offset", "path")

    def __init__(self, handles: Handles, path: str, base_offset: int) -> None:
        self._handles = handles
        self.path = path
        self.base_offset = base_offset

    @property
    def size(self) -> int:
        """In bytes; 0 without a file."""
        files = self._handles.files
        return files.size(self.path) if files.exists(self.path) else 0

    def entries(self) -> list[AbortedTransaction]:
        """Raises BadFile."""
        if not self._handles.files.exists(self.path):
            return []
        file = self._handles.get(self.path)
        return parse_entries(file.read(file.size(), 0), self.path)

    def append(self, entry: AbortedTransaction) -> None:
        """Markers come in order: an entry that does not is a bug."""
        known = self.entries()
        assert not known or known[-1].last_offset < entry.last_offset, f"{entry} after {known[-1]} in {self.path}"
        self._handles.get(self.path, create=True).write(format_entry(entry), len(known) * ENTRY.size)

    def overlapping(self, fetch_offset: int, end_offset: int) -> Overlap:
        """The transactions that reach into [fetch_offset, end_offset). The first entry whose last stable offset is at
        or past the end closes the search: all later ones began after it."""
        found = []
        for entry in self.entries():
            if entry.last_offset >= fetch_offset and entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable >= end_offset:
                return Overlap(found, True)
        return Overlap(found, False)

    def truncate_to(self, offset: int) -> None:
        """Entries whose marker is at this offset or later go."""
        entries = self.entries()
        kept = sum(entry.last_offset < offset for entry in entries)
        if kept < len(entries):
            self._handles.get(self.path).truncate(kept * ENTRY.size)

    def clear(self) -> None:
        """No entry stays, readable or not."""
        if self.size:
            self._handles.get(self.path).truncate(0)

    def flush(self) -> None:
        if self._handles.files.exists(self.path):
            self._handles.get(self.path).sync()

    def fault(self, end_offset: int | None = None) -> str | None:
        """What is wrong with the file, `end_offset` being the next segment's base, where known."""
        try:
            entries = self.entries()
        except BadFile as error:
            return f"{error.place}: expected {error.expected}, found {error.found}"
        if entries and entries[0].last_offset < self.base_offset:
            return f"its first marker {entries[0].last_offset} is below the segment's base {self.base_offset}"
        if end_offset is not None and entries and entries[-1].last_offset >= end_offset:
            return f"its last marker {entries[-1].last_offset} is not below {end_offset}, where the next segment starts"
        return None
