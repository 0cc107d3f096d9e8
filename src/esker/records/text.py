"""Batches and records as lines of text, for dumps, tests and failure messages.

The surprise: what is shown is hostile. A key may hold terminal escapes, or a megabyte. So what is UTF-8 and printable
all through (but for tabs and ends of lines, which are spelled out) is shown as quoted text, everything else as hex, and
both are cut; `null` is never `""`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.base.errors import Corrupt
from esker.kernel.layout import CODEC_BITS, Attribute, Codec
from esker.records.control import read_coordinator_epoch, read_key
from esker.records.record import LogRecord, TimestampType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.records.batch import Batch

SHOWN_BYTES = 64
CODECS = frozenset(Codec)
KNOWN_ATTRIBUTES = CODEC_BITS | sum(Attribute)
UTF8_LONGEST = 4
SPELLED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
TIME_NAMES = {
    TimestampType.NONE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


def lines(batch: Batch, shown_bytes: int = SHOWN_BYTES) -> Iterator[str]:
    """The batch's line, then a line for each record. Raises Corrupt after the first line if there are no records to
    be had."""
    yield batch_line(batch)
    show = control_line if batch.header.magic > 1 and batch.header.control else record_line
    for record in batch.records():
        yield show(record, shown_bytes)


def batch_line(batch: Batch) -> str:
    """Everything that the header says, and whether the checksum is right."""
    header = batch.header
    facts = [
        f"offset={_offsets(batch)}",
        f"records={header.record_count if header.record_count >= 0 else 'inside'}",
        f"position={header.position}",
        f"size={header.size}",
        f"magic={header.magic}",
        f"codec={codec_name(header.codec)}",
        f"{TIME_NAMES[batch.timestamp_type]}={_timestamps(batch)}",
        f"crc={_crc(batch)}",
    ]
    return " ".join(facts + (_later_facts(batch) if header.magic > 1 else []))


def record_line(record: LogRecord, shown_bytes: int = SHOWN_BYTES) -> str:
    return " ".join(
        [
            f"offset={record.offset}",
            f"{TIME_NAMES[record.timestamp_type]}={record.timestamp}",
            f"key={shown(record.key, shown_bytes)}",
            f"value={shown(record.value, shown_bytes)}",
            *([f"headers={_headers(record, shown_bytes)}"] if record.headers else []),
        ]
    )


def control_line(record: LogRecord, shown_bytes: int = SHOWN_BYTES) -> str:
    """As `record_line`, and the name of the record's kind; of a marker its coordinator's epoch too."""
    try:
        key = read_key(record.key)
        said = f"control={key}"
        if key.ends_transaction:
            said += f" coordinator_epoch={read_coordinator_epoch(record.value)}"
    except Corrupt:
        said = "control=unreadable"
    return f"{record_line(record, shown_bytes)} {said}"


def shown(content: bytes | None, shown_bytes: int = SHOWN_BYTES) -> str:
    """Safe for a terminal: quoted text, or hex after 0x; cut with … and the whole size."""
    if content is None:
        return "null"
    head = content[:shown_bytes]
    text = _printable(head, len(content) > shown_bytes)
    said = f"0x{head.hex()}" if text is None else f'"{text}"'
    return said if len(content) <= shown_bytes else f"{said}…({len(content)} bytes)"


def codec_name(codec: int) -> str:
    return Codec(codec).name.lower() if codec in CODECS else f"unknown-{codec}"


def _printable(head: bytes, is_cut: bool) -> str | None:
    """The text, its special characters spelled out, if it is all text. A character that was cut through is left out."""
    for spare in range(UTF8_LONGEST if is_cut else 1):
        try:
            text = head[: len(head) - spare].decode()
        except UnicodeDecodeError:
            continue
        text = text.translate(SPELLED)
        return text if text.isprintable() else None
    return None


def _offsets(batch: Batch) -> str:
    header = batch.header
    if header.record_count < 0:
        return f"..{header.last_offset}"
    return f"{header.base_offset}..{header.last_offset}" if header.last_offset_delta else str(header.base_offset)


def _timestamps(batch: Batch) -> str:
    header = batch.header
    if header.base_timestamp == header.max_timestamp or header.delete_horizon_ms is not None:
        return str(header.max_timestamp)
    return f"{header.base_timestamp}..{header.max_timestamp}"


def _crc(batch: Batch) -> str:
    said, found = batch.header.crc, batch.crc_found
    return f"{said:08x}(ok)" if said == found else f"{said:08x}(BAD, of the bytes {found:08x})"


def _later_facts(batch: Batch) -> list[str]:
    """What magic 0 and 1 do not have."""
    header = batch.header
    facts = [f"leader_epoch={header.leader_epoch}"]
    if header.producer_id >= 0 or header.base_sequence >= 0:
        facts.append(f"producer={header.producer_id}/{header.producer_epoch} sequence={header.base_sequence}")
    if header.delete_horizon_ms is not None:
        facts.append(f"delete_horizon={header.delete_horizon_ms}")
    flags = [name for name in ("transactional", "control") if getattr(header, name)]
    unknown = header.attributes & 0xFFFF & ~KNOWN_ATTRIBUTES
    return facts + flags + ([f"attributes={unknown:#x}"] if unknown else [])


def _headers(record: LogRecord, shown_bytes: int) -> str:
    pairs = (f"{shown(name, shown_bytes)}={shown(content, shown_bytes)}" for name, content in record.headers)
    return f"[{', '.join(pairs)}]"
