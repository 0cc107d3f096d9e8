"""Which records are wanted, and those as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import DECODED_BYTES_MAX, EVERYTHING, BatchHeader, Column, Columns, Selection
from esker.kernel.layout import INT32_MAX, Codec, wrap64
from esker.kernel.reference import arrow
from esker.kernel.reference.records import Span, Spans, record_spans, unpacked_block, verify_checksum
from esker.kernel.reference.walk import begin, bytes_of, header_at

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Taken(NamedTuple):
    """A record that is wanted. `buffer` 0 is the caller's, 1 is that of unpacked blocks; the block starts at
    `start` in it."""

    header: BatchHeader
    buffer: int
    start: int
    spans: Spans

    @property
    def offset(self) -> int:
        return wrap64(self.header.base_offset + self.spans.offset_delta)

    @property
    def timestamp(self) -> int:
        created = wrap64(self.header.base_timestamp + self.spans.timestamp_delta)
        return self.header.max_timestamp if self.header.log_append_time else created

    def place(self, span: Span) -> arrow.Place | None:
        return None if span is None else arrow.Place(self.buffer, self.start + span[0], span[1] - span[0])


def decode(data: ReadableBuffer, position: int = 0, selection: Selection = EVERYTHING) -> Columns:
    view = begin(bytes_of(data), position)
    _verify_limits(view, selection)
    start, size, next_offset = position, 0, selection.first_offset
    taken: list[Taken] = []
    unpacked = bytearray()
    while position < len(view) and len(taken) < selection.max_records and size < selection.max_bytes:
        header = header_at(view, position)
        if header in (Fault.PARTIAL, Fault.ZEROS):
            break
        try:
            header = _verified(view, header, position, selection)
            size += _take(view, header, selection, unpacked, taken)
        except Corrupt:
            if position > start:
                break
            raise
        position, next_offset = header.end, wrap64(header.last_offset + 1)
    columns = _columns(taken, (view, bytes(unpacked)), selection)
    return columns._replace(end=position, next_offset=next_offset)


def _verify_limits(data: memoryview, selection: Selection) -> None:
    if selection.max_bytes + selection.unpacked_limit > DECODED_BYTES_MAX:
        raise ValueError(f"max_bytes + unpacked_limit may be at most {DECODED_BYTES_MAX}")
    if selection.views and len(data) > INT32_MAX:
        raise ValueError("views reach 2 GiB at most: give a part of the buffer")


def _verified(data: memoryview, header: BatchHeader | Fault, position: int, selection: Selection) -> BatchHeader:
    if isinstance(header, Fault):
        raise Corrupt(Finding(header, position))
    if header.magic != 2:
        raise Corrupt(Finding(Fault.LEGACY, position, -1, 2, header.magic))
    if selection.verify_crc:
        verify_checksum(data, header)
    return header


def _take(data: memoryview, header: BatchHeader, selection: Selection, unpacked: bytearray, taken: list[Taken]) -> int:
    """Add the batch's records that are wanted; answer how many bytes all of its records have."""
    if _left_out(header, selection):
        return 0
    block = unpacked_block(data, header, selection.unpacked_limit)
    if len(block) > selection.unpacked_limit:
        raise Corrupt(Finding(Fault.UNPACKED_SIZE, header.position, -1, selection.unpacked_limit))
    records = list(record_spans(block, header))
    buffer, start = 0, header.end - len(block)
    if header.codec != Codec.NONE:
        buffer, start = 1, len(unpacked)
        unpacked += block
    candidates = (Taken(header, buffer, start, spans) for spans in records)
    taken += [one for one in candidates if selection.first_offset <= one.offset < selection.end_offset]
    return len(block)


def _left_out(header: BatchHeader, selection: Selection) -> bool:
    """Control batches, aborted ones, and those that lie outside the bounds as a whole."""
    if header.control or header.last_offset < selection.first_offset or header.base_offset >= selection.end_offset:
        return True
    return header.transactional and any(
        one.producer_id == header.producer_id and one.first_offset <= header.base_offset <= one.last_offset
        for one in selection.aborted
    )


def _columns(taken: list[Taken], buffers: tuple[memoryview, bytes], selection: Selection) -> Columns:
    binary = arrow.binary_view if selection.views else arrow.binary

    def asked(column: Column) -> bool:
        return bool(selection.columns & column)

    return Columns(
        record_count=len(taken),
        end=0,
        next_offset=0,
        offset=arrow.int64(one.offset for one in taken) if asked(Column.OFFSET) else None,
        timestamp=arrow.int64(one.timestamp for one in taken) if asked(Column.TIMESTAMP) else None,
        timestamp_type=arrow.int32(int(one.header.log_append_time) for one in taken)
        if asked(Column.TIMESTAMP_TYPE)
        else None,
        key=binary([one.place(one.spans.key) for one in taken], buffers) if asked(Column.KEY) else None,
        value=binary([one.place(one.spans.value) for one in taken], buffers) if asked(Column.VALUE) else None,
        headers=arrow.header_lists(
            [[(one.place(name), one.place(content)) for name, content in one.spans.headers] for one in taken], buffers
        )
        if asked(Column.HEADERS)
        else None,
    )
