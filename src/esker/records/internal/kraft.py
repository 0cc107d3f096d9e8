"""One record of KRaft's metadata log, from its bytes and back.

A value is a frame: its version (1), the record's type and version as unsigned varints, and the message. The key is
null. Control records are no such records: who walks over the log leaves them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker.records.internal.kraft_tables import LIBRARY
from esker.schema import BadMessage, varint

if TYPE_CHECKING:
    from esker.records.internal.kraft_tables import (
        AbortTransactionRecord,
        BeginTransactionRecord,
        ConfigRecord,
        EndTransactionRecord,
        FeatureLevelRecord,
        PartitionChangeRecord,
        PartitionRecord,
        RemoveTopicRecord,
        TopicRecord,
    )

    Known = (
        TopicRecord
        | PartitionRecord
        | PartitionChangeRecord
        | RemoveTopicRecord
        | ConfigRecord
        | FeatureLevelRecord
        | BeginTransactionRecord
        | EndTransactionRecord
        | AbortTransactionRecord
    )

FRAME = 1
NAME = "a record of the metadata log"


class Unknown(NamedTuple):
    """A record of a type, a version or a frame that is not known here."""

    type: int
    version: int
    value: bytes


def read(value: bytes) -> Known | Unknown:
    """Raises BadMessage."""
    try:
        frame, position = varint.read(memoryview(value), 0)
        if frame != FRAME:
            return Unknown(-1, -1, value)
        type_, position = varint.read(memoryview(value), position)
        version, position = varint.read(memoryview(value), position)
    except (IndexError, OverflowError):
        raise BadMessage(NAME, FRAME, 0, "the frame is cut short, or a number in it too long") from None
    schema = LIBRARY.by_key.get(type_)
    if schema is None or version not in schema.message.versions:
        return Unknown(type_, version, value)
    record: Known
    record, end = schema.decoder(version)(value, position)
    if end != len(value):  # Kafka refuses it too: nothing but damage makes one
        raise BadMessage(schema.message.name, version, end, f"{len(value) - end} bytes are left over")
    return record


def write(record: Known, version: int = 0) -> bytes:
    """The frame. Raises UnknownVersion, CannotEncode."""
    schema = LIBRARY[type(record).__name__]
    prefix = b"".join(map(varint.write, (FRAME, schema.message.key, version)))
    return b"".join(schema.encoder(version)(record, prefix))
