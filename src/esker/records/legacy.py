"""Messages of magic 0 and 1: checked, read, and turned into batches of magic 2. They are never written.

The surprise: a compressed message carries a whole message set as its value, and its own offset is that of the *last*
message inside. In magic 0 the inner offsets are absolute. In magic 1 they count from 0, with gaps where the cleaner
took messages out, so the first offset is known only when the last inner message has been seen.

Findings: `position` is the outer message's, `record` the inner message's index (-1: the outer one itself).
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import UNPACKED_LIMIT, BatchHeader, Check, Encoding, Rows
from esker.kernel.layout import INT64_MAX, LEGACY_MESSAGE, LEGACY_TIMESTAMP, Attribute, Codec, wrap64
from esker.records import lz4_header
from esker.records.record import LogRecord, TimestampType
from esker.records.walk import headers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import ReadableBuffer

LENGTH = Struct(">i")
# The checksum covers what follows it, from the magic on.
CRC_FROM = LEGACY_MESSAGE.size - 2


class Message(NamedTuple):
    """The key and the value of one message; of a compressed one the value is a packed message set."""

    key: memoryview | None
    value: memoryview | None


class Wrapped(NamedTuple):
    """The message set inside a compressed message, and what is to be added to its offsets."""

    block: memoryview
    base_offset: int


def crc_of(data: memoryview, header: BatchHeader) -> int:
    """The checksum that the message should have."""
    return zlib.crc32(data[header.position + CRC_FROM : header.end])


def timestamp_type(header: BatchHeader) -> TimestampType:
    """Magic 0 has none, even where the bit is set."""
    return TimestampType.NONE if header.magic == 0 else TimestampType(header.log_append_time)


def read_message(data: memoryview, header: BatchHeader) -> Message:
    """The message that the header was read from; raises Corrupt (CRC, RECORD)."""
    found = crc_of(data, header)
    if found != header.crc:
        raise Corrupt(Finding(Fault.CRC, header.position, -1, header.crc, found))
    at = header.position + LEGACY_MESSAGE.size + (LEGACY_TIMESTAMP.size if header.magic else 0)
    key, at = _read_field(data, at, header)
    value, at = _read_field(data, at, header)
    if at != header.end:
        raise Corrupt(Finding(Fault.RECORD, header.position))
    return Message(key, value)


def _read_field(data: memoryview, at: int, header: BatchHeader) -> tuple[memoryview | None, int]:
    """A length and as many bytes. Every negative length is null, as Kafka reads it."""
    start = at + LENGTH.size
    if start > header.end:
        raise Corrupt(Finding(Fault.RECORD, header.position))
    (length,) = LENGTH.unpack_from(data, at)
    if length < 0:
        return None, start
    if start + length > header.end:
        raise Corrupt(Finding(Fault.RECORD, header.position))
    return data[start : start + length], start + length


def records(data: memoryview, header: BatchHeader, unpacked_limit: int = UNPACKED_LIMIT) -> list[LogRecord]:
    """The record, or all those inside of a compressed message, as Kafka's own reader gives them. Raises Corrupt."""
    return list(_records(data, header, unpacked_limit))


def _records(data: memoryview, header: BatchHeader, unpacked_limit: int) -> Iterator[LogRecord]:
    message = read_message(data, header)
    if header.codec == Codec.NONE:
        yield _record(header, message)
        return
    block, base_offset = _unwrapped(header, message, unpacked_limit)
    for index, inner in _inner_headers(header, block):
        record = _record(inner, _inner_message(block, inner, header, index))
        yield _placed(record, base_offset, header)


def _record(header: BatchHeader, message: Message) -> LogRecord:
    key, value = (None if field is None else bytes(field) for field in message)
    return LogRecord(header.base_offset, header.max_timestamp, timestamp_type(header), key, value)


def _placed(record: LogRecord, base_offset: int, wrapper: BatchHeader) -> LogRecord:
    """The inner record with its true offset, and the timestamp of a wrapper that the broker stamped."""
    record = record._replace(offset=wrap64(base_offset + record.offset))
    if record.timestamp_type is TimestampType.NONE:
        return record
    lent = timestamp_type(wrapper)
    if lent is TimestampType.LOG_APPEND_TIME:
        return record._replace(timestamp=wrapper.max_timestamp, timestamp_type=lent)
    return record._replace(timestamp_type=TimestampType.CREATE_TIME)


def _unwrapped(wrapper: BatchHeader, message: Message, unpacked_limit: int) -> Wrapped:
    if wrapper.codec > Codec.LZ4:  # zstd came with magic 2
        raise Corrupt(Finding(Fault.CODEC, wrapper.position, -1, 0, wrapper.codec))
    packed = b"" if message.value is None else bytes(message.value)
    if wrapper.magic == 0 and wrapper.codec == Codec.LZ4:
        packed = lz4_header.repaired(packed)
    try:
        block = memoryview(kernel.decompress(wrapper.codec, packed, unpacked_limit))
    except Corrupt as error:
        raise Corrupt(error.finding._replace(position=wrapper.position)) from error
    return Wrapped(block, _base_offset(wrapper, _last_inner(wrapper, block).base_offset))


def _last_inner(wrapper: BatchHeader, block: memoryview) -> BatchHeader:
    """The header of the last inner message, once none of them is compressed again."""
    last = None
    for index, last in _inner_headers(wrapper, block):
        if last.magic > 1 or last.codec != Codec.NONE:
            raise Corrupt(Finding(Fault.RECORD, wrapper.position, index))
    if last is None:
        raise Corrupt(Finding(Fault.COUNT, wrapper.position, -1, 1, 0))
    return last


def _inner_headers(wrapper: BatchHeader, block: memoryview) -> Iterator[tuple[int, BatchHeader]]:
    """Each inner header with its index; what cannot be stepped over is told by the wrapper's place."""
    index = -1
    try:
        for index, inner in enumerate(headers(block)):
            yield index, inner
    except Corrupt as error:
        raise Corrupt(Finding(error.finding.fault, wrapper.position, index + 1)) from error


def _base_offset(wrapper: BatchHeader, last_inner: int) -> int:
    if wrapper.magic == 0 or wrapper.base_offset == 0:
        # A wrapper at 0 is not yet placed by a broker, or holds the one message 0: what is inside counts from 0.
        return 0
    if wrapper.base_offset < last_inner:
        raise Corrupt(Finding(Fault.ORDER, wrapper.position, -1, last_inner, wrapper.base_offset))
    return wrapper.base_offset - last_inner


def _inner_message(block: memoryview, inner: BatchHeader, wrapper: BatchHeader, index: int) -> Message:
    try:
        return read_message(block, inner)
    except Corrupt as error:
        raise Corrupt(error.finding._replace(position=wrapper.position, record=index)) from error


def check_message(
    data: ReadableBuffer,
    position: int = 0,
    next_offset: int = 0,
    deep: bool = True,
    unpacked_limit: int = UNPACKED_LIMIT,
) -> Check:
    """`kernel.check` for the one message at `position`. Stricter than reading: on a disk the inner offsets rise and
    none passes the wrapper's. Without `deep` the inside of a compressed message is neither looked at nor counted."""
    view = memoryview(data).cast("B")
    try:
        header = _message_at(view, position)
        count = _checked(view, header, next_offset, unpacked_limit) if deep else _skimmed(view, header)
        _verify_order(header, -1, header.base_offset, next_offset)
    except Corrupt as error:
        return Check(0, 0, position, next_offset, error.finding)
    return Check(1, count, header.end, header.base_offset + 1, None)


def _message_at(data: memoryview, position: int) -> BatchHeader:
    found = kernel.walk(data, position, 1)
    if not found.headers:
        raise Corrupt(Finding(Fault.PARTIAL if found.fault is None else found.fault, position))
    (header,) = found.headers
    if header.magic > 1:
        raise Corrupt(Finding(Fault.MAGIC, position, -1, 1, header.magic))
    return header


def _skimmed(data: memoryview, header: BatchHeader) -> int:
    read_message(data, header)
    return max(header.record_count, 0)


def _checked(data: memoryview, header: BatchHeader, next_offset: int, unpacked_limit: int) -> int:
    count = 0
    for record in _records(data, header, unpacked_limit):
        _verify_order(header, count, record.offset, next_offset)
        next_offset = record.offset + 1
        count += 1
    return count


def _verify_order(header: BatchHeader, index: int, offset: int, least: int) -> None:
    # The offset after the message must be a number too.
    if not least <= offset <= min(header.base_offset, INT64_MAX - 1):
        raise Corrupt(Finding(Fault.ORDER, header.position, index if header.codec else -1, least, offset))


def to_batch(
    data: memoryview, header: BatchHeader, leader_epoch: int = -1, unpacked_limit: int = UNPACKED_LIMIT
) -> bytes:
    """The message as a batch of magic 2, a compressed one with all that is inside: offsets, timestamps, their type,
    keys, values and codec are kept. Two batches where the offsets inside lie further apart than a batch reaches."""
    finding = check_message(data, header.position, unpacked_limit=unpacked_limit).finding
    if finding is not None:
        raise Corrupt(finding)
    found = records(data, header, unpacked_limit)
    rows = Rows(
        timestamps=[record.timestamp for record in found],
        keys=[record.key for record in found],
        values=[record.value for record in found],
        offsets=[record.offset for record in found],
    )
    encoding = Encoding(codec=header.codec, leader_epoch=leader_epoch)
    if timestamp_type(header) is TimestampType.LOG_APPEND_TIME:
        encoding = encoding._replace(attributes=int(Attribute.LOG_APPEND_TIME), max_timestamp=header.max_timestamp)
    return kernel.encode(rows, encoding)


def to_batches(data: ReadableBuffer, leader_epoch: int = -1, unpacked_limit: int = UNPACKED_LIMIT) -> bytes:
    """The buffer with every message of magic 0 and 1 turned into a batch; batches of magic 2 stay as they are.
    Raises Corrupt on anything else, a partial tail included."""
    view = memoryview(data).cast("B")
    return b"".join(
        to_batch(view, header, leader_epoch, unpacked_limit)
        if header.magic < 2
        else bytes(view[header.position : header.end])
        for header in headers(view)
    )
