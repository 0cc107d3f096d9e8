"""What a call of a kernel came to, as a value that can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import Corrupt
from esker.base.faults import Finding
from esker.kernel.contract import Binary, BinaryView, Columns, HeaderLists

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer


class Refusal(NamedTuple):
    """A ValueError. Its words are each kernel's own."""


def outcome(call: Callable[[], object]) -> object:
    """The result with its buffers as bytes, the finding of a Corrupt, or a Refusal. Other errors go through."""
    try:
        return as_values(call())
    except Corrupt as error:
        return error.finding
    except ValueError as error:
        if type(error) is not ValueError:  # UnicodeDecodeError and its like were never promised
            raise
        return Refusal()


def said(outcome: object) -> str:
    """The outcome with the names of all its types: a bare 6 is not `Fault.CRC`, nor 1 True."""
    return repr(outcome)


def as_values(result: object) -> object:
    if isinstance(result, Columns):
        return (*result[:3], *map(_column, result[3:]))
    if isinstance(result, bytearray):
        return bytes(result)
    return result


def _column(column: ReadableBuffer | Binary | BinaryView | HeaderLists | None) -> object:
    match column:
        case None:
            return None
        case Binary(validity, nulls, offsets, data):
            return Binary(_bytes(validity), nulls, bytes(offsets), bytes(data))
        case BinaryView(validity, nulls, views, buffers):
            return BinaryView(_bytes(validity), nulls, bytes(views), [bytes(buffer) for buffer in buffers])
        case HeaderLists(offsets, keys, values):
            return HeaderLists(bytes(offsets), _binary(keys), _binary(values))
        case numbers:
            return bytes(numbers)


def _binary(column: Binary) -> Binary:
    return Binary(_bytes(column.validity), column.nulls, bytes(column.offsets), bytes(column.data))


def _bytes(buffer: ReadableBuffer | None) -> bytes | None:
    return None if buffer is None else bytes(buffer)


def finding_of(outcome: object) -> Finding | None:
    return outcome if isinstance(outcome, Finding) else getattr(outcome, "finding", None)
