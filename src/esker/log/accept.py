"""From what a client sent to what is written: judged, stamped, and packed anew where the topic asks for it.

The bytes of the caller's buffer are stamped in place when they can be: a batch that keeps its codec is not copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker import kernel
from esker.kernel.contract import Accepted, Encoding, Rows
from esker.kernel.layout import Attribute, wrap64
from esker.log.values import Repacked
from esker.rules import append

if TYPE_CHECKING:
    from esker.base.config import LogConfig
    from esker.kernel.contract import BatchHeader, Record

KEPT_BITS = int(Attribute.TRANSACTIONAL)


class Prepared(NamedTuple):
    """A batch as it is to be written, but for its offset and epoch. `header` is the client's."""

    data: bytearray | memoryview
    header: BatchHeader
    max_timestamp: int
    append_time: int
    repacked: Repacked | None = None


def from_client(data: bytes | bytearray | memoryview, config: LogConfig, now_ms: int) -> Prepared:
    """Raises Rejected."""
    accepted = append.verify(kernel.validate(data, append.limits(config, now_ms)))
    header = accepted.header
    log_append_time = config.log_append_time
    max_timestamp = now_ms if log_append_time else accepted.max_timestamp
    append_time = now_ms if log_append_time else -1
    if append.codec_on_disk(config, header.codec) != header.codec or not accepted.consecutive:
        packed = _packed_anew(data, accepted, config, append_time)
        append.verify_size(len(packed), config)
        repacked = Repacked(header.record_count, header.size, len(packed))
        return Prepared(bytearray(packed), header, max_timestamp, append_time, repacked)
    return Prepared(_writable(data, header.size), header, max_timestamp, append_time)


def _writable(data: bytes | bytearray | memoryview, size: int) -> bytearray | memoryview:
    """The batch alone, copied only where the caller's buffer may not be written to."""
    view = memoryview(data)
    if view.readonly:
        return bytearray(view[:size])
    return view if len(view) == size else view[:size]


def _packed_anew(
    data: bytes | bytearray | memoryview, accepted: Accepted, config: LogConfig, append_time: int
) -> bytes:
    """As Kafka does it: offsets 0, 1, 2, …, the first record's time as base, no bits but those with a meaning."""
    header = accepted.header
    codec = append.codec_on_disk(config, header.codec)
    stamped = append_time >= 0
    encoding = Encoding(
        codec=codec,
        level=append.level(config, codec),
        attributes=header.attributes & KEPT_BITS | (int(Attribute.LOG_APPEND_TIME) if stamped else 0),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        max_timestamp=append_time if stamped else accepted.max_timestamp,
    )
    return kernel.encode(_rows(header, kernel.unpack(data, unpacked_limit=append.UNPACKED_LIMIT)), encoding)


def _rows(header: BatchHeader, records: list[Record]) -> Rows:
    return Rows(
        timestamps=[wrap64(header.base_timestamp + record.timestamp_delta) for record in records],
        keys=[record.key for record in records],
        values=[record.value for record in records],
        headers=[record.headers for record in records],
    )
