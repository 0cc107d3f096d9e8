"""Bytes to test with. Messages of magic 0 and 1 are made here: Esker itself never writes them."""

import zlib
from collections.abc import Sequence
from struct import pack

from esker import kernel
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Codec

TIME = 1_700_000_000_000
LOG_APPEND_TIME = 0x08


def field(content: bytes | None) -> bytes:
    return pack(">i", -1) if content is None else pack(">i", len(content)) + content


def message(
    offset: int,
    key: bytes | None,
    value: bytes | None,
    magic: int = 1,
    attributes: int = 0,
    timestamp: int = TIME,
) -> bytes:
    """One message set entry."""
    times = pack(">q", timestamp) if magic == 1 else b""
    return entry(offset, pack(">bb", magic, attributes) + times + field(key) + field(value))


def entry(offset: int, body: bytes) -> bytes:
    """What follows the checksum is given; offset, size and checksum are put before it."""
    return pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapper(
    offset: int, inner: bytes, codec: int = Codec.GZIP, magic: int = 1, attributes: int = 0, timestamp: int = TIME
) -> bytes:
    """A compressed message around a message set."""
    return message(offset, None, kernel.compress(codec, inner), magic, attributes | codec, timestamp)


def remade(data: bytes, at: int, change: bytes) -> bytes:
    """The batch or message with some bytes replaced and its checksum made anew: a reader meets the change itself."""
    data = data[:at] + change + data[at + len(change) :]
    if data[16] == 2:
        return data[:17] + pack(">I", kernel.crc32c(data[21:])) + data[21:]
    return data[:12] + pack(">I", zlib.crc32(data[16:])) + data[16:]


def batch_of(
    values: Sequence[bytes | None], encoding: Encoding | None = None, offsets: Sequence[int] | None = None
) -> bytes:
    """A batch of magic 2 with keys k0, k1, … and a millisecond between the records."""
    count = len(values)
    rows = Rows(
        timestamps=[TIME + i for i in range(count)],
        keys=[b"k%d" % i for i in range(count)],
        values=values,
        offsets=offsets,
    )
    return kernel.encode(rows, encoding or Encoding())
