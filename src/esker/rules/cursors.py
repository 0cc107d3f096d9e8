"""The offsets that a log keeps, as one value: `storage.md`, "Offsets a log keeps".

    log_start ≤ last_stable ≤ high_watermark ≤ log_end        recovery_point ≤ log_end

A move makes a new value; whoever holds the old one still sees cursors that belong together. Every legal move is a
function of this module and no field is set anywhere else. An illegal one is a bug and raises AssertionError, but for
`advance_log_start`, which a client can ask too much of.

What would surprise: `log_start` and `recovery_point` are plain offsets, as nobody asks for bytes from there. The
position of a high watermark that came as a number alone is unknown (`is_known`) until the caller has read it and says
so by `resolve_high_watermark`; readers need it.
"""

from __future__ import annotations

from typing import NamedTuple

from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode

_made = tuple.__new__  # a NamedTuple's own constructor costs twice as much, and `append` runs for every batch


class OffsetPosition(NamedTuple):
    """An offset and, when it is known, where its bytes begin: in the segment with that base, at that byte."""

    offset: int
    segment_base: int | None = None
    position: int | None = None

    @property
    def is_known(self) -> bool:
        return self.segment_base is not None

    def bytes_after(self, other: OffsetPosition) -> int | None:
        """From the other to this one; None when they are not known to lie on one segment."""
        if self.position is None or other.position is None or self.segment_base != other.segment_base:
            return None
        return self.position - other.position


class Cursors(NamedTuple):
    """All offsets of one log at one moment."""

    # The first offset that may be read. Moves at load, when segments are deleted, by DeleteRecords and, on a follower,
    # with its leader; back only with a truncation below it.
    log_start: int
    # The end for read_committed: the first unstable offset where that is lower, else the high watermark.
    last_stable: OffsetPosition
    # The end for consumers: what all in-sync replicas have. A leader's only rises; a follower's goes where it is told.
    high_watermark: OffsetPosition
    # Where the next batch goes. Moves at load, append and truncation; a roll moves its position alone.
    log_end: OffsetPosition
    # All below it is synced. Rises with a flush of every segment up to it; falls with a truncation.
    recovery_point: int
    # The first offset of the earliest transaction that is open, or that ended above the high watermark.
    first_unstable: OffsetPosition | None = None


class Checkpoints(NamedTuple):
    """What the checkpoint files of a log dir say of one log; None: nothing."""

    log_start: int | None = None
    recovery_point: int | None = None
    high_watermark: int | None = None


def load(first_base: int, log_end: OffsetPosition, saved: Checkpoints, *, clean: bool) -> Cursors:
    """The cursors of a log just opened. After a clean shutdown all of it is synced; otherwise only what the checkpoint
    says, and nothing when it says nothing."""
    log_start = max(first_base, saved.log_start or 0)
    start_at = log_start if saved.high_watermark is None else saved.high_watermark
    recovery_point = log_end.offset if clean else min(saved.recovery_point or 0, log_end.offset)
    assert log_start <= log_end.offset, f"a log from {log_start} that ends at {log_end.offset}"
    high_watermark = _clamped(OffsetPosition(start_at), log_start, log_end)
    return _stable(Cursors(log_start, high_watermark, high_watermark, log_end, recovery_point))


def append(cursors: Cursors, end_offset: int, segment_base: int, position: int) -> Cursors:
    """A batch was written; the log now ends at `end_offset`, at `position` of the active segment."""
    log_start, last_stable, high_watermark, log_end, recovery_point, first_unstable = cursors
    assert end_offset > log_end[0], f"an append that ends at {end_offset} in a log that ends at {log_end[0]}"
    end = _made(OffsetPosition, (end_offset, segment_base, position))
    return _made(Cursors, (log_start, last_stable, high_watermark, end, recovery_point, first_unstable))


def roll(cursors: Cursors, segment_base: int) -> Cursors:
    """A new active segment: the log ends at its first byte. A high watermark at the end goes there too, so that the
    bytes between the two can be counted."""
    end = OffsetPosition(cursors.log_end.offset, segment_base, 0)
    assert segment_base >= end.offset, f"a segment at {segment_base} in a log that ends at {end.offset}"
    return _stable(cursors._replace(log_end=end, high_watermark=_clamped(cursors.high_watermark, 0, end)))


def truncate(cursors: Cursors, log_end: OffsetPosition) -> Cursors:
    """Batches went from the end. All that was above the new end comes down to it; an open transaction that began there
    is gone with its data, and the caller says with `set_first_unstable` whether one is left."""
    end = log_end.offset
    assert end <= cursors.log_end.offset, f"a truncation to {end} of a log that ends at {cursors.log_end.offset}"
    unstable = cursors.first_unstable
    return _stable(
        cursors._replace(
            log_start=min(cursors.log_start, end),
            high_watermark=_clamped(cursors.high_watermark, 0, log_end),
            log_end=log_end,
            recovery_point=min(cursors.recovery_point, end),
            first_unstable=unstable if unstable and unstable.offset < end else None,
        )
    )


def restart(cursors: Cursors, offset: int) -> Cursors:
    """All data is gone and the log begins anew at `offset`, which may be above where it ended."""
    end = OffsetPosition(offset, offset, 0)
    return _stable(Cursors(offset, end, end, end, min(cursors.recovery_point, offset)))


def advance_log_start(cursors: Cursors, offset: int) -> Cursors:
    """Forward only: the same value when it is there already. Above the high watermark the request is rejected. A
    transaction left open below it counts from it."""
    if offset <= cursors.log_start:
        return cursors
    if offset > cursors.high_watermark.offset:
        above = f"offset {offset} is above the high watermark, {cursors.high_watermark.offset}"
        raise Rejected(ErrorCode.OFFSET_OUT_OF_RANGE, above)
    unstable = cursors.first_unstable
    if unstable and unstable.offset < offset:
        unstable = OffsetPosition(offset)
    return _stable(cursors._replace(log_start=offset, first_unstable=unstable))


def update_high_watermark(cursors: Cursors, high_watermark: OffsetPosition) -> Cursors:
    """A follower's, as its leader says, within what this log has; it may go back. The same number again keeps the
    position that is known."""
    if high_watermark.offset == cursors.high_watermark.offset and not high_watermark.is_known:
        return cursors
    clamped = _clamped(high_watermark, cursors.log_start, cursors.log_end)
    return _stable(cursors._replace(high_watermark=clamped))


def increment_high_watermark(cursors: Cursors, high_watermark: OffsetPosition) -> Cursors:
    """A leader's: forward, or to the same offset on a newer segment; otherwise the very same value comes back."""
    log_start, _, old, log_end, recovery_point, unstable = cursors
    offset = high_watermark[0]
    assert offset <= log_end[0], f"a high watermark of {offset} in a log that ends at {log_end[0]}"
    if offset < old[0] or (offset == old[0] and not _is_newer(high_watermark, old)):
        return cursors
    last_stable = unstable if unstable and unstable[0] < offset else high_watermark
    return _made(Cursors, (log_start, last_stable, high_watermark, log_end, recovery_point, unstable))


def resolve_high_watermark(cursors: Cursors, high_watermark: OffsetPosition) -> Cursors:
    """The position of the high watermark was read. When it has moved on meanwhile, nothing happens."""
    if high_watermark.offset != cursors.high_watermark.offset or cursors.high_watermark.is_known:
        return cursors
    return _stable(cursors._replace(high_watermark=high_watermark))


def set_first_unstable(cursors: Cursors, first_unstable: OffsetPosition | None) -> Cursors:
    """What the producer state says after an append, a truncation or a move of the high watermark; None: all that is
    there is decided."""
    if first_unstable == cursors.first_unstable:
        return cursors
    if first_unstable is not None and first_unstable.offset < cursors.log_start:
        first_unstable = OffsetPosition(cursors.log_start)
    return _stable(cursors._replace(first_unstable=first_unstable))


def flush(cursors: Cursors, offset: int) -> Cursors:
    """Every segment up to `offset` is synced. Flushes may end out of order, so it only goes forward. A flush that a
    truncation overtook is not to be told: other batches may stand at its offsets by now, and nobody synced those."""
    assert offset <= cursors.log_end.offset, f"a flush up to {offset} of a log that ends at {cursors.log_end.offset}"
    return cursors._replace(recovery_point=offset) if offset > cursors.recovery_point else cursors


def check(cursors: Cursors) -> Cursors:
    """The inequalities, in one place; answers what it was given."""
    log_start, last_stable, high_watermark, log_end, recovery_point, first_unstable = cursors
    assert 0 <= log_start <= last_stable.offset <= high_watermark.offset <= log_end.offset, cursors
    assert 0 <= recovery_point <= log_end.offset, cursors
    assert log_end.is_known, cursors
    assert first_unstable is None or log_start <= first_unstable.offset <= log_end.offset, cursors
    return cursors


def _stable(cursors: Cursors) -> Cursors:
    """With the last stable offset that follows from the others, and checked."""
    unstable, high_watermark = cursors.first_unstable, cursors.high_watermark
    below = unstable is not None and unstable.offset < high_watermark.offset
    return check(cursors._replace(last_stable=unstable if unstable is not None and below else high_watermark))


def _clamped(wanted: OffsetPosition, log_start: int, log_end: OffsetPosition) -> OffsetPosition:
    """Within the log. At the end it takes the end's own position, which is always known."""
    if wanted.offset >= log_end.offset:
        return log_end
    return wanted if wanted.offset >= log_start else OffsetPosition(log_start)


def _is_newer(wanted: OffsetPosition, old: OffsetPosition) -> bool:
    """Of two positions of one offset: on a newer segment, or known where the old one was not."""
    if wanted.segment_base is None:
        return False
    return old.segment_base is None or old.segment_base < wanted.segment_base
