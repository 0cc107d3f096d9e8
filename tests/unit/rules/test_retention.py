"""What retention takes from a log, rule by rule, and what it says of the rest.

A log of these tests has ten offsets a segment. Its segments are written as `size@age`, the age in days, oldest first;
the last one is active, and the log ends ten offsets after its base unless it is empty.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from esker.base.config import DEFAULT, LogConfig
from esker.rules.cursors import Cursors, OffsetPosition
from esker.rules.retention import DeleteReason, Held, KeepReason, Release, Released, Verdict, explain, release

DAY = 86_400_000
NOW = 1000 * DAY
KEEP_ALL = replace(DEFAULT, retention_ms=-1)
BOTH = replace(DEFAULT, cleanup_compact=True)
COMPACT = replace(BOTH, cleanup_delete=False)
AT_ONCE = replace(DEFAULT, retention_ms=0)
NOTHING = replace(DEFAULT, cleanup_delete=False)
START, SIZE, TIME = DeleteReason.LOG_START, DeleteReason.SIZE, DeleteReason.TIME


def log(picture: str) -> list[Held]:
    pairs = [tuple(map(int, each.split("@"))) for each in picture.split()]
    return [Held(10 * index, size, NOW - age * DAY, 0) for index, (size, age) in enumerate(pairs)]


def end_of(segments: Sequence[Held]) -> int:
    return segments[-1].base_offset + (10 if segments[-1].size else 0)


def at(segments: Sequence[Held], log_start: int = 0, high_watermark: int | None = None) -> Cursors:
    end = OffsetPosition(end_of(segments), segments[-1].base_offset, segments[-1].size)
    high = end if high_watermark is None else OffsetPosition(high_watermark)
    return Cursors(log_start, high, high, end, 0)


def gone(released: Released) -> list[tuple[str, int]]:
    return [(each.reason.value, each.segment_count) for each in released.releases]


#    segments          retention.ms   what goes by time
TIMES = [
    ("9@9 9@8 9@1",    -1,            []),
    ("9@9 9@8 9@1",    9 * DAY,       []),
    ("9@9 9@8 9@1",    9 * DAY - 1,   [("time", 1)]),
    ("9@9 9@8 9@1",    7 * DAY,       [("time", 2)]),
    ("9@9 9@8 9@1",    0,             [("time", 3)]),
    ("9@9 9@1 9@8",    7 * DAY,       [("time", 1)]),  # old behind young: it stays
    ("9@1 9@9 9@9",    7 * DAY,       []),
    ("9@-1 9@9 9@9",   7 * DAY,       []),             # the future keeps
    ("9@-1 9@9 9@9",   0,             []),
    ("9@9",            7 * DAY,       [("time", 1)]),
    ("0@9",            7 * DAY,       []),             # an empty active one stays
    ("9@9 0@9",        7 * DAY,       [("time", 1)]),
    ("0@9 9@9",        7 * DAY,       [("time", 2)]),  # empty, but not active
]  # fmt: skip


@pytest.mark.parametrize(("picture", "retention_ms", "expected"), TIMES)
def test_old_segments_go(picture: str, retention_ms: int, expected: list[tuple[str, int]]) -> None:
    segments = log(picture)
    config = replace(DEFAULT, retention_ms=retention_ms)
    assert gone(release(segments, config, at(segments), NOW)) == expected


#    segments           retention.bytes   what goes by size
SIZES = [
    ("10@1 10@1 10@1",  -1,               []),
    ("10@1 10@1 10@1",  30,               []),
    ("10@1 10@1 10@1",  31,               []),
    ("10@1 10@1 10@1",  21,               []),
    ("10@1 10@1 10@1",  20,               [("size", 1)]),
    ("10@1 10@1 10@1",  1,                [("size", 2)]),
    ("10@1 10@1 10@1",  0,                [("size", 3)]),
    ("10@1 25@1 10@1",  30,               [("size", 1)]),
    ("25@1 10@1 10@1",  30,               []),              # the oldest is too large to go
    ("10@1 10@1 0@1",   0,                [("size", 2)]),
    ("0@1",             0,                []),
]  # fmt: skip


@pytest.mark.parametrize(("picture", "retention_bytes", "expected"), SIZES)
def test_segments_go_while_what_is_left_has_enough(
    picture: str, retention_bytes: int, expected: list[tuple[str, int]]
) -> None:
    segments = log(picture)
    config = replace(KEEP_ALL, retention_bytes=retention_bytes)
    assert gone(release(segments, config, at(segments), NOW)) == expected


#    log start   what goes by it: offsets 0-9, 10-19, 20-29 (active)
STARTS = [
    (0,          []),
    (9,          []),
    (10,         [("log start", 1)]),
    (19,         [("log start", 1)]),
    (20,         [("log start", 2)]),
    (30,         [("log start", 2)]),  # the active one has no next one
]  # fmt: skip


@pytest.mark.parametrize(("log_start", "expected"), STARTS)
@pytest.mark.parametrize("config", [KEEP_ALL, COMPACT, NOTHING, BOTH], ids=["delete", "compact", "none", "both"])
def test_what_lies_below_log_start_goes_whatever_the_policy(
    log_start: int, expected: list[tuple[str, int]], config: LogConfig
) -> None:
    segments = log("9@1 9@1 9@1")
    released = release(segments, config, at(segments, log_start), NOW)
    assert gone(released) == expected
    assert released.log_start == log_start


#    policy      what goes of an old, large log
POLICIES = [
    (DEFAULT,    [("time", 3)]),
    (BOTH,       [("time", 3)]),
    (COMPACT,    []),
    (NOTHING,    []),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "expected"), POLICIES, ids=["delete", "both", "compact", "none"])
def test_only_delete_lets_size_and_time_take_anything(policy: LogConfig, expected: list[tuple[str, int]]) -> None:
    segments = log("9@9 9@9 9@9")
    assert gone(release(segments, policy, at(segments), NOW)) == expected
    by_size = replace(policy, retention_bytes=0, retention_ms=-1)
    assert bool(release(segments, by_size, at(segments), NOW).releases) is bool(expected)


#    high watermark   how many of the three old segments go
WATERMARKS = [
    (0,               0),
    (9,               0),
    (10,              1),
    (20,              2),
    (29,              2),
    (30,              3),
]  # fmt: skip


@pytest.mark.parametrize(("high_watermark", "count"), WATERMARKS)
@pytest.mark.parametrize("config", [DEFAULT, replace(KEEP_ALL, retention_bytes=0)], ids=["time", "size"])
def test_nothing_goes_that_is_not_wholly_below_the_high_watermark(
    high_watermark: int, count: int, config: LogConfig
) -> None:
    segments = log("9@9 9@9 9@9")
    released = release(segments, config, at(segments, high_watermark=high_watermark), NOW)
    assert released.segment_count == count
    assert released.log_start == 10 * count


def test_the_rules_take_turns_and_each_begins_where_the_last_one_stopped() -> None:
    segments = log("10@1 10@1 10@9 10@9 10@1")
    released = release(segments, replace(DEFAULT, retention_bytes=30), at(segments, 10), NOW)
    assert released.releases == [Release(START, 1), Release(SIZE, 1), Release(TIME, 2)]
    assert released.log_start == 40


def test_size_does_not_count_what_log_start_took() -> None:
    segments = log("100@1 10@1 10@1")
    assert gone(release(segments, replace(DEFAULT, retention_bytes=20), at(segments, 10), NOW)) == [("log start", 1)]


def test_a_log_is_rolled_first_when_all_of_it_goes() -> None:
    segments = log("9@9 9@9")
    assert release(segments, DEFAULT, at(segments), NOW) == Released([Release(TIME, 2)], roll_first=True, log_start=20)
    segments = log("9@9 0@9")
    assert release(segments, DEFAULT, at(segments), NOW) == Released([Release(TIME, 1)], roll_first=False, log_start=10)


def test_a_log_without_segments_has_nothing_to_release() -> None:
    end = OffsetPosition(5, 5, 0)
    assert release([], DEFAULT, Cursors(5, end, end, end, 0), NOW) == Released([], roll_first=False, log_start=5)


#    max timestamp   modified   goes
FILES = [
    (-1,             NOW - 8 * DAY,   True),
    (-1,             NOW - 6 * DAY,   False),
    (NOW - 8 * DAY,  NOW,             True),
    (NOW - 6 * DAY,  0,               False),
    (0,              NOW,             True),
]  # fmt: skip


@pytest.mark.parametrize(("timestamp", "modified", "goes"), FILES)
def test_the_files_time_counts_only_without_any_timestamp(timestamp: int, modified: int, goes: bool) -> None:
    segments = [Held(0, 9, timestamp, modified), Held(10, 9, NOW, NOW)]
    assert release(segments, DEFAULT, at(segments), NOW).segment_count == goes


KEPT = KeepReason

#    segments         log start   high   config     of each segment: why, and until when (days from now)
EXPLAINED = [
    ("9@9 9@6 9@1",   0,          30,    DEFAULT,   [(TIME, None), (KEPT.LIMITS, 1), (KEPT.LIMITS, 6)]),
    ("9@1 9@6 9@9",   0,          30,    DEFAULT,   [(KEPT.LIMITS, 6), (KEPT.LIMITS, 6), (KEPT.OLDER_STAYS, 6)]),
    ("9@-2 9@9",      0,          20,    DEFAULT,   [(KEPT.FUTURE, 9), (KEPT.OLDER_STAYS, 9)]),
    ("9@9 9@9 9@9",   10,         20,    DEFAULT,   [(START, None), (TIME, None), (KEPT.HIGH_WATERMARK, None)]),
    ("9@9 0@9",       0,          10,    DEFAULT,   [(TIME, None), (KEPT.EMPTY, None)]),
    ("0@9 9@9",       0,          5,     DEFAULT,   [(KEPT.HIGH_WATERMARK, None), (KEPT.HIGH_WATERMARK, None)]),
    ("9@9 9@9 9@9",   10,         30,    COMPACT,   [(START, None), (KEPT.POLICY, None), (KEPT.POLICY, None)]),
    ("9@9 9@9",       0,          20,    KEEP_ALL,  [(KEPT.LIMITS, None), (KEPT.LIMITS, None)]),
    ("9@0 9@1",       0,          20,    AT_ONCE,   [(KEPT.LIMITS, 0), (KEPT.OLDER_STAYS, 0)]),
    ("9@1 9@7",       0,          20,    DEFAULT,   [(KEPT.LIMITS, 6), (KEPT.LIMITS, 6)]),
    ("9@9 9@9",       0,          20,    replace(KEEP_ALL, retention_bytes=9),
                                                    [(SIZE, None), (KEPT.LIMITS, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("picture", "log_start", "high_watermark", "config", "expected"), EXPLAINED)
def test_each_segment_is_told_its_rule_and_its_time(
    picture: str,
    log_start: int,
    high_watermark: int,
    config: LogConfig,
    expected: list[tuple[DeleteReason | KeepReason, int | None]],
) -> None:
    segments = log(picture)
    verdicts = explain(segments, config, at(segments, log_start, high_watermark), NOW)
    until = [None if days is None else NOW + days * DAY + 1 for _, days in expected]
    assert verdicts == [
        Verdict(held.base_offset, reason, moment)
        for held, (reason, _), moment in zip(segments, expected, until, strict=True)
    ]
    assert [each.goes for each in verdicts] == [reason in DeleteReason for reason, _ in expected]
