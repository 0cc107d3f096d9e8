"""Reading: which bytes, and which offset. Nothing here changes a log, and nothing reads record bytes to answer a
fetch: a slice names them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from esker.log.guard import reading
from esker.log.values import Read
from esker.rules.cursors import Cursors
from esker.rules.read import Isolation, bound, end_position, readable_end, slice_bytes

if TYPE_CHECKING:
    from esker.log.log import Log
    from esker.rules.cursors import OffsetPosition
    from esker.rules.epochs import EpochEnd
    from esker.storage.segment import Segment
    from esker.storage.txn_index import AbortedTransaction


class Wanted(NamedTuple):
    """What a reader asks for. `min_one`: the first batch comes whole, however large."""

    offset: int
    max_bytes: int
    isolation: Isolation
    min_one: bool = True


class Special(IntEnum):
    """Kafka's numbers for what is no timestamp."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


class FoundOffset(NamedTuple):
    """An offset that was looked up; -1 for a timestamp or an epoch that nobody asked for."""

    offset: int
    timestamp: int = -1
    leader_epoch: int = -1


@reading
def read(log: Log, wanted: Wanted) -> Read:
    """The slice from the batch that holds the offset on, within one segment. Raises Rejected outside of the log."""
    at = log.cursors
    end = readable_end(at, wanted.offset, wanted.isolation)
    if end is None:
        return _nothing(at, wanted)
    if not end.is_known:
        end = log.position_of(end.offset)
    for segment in log.segments.since(wanted.offset):
        header = segment.find(wanted.offset)
        if header is None:
            continue
        available = end_position(end, segment.base_offset, segment.size) - header.position
        size = slice_bytes(available, header.size, wanted.max_bytes, min_one=wanted.min_one) if available > 0 else 0
        if not size:
            return _nothing(at, wanted)
        found = segment.slice(header.position, size)
        return Read(found, at, _aborted(log, wanted, segment, header.position + size))
    return _nothing(at, wanted)


def _nothing(at: Cursors, wanted: Wanted) -> Read:
    return Read(None, at, [] if wanted.isolation is Isolation.LAST_STABLE else None)


def _aborted(log: Log, wanted: Wanted, segment: Segment, end_position: int) -> list[AbortedTransaction] | None:
    """Of those that reach into the slice; a few too many are normal, as its end is known by the index alone."""
    if wanted.isolation is not Isolation.LAST_STABLE:
        return None
    aborting = list(log.segments.aborting_since(segment.base_offset))
    if not aborting:
        return []
    end_offset = segment.offset_past(end_position) or log.segments.base_after(segment) or log.cursors.log_end.offset
    found: list[AbortedTransaction] = []
    for each in aborting:
        overlap = each.txn_index.overlapping(wanted.offset, end_offset)
        found += overlap.aborted
        if overlap.closed:
            break
    return found


@reading
def offset_for(log: Log, timestamp: int, isolation: Isolation) -> FoundOffset | None:
    """The offset that a timestamp, or one of the special numbers, stands for; None: there is none."""
    at = log.cursors
    end = bound(at, isolation)
    match timestamp:
        case Special.EARLIEST | Special.EARLIEST_LOCAL | Special.EARLIEST_PENDING_UPLOAD:
            return FoundOffset(at.log_start, leader_epoch=_epoch(log, at.log_start))
        case Special.LATEST:
            return FoundOffset(end.offset, leader_epoch=log.epochs.latest)
        case Special.LATEST_TIERED:
            return None
        case Special.MAX_TIMESTAMP:
            return _of_largest(log, at, end)
    return _first_since(log, timestamp, at, end)


def _epoch(log: Log, offset: int) -> int:
    epoch = log.epochs.epoch_at(offset)
    return -1 if epoch is None else epoch


def _first_since(log: Log, timestamp: int, at: Cursors, end: OffsetPosition) -> FoundOffset | None:
    """The first record as young as this, from the first segment that has one on."""
    for segment in log.segments.since(at.log_start):
        largest = segment.largest.timestamp
        if (largest if largest >= 0 else segment.modified_ms) < timestamp:
            continue
        found = segment.find_timestamp(timestamp, at.log_start)
        if found is not None:
            return FoundOffset(*found) if found.offset < end.offset else None
    return None


def _of_largest(log: Log, at: Cursors, end: OffsetPosition) -> FoundOffset | None:
    """The first record that has the largest timestamp of all; the oldest segment of equals."""
    segments = log.segments.since(at.log_start)
    youngest = max(segments, key=lambda segment: segment.largest.timestamp)
    timestamp = youngest.largest.timestamp
    if timestamp < 0:
        return None
    found = youngest.find_timestamp(timestamp, at.log_start)
    return FoundOffset(*found) if found is not None and found.offset < end.offset else None


@reading
def end_offset_for(log: Log, leader_epoch: int) -> EpochEnd:
    """Where this leader epoch ended in the log."""
    return log.epochs.end_offset_for(leader_epoch, log.cursors.log_end.offset)
