"""Rows for `produce_rows`: compressed blocks, whole, odd and broken, as each codec's own format allows."""

import zlib
from typing import NamedTuple

import zstandard
from lz4 import frame

from esker.base.faults import Fault
from esker.base.kafka_errors import ErrorCode
from esker.kernel.layout import Codec
from parity.crafted import around, batch, compressed, field, of_body, record, records, start, varint
from parity.row import Row, Says

SIX = records(6)
FIRST, SECOND = b"".join(SIX[:3]), b"".join(SIX[3:])
LONG = b"".join(record(b"key-%d" % i, bytes(range(256)) * 4, offset=i) for i in range(200))
BROKEN = of_body(start() + field(b"key") + field(b"value") + varint(-1))
RECOMPRESSED = Codec.GZIP  # of the topic of that name
SKIPPABLE = bytes.fromhex("502a4d18") + b"\x03\x00\x00\x00abc"


class After(NamedTuple):
    """Kafka's answers to what stands after a block."""

    byte: Says = None
    zeros: Says = None
    another: Says = None
    uncounted: Says = Fault.COUNT


AFTER = {
    Codec.GZIP: After(),
    Codec.SNAPPY: After(zeros=Fault.COMPRESSED),
    Codec.LZ4: After(another=Fault.RECORD, uncounted=None),
    Codec.ZSTD: After(byte=Fault.COMPRESSED, zeros=Fault.COMPRESSED),
}


def block_row(codec: Codec, name: str, packed: bytes, says: Says = None, count: int = 3) -> Row:
    return Row(f"{codec.name.lower()}, {name}", around(packed, codec, record_count=count), says)


def packed_rows(codec: Codec) -> list[Row]:
    """What any codec may meet."""
    block, long = compressed(codec, FIRST), compressed(codec, LONG)
    return [
        block_row(codec, "good", block),
        block_row(codec, "200 KB", long, count=200),
        block_row(codec, "a block of no bytes", compressed(codec, b""), Fault.COUNT, count=1),
        block_row(codec, "no byte of it", b"", Fault.COUNT if codec == Codec.ZSTD else Fault.COMPRESSED),
        block_row(codec, "cut by a byte", block[:-1], Fault.COMPRESSED),
        block_row(codec, "cut by 9 bytes", block[:-9], Fault.COMPRESSED),
        block_row(codec, "cut after its first byte", block[:1], Fault.COMPRESSED),
        block_row(codec, "200 KB cut in half", long[: len(long) // 2], Fault.COMPRESSED, count=200),
        block_row(codec, "something else", FIRST, Fault.COMPRESSED),
        block_row(codec, "packed twice", compressed(codec, block), Fault.RECORD),
    ]


def streamed_rows(codec: Codec) -> list[Row]:
    """Kafka unpacks no more than it has to: a fault in the records comes first if it stands before the broken place.
    All of it is one block in zstd."""
    long, broken = compressed(codec, LONG), compressed(codec, BROKEN + LONG)
    whole = codec == Codec.ZSTD
    counted, misread = (Fault.COMPRESSED, Fault.COMPRESSED) if whole else (Fault.COUNT, Fault.RECORD)
    return [
        block_row(codec, "200 KB cut in half, counted 1", long[: len(long) // 2], counted, count=1),
        block_row(codec, "cut in half after a broken record", broken[: len(broken) // 2], misread, count=200),
    ]


def rows_with_more(codec: Codec) -> list[Row]:
    """What stands after the block: ignored, read on, or an error."""
    block, second = compressed(codec, FIRST), compressed(codec, SECOND)
    says = AFTER[codec]
    return [
        block_row(codec, "a byte after it", block + b"x", says.byte),
        block_row(codec, "9 zero bytes after it", block + bytes(9), says.zeros),
        block_row(codec, "another after it", block + second, says.another, count=6),
        block_row(codec, "another after it, not counted", block + second, says.uncounted),
    ]


def odd_deltas(codec: Codec) -> list[Row]:
    """Deltas that are not 0, 1, 2, … would have to be written anew, for which Kafka has read too little of a packed
    batch. It has read all of it where the topic has another codec."""
    name = codec.name.lower()
    gap = batch(record(offset=1), record(offset=9), record(offset=4), codec=codec)
    same = batch(record(headers=[(b"h", b"v")]), record(None, None, attributes=9), codec=codec, attributes=64)
    anew = [
        Row(f"{name}, odd deltas, packed anew", gap, None, "recompressed"),
        Row(f"{name}, all deltas 0, packed anew", same, None, "recompressed"),
    ]
    return [
        Row(f"{name}, odd deltas", gap, ErrorCode.UNKNOWN_SERVER_ERROR),
        Row(f"{name}, all deltas 0", same, ErrorCode.UNKNOWN_SERVER_ERROR),
        *(anew if codec != RECOMPRESSED else []),
    ]


def gzip_rows() -> list[Row]:
    block = compressed(Codec.GZIP, FIRST)
    header = b"\x1f\x8b\x08\x1c" + bytes(6) + b"\x04\x00xxxx" + b"name\x00" + b"comment\x00"
    stored = zlib.compressobj(0, wbits=31)
    return [
        block_row(Codec.GZIP, "a wrong checksum", changed(block, -8), Fault.COMPRESSED),
        block_row(Codec.GZIP, "a wrong length", changed(block, -4), Fault.COMPRESSED),
        block_row(Codec.GZIP, "no trailer", block[:-8], Fault.COMPRESSED),
        block_row(Codec.GZIP, "extra, name and comment", header + block[10:]),
        block_row(Codec.GZIP, "stored", stored.compress(FIRST) + stored.flush()),
        block_row(Codec.GZIP, "an empty one first", compressed(Codec.GZIP, b"") + block),
        block_row(Codec.GZIP, "zlib's own format", zlib.compress(FIRST), Fault.COMPRESSED),
        block_row(Codec.GZIP, "another method", block[:2] + b"\x07" + block[3:], Fault.COMPRESSED),
        block_row(Codec.GZIP, "a broken second one", block + changed(block, -8), Fault.COUNT),
    ]


def snappy_rows() -> list[Row]:
    """A framed block: a header of 16 bytes, then pieces, each behind its size."""
    block = compressed(Codec.SNAPPY, FIRST)
    header, piece = block[:16], block[20:]
    size = len(piece).to_bytes(4, "big")
    return [
        block_row(Codec.SNAPPY, "not framed", piece),
        block_row(Codec.SNAPPY, "version 9", header[:8] + b"\x00\x00\x00\x09" + block[12:]),
        block_row(Codec.SNAPPY, "compatible with version 9", header[:12] + b"\x00\x00\x00\x09" + block[16:]),
        block_row(Codec.SNAPPY, "another first byte", changed(block, 0), Fault.COMPRESSED),
        block_row(Codec.SNAPPY, "a header alone", header, Fault.COUNT),
        block_row(Codec.SNAPPY, "an empty piece first", header + bytes(4) + size + piece, Fault.COMPRESSED),
        block_row(Codec.SNAPPY, "a size of -1", header + b"\xff" * 4 + piece, Fault.COMPRESSED),
        block_row(Codec.SNAPPY, "a size one too large", header + bytes_of(len(piece) + 1) + piece, Fault.COMPRESSED),
        block_row(Codec.SNAPPY, "a size one too small", header + bytes_of(len(piece) - 1) + piece, Fault.COMPRESSED),
        block_row(Codec.SNAPPY, "an unpacked length too large", header + size + changed(piece, 0), Fault.COMPRESSED),
        block_row(Codec.SNAPPY, "another piece", block + piece_of(SECOND), count=6),
    ]


def lz4_rows() -> list[Row]:
    block = compressed(Codec.LZ4, FIRST)
    summed = frame.compress(FIRST, content_checksum=True, block_linked=False, store_size=False)
    guarded = frame.compress(FIRST, block_checksum=True, block_linked=False, store_size=False)
    sized = frame.compress(FIRST, block_linked=False, store_size=True)
    linked = frame.compress(LONG, block_linked=True, store_size=False)
    return [
        block_row(Codec.LZ4, "a content checksum", summed),
        block_row(Codec.LZ4, "a wrong content checksum", changed(summed, -1)),
        block_row(Codec.LZ4, "block checksums", guarded),
        block_row(Codec.LZ4, "a wrong block checksum", changed(guarded, -5), Fault.COMPRESSED),
        block_row(Codec.LZ4, "its content's size", sized),
        block_row(Codec.LZ4, "linked blocks", linked, Fault.COMPRESSED, count=200),
        block_row(Codec.LZ4, "a wrong header checksum", changed(block, 6), Fault.COMPRESSED),
        block_row(Codec.LZ4, "another magic", changed(block, 0), Fault.COMPRESSED),
        block_row(Codec.LZ4, "no end mark", block[:-4], Fault.COMPRESSED),
        block_row(Codec.LZ4, "a skippable frame first", SKIPPABLE + block, Fault.COMPRESSED),
        block_row(Codec.LZ4, "a skippable frame after it", block + SKIPPABLE),
        block_row(Codec.LZ4, "blocks of 4 MB", frame.compress(LONG, block_size=7, block_linked=False), count=200),
    ]


def zstd_rows() -> list[Row]:
    block = compressed(Codec.ZSTD, FIRST)
    summed = zstandard.ZstdCompressor(write_checksum=True).compress(FIRST)
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(FIRST)
    windows = {log: zstandard.ZstdCompressionParameters(window_log=log) for log in (27, 28)}
    return [
        block_row(Codec.ZSTD, "a checksum", summed),
        block_row(Codec.ZSTD, "a wrong checksum", changed(summed, -1), Fault.COMPRESSED),
        block_row(Codec.ZSTD, "without its content's size", unsized),
        block_row(Codec.ZSTD, "a window of 128 MB", streamed(windows[27])),
        block_row(Codec.ZSTD, "a window of 256 MB", streamed(windows[28]), Fault.COMPRESSED),
        block_row(Codec.ZSTD, "a skippable frame first", SKIPPABLE + block),
        block_row(Codec.ZSTD, "a skippable frame after it", block + SKIPPABLE),
        block_row(Codec.ZSTD, "an empty frame first", compressed(Codec.ZSTD, b"") + block),
        block_row(Codec.ZSTD, "an empty frame after it", block + compressed(Codec.ZSTD, b"")),
        block_row(Codec.ZSTD, "another magic", changed(block, 0), Fault.COMPRESSED),
    ]


def changed(data: bytes, at: int) -> bytes:
    """With one byte turned over."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def bytes_of(size: int) -> bytes:
    return size.to_bytes(4, "big")


def piece_of(data: bytes) -> bytes:
    return compressed(Codec.SNAPPY, data)[16:]


def streamed(parameters: zstandard.ZstdCompressionParameters) -> bytes:
    """As a writer does that does not know how much will come: the frame names the whole window."""
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return packer.compress(FIRST) + packer.flush()


CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
PACKED = [
    *(
        row
        for rows in (packed_rows, streamed_rows, rows_with_more, odd_deltas)
        for codec in CODECS
        for row in rows(codec)
    ),
    *gzip_rows(),
    *snappy_rows(),
    *lz4_rows(),
    *zstd_rows(),
]
