"""Kafka's four codecs, by small binary wheels; unpacking is always bounded. Each wheel is imported when it is first
needed."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import UNPACKED_LIMIT
from esker.kernel.layout import LEVELS, Codec
from esker.kernel.reference import xerial
from esker.kernel.reference.walk import bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from _typeshed import ReadableBuffer

    class Stream(Protocol):
        """One compressed stream being unpacked, as zlib, lz4 and zstandard all have it."""

        @property
        def eof(self) -> bool: ...
        @property
        def unused_data(self) -> bytes | None: ...


GZIP_WINDOW = 31
LZ4_MAGIC = bytes.fromhex("04224d18")
LZ4_INDEPENDENT = 0x20
# Kafka's level 9 is its default and means the fast compressor; every other level means the high one.
LZ4_FAST = 9
LZ4_HIGH = (3, 12)
SNAPPY_SIZE_BYTES = 5
# What the wheel says of a zstd frame that does not state the size of its content.
STATES_NO_SIZE = -1


class _Bad(Exception):
    """The bytes are no such stream."""


class _TooLarge(Exception):
    """There is more than the limit."""


def compress(codec: int, data: ReadableBuffer, level: int | None = None) -> bytes:
    if codec not in _PACKERS:
        raise ValueError(f"no codec has the number {codec}")
    levels = LEVELS.get(Codec(codec))
    if level is not None and levels is not None and level not in levels:
        raise ValueError(f"codec {codec} has no level {level}")
    return _PACKERS[codec](bytes(bytes_of(data)), level)


def decompress(codec: int, data: ReadableBuffer, limit: int = UNPACKED_LIMIT) -> bytes:
    packed = bytes(bytes_of(data))
    try:
        unpacker = _UNPACKERS[codec]
    except KeyError:
        raise Corrupt(Finding(Fault.CODEC, 0, -1, 0, codec)) from None
    try:
        return unpacker(packed, limit)
    except _Bad as error:
        raise Corrupt(Finding(Fault.COMPRESSED, 0)) from error
    except _TooLarge:
        raise Corrupt(Finding(Fault.UNPACKED_SIZE, 0, -1, limit)) from None


def _pack_gzip(plain: bytes, level: int | None) -> bytes:
    packer = zlib.compressobj(-1 if level is None else level, wbits=GZIP_WINDOW)
    return packer.compress(plain) + packer.flush()


def _pack_snappy(plain: bytes, _level: int | None) -> bytes:
    from cramjam import snappy

    return xerial.frame(plain, lambda block: bytes(snappy.compress_raw(block)))


def _pack_lz4(plain: bytes, level: int | None) -> bytes:
    from lz4 import frame

    lowest, highest = LZ4_HIGH
    high = 0 if level is None or level == LZ4_FAST else min(max(level, lowest), highest)
    packed: bytes = frame.compress(
        plain, compression_level=high, block_size=frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False
    )
    return packed


def _pack_zstd(plain: bytes, level: int | None) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(3 if level is None else level).compress(plain)


def _unpack_gzip(packed: bytes, limit: int) -> bytes:
    def member(packed: bytes, out: bytearray) -> bytes:
        stream = zlib.decompressobj(GZIP_WINDOW)
        try:
            out += stream.decompress(packed, limit + 1 - len(out))
        except zlib.error as error:
            raise _Bad from error
        return _rest(stream, out, limit)

    return _unpack_all(packed, member)


def _unpack_lz4(packed: bytes, limit: int) -> bytes:
    from lz4 import frame

    # One frame, as Java's reader takes it: no skippable ones before, no blocks that need the one before them. What
    # follows the frame would be lost silently.
    flags = packed[len(LZ4_MAGIC)] if len(packed) > len(LZ4_MAGIC) else 0
    if not packed.startswith(LZ4_MAGIC) or not flags & LZ4_INDEPENDENT:
        raise _Bad
    stream = frame.LZ4FrameDecompressor()
    try:
        out: bytes = stream.decompress(packed, limit + 1)
    except RuntimeError as error:
        raise _Bad from error
    if _rest(stream, out, limit):
        raise _Bad
    return out


def _unpack_zstd(packed: bytes, limit: int) -> bytes:
    import zstandard

    unpacker = zstandard.ZstdDecompressor()

    def frame(packed: bytes, out: bytearray) -> bytes:
        try:
            stated = zstandard.frame_content_size(packed)
            if stated > limit - len(out):
                raise _TooLarge
            stream = unpacker.decompressobj()
            start = len(out)
            # It knows no bound, so it gets a byte at a time: one block more at most.
            for at in range(len(packed)):
                out += stream.decompress(packed[at : at + 1])
                if len(out) > limit or stream.eof:
                    break
        except zstandard.ZstdError as error:
            raise _Bad from error
        _rest(stream, out, limit)
        if stated not in (STATES_NO_SIZE, len(out) - start):
            raise _Bad
        return packed[at + 1 :]

    return _unpack_all(packed, frame)


def _unpack_snappy(packed: bytes, limit: int) -> bytes:
    import cramjam

    def unpack_block(block: memoryview, left: int) -> bytes:
        if _snappy_size(block) > left:
            raise _TooLarge
        try:
            return bytes(cramjam.snappy.decompress_raw(block))
        except cramjam.DecompressionError as error:
            raise _Bad from error

    try:
        return xerial.unframe(packed, limit, unpack_block)
    except xerial.BadFrame as error:
        raise _Bad from error


def _snappy_size(block: memoryview) -> int:
    """What a raw block says of its size: a varint of 32 bits in front."""
    size = 0
    for index, byte in enumerate(block[:SNAPPY_SIZE_BYTES]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80 and size < 1 << 32:
            return size
    raise _Bad


def _unpack_all(packed: bytes, unpack_one: Callable[[bytes, bytearray], bytes]) -> bytes:
    """Streams back to back, at least one. `unpack_one` appends the first and answers what follows it."""
    out = bytearray()
    while True:
        packed = unpack_one(packed, out)
        if not packed:
            return bytes(out)


def _rest(stream: Stream, out: bytes | bytearray, limit: int) -> bytes:
    """What follows the stream, which must be within the limit and at its end."""
    if len(out) > limit:
        raise _TooLarge
    if not stream.eof:
        raise _Bad
    return stream.unused_data or b""


_PACKERS: dict[int, Callable[[bytes, int | None], bytes]] = {
    Codec.NONE: lambda plain, _level: plain,
    Codec.GZIP: _pack_gzip,
    Codec.SNAPPY: _pack_snappy,
    Codec.LZ4: _pack_lz4,
    Codec.ZSTD: _pack_zstd,
}


def _copy(plain: bytes, limit: int) -> bytes:
    if len(plain) > limit:
        raise _TooLarge
    return plain


_UNPACKERS: dict[int, Callable[[bytes, int], bytes]] = {
    Codec.NONE: _copy,
    Codec.GZIP: _unpack_gzip,
    Codec.SNAPPY: _unpack_snappy,
    Codec.LZ4: _unpack_lz4,
    Codec.ZSTD: _unpack_zstd,
}
