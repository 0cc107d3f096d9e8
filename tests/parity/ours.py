"""Logs that Esker writes for a Kafka to take over, and what must be read out of them."""

import time
from collections.abc import Callable, Sequence

from esker import kernel
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Attribute, Codec
from esker.log.log import Log
from esker.records.control import ControlType, EndMarker
from esker.rules.producers import NOT_ASKED
from golden.contents import START_MS, Record, large, mixed, plain

HOUR_MS = 3_600_000
NOW = time.time_ns() // 1_000_000
TRANSACTIONAL = int(Attribute.TRANSACTIONAL)
KEPT, GIVEN_UP = 7_000, 7_001  # producer ids
DELETED_TO = 40

Write = Callable[[Log, int], None]


def append(log: Log, epoch: int, records: Sequence[Record], encoding: Encoding | None = None) -> None:
    rows = Rows(
        [each.timestamp for each in records],
        [each.key for each in records],
        [each.value for each in records],
        [tuple((name.encode(), value) for name, value in each.headers) for each in records],
    )
    log.append_as_leader(kernel.encode(rows, encoding or Encoding()), epoch, NOW, NOT_ASKED)
    log.increment_high_watermark(log.cursors.log_end.offset)


def packed(log: Log, epoch: int) -> None:
    """Each codec in turn."""
    for at, codec in enumerate(Codec):
        stamp = START_MS + at * HOUR_MS
        append(log, epoch, [*mixed(stamp), *large(stamp + 1000)], Encoding(codec=codec, batch_bytes=1 << 20))


def many(log: Log, epoch: int) -> None:
    """So many batches that segments roll and indexes have entries."""
    for at in range(200):
        append(log, epoch, plain(START_MS + at * HOUR_MS, 20, first=at * 20))


def deleted(log: Log, epoch: int) -> None:
    """With a beginning that DeleteRecords took, inside a segment."""
    many(log, epoch)
    log.advance_log_start(DELETED_TO)


def transactions(log: Log, epoch: int) -> None:
    """One committed and one aborted, across each other, and plain records between them."""
    for at, producer_id in enumerate((KEPT, GIVEN_UP, KEPT, GIVEN_UP)):
        sequence = at // 2 * 3
        encoding = Encoding(attributes=TRANSACTIONAL, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        append(log, epoch, plain(NOW + at, 3, first=at * 10), encoding)
        append(log, epoch, plain(NOW + at, 1, first=100 + at))
    for ends, producer_id in ((ControlType.ABORT, GIVEN_UP), (ControlType.COMMIT, KEPT)):
        log.append_marker(EndMarker(ends, producer_id, 0, 3, NOW + 10), epoch, 1, NOW)
    append(log, epoch, plain(NOW + 20, 2, first=200))


WRITERS: dict[str, Write] = {
    "ours-packed": packed,
    "ours-many": many,
    "ours-deleted": deleted,
    "ours-transactions": transactions,
}
SMALL_SEGMENTS = ("ours-many", "ours-deleted")
