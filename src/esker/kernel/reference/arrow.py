"""Arrow's buffers of the few array kinds that a record needs."""

from __future__ import annotations

from array import array
from itertools import accumulate, pairwise
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from esker.kernel.contract import Binary, BinaryView, Columns, HeaderLists, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from _typeshed import ReadableBuffer

# A view holds so many bytes itself; of longer ones it holds the first four and where they are.
INLINE_BYTES = 12
INLINE = Struct("=i12s")
POINTER = Struct("=i4sii")


class Place(NamedTuple):
    """Bytes in one of the buffers."""

    buffer: int
    position: int
    size: int


Buffers = tuple[memoryview, bytes]


def int64(numbers: Iterable[int]) -> bytes:
    return array("q", numbers).tobytes()


def int32(numbers: Iterable[int]) -> bytes:
    return array("i", numbers).tobytes()


def binary(places: Sequence[Place | None], buffers: Buffers) -> Binary:
    return _binary([None if place is None else _bytes(place, buffers) for place in places])


def binary_view(places: Sequence[Place | None], buffers: Buffers) -> BinaryView:
    views = b"".join(_view(place, buffers) for place in places)
    return BinaryView(*_validity([place is not None for place in places]), views, list(buffers))


def header_lists(lists: Sequence[Sequence[tuple[Place | None, Place | None]]], buffers: Buffers) -> HeaderLists:
    flat = [header for headers in lists for header in headers]
    names = [_bytes(name, buffers).decode(errors="replace").encode() for name, _ in flat if name is not None]
    values = binary([content for _, content in flat], buffers)
    return HeaderLists(_ends(len(headers) for headers in lists), _binary(names), values)


def _binary(values: Sequence[bytes | None]) -> Binary:
    return Binary(
        *_validity([value is not None for value in values]),
        _ends(len(value or b"") for value in values),
        b"".join(value or b"" for value in values),
    )


def _bytes(place: Place, buffers: Buffers) -> bytes:
    return bytes(buffers[place.buffer][place.position : place.position + place.size])


def _view(place: Place | None, buffers: Buffers) -> bytes:
    if place is None:
        return bytes(INLINE.size)
    content = _bytes(place, buffers)
    if place.size <= INLINE_BYTES:
        return INLINE.pack(place.size, content)
    return POINTER.pack(place.size, content[:4], place.buffer, place.position)


def _ends(sizes: Iterable[int]) -> bytes:
    return int32(accumulate(sizes, initial=0))


def _validity(valid: Sequence[bool]) -> tuple[bytes | None, int]:
    """The bitmap, lowest bit first, and how many are null; no bitmap when none is."""
    nulls = valid.count(False)
    if not nulls:
        return None, 0
    bits = sum(1 << index for index, one in enumerate(valid) if one)
    return bits.to_bytes((len(valid) + 7) // 8, "little"), nulls


def rows_of(columns: Columns) -> Rows:
    """The columns as lists."""
    if columns.timestamp is None:
        raise ValueError("to encode, the timestamp column is needed")
    count = columns.record_count
    return Rows(
        timestamps=_numbers(columns.timestamp, "q", count),
        keys=_values(columns.key, count),
        values=_values(columns.value, count),
        headers=None if columns.headers is None else _headers(columns.headers, count),
        offsets=None if columns.offset is None else _numbers(columns.offset, "q", count),
    )


def _numbers(buffer: ReadableBuffer, kind: str, count: int) -> list[int]:
    numbers = array(kind)
    content = memoryview(buffer).cast("B")
    if not 0 <= count <= len(content) // numbers.itemsize:
        raise ValueError("a column is shorter than the count")
    numbers.frombytes(content[: count * numbers.itemsize])
    return numbers.tolist()


def _values(column: Binary | BinaryView | None, count: int) -> list[bytes | None]:
    if column is None:
        return [None] * count
    if isinstance(column, BinaryView):
        raise ValueError("columns of views cannot be encoded: decode without views")
    data = memoryview(column.data).cast("B")
    spans = _spans(column.offsets, count, len(data))
    bitmap = None if column.validity is None else memoryview(column.validity).cast("B")
    if bitmap is not None and len(bitmap) < (count + 7) // 8:
        raise ValueError("a column is shorter than the count")
    valid = [bitmap is None or bitmap[index >> 3] >> (index & 7) & 1 for index in range(count)]
    return [bytes(data[slice(*span)]) if one else None for span, one in zip(spans, valid, strict=True)]


def _headers(column: HeaderLists, count: int) -> list[list[tuple[bytes, bytes | None]]]:
    flat = len(memoryview(column.keys.offsets).cast("B")) // 4 - 1
    names, contents = _values(column.keys, flat), _values(column.values, flat)
    if None in names:
        raise ValueError("a header without a key cannot be encoded")
    pairs = [(name or b"", content) for name, content in zip(names, contents, strict=True)]
    return [pairs[slice(*span)] for span in _spans(column.offsets, count, flat)]


def _spans(offsets: ReadableBuffer, count: int, size: int) -> list[tuple[int, int]]:
    ends = _numbers(offsets, "i", count + 1)
    spans = list(pairwise(ends))
    if not (ends[0] >= 0 and ends[-1] <= size and all(start <= end for start, end in spans)):
        raise ValueError("a column's offsets do not rise within its data")
    return spans
