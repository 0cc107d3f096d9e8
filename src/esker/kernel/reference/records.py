"""The records of one batch of magic 2: checksum, unpacking, the walk from length to length."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import UNPACKED_LIMIT, BatchHeader, Record
from esker.kernel.layout import CRC_FROM, HEADER_SIZE, Codec
from esker.kernel.reference.codecs import decompress
from esker.kernel.reference.varint import BadVarint, read_varint, read_varlong
from esker.kernel.reference.walk import begin, bytes_of, header_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import ReadableBuffer

# Attributes, two deltas, two lengths and the header count, a byte each, behind a length byte.
SMALLEST_RECORD = 7

Span = tuple[int, int] | None


class Spans(NamedTuple):
    """One record as places in the unpacked block; None where it says null."""

    attributes: int
    timestamp_delta: int
    offset_delta: int
    key: Span
    value: Span
    headers: list[tuple[tuple[int, int], Span]]


def unpack(
    data: ReadableBuffer, position: int = 0, verify_crc: bool = True, unpacked_limit: int = UNPACKED_LIMIT
) -> list[Record]:
    view = begin(bytes_of(data), position)
    header = header_at(view, position)
    if isinstance(header, Fault):
        raise Corrupt(Finding(header, position))
    if header.magic == 2 and verify_crc:
        verify_checksum(view, header)
    block = unpacked_block(view, header, unpacked_limit)
    return [_record(block, spans) for spans in record_spans(block, header)]


def verify_checksum(data: memoryview, header: BatchHeader) -> None:
    found = crc32c(data[header.position + CRC_FROM : header.end])
    if found != header.crc:
        raise Corrupt(Finding(Fault.CRC, header.position, -1, header.crc, found))


def unpacked_block(data: memoryview, header: BatchHeader, limit: int) -> memoryview:
    """The bytes of the records, unpacked if need be."""
    if header.magic != 2:
        raise Corrupt(Finding(Fault.LEGACY, header.position, -1, 2, header.magic))
    block = data[header.position + HEADER_SIZE : header.end]
    if header.codec == Codec.NONE:
        return block
    if header.codec > Codec.ZSTD:
        raise Corrupt(Finding(Fault.CODEC, header.position, -1, 0, header.codec))
    try:
        return memoryview(decompress(header.codec, block, limit))
    except Corrupt as error:
        raise Corrupt(error.finding._replace(position=header.position)) from error


def record_spans(block: memoryview, header: BatchHeader) -> Iterator[Spans]:
    """Each record in turn; the count that the header gives must use up the block."""
    count = header.record_count
    if not 0 <= count <= len(block) // SMALLEST_RECORD:
        raise Corrupt(Finding(Fault.COUNT, header.position, -1, len(block) // SMALLEST_RECORD, count))
    at = 0
    for index in range(count):
        try:
            spans, at = _read_spans(block, at)
        except BadVarint:
            raise Corrupt(Finding(Fault.RECORD, header.position, index)) from None
        yield spans
    if at != len(block):
        raise Corrupt(Finding(Fault.COUNT, header.position, -1, at, len(block)))


def _read_spans(block: memoryview, at: int) -> tuple[Spans, int]:
    length, at = read_varint(block, at)
    end = at + length
    # A record holds at least its six fixed bytes; less could not be walked over and would never end.
    if length < SMALLEST_RECORD - 1 or end > len(block):
        raise BadVarint
    body = block[:end]
    attributes = int.from_bytes(body[at : at + 1], signed=True)
    timestamp_delta, at = read_varlong(body, at + 1)
    offset_delta, at = read_varint(body, at)
    key, at = _read_span(body, at)
    value, at = _read_span(body, at)
    count, at = read_varint(body, at)
    if not 0 <= count <= (end - at) // 2:
        raise BadVarint
    headers = []
    for _ in range(count):
        name, at = _read_span(body, at)
        if name is None:
            raise BadVarint
        content, at = _read_span(body, at)
        headers.append((name, content))
    if at != end:
        raise BadVarint
    return Spans(attributes, timestamp_delta, offset_delta, key, value, headers), end


def _read_span(body: memoryview, at: int) -> tuple[Span, int]:
    """A length and as many bytes. Every negative length is null, as Kafka reads it."""
    length, at = read_varint(body, at)
    if length < 0:
        return None, at
    if at + length > len(body):
        raise BadVarint
    return (at, at + length), at + length


def _record(block: memoryview, spans: Spans) -> Record:
    headers = tuple((bytes(block[slice(*name)]), _bytes(block, content)) for name, content in spans.headers)
    return Record(*spans[:3], _bytes(block, spans.key), _bytes(block, spans.value), headers)


def _bytes(block: memoryview, span: Span) -> bytes | None:
    return None if span is None else bytes(block[span[0] : span[1]])
