"""A walk through a whole `.log` file that looks at every byte: how far is it good, and what does it hold?

The file is read in windows into one buffer that is used again, so that the bytes are still near the processor when
they are checked, a file of any size takes the same memory, and one that is cut meanwhile does no harm (a map would).
A batch larger than a window gets the room that it needs, never more than the file has left.

    scan = Scan(file, base_offset)
    for stretch in scan:
        ... stretch.headers ...
    scan.finding

How the end is told: zeros up to the end of the file are the unused part of a preallocated one and no damage
(`finding` None, `end` before them); all else that stands where a batch should begin is in `finding`, a batch that is
cut off too, since only the caller knows whether the log was closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker import kernel
from esker.base.faults import Fault, Finding
from esker.kernel.contract import BatchHeader, Check
from esker.kernel.layout import LOG_OVERHEAD, OFFSET_AND_SIZE, UP_TO_MAGIC
from esker.records import batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import File

WINDOW = 1 << 20


class Stretch(NamedTuple):
    """Some good batches, back to back. Their headers count positions from `position`, where the first one begins in
    the file. `data` holds them, until the next stretch is asked for."""

    position: int
    headers: list[BatchHeader]
    data: memoryview


class Scan:
    """Iterate once; the totals grow meanwhile, and are those of the file afterwards."""

    def __init__(self, file: File, next_offset: int = 0, *, position: int = 0, deep: bool = True) -> None:
        """Offsets must rise from `next_offset` on; `deep` looks into each record, otherwise at checksums alone."""
        self._file = file
        self._deep = deep
        self._size = file.size()
        self.position = position
        self.end = position  # where the good part ends
        self.batches = 0
        self.records = 0
        self.next_offset = next_offset
        self.largest_timestamp = -1
        self.largest_timestamp_offset = -1  # the last offset of the first batch that has it
        self.finding: Finding | None = None
        self.has_zero_tail = False

    def run(self) -> Scan:
        """For who wants the totals alone."""
        for _ in self:
            pass
        return self

    def __iter__(self) -> Iterator[Stretch]:
        window = memoryview(bytearray(min(WINDOW, self._size - self.end)))
        while self.end < self._size:
            data = window[: self._file.read_into(window[: self._size - self.end], self.end)]
            found = batch.check(data, 0, self.next_offset, self._deep)
            if found.batches:
                yield self._taken(found, data[: found.end])
            elif len(window) < (wanted := _size_of_first(data)) <= self._size - self.end:
                window = memoryview(bytearray(wanted))
            else:
                self._ended(found, data)
                return

    def _taken(self, found: Check, data: memoryview) -> Stretch:
        headers = kernel.walk(data).headers
        for header in headers:
            if header.max_timestamp > self.largest_timestamp:
                self.largest_timestamp = header.max_timestamp
                self.largest_timestamp_offset = header.last_offset
        stretch = Stretch(self.end, headers, data)
        self.end += found.end
        self.batches += found.batches
        self.records += found.records
        self.next_offset = found.next_offset
        return stretch

    def _ended(self, found: Check, data: memoryview) -> None:
        """Nothing good stands at `end`."""
        finding = found.finding or Finding(Fault.PARTIAL, 0)  # somebody cut the file meanwhile
        if data and not any(data[:UP_TO_MAGIC]) and self._is_zero_to_the_end():
            self.has_zero_tail = True
        else:
            self.finding = finding._replace(position=self.end + finding.position)

    def _is_zero_to_the_end(self) -> bool:
        window = memoryview(bytearray(min(WINDOW, self._size - self.end)))
        zeros = bytes(len(window))
        position = self.end
        while count := self._file.read_into(window, position):
            if window[:count] != zeros[:count]:
                return False
            position += count
        return True


def _size_of_first(data: memoryview) -> int:
    """As many bytes as the batch at the start of `data` says that it has; 0 where it does not say."""
    if len(data) < LOG_OVERHEAD:
        return 0
    size_field: int = OFFSET_AND_SIZE.unpack_from(data)[1]
    return LOG_OVERHEAD + size_field
