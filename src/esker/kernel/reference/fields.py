"""Writing fields, with Python's own error for a number that a field cannot hold."""

from __future__ import annotations

import struct


def put(layout: struct.Struct, buffer: memoryview | bytearray, position: int, *fields: int) -> None:
    """Write the fields of the layout at `position`."""
    try:
        layout.pack_into(buffer, position, *fields)
    except struct.error as error:
        raise OverflowError(str(error)) from None
