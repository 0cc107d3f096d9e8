"""Which of a log's oldest segments go: `storage.md`, "Retention".

Three rules, in this order, each beginning where the one before stopped and stopping at the first segment that it
keeps: those that lie wholly below log_start, those that are over `retention.bytes`, those whose newest record is older
than `retention.ms`. Whatever the rule, a segment that is not wholly below the high watermark stays, and so does an
active one with nothing in it.

What would surprise: one old segment behind a young one stays, as only a beginning of the log can go. `cleanup.policy`
without `delete` leaves only the first rule, also with no policy at all.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.base.config import LogConfig
    from esker.rules.cursors import Cursors


class DeleteReason(StrEnum):
    """Why a segment is deleted; the first three are retention's. Every deletion is logged with one of these."""

    LOG_START = "log start"
    SIZE = "size"
    TIME = "time"
    TRUNCATION = "truncation"
    RECOVERY = "recovery"
    ROLL = "roll"
    LOG_DELETION = "log deletion"


class KeepReason(StrEnum):
    """Why a segment stays."""

    HIGH_WATERMARK = "not wholly below the high watermark"
    EMPTY = "the active segment, with nothing in it"
    POLICY = "cleanup.policy has no delete"
    FUTURE = "a timestamp in the future"
    LIMITS = "within retention.bytes and retention.ms"
    OLDER_STAYS = "behind an older one that stays"


class Held(NamedTuple):
    """A segment of the log. Its time is that of its newest record, or of its file when no record has one."""

    base_offset: int
    size: int
    max_timestamp: int  # any negative one is none
    modified_ms: int

    @property
    def time_ms(self) -> int:
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_ms


class Release(NamedTuple):
    """The next oldest segments go, so many, all for one reason."""

    reason: DeleteReason
    segment_count: int


class Released(NamedTuple):
    """What goes, oldest first. A log is never without a segment: when all go, it is rolled first."""

    releases: list[Release]
    roll_first: bool
    log_start: int  # at least; where the first segment that stays begins

    @property
    def segment_count(self) -> int:
        return sum(each.segment_count for each in self.releases)


class Verdict(NamedTuple):
    """What happens to one segment and why. `until_ms`: the first moment at which it would go by time, were nothing
    appended until then; None: it goes now, or time alone never takes it."""

    base_offset: int
    reason: DeleteReason | KeepReason
    until_ms: int | None = None

    @property
    def goes(self) -> bool:
        return isinstance(self.reason, DeleteReason)


def release(segments: Sequence[Held], config: LogConfig, cursors: Cursors, now_ms: int) -> Released:
    """What retention takes from the log now. All its segments, oldest first; the last one is active."""
    free = _free(segments, cursors)
    below = _below(segments, free, cursors.log_start)
    gone = [(DeleteReason.LOG_START, below)]
    if config.cleanup_delete:
        over = _over(segments, below, free, config.retention_bytes)
        gone += (DeleteReason.SIZE, over), (DeleteReason.TIME, _expired(segments, over, free, config, now_ms))
    releases, done = [], 0
    for reason, end in gone:
        if end > done:
            releases.append(Release(reason, end - done))
            done = end
    all_go = done == len(segments) > 0
    first_kept = segments[done].base_offset if done < len(segments) else cursors.log_end.offset
    return Released(releases, all_go, max(cursors.log_start, first_kept))


def explain(segments: Sequence[Held], config: LogConfig, cursors: Cursors, now_ms: int) -> list[Verdict]:
    """Of each segment, whether it goes now, by which rule, and until when it stays."""
    released = release(segments, config, cursors, now_ms)
    reasons = [each.reason for each in released.releases for _ in range(each.segment_count)]
    gone = [Verdict(held.base_offset, reason) for held, reason in zip(segments, reasons, strict=False)]
    return gone + _kept(segments, released.segment_count, config, cursors, now_ms)


def _kept(segments: Sequence[Held], first: int, config: LogConfig, cursors: Cursors, now_ms: int) -> list[Verdict]:
    free = _free(segments, cursors)
    verdicts, until_ms = [], 0
    for index in range(first, len(segments)):
        held = segments[index]
        by_time = index < free and config.cleanup_delete and config.retention_ms >= 0
        # No segment goes before the older ones do.
        until_ms = max(until_ms, held.time_ms + config.retention_ms + 1)
        reason = _keep_reason(held, config, now_ms) if index < free else _bound_reason(held, index, len(segments))
        verdicts.append(Verdict(held.base_offset, reason, until_ms if by_time else None))
    return verdicts


def _bound_reason(held: Held, index: int, count: int) -> KeepReason:
    return KeepReason.HIGH_WATERMARK if held.size or index < count - 1 else KeepReason.EMPTY


def _keep_reason(held: Held, config: LogConfig, now_ms: int) -> KeepReason:
    if not config.cleanup_delete:
        return KeepReason.POLICY
    if held.time_ms > now_ms:
        return KeepReason.FUTURE
    expired = 0 <= config.retention_ms < now_ms - held.time_ms
    return KeepReason.OLDER_STAYS if expired else KeepReason.LIMITS


def _free(segments: Sequence[Held], cursors: Cursors) -> int:
    """How many of the oldest may go at all."""
    high_watermark = cursors.high_watermark.offset
    last = len(segments) - 1
    for index in range(last):
        if segments[index + 1].base_offset > high_watermark:
            return index
    active_is_free = last >= 0 and segments[last].size and cursors.log_end.offset <= high_watermark
    return last + 1 if active_is_free else max(last, 0)


def _below(segments: Sequence[Held], free: int, log_start: int) -> int:
    """Where log_start's rule stops. The active segment has no next one, so it stays."""
    index = 0
    while index < min(free, len(segments) - 1) and segments[index + 1].base_offset <= log_start:
        index += 1
    return index


def _over(segments: Sequence[Held], index: int, free: int, retention_bytes: int) -> int:
    """Where the rule of size stops: a segment goes while what is left still has the bytes to be kept."""
    if retention_bytes < 0:
        return index
    over = sum(held.size for held in segments[index:]) - retention_bytes
    while index < free and over >= segments[index].size:
        over -= segments[index].size
        index += 1
    return index


def _expired(segments: Sequence[Held], index: int, free: int, config: LogConfig, now_ms: int) -> int:
    """Where the rule of time stops. A time in the future makes a negative age, which is never too old."""
    if config.retention_ms < 0:
        return index
    while index < free and now_ms - segments[index].time_ms > config.retention_ms:
        index += 1
    return index
