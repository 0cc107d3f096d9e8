"""Unsigned varints: the lengths, counts, tags and sizes of flexible versions. Short ones are inlined where they stand;
what is here is for the rest."""

from __future__ import annotations

from functools import lru_cache

LONGEST = 5


def read_rest(data: memoryview, position: int, number: int) -> tuple[int, int]:
    """The whole number, whose first byte, `number`, stands before `position`; and the position after it.

    Raises IndexError at the end of the bytes, OverflowError past five of them.
    """
    number &= 0x7F
    for shift in range(7, 7 * LONGEST, 7):
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
    raise OverflowError


def read(data: memoryview, position: int) -> tuple[int, int]:
    """Raises as `read_rest` does."""
    byte = data[position]
    return (byte, position + 1) if byte < 0x80 else read_rest(data, position + 1, byte)


def skip_tags(data: memoryview, position: int, count: int) -> int:
    """The position after a section of tagged fields that nobody here knows; `count` is the first byte of their number.
    Raises as `read_rest` does."""
    if count >= 0x80:
        count, position = read_rest(data, position, count)
    for _ in range(count):
        _, position = read(data, position)
        size, position = read(data, position)
        position += size
        if position > len(data):
            raise IndexError
    return position


@lru_cache(4096)
def write(number: int) -> bytes:
    """The lengths of a response are much alike, so most are found again."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
