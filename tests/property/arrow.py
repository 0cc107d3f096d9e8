"""A kernel's columns as pyarrow's arrays, and those as records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from esker.kernel.contract import Binary, BinaryView, Columns, HeaderLists
from property.strategies import Decoded

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def arrays(columns: Columns) -> dict[str, Any]:
    """The columns that are there, each held against Arrow's own rules."""
    count = columns.record_count
    built = {
        "offset": _numbers(pa.int64(), columns.offset, count),
        "timestamp": _numbers(pa.int64(), columns.timestamp, count),
        "timestamp_type": _numbers(pa.int32(), columns.timestamp_type, count),
        "key": _values(columns.key, count),
        "value": _values(columns.value, count),
        "headers": _headers(columns.headers, count),
    }
    there = {name: array for name, array in built.items() if array is not None}
    for array in there.values():
        array.validate(full=True)
    return there


def records(columns: Columns) -> list[Decoded]:
    """All six columns as rows."""
    *lists, headers = (array.to_pylist() for array in arrays(columns).values())
    return [Decoded._make(row) for row in zip(*lists, map(_pairs, headers), strict=True)]


def _pairs(headers: list[dict[str, Any]]) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((header["key"], header["value"]) for header in headers)


def _numbers(kind: Any, buffer: ReadableBuffer | None, count: int) -> Any:
    return None if buffer is None else pa.Array.from_buffers(kind, count, [None, pa.py_buffer(buffer)])


def _values(column: Binary | BinaryView | None, count: int) -> Any:
    match column:
        case None:
            return None
        case Binary():
            return _binary(column, count, pa.binary())
        case BinaryView(validity, nulls, views, data):
            buffers = [_bitmap(validity), pa.py_buffer(views), *map(pa.py_buffer, data)]
            return pa.Array.from_buffers(pa.binary_view(), count, buffers, null_count=nulls)


def _binary(column: Binary, count: int, kind: Any) -> Any:
    buffers = [_bitmap(column.validity), pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind, count, buffers, null_count=column.nulls)


def _bitmap(validity: ReadableBuffer | None) -> Any:
    return None if validity is None else pa.py_buffer(validity)


def _headers(column: HeaderLists | None, count: int) -> Any:
    if column is None:
        return None
    flat = len(bytes(column.keys.offsets)) // 4 - 1
    keys, values = _binary(column.keys, flat, pa.string()), _binary(column.values, flat, pa.binary())
    pairs = pa.StructArray.from_arrays([keys, values], ["key", "value"])
    kind = pa.list_(pairs.type)
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(column.offsets)], null_count=0, children=[pairs])
