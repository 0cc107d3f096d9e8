"""Records to batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from esker.kernel.contract import PLAIN, Columns, Encoding, Rows
from esker.kernel.layout import (
    CRC,
    CRC_AT,
    CRC_FROM,
    HEADER,
    HEADER_SIZE,
    INT32_MAX,
    INT64_MAX,
    LOG_OVERHEAD,
    Codec,
    wrap64,
)
from esker.kernel.reference.arrow import rows_of
from esker.kernel.reference.codecs import compress
from esker.kernel.reference.fields import put
from esker.kernel.reference.varint import write_varint

if TYPE_CHECKING:
    from collections.abc import Sequence


class Row(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[bytes, bytes | None]]


def encode(records: Columns | Rows, encoding: Encoding = PLAIN) -> bytes:
    if not 0 <= encoding.codec <= Codec.ZSTD:
        raise ValueError(f"no codec has the number {encoding.codec}")
    rows = _rows(records if isinstance(records, Rows) else rows_of(records), encoding)
    base_offset = encoding.base_offset
    if base_offset is None:
        base_offset = rows[0].offset if rows else 0
    _verify_offsets(rows, base_offset, encoding.last_offset)
    if not rows and encoding.last_offset is None:
        return b""
    out = bytearray()
    sequence = encoding.base_sequence
    while True:
        count, block = _fill(rows, base_offset, encoding)
        last_offset = rows[count - 1].offset if count else base_offset
        if count == len(rows) and encoding.last_offset is not None:
            last_offset = encoding.last_offset
        out += _batch(rows[:count], block, base_offset, last_offset, encoding._replace(base_sequence=sequence))
        if count == len(rows):
            return bytes(out)
        rows = rows[count:]
        base_offset = rows[0].offset
        if sequence >= 0:
            sequence = (sequence + count) % (INT32_MAX + 1)


def _rows(rows: Rows, encoding: Encoding) -> list[Row]:
    count = len(rows.timestamps)
    offsets = rows.offsets
    if offsets is None:
        first = encoding.base_offset or 0
        offsets = range(first, first + count)
    headers = [()] * count if rows.headers is None else rows.headers
    if not len(rows.keys) == len(rows.values) == len(headers) == len(offsets) == count:
        raise ValueError("the columns differ in length")
    return [Row(*one) for one in zip(offsets, rows.timestamps, rows.keys, rows.values, headers, strict=True)]


def _verify_offsets(rows: list[Row], base_offset: int, last_offset: int | None) -> None:
    least = base_offset
    for row in rows:
        if not least <= row.offset <= INT64_MAX:
            raise ValueError(f"offsets must rise: {row.offset} comes where at least {least} is due")
        least = row.offset + 1
    if rows and last_offset is not None and last_offset < rows[-1].offset:
        raise ValueError("last_offset lies before the last record")


def _fill(rows: list[Row], base_offset: int, encoding: Encoding) -> tuple[int, bytes]:
    """How many records the next batch takes, and their block."""
    base_timestamp = _base_timestamp(rows, encoding)
    block = bytearray()
    count = 0
    for row in rows:
        record = _record(row, base_offset, base_timestamp)
        full = encoding.batch_bytes is not None and HEADER_SIZE + len(block) + len(record) > encoding.batch_bytes
        if count and (full or row.offset - base_offset > INT32_MAX):
            break
        block += record
        count += 1
    return count, bytes(block)


def _base_timestamp(rows: list[Row], encoding: Encoding) -> int:
    if encoding.base_timestamp is not None:
        return encoding.base_timestamp
    return rows[0].timestamp if rows else -1


def _record(row: Row, base_offset: int, base_timestamp: int) -> bytes:
    body = bytearray(b"\x00")
    body += write_varint(wrap64(row.timestamp - base_timestamp))
    body += write_varint(row.offset - base_offset)
    body += _field(row.key) + _field(row.value)
    body += write_varint(len(row.headers))
    for name, content in row.headers:
        body += write_varint(len(name)) + name + _field(content)
    return write_varint(len(body)) + body


def _field(content: bytes | None) -> bytes:
    return write_varint(-1) if content is None else write_varint(len(content)) + content


def _batch(rows: list[Row], block: bytes, base_offset: int, last_offset: int, encoding: Encoding) -> bytes:
    codec = encoding.codec if rows else Codec.NONE  # an emptied batch is written plain
    packed = compress(codec, block, encoding.level)
    delta = last_offset - base_offset
    size = HEADER_SIZE + len(packed)
    if not 0 <= delta <= INT32_MAX or size - LOG_OVERHEAD > INT32_MAX:
        raise ValueError("the records do not fit into one batch")
    max_timestamp = encoding.max_timestamp
    if max_timestamp is None:
        max_timestamp = max((row.timestamp for row in rows if row.timestamp > -1), default=-1)
    batch = bytearray(HEADER_SIZE) + packed
    put(
        HEADER,
        batch,
        0,
        base_offset,
        size - LOG_OVERHEAD,
        encoding.leader_epoch,
        2,
        0,  # the checksum comes last
        encoding.attributes | codec,
        delta,
        _base_timestamp(rows, encoding),
        max_timestamp,
        encoding.producer_id,
        encoding.producer_epoch,
        encoding.base_sequence,
        len(rows),
    )
    put(CRC, batch, CRC_AT, crc32c(batch[CRC_FROM:]))
    return bytes(batch)
