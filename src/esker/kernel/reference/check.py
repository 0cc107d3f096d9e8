"""How far the bytes are good, and what stands where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import UNPACKED_LIMIT, BatchHeader, Check
from esker.kernel.layout import INT64_MAX
from esker.kernel.reference.records import record_spans, unpacked_block, verify_checksum
from esker.kernel.reference.walk import begin, bytes_of, header_at

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def check(
    data: ReadableBuffer,
    position: int = 0,
    next_offset: int = 0,
    deep: bool = True,
    unpacked_limit: int = UNPACKED_LIMIT,
) -> Check:
    view = begin(bytes_of(data), position)
    batches = records = 0
    while position < len(view):
        try:
            header = _check_batch(view, position, next_offset)
            if deep:
                _check_records(view, header, unpacked_limit)
        except Corrupt as error:
            return Check(batches, records, position, next_offset, error.finding)
        batches += 1
        records += header.record_count
        position = header.end
        next_offset = header.last_offset + 1
    return Check(batches, records, position, next_offset, None)


def _check_batch(data: memoryview, position: int, next_offset: int) -> BatchHeader:
    header = header_at(data, position)
    if isinstance(header, Fault):
        raise Corrupt(Finding(header, position))
    if header.magic != 2:
        raise Corrupt(Finding(Fault.LEGACY, position, -1, 2, header.magic))
    verify_checksum(data, header)
    if header.record_count < 0:
        raise Corrupt(Finding(Fault.COUNT, position, -1, 0, header.record_count))
    if header.base_offset < next_offset:
        raise Corrupt(Finding(Fault.ORDER, position, -1, next_offset, header.base_offset))
    # The offset after the batch must be a number too.
    if not 0 <= header.last_offset_delta < INT64_MAX - header.base_offset:
        raise Corrupt(Finding(Fault.ORDER, position, -1, 0, header.last_offset_delta))
    return header


def _check_records(data: memoryview, header: BatchHeader, unpacked_limit: int) -> None:
    block = unpacked_block(data, header, unpacked_limit)
    least = 0
    for index, spans in enumerate(record_spans(block, header)):
        if not least <= spans.offset_delta <= header.last_offset_delta:
            raise Corrupt(Finding(Fault.ORDER, header.position, index, least, spans.offset_delta))
        least = spans.offset_delta + 1
