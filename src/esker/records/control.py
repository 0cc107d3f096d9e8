"""Control records: what Kafka itself writes between the records of clients.

Only the end of a transaction is interpreted here. KRaft's kinds (leader change, snapshot header and footer, version,
voters) and kinds not known yet are carried as what they are. The surprise: a key of a version that is not known is
read as version 0, and a longer key or value than needed is no error.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Attribute

if TYPE_CHECKING:
    from esker.records.batch import Batch

KEY = Struct(">hh")  # version, type
MARKER = Struct(">hi")  # version, coordinator epoch


class ControlType(IntEnum):
    """The kinds that have a name."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


NAMED = frozenset(ControlType)
ENDS_TRANSACTION = (ControlType.ABORT, ControlType.COMMIT)


class ControlKey(NamedTuple):
    """`type` is a `ControlType`, or the number of a kind that has no name here."""

    version: int
    type: int

    @property
    def ends_transaction(self) -> bool:
        return self.type in ENDS_TRANSACTION

    def __str__(self) -> str:
        return self.type.name.lower() if isinstance(self.type, ControlType) else f"type-{self.type}"


class EndMarker(NamedTuple):
    """The end of a producer's transaction in this partition, as the transaction coordinator had it written."""

    type: ControlType
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    timestamp: int


def read_key(key: bytes | None, position: int = 0, record: int = 0) -> ControlKey:
    """The kind of a control record. Raises Corrupt, with the place given, when the key is too short for one or its
    version is negative."""
    if key is None or len(key) < KEY.size:
        raise Corrupt(Finding(Fault.RECORD, position, record, KEY.size, len(key or b"")))
    version, number = KEY.unpack_from(key)
    if version < 0:
        raise Corrupt(Finding(Fault.RECORD, position, record, 0, version))
    return ControlKey(version, ControlType(number) if number in NAMED else number)


def read_coordinator_epoch(value: bytes | None, position: int = 0, record: int = 0) -> int:
    """What the value of a marker says. Raises as `read_key` does."""
    if value is None or len(value) < MARKER.size:
        raise Corrupt(Finding(Fault.RECORD, position, record, MARKER.size, len(value or b"")))
    version, coordinator_epoch = MARKER.unpack_from(value)
    if version < 0:
        raise Corrupt(Finding(Fault.RECORD, position, record, 0, version))
    return int(coordinator_epoch)


def read_end_marker(batch: Batch) -> EndMarker | None:
    """The marker in this batch; None for every other batch, one that the cleaner emptied included. Raises Corrupt."""
    header = batch.header
    if header.magic < 2 or not (header.control and header.transactional) or header.record_count == 0:
        return None
    record = batch.records()[0]
    key = read_key(record.key, header.position)
    if not isinstance(key.type, ControlType) or not key.ends_transaction:
        return None
    coordinator_epoch = read_coordinator_epoch(record.value, header.position)
    return EndMarker(key.type, header.producer_id, header.producer_epoch, coordinator_epoch, record.timestamp)


def end_marker_batch(marker: EndMarker, offset: int = 0, leader_epoch: int = -1) -> bytes:
    """The batch that holds this marker alone, never compressed, without a sequence."""
    rows = Rows(
        timestamps=[marker.timestamp],
        keys=[KEY.pack(0, marker.type)],
        values=[MARKER.pack(0, marker.coordinator_epoch)],
        offsets=[offset],
    )
    encoding = Encoding(
        attributes=int(Attribute.TRANSACTIONAL | Attribute.CONTROL),
        leader_epoch=leader_epoch,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
    )
    return kernel.encode(rows, encoding)
