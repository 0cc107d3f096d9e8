"""Writing: one batch record by record with its size known at every step, and a batch again from its own records.

The surprise: the size that counts is the one before compression, as everywhere in Kafka; how far a block will shrink
is known only when it is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker import kernel
from esker.kernel.contract import PLAIN, Encoding, Rows
from esker.kernel.layout import CODEC_BITS, HEADER_SIZE, wrap64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.records.batch import Batch

    Headers = Sequence[tuple[bytes, bytes | None]]


class BatchBuilder:
    """Collects the records of one batch. Offsets are consecutive from `encoding.base_offset`, or from 0.

    `fits` says what `encoding.batch_bytes` allows, a first record of any size included; `append` takes every record.
    """

    def __init__(self, encoding: Encoding = PLAIN) -> None:
        self._encoding = encoding
        self._rows: list[tuple[int, bytes | None, bytes | None, Headers]] = []
        self._size = HEADER_SIZE

    @property
    def record_count(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """Bytes of the batch so far, before compression."""
        return self._size

    def fits(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> bool:
        """May this record come next?"""
        limit = self._encoding.batch_bytes
        if limit is None or not self._rows:
            return True
        return self._size + self._next_size(timestamp, key, value, headers) <= limit

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
        """Take the record; answer its offset delta."""
        self._size += self._next_size(timestamp, key, value, headers)
        self._rows.append((timestamp, key, value, headers))
        return len(self._rows) - 1

    def build(self) -> bytes:
        """The batch; no bytes when there are no records."""
        timestamps, keys, values, headers = zip(*self._rows, strict=True) if self._rows else ((), (), (), ())
        return kernel.encode(Rows(timestamps, keys, values, headers), self._encoding._replace(batch_bytes=None))

    def _next_size(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> int:
        base = self._encoding.base_timestamp
        if base is None:
            base = self._rows[0][0] if self._rows else timestamp
        return record_size(wrap64(timestamp - base), len(self._rows), key, value, headers)


def record_size(
    timestamp_delta: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers = ()
) -> int:
    """Bytes of a record in a batch, its own length included."""
    body = 1 + varint_size(timestamp_delta) + varint_size(offset_delta) + _field_size(key) + _field_size(value)
    body += varint_size(len(headers)) + sum(_field_size(name) + _field_size(content) for name, content in headers)
    return varint_size(body) + body


def varint_size(number: int) -> int:
    """Bytes of a zigzag varint: seven bits to a byte."""
    zigzag = (number << 1) ^ (number >> 63)
    return max(1, (zigzag.bit_length() + 6) // 7)


def _field_size(content: bytes | None) -> int:
    return 1 if content is None else varint_size(len(content)) + len(content)


def reencode(batch: Batch) -> bytes:
    """The batch of magic 2 written again from its records: an uncompressed one comes out byte for byte the same, with
    its gaps, its delete horizon or without a record; a compressed one unpacks to the same block. Raises Corrupt.

    Not kept, and never written by Kafka: a record's own attributes, and varints that are longer than they need be.
    """
    batch.verify()
    header = batch.header
    found = kernel.unpack(batch.data, header.position, verify_crc=False)
    rows = Rows(
        timestamps=[wrap64(header.base_timestamp + record.timestamp_delta) for record in found],
        keys=[record.key for record in found],
        values=[record.value for record in found],
        headers=[record.headers for record in found],
        offsets=[header.base_offset + record.offset_delta for record in found],
    )
    encoding = Encoding(
        codec=header.codec,
        attributes=header.attributes & ~CODEC_BITS,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
    )
    return kernel.encode(rows, encoding)
