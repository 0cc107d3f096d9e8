"""Batches made by hand, every field and length of them open to a lie. Esker's own writer has no part in it."""

import zlib
from collections.abc import Sequence
from struct import Struct, pack
from typing import NamedTuple

from crc32c import crc32c

from esker.kernel import load_reference
from esker.kernel.layout import Codec

START_MS = 1_700_000_000_000
HEADER = Struct(">qiibIhiqqqhii")
Headers = Sequence[tuple[bytes | None, bytes | None]]


class Fields(NamedTuple):
    """A batch's header. What is None follows from the block, or from the fields before it."""

    base_offset: int = 0
    size: int | None = None
    leader_epoch: int = -1
    magic: int = 2
    crc: int | None = None
    attributes: int = 0
    last_offset_delta: int | None = None
    base_timestamp: int = START_MS
    max_timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    record_count: int = 1


def batch(*records: bytes, codec: int = Codec.NONE, **fields: int) -> bytes:
    """A batch of these records, packed; the fields are those of the header."""
    counted = {"record_count": len(records)} | fields
    return around(compressed(codec, b"".join(records)), codec, **counted)


def around(block: bytes, codec: int = Codec.NONE, **fields: int) -> bytes:
    """A batch whose records are this block, whatever that is; the codec's bits go to the attributes."""
    said = Fields(**fields)
    said = said._replace(
        size=49 + len(block) if said.size is None else said.size,
        attributes=said.attributes | codec,
        last_offset_delta=said.record_count - 1 if said.last_offset_delta is None else said.last_offset_delta,
        max_timestamp=said.base_timestamp if said.max_timestamp is None else said.max_timestamp,
    )
    body = HEADER.pack(*said._replace(crc=0))[21:] + block
    crc = crc32c(body) if said.crc is None else said.crc
    return HEADER.pack(*said._replace(crc=crc))[:21] + body


def compressed(codec: int, data: bytes) -> bytes:
    return load_reference().compress(codec, data) if codec in set(Codec) else data


def record(
    key: bytes | None = b"key",
    value: bytes | None = b"value",
    headers: Headers = (),
    *,
    time: int = 0,
    offset: int = 0,
    attributes: int = 0,
) -> bytes:
    """`time` and `offset` are the deltas."""
    pairs = b"".join(field(name) + field(content) for name, content in headers)
    return of_body(start(time, offset, attributes) + field(key) + field(value) + varint(len(headers)) + pairs)


def records(count: int) -> list[bytes]:
    """Good ones, one after the other."""
    return [record(b"key-%d" % i, b"value-%d" % i, offset=i) for i in range(count)]


def of_body(body: bytes, longer: int = 0) -> bytes:
    """A record of this body, whose length is off by so much."""
    return varint(len(body) + longer) + body


def start(time: int = 0, offset: int = 0, attributes: int = 0) -> bytes:
    return pack(">b", attributes) + varint(time) + varint(offset)


def field(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def varint(number: int, width: int = 1) -> bytes:
    """Zigzag, in at least `width` bytes: more than are needed is a long way to say it, but a way."""
    left = (number << 1) ^ (number >> 63)
    out = bytearray()
    while left > 0x7F or len(out) + 1 < width:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def message(magic: int = 1, value: bytes = b"value") -> bytes:
    """An uncompressed message of magic 0 or 1 at offset 0."""
    times = pack(">q", START_MS) if magic else b""
    body = pack(">bb", magic, 0) + times + pack(">ii", -1, len(value)) + value
    return pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
