"""Batches put together by hand, with no kernel's help, so that every field can be wrong on purpose."""

from struct import pack
from typing import Any

from crc32c import crc32c

from esker.kernel.contract import BatchHeader
from esker.kernel.layout import HEADER_SIZE
from esker.kernel.reference.walk import header_at

TIME = 1_700_000_000_000
Headers = tuple[tuple[bytes, bytes | None], ...]


def varint(number: int) -> bytes:
    left = (number << 1) ^ (number >> 63)
    out = b""
    while left > 0x7F:
        out += bytes([left & 0x7F | 0x80])
        left >>= 7
    return out + bytes([left])


def field(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def record(
    delta: int = 0,
    key: bytes | None = None,
    value: bytes | None = None,
    later_ms: int = 0,
    headers: Headers = (),
) -> bytes:
    body = b"\0" + varint(later_ms) + varint(delta) + field(key) + field(value) + varint(len(headers))
    for name, content in headers:
        body += field(name) + field(content)
    return varint(len(body)) + body


def batch(*records: bytes, **said: Any) -> bytes:
    """A good batch of these records but for what is `said` otherwise; a `block` stands for the records, and the
    checksum is right unless it is said too."""
    block: bytes = said.pop("block", b"".join(records))
    count = said.pop("count", len(records))
    fields = {
        "base_offset": 0,
        "size": HEADER_SIZE + len(block) - 12,
        "leader_epoch": -1,
        "magic": 2,
        "attributes": 0,
        "last_delta": max(count - 1, 0),
        "base_timestamp": TIME,
        "max_timestamp": TIME,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
    }
    crc = said.pop("crc", None)
    assert said.keys() <= fields.keys(), said
    base_offset, size, leader_epoch, magic, *rest = (fields | said).values()
    body = pack(">hiqqqhii", *rest, count) + block
    return (
        pack(">qiib", base_offset, size, leader_epoch, magic) + pack(">I", crc32c(body) if crc is None else crc) + body
    )


def header_of(data: bytes, position: int = 0) -> BatchHeader:
    """The header of a batch that is known to be there."""
    header = header_at(memoryview(data), position)
    assert isinstance(header, BatchHeader)
    return header


def message(offset: int = 0, magic: int = 1, attributes: int = 0, timestamp: int = TIME) -> bytes:
    """A message of magic 0 or 1 with null key and value; its checksum is 7, which no kernel looks at."""
    times = pack(">q", timestamp) if magic == 1 else b""
    body = pack(">Ibb", 7, magic, attributes) + times + b"\xff" * 8
    return pack(">qi", offset, len(body)) + body
