"""Zigzag varints as Java reads them: bits beyond 32 or 64 fall off, a sixth or eleventh byte is refused."""

from __future__ import annotations


class BadVarint(Exception):
    """The bytes end inside the number, or it is too long."""


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number at `at`, at most 32 bits, and the place after it."""
    return _read(data, at, 5, 32)


def read_varlong(data: memoryview, at: int) -> tuple[int, int]:
    """The number at `at`, at most 64 bits, and the place after it."""
    return _read(data, at, 10, 64)


def _read(data: memoryview, at: int, longest: int, bits: int) -> tuple[int, int]:
    number = 0
    for index, byte in enumerate(data[at : at + longest]):
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            number &= (1 << bits) - 1
            return (number >> 1) ^ -(number & 1), at + index + 1
    raise BadVarint


def write_varint(number: int) -> bytes:
    """The shortest form; for 32 and 64 bits alike."""
    left = (number << 1) ^ (number >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)
