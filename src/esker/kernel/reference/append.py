"""What a leader asks of a client's batch, and what it writes into it. The order of the questions is Kafka's: it
decides which answer a batch with two faults gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crc32c import crc32c

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import Accepted, AppendLimits, BatchHeader, Refused
from esker.kernel.layout import (
    ATTRIBUTES,
    CRC,
    CRC_AT,
    CRC_FROM,
    LOG_OVERHEAD,
    MAX_TIMESTAMP,
    MAX_TIMESTAMP_AT,
    STAMPED,
    Attribute,
    Codec,
    wrap64,
)
from esker.kernel.reference.fields import put
from esker.kernel.reference.records import Spans, record_spans, unpacked_block, verify_checksum
from esker.kernel.reference.walk import bytes_of, header_at, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import ReadableBuffer, WriteableBuffer


def validate(data: ReadableBuffer, limits: AppendLimits) -> Accepted | Refused:
    view = bytes_of(data)
    try:
        header = _the_batch(view)
        _verify_batch(view, header, limits)
        return _judge_records(view, header, limits)
    except Corrupt as error:
        return Refused(error.finding, [])


def _the_batch(data: memoryview) -> BatchHeader:
    header = header_at(data, 0)
    if isinstance(header, Fault):
        raise Corrupt(Finding(header, 0))
    if header.magic != 2:
        raise Corrupt(Finding(Fault.LEGACY, 0, -1, 2, header.magic))
    after = header_at(data, header.end)
    if isinstance(after, BatchHeader):
        raise Corrupt(Finding(Fault.SEVERAL, header.end))
    if after is not Fault.PARTIAL:
        raise Corrupt(Finding(after, header.end))
    return header


def _verify_batch(data: memoryview, header: BatchHeader, limits: AppendLimits) -> None:
    if header.base_offset != 0:
        raise Corrupt(Finding(Fault.BASE_OFFSET, 0, -1, 0, header.base_offset))
    if header.size > limits.max_batch_bytes:
        raise Corrupt(Finding(Fault.BATCH_SIZE, 0, -1, limits.max_batch_bytes, header.size))
    verify_checksum(data, header)
    if header.codec > Codec.ZSTD:
        raise Corrupt(Finding(Fault.CODEC, 0, -1, 0, header.codec))
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise Corrupt(Finding(Fault.COUNT, 0, -1, header.last_offset_delta + 1, header.record_count))
    if header.control:
        raise Corrupt(Finding(Fault.CONTROL, 0))
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise Corrupt(Finding(Fault.SEQUENCE, 0, -1, 0, header.base_sequence))


def _judge_records(data: memoryview, header: BatchHeader, limits: AppendLimits) -> Accepted | Refused:
    block = unpacked_block(data, header, limits.unpacked_limit)
    max_timestamp, consecutive = -1, True
    refused: list[tuple[int, Fault]] = []
    for index, (spans, timestamp) in enumerate(_with_timestamps(block, header)):
        fault = _fault_of(spans, timestamp, header, limits)
        if fault is not None:
            refused.append((index, fault))
        max_timestamp = max(max_timestamp, timestamp)
        consecutive = consecutive and spans.offset_delta == index
    if refused:
        return Refused(_summary(refused), refused)
    return Accepted(header, max_timestamp, consecutive)


def _with_timestamps(block: memoryview, header: BatchHeader) -> Iterator[tuple[Spans, int]]:
    for spans in record_spans(block, header):
        created = wrap64(header.base_timestamp + spans.timestamp_delta)
        yield spans, header.max_timestamp if header.log_append_time else created


def _fault_of(spans: Spans, timestamp: int, header: BatchHeader, limits: AppendLimits) -> Fault | None:
    if limits.keys_required and spans.key is None:
        return Fault.NO_KEY
    if timestamp != -1 and not limits.log_append_time:
        return None if limits.min_timestamp <= timestamp <= limits.max_timestamp else Fault.TIMESTAMP
    return Fault.TIMESTAMP_TYPE if header.log_append_time else None


def _summary(refused: list[tuple[int, Fault]]) -> Finding:
    """One timestamp among the faults decides the answer for all, as in Kafka; else the first one does."""
    index, fault = next((at for at in refused if at[1] is not Fault.NO_KEY), refused[0])
    return Finding(fault, 0, index)


def stamp(
    data: WriteableBuffer,
    base_offset: int,
    leader_epoch: int,
    max_timestamp: int | None = None,
    log_append_time: bool | None = None,
) -> int:
    view = bytes_of(data)
    headers, end, fault = walk(view)
    if fault is not None:
        raise Corrupt(Finding(fault, end))
    for header in headers:
        if header.magic != 2:
            raise Corrupt(Finding(Fault.LEGACY, header.position, -1, 2, header.magic))
    for header in headers:
        put(STAMPED, view, header.position, base_offset, header.size - LOG_OVERHEAD, leader_epoch)
        _stamp_times(view, header, max_timestamp, log_append_time)
        base_offset = wrap64(base_offset + header.last_offset_delta + 1)
    return base_offset


def _stamp_times(
    data: memoryview, header: BatchHeader, max_timestamp: int | None, log_append_time: bool | None
) -> None:
    at = header.position
    before = crc32c(data[at + CRC_FROM : header.end])
    if log_append_time is not None:
        bit = int(Attribute.LOG_APPEND_TIME)
        attributes = header.attributes & ~bit | (bit if log_append_time else 0)
        put(ATTRIBUTES, data, at + CRC_FROM, attributes)
    if max_timestamp is not None:
        put(MAX_TIMESTAMP, data, at + MAX_TIMESTAMP_AT, max_timestamp)
    after = crc32c(data[at + CRC_FROM : header.end])
    # Not `after` itself: what was wrong with the old checksum stays wrong with the new one.
    put(CRC, data, at + CRC_AT, header.crc ^ before ^ after)
