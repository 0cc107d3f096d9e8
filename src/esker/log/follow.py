"""What a follower takes of the bytes that its leader sent: `storage.md`, "Append", "As follower"."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker import kernel
from esker.base.errors import Rejected
from esker.base.faults import Fault
from esker.base.kafka_errors import ErrorCode
from esker.kernel.layout import INT32_MAX
from esker.records import batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.kernel.contract import BatchHeader
    from esker.rules.cursors import Cursors
    from esker.rules.epochs import Epochs


class Followed(NamedTuple):
    """Whole batches to be appended as they are. `restart_at`: the log is to begin anew there first."""

    data: memoryview
    headers: list[BatchHeader]
    restart_at: int | None


def followed(data: memoryview, at: Cursors, leader_epoch: int) -> Followed:
    """Raises Rejected when the bytes are bad, or do not follow on what is there."""
    first = kernel.walk(data, 0, 1).headers
    restart_at = _restart(first[0], at) if first else None
    end_offset = at.log_end.offset if restart_at is None else restart_at
    found = batch.check(data, next_offset=end_offset, deep=False)
    finding = found.finding
    if finding is not None and finding.fault is not Fault.PARTIAL:
        if finding.fault is Fault.ORDER:
            raise Rejected(ErrorCode.OFFSET_OUT_OF_RANGE, _out_of_place(data, finding.position, at))
        raise Rejected(ErrorCode.CORRUPT_MESSAGE, str(finding))
    headers = _of_known_epochs(kernel.walk(data[: found.end]).headers, leader_epoch)
    if headers and headers[-1].last_offset - headers[0].base_offset > INT32_MAX:
        raise Rejected(ErrorCode.CORRUPT_MESSAGE, "batches further apart than one segment can hold")
    end = headers[-1].end if headers else 0
    return Followed(data[:end], headers, restart_at)


def epochs_after(epochs: Epochs, headers: Sequence[BatchHeader]) -> Epochs:
    """With the epochs that begin with these batches. A message of magic 0 or 1 does not tell its own: then nothing is
    known for sure, and a truncation goes by the high watermark."""
    for header in headers:
        if header.magic < 2:
            epochs = epochs.truncate_from_end(-1)
        elif header.leader_epoch > epochs.latest:
            epochs = epochs.assign(header.leader_epoch, header.base_offset)
    return epochs


def _restart(first: BatchHeader, at: Cursors) -> int | None:
    """An empty log that begins inside the leader's first batch (DeleteRecords cut it there) takes the whole batch."""
    is_empty = at.log_start == at.log_end.offset
    return first.base_offset if is_empty and first.base_offset < at.log_end.offset <= first.last_offset else None


def _of_known_epochs(headers: list[BatchHeader], leader_epoch: int) -> list[BatchHeader]:
    """Up to the first batch of an epoch that this replica does not know of yet."""
    for place, header in enumerate(headers):
        if header.leader_epoch > leader_epoch:
            return headers[:place]
    return headers


def _out_of_place(data: memoryview, position: int, at: Cursors) -> str:
    (header,) = kernel.walk(data, position, 1).headers
    offsets = f"offsets {header.base_offset} to {header.last_offset}"
    return f"a batch of {offsets} does not follow in a log that ends at {at.log_end.offset}"
