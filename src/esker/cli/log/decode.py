"""Kafka's own records, spelled out: commits and groups, transactions, KRaft's metadata. What is not understood is
shown as the bytes that it is."""

from __future__ import annotations

from binascii import b2a_base64
from typing import TYPE_CHECKING

from esker.records.internal import coordinator, kraft
from esker.rules import layout
from esker.schema import BadMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from esker.records.record import LogRecord

BY_WORD = {
    "offsets": layout.GROUP_OFFSETS_TOPIC,
    "transactions": layout.TRANSACTIONS_TOPIC,
    "metadata": layout.KRAFT_TOPIC,
}


def decoder(topic: str) -> Callable[[LogRecord], object] | None:
    """Answers plain values for JSON, or None where a record is not understood; None for a topic of nobody's."""
    if topic == layout.KRAFT_TOPIC:
        return _metadata
    if topic in coordinator.TOPICS:
        return lambda record: _coordinator(topic, record)
    return None


def _coordinator(topic: str, record: LogRecord) -> object:
    try:
        found = coordinator.read(topic, record.key, record.value)
    except BadMessage:
        return None
    if isinstance(found, coordinator.Unknown):
        return None
    value = None if found.value is None else plain(found.value)
    return {"type": type(found.key).__name__.removesuffix("Key"), "key": plain(found.key), "value": value}


def _metadata(record: LogRecord) -> object:
    try:
        found = kraft.read(record.value or b"")
    except BadMessage:
        return None
    if isinstance(found, kraft.Unknown):
        return {"type": found.type, "version": found.version}
    return {"type": type(found).__name__, "value": plain(found)}


def plain(value: object) -> object:
    """As JSON has it: bytes, ids among them, become base64."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(field) for name, field in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return b2a_base64(value, newline=False).decode()
    return value
