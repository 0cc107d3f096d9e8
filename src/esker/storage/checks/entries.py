"""The entries of an index file as a stream, without the zeros of a preallocated tail."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import File

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")
CHUNK = 96 << 10  # whole entries of either kind


class RawEntry(NamedTuple):
    """An entry's place in the file, and its two fields."""

    at: int
    first: int
    second: int


class Entries:
    """Iterate once. Afterwards `end` is where the entries end, and `tail` what stands there: zeros, an entry that is
    cut off, or nothing.

    `grows`: a broker adds entries meanwhile, behind the first zeros there are; and its newest one may be half written,
    so the last one is left out."""

    def __init__(self, file: File, entry: Struct, *, grows: bool = False) -> None:
        self._file = file
        self._entry = entry
        self.grows = grows
        self.size = file.size()
        self.end = 0
        self.has_zeros = False

    @property
    def is_cut(self) -> bool:
        return self.size % self._entry.size != 0

    def __iter__(self) -> Iterator[RawEntry]:
        if not self.grows:
            yield from self._all()
            return
        before = None
        for entry in self._all():
            if before is not None:
                yield before
            before = entry

    def _all(self) -> Iterator[RawEntry]:
        width = self._entry.size
        whole = self.size // width * width
        while self.end < whole:
            data = self._file.read(min(CHUNK, whole - self.end), self.end)
            data = data[: len(data) // width * width]
            if not data:
                return  # somebody cut the file meanwhile
            start = self.end
            for place, (first, second) in enumerate(self._entry.iter_unpack(data)):
                if not (first or second) and (self.grows or self._is_zero_from(start + place * width)):
                    self.has_zeros = True
                    return
                self.end = start + (place + 1) * width
                yield RawEntry(start + place * width, first, second)

    def _is_zero_from(self, position: int) -> bool:
        while position < self.size:
            data = self._file.read(CHUNK, position)
            if not data:
                return True
            if any(data):
                return False
            position += len(data)
        return True


def batch_starts(file: File) -> list[int]:
    """Where the offset index says that batches begin: rising, what does not rise left out."""
    starts: list[int] = []
    for entry in Entries(file, OFFSET_ENTRY):
        if entry.second > (starts[-1] if starts else 0):
            starts.append(entry.second)
    return starts
