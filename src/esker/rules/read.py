"""What a read may give: `storage.md`, "Read".

A reader is bound by its isolation. Between its bound and the log's end there is nothing for it yet, which is no error;
outside the log it is told OFFSET_OUT_OF_RANGE and starts anew where it likes.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode

if TYPE_CHECKING:
    from esker.rules.cursors import Cursors, OffsetPosition


class Isolation(Enum):
    """Who reads, which says how far."""

    LOG_END = "log end"  # followers
    HIGH_WATERMARK = "high watermark"  # consumers, read_uncommitted
    LAST_STABLE = "last stable"  # consumers, read_committed


def bound(cursors: Cursors, isolation: Isolation) -> OffsetPosition:
    """The end of what such a reader sees."""
    if isolation is Isolation.HIGH_WATERMARK:
        return cursors.high_watermark
    return cursors.log_end if isolation is Isolation.LOG_END else cursors.last_stable


def readable_end(cursors: Cursors, offset: int, isolation: Isolation) -> OffsetPosition | None:
    """Where a read from `offset` has to end; None: there is nothing for it yet. Raises Rejected outside of the log."""
    if not cursors.log_start <= offset <= cursors.log_end.offset:
        inside = f"[{cursors.log_start}, {cursors.log_end.offset}]"
        raise Rejected(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} is not in {inside}, which the log has")
    end = bound(cursors, isolation)
    return end if offset < end.offset else None


def end_position(end: OffsetPosition, segment_base: int, segment_size: int) -> int:
    """Where in a segment a read has to stop that ends at `end`: 0 in a segment that begins there or later. The
    position of `end` must be known."""
    if end.segment_base is None or end.position is None:
        raise AssertionError(f"a read up to {end}, whose position nobody looked up")
    if end.segment_base == segment_base:
        return end.position
    return segment_size if segment_base < end.segment_base else 0


def slice_bytes(available: int, first_batch_bytes: int, max_bytes: int, *, min_one: bool) -> int:
    """How much of `available` bytes to give. The end may fall inside a batch, whose part the client drops; but a first
    batch that does not fit into `max_bytes` is given whole or, without `min_one`, not at all."""
    if first_batch_bytes > max_bytes:
        return min(first_batch_bytes, available) if min_one else 0
    return min(available, max_bytes)
