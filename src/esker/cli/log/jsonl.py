"""Records and batches as JSON, an object a line. Keys and values are base64, since they are bytes; null is null.

The lines are put together from bytes, as a record has few fields and all but header keys are numbers or base64.
"""

from __future__ import annotations

import json
from binascii import b2a_base64
from itertools import chain, repeat
from typing import TYPE_CHECKING

from esker.base.errors import Corrupt
from esker.cli.log.columns import columns
from esker.records.control import read_coordinator_epoch, read_key
from esker.records.text import TIME_NAMES, codec_name
from esker.rules.producers import last_sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from esker.records.batch import Batch
    from esker.records.record import LogRecord, TimestampType

Headers = tuple[tuple[bytes, bytes | None], ...]


class JsonLines:
    """Of one partition."""

    def __init__(self, topic: str, partition: int) -> None:
        number = b"null" if partition < 0 else b"%d" % partition
        self._head = b'{"topic":%b,"partition":%b,' % (json.dumps(topic).encode(), number)

    def batch(self, batch: Batch, position: int) -> bytes:
        fields = json.dumps(batch_fields(batch, position), separators=(",", ":")).encode()
        return self._head + fields[1:] + b"\n"

    def fast(self, batch: Batch) -> bytes | None:
        """All records of the batch at once; None where it must be done one by one. Raises Corrupt."""
        found = columns(batch)
        if found is None:
            return None
        sides = [
            [b"null"] * len(found.offsets) if column.each is None else list(map(base64, column.each))
            for column in (found.keys, found.values)
        ]
        line = self._line(batch.timestamp_type, batch.header.base_offset)
        rows = zip(found.offsets, found.timestamps, *sides, repeat(b"[]"), strict=False)
        return line * len(found.offsets) % tuple(chain.from_iterable(rows))

    def records(self, batch: Batch, found: Sequence[LogRecord], extra: Callable[[LogRecord], object]) -> bytes:
        """One by one; what `extra` answers stands under `decoded`."""
        lines = []
        for record in found:
            line = self._line(record.timestamp_type, batch.header.base_offset) % (
                *(record.offset, record.timestamp, base64(record.key), base64(record.value)),
                headers(record.headers),
            )
            more = {**control_fields(batch, record), **decoded_fields(extra(record))}
            if more:
                line = line[:-2] + b"," + json.dumps(more, separators=(",", ":")).encode()[1:] + b"\n"
            lines.append(line)
        return b"".join(lines)

    def _line(self, timestamp_type: TimestampType, base_offset: int) -> bytes:
        head = self._head.replace(b"%", b"%%")
        name = TIME_NAMES[timestamp_type].encode()
        fields = b'"offset":%%d,"timestamp":%%d,"timestampType":"%b","keyB64":%%b,"valueB64":%%b,"headers":%%b' % name
        return head + fields + b',"batch":%d}\n' % base_offset


def base64(content: bytes | None) -> bytes:
    return b"null" if content is None else b'"%b"' % b2a_base64(content, newline=False)


def headers(found: Headers) -> bytes:
    """A key that is not UTF-8 stands as base64 too, as its text has lost something."""
    if not found:
        return b"[]"
    return b"[%b]" % b",".join([_header(key, value) for key, value in found])


def _header(key: bytes, value: bytes | None) -> bytes:
    try:
        named = b'{"key":%b' % json.dumps(key.decode()).encode()
    except UnicodeDecodeError:
        named = b'{"key":%b,"keyB64":%b' % (json.dumps(key.decode(errors="replace")).encode(), base64(key))
    return named + b',"valueB64":%b}' % base64(value)


def control_fields(batch: Batch, record: LogRecord) -> dict[str, object]:
    if batch.header.magic < 2 or not batch.header.control:
        return {}
    try:
        key = read_key(record.key)
        if not key.ends_transaction:
            return {"control": str(key)}
        return {"control": str(key), "coordinatorEpoch": read_coordinator_epoch(record.value)}
    except Corrupt:
        return {"control": "unreadable"}


def decoded_fields(decoded: object) -> dict[str, object]:
    return {} if decoded is None else {"decoded": decoded}


def batch_fields(batch: Batch, position: int) -> dict[str, object]:
    """Under Kafka's names, those of its dump tool."""
    header = batch.header
    common: dict[str, object] = {
        "position": position,
        "timestampType": TIME_NAMES[batch.timestamp_type],
        "timestamp": header.max_timestamp,
        "size": header.size,
        "magic": header.magic,
        "compresscodec": codec_name(header.codec),
        "crc": header.crc,
        "isvalid": header.crc == batch.crc_found,
    }
    if header.magic < 2:
        return {"lastOffset": header.last_offset, **common}
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": last_sequence(header.base_sequence, header.last_offset_delta),
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.leader_epoch,
        "isTransactional": header.transactional,
        "isControl": header.control,
        "deleteHorizonMs": header.delete_horizon_ms,
        **common,
    }
