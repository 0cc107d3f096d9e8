"""Views over the batches of a buffer: headers at once, records when asked for, all three magics alike.

How the end is told: `batches` stops quietly where a log may end while it is written, at a partial batch or at the
zeros of a preallocated file, and raises Corrupt where a batch cannot be stepped over. The quiet end is not lost:
`tail` names it. The surprise: walking trusts the size fields alone; only `verify` and `records` look at checksums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import UNPACKED_LIMIT, BatchHeader, Check
from esker.kernel.layout import CRC_FROM, wrap64
from esker.records import legacy
from esker.records.record import LogRecord, TimestampType
from esker.records.walk import headers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import ReadableBuffer

    from esker.kernel.contract import Record

# How a log may end while it is being written.
QUIET_ENDS = (Fault.PARTIAL, Fault.ZEROS)


class Batch(NamedTuple):
    """A batch, or a message of magic 0 or 1, in the buffer that it was found in."""

    header: BatchHeader
    data: memoryview

    @property
    def bytes(self) -> memoryview:
        """The batch alone, not copied."""
        return self.data[self.header.position : self.header.end]

    @property
    def timestamp_type(self) -> TimestampType:
        return legacy.timestamp_type(self.header)

    @property
    def crc_found(self) -> int:
        """The checksum that the bytes have; `header.crc` is what the batch says."""
        if self.header.magic < 2:
            return legacy.crc_of(self.data, self.header)
        return kernel.crc32c(self.bytes[CRC_FROM:])

    def records(self, unpacked_limit: int = UNPACKED_LIMIT) -> list[LogRecord]:
        """The records, the checksum and the lengths checked. Raises Corrupt."""
        if self.header.magic < 2:
            return legacy.records(self.data, self.header, unpacked_limit)
        found = kernel.unpack(self.data, self.header.position, unpacked_limit=unpacked_limit)
        return _placed(self.header, self.timestamp_type, found)

    def verify(self, unpacked_limit: int = UNPACKED_LIMIT) -> None:
        """Raises Corrupt unless checksum, structure and every record are good, and the offsets in order."""
        alone = self.data[: self.header.end]
        finding = check(alone, self.header.position, unpacked_limit=unpacked_limit).finding
        if finding is not None:
            raise Corrupt(finding)


def _placed(header: BatchHeader, timestamp_type: TimestampType, found: list[Record]) -> list[LogRecord]:
    """With offsets and timestamps. One that the broker stamped has the batch's; a delete horizon changes nothing here:
    the deltas count from what stands in `base_timestamp`, be it a timestamp or the horizon."""
    stamped = timestamp_type is TimestampType.LOG_APPEND_TIME
    return [
        LogRecord(
            offset=wrap64(header.base_offset + record.offset_delta),
            timestamp=header.max_timestamp if stamped else wrap64(header.base_timestamp + record.timestamp_delta),
            timestamp_type=timestamp_type,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
        for record in found
    ]


def batches(data: ReadableBuffer, position: int = 0) -> Iterator[Batch]:
    """Each whole batch from `position` on; what comes after the last one is told by `tail`. Raises Corrupt."""
    view = memoryview(data).cast("B")
    try:
        for header in headers(view, position):
            yield Batch(header, view)
    except Corrupt as error:
        if error.finding.fault not in QUIET_ENDS:
            raise


def tail(data: ReadableBuffer, position: int = 0) -> Finding | None:
    """What stands after the last whole batch; None when nothing does. Damage is answered too, not raised."""
    view = memoryview(data).cast("B")
    try:
        for _ in headers(view, position):
            pass
    except Corrupt as error:
        return error.finding
    return None


def check(
    data: ReadableBuffer,
    position: int = 0,
    next_offset: int = 0,
    deep: bool = True,
    unpacked_limit: int = UNPACKED_LIMIT,
) -> Check:
    """`kernel.check` that goes on over messages of magic 0 and 1."""
    total = Check(0, 0, position, next_offset, None)
    while True:
        total = _joined(total, kernel.check(data, total.end, total.next_offset, deep, unpacked_limit))
        if total.finding is None or total.finding.fault is not Fault.LEGACY:
            return total
        total = _joined(total, legacy.check_message(data, total.end, total.next_offset, deep, unpacked_limit))
        if total.finding is not None:
            return total


def _joined(one: Check, after: Check) -> Check:
    return after._replace(batches=one.batches + after.batches, records=one.records + after.records)
