"""When a log starts a new segment: `storage.md`, "Append", step 6.

A segment is rolled by the append that would make it too large, too old, or not to be indexed; without an append
nothing rolls, however old it is. Age is counted in the records' own time, from the first batch to the one that comes,
so that old data that is copied or replayed rolls as it did at first. Only where the first batch has no time does the
clock count, from the segment's creation on.

Here stricter than Kafka: jitter never takes all of the age away. There `max.compaction.lag.ms` below the jitter, or a
`segment.ms` lowered under it, makes a new segment at every append.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from esker.base.config import LogConfig

RELATIVE_MAX = 2**31 - 1  # indexes keep offsets as 32 bits from the base
NO_TIMESTAMP = -1


class RollReason(StrEnum):
    """Why a segment is closed and another one begun."""

    SIZE = "size"
    TIME = "time"
    INDEX_FULL = "index full"
    OFFSET_RANGE = "offset range"


class RollLimits(NamedTuple):
    """What one segment may grow to. Made when the segment is opened, made anew when the config changes; `since_ms`
    becomes known with the first batch."""

    segment_bytes: int
    age_ms: int  # inclusive: it is rolled above
    last_offset: int  # inclusive
    created_ms: int
    since_ms: int = NO_TIMESTAMP  # the largest timestamp of the first batch; any negative one is none

    def began(self, first_max_timestamp: int) -> RollLimits:
        """The same for the segment with its first batch in it."""
        return self._replace(since_ms=first_max_timestamp)


class Incoming(NamedTuple):
    """What is to be appended in one call, and when."""

    size: int
    last_offset: int
    max_timestamp: int
    now_ms: int


def jitter_bound_ms(config: LogConfig) -> int:
    """A segment's jitter is drawn from [0, this), when it is made and when it is opened; 0: there is none."""
    return min(config.segment_jitter_ms, max_age_ms(config))


def max_age_ms(config: LogConfig) -> int:
    """A compacted topic closes its segments early enough for the cleaner to keep `max.compaction.lag.ms`."""
    return min(config.segment_ms, config.max_compaction_lag_ms) if config.cleanup_compact else config.segment_ms


def roll_limits(config: LogConfig, base_offset: int, created_ms: int, jitter_ms: int = 0) -> RollLimits:
    """`jitter_ms` was drawn when the segment was made, so it may be more than a later config would allow."""
    age_ms = max_age_ms(config)
    return RollLimits(config.segment_bytes, age_ms - jitter_ms % age_ms, base_offset + RELATIVE_MAX, created_ms)


def should_roll(limits: RollLimits, size: int, index_full: bool, incoming: Incoming) -> RollReason | None:
    """Before `incoming` is appended to a segment of `size` bytes: why it is to go to a new one; None: it need not.

    An empty segment is never too old. It can be too small or its indexes full from the start: `replaces_active`.
    """
    segment_bytes, age_ms, last_offset, created_ms, since_ms = limits
    added, incoming_last, timestamp, now_ms = incoming
    if size + added > segment_bytes:
        return RollReason.SIZE
    if size and (timestamp - since_ms if since_ms >= 0 else now_ms - created_ms) > age_ms:
        return RollReason.TIME
    if index_full:
        return RollReason.INDEX_FULL
    if incoming_last > last_offset:
        return RollReason.OFFSET_RANGE
    return None


def next_base(log_end: int, first_offset: int | None, last_offset: int) -> int:
    """The base of the segment that a roll makes. The first offset of a compressed magic 0 or 1 message is None as only
    its content knows it: then the smallest base from which the last one can be counted."""
    return max(log_end, last_offset - RELATIVE_MAX if first_offset is None else first_offset)


def replaces_active(active_base: int, active_size: int, new_base: int) -> bool:
    """Is the active segment to be made anew, as the roll ends on its own base? So it is when an index is full that can
    hold no entry at all. On a segment with data in it that is a bug, and so is going back."""
    if new_base == active_base:
        assert not active_size, f"a roll onto the base of the active segment, {active_base}, of {active_size} bytes"
        return True
    assert new_base > active_base, f"a roll back to {new_base} from the active segment at {active_base}"
    return False
