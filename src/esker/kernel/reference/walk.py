"""From header to header, without a look at the records. All three magics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import BatchHeader, Walk
from esker.kernel.layout import (
    CODEC_BITS,
    EPOCH_AND_MAGIC,
    HEADER,
    INT64_MAX,
    LEGACY_MESSAGE,
    LEGACY_TIMESTAMP,
    LOG_OVERHEAD,
    OFFSET_AND_SIZE,
    SMALLEST_SIZE,
    UP_TO_MAGIC,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer


def bytes_of(data: ReadableBuffer) -> memoryview:
    """The buffer as single bytes, not copied."""
    return memoryview(data).cast("B")


def begin(data: memoryview, position: int) -> memoryview:
    """The buffer, once it is known that `position` lies in it."""
    if not 0 <= position <= len(data):
        raise ValueError(f"position {position} is outside the {len(data)} bytes given")
    return data


def header_at(data: memoryview, position: int) -> BatchHeader | Fault:
    """The header of the whole batch at `position`, or why there is none."""
    left = len(data) - position
    if left < LOG_OVERHEAD:
        return Fault.PARTIAL
    # Each field is judged as soon as it is there, as Kafka does it.
    offset, size_field = OFFSET_AND_SIZE.unpack_from(data, position)
    if size_field < SMALLEST_SIZE[0]:
        return Fault.SIZE if any(data[position : position + UP_TO_MAGIC]) else Fault.ZEROS
    if left < UP_TO_MAGIC:
        return Fault.PARTIAL
    leader_epoch, magic = EPOCH_AND_MAGIC.unpack_from(data, position + LOG_OVERHEAD)
    if not 0 <= magic < len(SMALLEST_SIZE):
        return Fault.MAGIC
    if size_field < SMALLEST_SIZE[magic]:
        return Fault.SIZE
    size = LOG_OVERHEAD + size_field
    if size > left:
        return Fault.PARTIAL
    if magic < 2:
        return _legacy_header(data, position, size)
    _, _, _, _, crc, *rest = HEADER.unpack_from(data, position)
    return BatchHeader(position, offset, size, leader_epoch, magic, crc, *rest)


def _legacy_header(data: memoryview, position: int, size: int) -> BatchHeader:
    offset, _, crc, magic, attributes = LEGACY_MESSAGE.unpack_from(data, position)
    timestamp = LEGACY_TIMESTAMP.unpack_from(data, position + LEGACY_MESSAGE.size)[0] if magic else -1
    count = -1 if attributes & CODEC_BITS else 1
    return BatchHeader(position, offset, size, -1, magic, crc, attributes, 0, timestamp, timestamp, -1, -1, -1, count)


def walk(data: ReadableBuffer, position: int = 0, limit: int = INT64_MAX) -> Walk:
    view = begin(bytes_of(data), position)
    headers: list[BatchHeader] = []
    while position < len(view) and len(headers) < limit:
        header = header_at(view, position)
        if isinstance(header, Fault):
            return Walk(headers, position, header)
        headers.append(header)
        position = header.end
    return Walk(headers, position, None)


def find_offset(data: ReadableBuffer, offset: int, position: int = 0) -> BatchHeader | None:
    return _first(data, position, lambda header: header.last_offset >= offset)


def find_timestamp(data: ReadableBuffer, timestamp: int, position: int = 0) -> BatchHeader | None:
    return _first(data, position, lambda header: header.max_timestamp >= timestamp)


def _first(data: ReadableBuffer, position: int, wanted: Callable[[BatchHeader], bool]) -> BatchHeader | None:
    view = begin(bytes_of(data), position)
    while position < len(view):
        header = header_at(view, position)
        if isinstance(header, Fault):
            if header in (Fault.PARTIAL, Fault.ZEROS):
                return None
            raise Corrupt(Finding(header, position))
        if wanted(header):
            return header
        position = header.end
    return None
