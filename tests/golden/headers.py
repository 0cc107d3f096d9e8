"""The corpus maker's own reading of batch headers, apart from Esker's and from Kafka's."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPRESSION, TRANSACTIONAL, CONTROL, HORIZON = 0x07, 0x10, 0x20, 0x40
LZ4_MAGIC = bytes.fromhex("04224d18")


@dataclass(frozen=True)
class Header:
    """Of a magic 2 batch, or of a magic 0 or 1 entry, where what they lack is -1."""

    position: int
    size: int
    base_offset: int
    magic: int
    attributes: int
    leader_epoch: int = -1
    last_offset_delta: int = -1
    base_timestamp: int = -1
    max_timestamp: int = -1
    producer_id: int = -1
    base_sequence: int = -1
    count: int = -1

    @property
    def codec(self) -> int:
        return self.attributes & COMPRESSION

    def has(self, bit: int) -> bool:
        return self.attributes & bit != 0


def headers(path: Path) -> list[Header]:
    return list(_headers(path.read_bytes()))


def whole_batches(data: bytes, limit: int) -> bytes:
    """As many of the first batches as fit into the limit."""
    return data[: max(each.position + each.size for each in _headers(data) if each.position + each.size <= limit)]


def lz4_checksum(path: Path) -> int | None:
    """The header checksum byte of the first lz4 frame, if there is one: FLG, BD and then it."""
    data = path.read_bytes()
    at = data.find(LZ4_MAGIC)
    return None if at < 0 else data[at + 6]


def _headers(data: bytes) -> Iterator[Header]:
    position = 0
    while position < len(data):
        base, length = struct.unpack_from(">qi", data, position)
        assert 14 <= length <= len(data) - position - 12, f"no whole batch at {position}"
        yield _header(data, position, 12 + length, base)
        position += 12 + length


def _header(data: bytes, position: int, size: int, base: int) -> Header:
    magic = data[position + 16]
    if magic < 2:
        return Header(position, size, base, magic, data[position + 17])
    epoch, _, _, attributes, last_delta, base_time, max_time, producer, _, sequence, count = struct.unpack_from(
        ">iBIhiqqqhii", data, position + 12
    )
    return Header(
        position, size, base, magic, attributes, epoch, last_delta, base_time, max_time, producer, sequence, count
    )
