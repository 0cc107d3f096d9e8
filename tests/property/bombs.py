"""Small blocks that unpack to a great deal, made by hand where a library would need the great deal to make them.

`python -m property.bombs <kernel> <codec> <file> <limit>` unpacks one in a process of its own and prints the fault
and by how much the peak of its memory grew.
"""

from __future__ import annotations

import re
import resource
import sys
import zlib
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING

from esker.base.errors import Corrupt
from esker.kernel import choose
from esker.kernel.layout import Codec

if TYPE_CHECKING:
    from collections.abc import Callable

GIB = 1 << 30
STATUS = Path("/proc/self/status")
ROOM = 256 << 20
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
RLE_BYTES = 128 << 10
XERIAL = b"\x82SNAPPY\x00" + pack(">ii", 1, 1)


def gzip_stream(size: int) -> bytes:
    """One member. After a full flush the packer remembers nothing, so the same piece may follow itself."""
    packer, zeros, crc = zlib.compressobj(9, wbits=-15), bytes(1 << 20), 0
    piece = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    for _ in range(size >> 20):
        crc = zlib.crc32(zeros, crc)
    end = zlib.compressobj(9, wbits=-15).flush() + pack("<II", crc, size & 0xFFFFFFFF)
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + piece * (size >> 20) + end


def gzip_members(size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return (packer.compress(bytes(1 << 20)) + packer.flush()) * (size >> 20)


def preamble(size: int) -> bytes:
    """Snappy's: a plain varint."""
    out = bytearray()
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*out, size])


def snappy_zeros(size: int, stated: int | None = None) -> bytes:
    """One zero, then copies of 64 bytes from one byte back."""
    copies, rest = divmod(size - 1, 64)
    last = bytes([rest - 1 << 2 | 2, 1, 0]) if rest else b""
    return preamble(size if stated is None else stated) + b"\0\0" + b"\xfe\1\0" * copies + last


def xerial_blocks(size: int) -> bytes:
    block = snappy_zeros(32 << 10)
    return XERIAL + (pack(">i", len(block)) + block) * (size >> 15)


def lz4_frame(size: int) -> bytes:
    """Blocks that do not look back at each other."""
    from lz4 import frame

    packer = frame.LZ4FrameCompressor(block_size=frame.BLOCKSIZE_MAX64KB, block_linked=False, auto_flush=True)
    head = packer.begin()
    block = packer.compress(bytes(64 << 10))
    return bytes(head + block * (size >> 16) + bytes(4))


def zstd_frame(size: int, window_log: int = 17) -> bytes:
    """Blocks that repeat one byte, 128 KB each; the size is not stated."""
    block = pack("<I", RLE_BYTES << 3 | 2)[:3] + b"\0"
    last = pack("<I", 3)[:3] + b"\0"  # repeated no times
    return ZSTD_MAGIC + bytes([0, window_log - 10 << 3]) + block * (size // RLE_BYTES) + last


def zstd_stated(size: int) -> bytes:
    """The frame says how large it will be; some readers make room for it at once."""
    return ZSTD_MAGIC + b"\x80" + b"\x38" + pack("<I", size) + zstd_frame(size)[6:]


def zstd_frames(size: int) -> bytes:
    return zstd_frame(1 << 20) * (size >> 20)


BOMBS: dict[str, tuple[Codec, Callable[[int], bytes]]] = {
    "gzip": (Codec.GZIP, gzip_stream),
    "gzip members": (Codec.GZIP, gzip_members),
    "snappy": (Codec.SNAPPY, snappy_zeros),
    "snappy in blocks": (Codec.SNAPPY, xerial_blocks),
    "lz4": (Codec.LZ4, lz4_frame),
    "zstd": (Codec.ZSTD, zstd_frame),
    "zstd of stated size": (Codec.ZSTD, zstd_stated),
    "zstd frames": (Codec.ZSTD, zstd_frames),
    "zstd of a wide window": (Codec.ZSTD, lambda size: zstd_frame(size, 27)),
}


def peak_bytes() -> int:
    """The peak of this process alone; what getrusage says also counts the one that started it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())
    assert found
    return int(found[1]) << 10


def allow_no_more_than(more: int) -> None:
    used = re.search(r"VmSize:\s+(\d+) kB", STATUS.read_text())
    assert used
    allowed = (int(used[1]) << 10) + more
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))


def main(name: str, codec: int, path: Path, limit: int) -> None:
    kernel = choose(name)
    kernel.decompress(codec, kernel.compress(codec, b"so that the codec is loaded"))
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as bomb:
        allow_no_more_than(2 * len(bomb) + ROOM)
        before = peak_bytes()
        try:
            said = f"{len(kernel.decompress(codec, bomb, limit))} bytes"
        except Corrupt as error:
            said = error.finding.fault.name
        print(said, peak_bytes() - before)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
