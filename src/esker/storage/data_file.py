"""The `.log` file of a segment: batches back to back, appended, walked and handed out as slices.

`size` is where the batches end. The file itself may be longer: zeros up to its preallocated size, or what a failed
write left, which the next one overwrites. Headers are read in windows that grow with the distance walked, and the body
of a batch larger than the window is stepped over, not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import BatchHeader
from esker.kernel.layout import (
    CODEC_BITS,
    HEADER,
    HEADER_SIZE,
    LEGACY_MESSAGE,
    LEGACY_TIMESTAMP,
    LOG_OVERHEAD,
    SMALLEST_SIZE,
    UP_TO_MAGIC,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import ReadableBuffer

    from esker.ports.files import File
    from esker.storage.handles import Handles

MAGIC_AT = UP_TO_MAGIC - 1

FIRST_WINDOW = 4 << 10  # index.interval.bytes: from an index entry on, the batch is seldom farther
LAST_WINDOW = 1 << 20

# How a log may end while it is being written.
QUIET_ENDS = (Fault.PARTIAL, Fault.ZEROS)


Find = Callable[[bytes, int, int], BatchHeader | None]


class Slice(NamedTuple):
    """Bytes of a log, not read yet. Good for as long as it is held, whatever becomes of the segment meanwhile."""

    file: File
    position: int
    size: int

    def read(self) -> bytes:
        return self.file.read(self.size, self.position)


class WriteNotTakenBack(OSError):
    """A write failed half way, and so did cutting off what it left: nothing is known of the file's end."""


def header_at_start(data: bytes, position: int) -> BatchHeader | Fault:
    """The header that `data` begins with; the batch need not be there whole. Its position is said to be `position`."""
    if len(data) < HEADER_SIZE or data[MAGIC_AT] != 2:
        return _other_header(data, position)
    offset, size_field, *rest = HEADER.unpack_from(data)
    if size_field < SMALLEST_SIZE[2]:
        return _other_header(data, position)
    return BatchHeader._make((position, offset, LOG_OVERHEAD + size_field, *rest))


def _other_header(data: bytes, position: int) -> BatchHeader | Fault:
    walk = kernel.walk(data, 0, 1)
    if walk.fault is None:
        return _placed(walk.headers[0], position)
    if walk.fault is not Fault.PARTIAL or len(data) < HEADER_SIZE:
        return walk.fault
    offset, size_field, crc, magic, attributes = LEGACY_MESSAGE.unpack_from(data)
    stamp = LEGACY_TIMESTAMP.unpack_from(data, LEGACY_MESSAGE.size)[0] if magic else -1
    count = -1 if attributes & CODEC_BITS else 1
    size = LOG_OVERHEAD + size_field
    return BatchHeader(position, offset, size, -1, magic, crc, attributes, 0, stamp, stamp, -1, -1, -1, count)


class DataFile:
    """One `.log` file; opened when needed."""

    __slots__ = ("_handles", "path", "size")

    def __init__(self, handles: Handles, path: str, size: int) -> None:
        self._handles = handles
        self.path = path
        self.size = size

    @property
    def file(self) -> File:
        return self._handles.get(self.path)

    def append(self, data: ReadableBuffer, size: int) -> int:
        """Write at the end; answers the position. When it fails the file ends as before, or WriteNotTakenBack."""
        position = self.size
        file = self._handles.get(self.path)
        try:
            file.write(data, position)
        except OSError:
            self._take_back(file)
            raise
        self.size = position + size
        return position

    def _take_back(self, file: File) -> None:
        try:
            if file.size() > self.size:
                file.truncate(self.size)
        except OSError as error:
            raise WriteNotTakenBack(error.errno, error.strerror, self.path) from error

    def cut(self, size: int) -> None:
        """Nothing stays from `size` on, a preallocated tail neither."""
        self.file.truncate(size)
        self.size = size

    def find(self, offset: int, position: int = 0) -> BatchHeader | None:
        """The first batch from `position` on whose last offset is ≥ `offset`. Raises Corrupt."""
        return self._first(position, kernel.find_offset, offset, lambda header: header.last_offset >= offset)

    def find_timestamp(self, timestamp: int, position: int = 0) -> BatchHeader | None:
        """The first batch from `position` on whose largest timestamp is ≥ `timestamp`. Raises Corrupt."""
        return self._first(position, kernel.find_timestamp, timestamp, lambda header: header.max_timestamp >= timestamp)

    def headers(self, position: int = 0) -> Iterator[BatchHeader]:
        """Of each whole batch from `position` on, the positions those in the file. Raises Corrupt."""
        window, file = FIRST_WINDOW, self.file
        while position < self.size:
            data = file.read(min(window, self.size - position), position)
            header = self._header(data, position)
            if header is None:
                return
            yield header
            walk = kernel.walk(data, min(header.size, len(data)))
            yield from (_placed(each, position + each.position) for each in walk.headers)
            position += max(header.size, walk.end)
            window = min(window * 4, LAST_WINDOW)

    def _first(
        self, position: int, find: Find, target: int, is_it: Callable[[BatchHeader], bool]
    ) -> BatchHeader | None:
        """The first header of a window is looked at here: it may be all that the window holds of its batch."""
        window, file = FIRST_WINDOW, self.file
        while position < self.size:
            data = file.read(min(window, self.size - position), position)
            header = self._header(data, position)
            if header is None or is_it(header):
                return header
            step = header.size
            if step < len(data):
                found = _moved(find, (data, target, step), position)
                if found is not None:
                    return found
                step = kernel.walk(data, step).end
            position += step
            window = min(window * 4, LAST_WINDOW)
        return None

    def _header(self, data: bytes, position: int) -> BatchHeader | None:
        """The header at `position`, where `data` begins; None where the log ends."""
        header = header_at_start(data, position)
        if not isinstance(header, BatchHeader):
            if header in QUIET_ENDS:
                return None
            raise Corrupt(Finding(header, position))
        return header if header.end <= self.size else None


def _placed(header: BatchHeader, position: int) -> BatchHeader:
    return BatchHeader._make((position, *header[1:]))


def _moved(find: Find, arguments: tuple[bytes, int, int], position: int) -> BatchHeader | None:
    """What `find` says, as positions of the file and not of the window."""
    try:
        found = find(*arguments)
    except Corrupt as error:
        raise Corrupt(error.finding._replace(position=position + error.finding.position)) from None
    return None if found is None else _placed(found, position + found.position)
