"""The framing that Java's snappy puts around raw blocks. What lacks it is one raw block."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAGIC = b"\x82SNAPPY\x00"
HEADER = MAGIC + Struct(">ii").pack(1, 1)
LENGTH = Struct(">i")
BLOCK_BYTES = 32 << 10


class BadFrame(Exception):
    """The lengths do not add up."""


def frame(plain: bytes, pack: Callable[[bytes], bytes]) -> bytes:
    out = bytearray(HEADER)
    for at in range(0, len(plain), BLOCK_BYTES):
        block = pack(plain[at : at + BLOCK_BYTES])
        out += LENGTH.pack(len(block)) + block
    return bytes(out)


def unframe(packed: bytes, limit: int, unpack: Callable[[memoryview, int], bytes]) -> bytes:
    """`unpack` gets a block and how much more room there is."""
    view = memoryview(packed)
    if not packed.startswith(MAGIC):
        return unpack(view, limit)
    if len(packed) < len(HEADER):
        raise BadFrame
    out = bytearray()
    at = len(HEADER)
    while at < len(packed):
        if len(packed) - at < LENGTH.size:
            raise BadFrame
        (length,) = LENGTH.unpack_from(packed, at)
        at += LENGTH.size
        if not 0 <= length <= len(packed) - at:
            raise BadFrame
        out += unpack(view[at : at + length], limit - len(out))
        at += length
    return bytes(out)
