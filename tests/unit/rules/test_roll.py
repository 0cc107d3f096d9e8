"""When a segment is closed: each rule at its edge."""

from dataclasses import replace

import pytest

from esker.base.config import DEFAULT
from esker.rules.roll import (
    Incoming,
    RollReason,
    jitter_bound_ms,
    max_age_ms,
    next_base,
    replaces_active,
    roll_limits,
    should_roll,
)

BASE = 1000
CREATED = 5_000_000
FIRST = 8_000_000  # the first batch's largest timestamp; the clock stands elsewhere
CONFIG = replace(DEFAULT, segment_bytes=100, segment_ms=60)
COMPACT = replace(CONFIG, cleanup_compact=True)
SIZE, TIME, FULL, RANGE = RollReason.SIZE, RollReason.TIME, RollReason.INDEX_FULL, RollReason.OFFSET_RANGE
LAST = BASE + 2**31 - 1

#    what stands at the edge         size  incoming  last offset  timestamp    index full    why
EDGES = [
    ("an empty segment",             0,    1,        BASE,        FIRST,       False,        None),
    ("just full",                    60,   40,       BASE + 1,    FIRST,       False,        None),
    ("one byte too many",            60,   41,       BASE + 1,    FIRST,       False,        SIZE),
    ("too large for any",            0,    101,      BASE,        FIRST,       False,        SIZE),
    ("just old enough",              1,    1,        BASE + 1,    FIRST + 60,  False,        None),
    ("a millisecond too old",        1,    1,        BASE + 1,    FIRST + 61,  False,        TIME),
    ("older, but empty",             0,    1,        BASE,        FIRST + 61,  False,        None),
    ("earlier than the first batch", 1,    1,        BASE + 1,    FIRST - 61,  False,        None),
    ("no timestamp",                 1,    1,        BASE + 1,    -1,          False,        None),
    ("an index is full",             1,    1,        BASE + 1,    FIRST,       True,         FULL),
    ("an index holds nothing",       0,    1,        BASE,        FIRST,       True,         FULL),
    ("the last offset that counts",  1,    1,        LAST,        FIRST,       False,        None),
    ("one offset too far",           1,    1,        LAST + 1,    FIRST,       False,        RANGE),
    ("one too far, while empty",     0,    1,        LAST + 1,    FIRST,       False,        RANGE),
    ("all at once",                  60,   41,       LAST + 1,    FIRST + 61,  True,         SIZE),
    ("all but size",                 60,   40,       LAST + 1,    FIRST + 61,  True,         TIME),
    ("index and offsets",            60,   40,       LAST + 1,    FIRST,       True,         FULL),
]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "added", "last", "timestamp", "full", "why"), [row[1:] for row in EDGES], ids=[row[0] for row in EDGES]
)
def test_a_segment_is_rolled(
    size: int, added: int, last: int, timestamp: int, full: bool, why: RollReason | None
) -> None:
    limits = roll_limits(CONFIG, BASE, CREATED).began(FIRST)
    assert should_roll(limits, size, full, Incoming(added, last, timestamp, CREATED)) is why


#    first batch   incoming timestamp   clock           why
CLOCKS = [
    (-1,           FIRST + 99,          CREATED + 60,   None),
    (-1,           -1,                  CREATED + 61,   TIME),
    (-2,           -1,                  CREATED + 61,   TIME),
    (0,            60,                  CREATED + 99,   None),
    (0,            61,                  CREATED,        TIME),
    (FIRST,        FIRST,               CREATED + 99,   None),
]  # fmt: skip


@pytest.mark.parametrize(("first", "timestamp", "now", "why"), CLOCKS)
def test_the_clock_counts_only_when_the_first_batch_has_no_time(
    first: int, timestamp: int, now: int, why: RollReason | None
) -> None:
    limits = roll_limits(CONFIG, BASE, CREATED).began(first)
    assert should_roll(limits, 1, False, Incoming(1, BASE, timestamp, now)) is why


#    config                                                                        oldest
AGES = [
    (CONFIG,                                                                       60),
    (replace(CONFIG, max_compaction_lag_ms=10),                                    60),
    (replace(COMPACT, max_compaction_lag_ms=10),                                   10),
    (replace(COMPACT, max_compaction_lag_ms=10, cleanup_delete=False),             10),
    (replace(COMPACT, max_compaction_lag_ms=100),                                  60),
]  # fmt: skip


@pytest.mark.parametrize(("config", "age"), AGES)
def test_a_compacted_topic_rolls_in_time_for_its_cleaner(config: object, age: int) -> None:
    assert isinstance(config, type(DEFAULT))
    assert max_age_ms(config) == age
    limits = roll_limits(config, BASE, CREATED).began(FIRST)
    assert should_roll(limits, 1, False, Incoming(1, BASE, FIRST + age, 0)) is None
    assert should_roll(limits, 1, False, Incoming(1, BASE, FIRST + age + 1, 0)) is TIME


#    segment.ms   max lag   jitter.ms     drawn from [0, …)
BOUNDS = [
    (60,          1000,     0,            0),
    (60,          1000,     20,           20),
    (60,          1000,     100,          60),
    (60,          10,       20,           10),
]  # fmt: skip


@pytest.mark.parametrize(("age", "lag", "jitter", "bound"), BOUNDS)
def test_jitter_is_drawn_below_the_age(age: int, lag: int, jitter: int, bound: int) -> None:
    config = replace(COMPACT, segment_ms=age, max_compaction_lag_ms=lag, segment_jitter_ms=jitter)
    assert jitter_bound_ms(config) == bound


#    jitter drawn   oldest: 60 - jitter
JITTERS = [
    (0,             60),
    (1,             59),
    (59,            1),
    # The config was changed since it was drawn: some of the age is left all the same.
    (60,            60),
    (61,            59),
    (1000,          20),
]  # fmt: skip


@pytest.mark.parametrize(("jitter", "age"), JITTERS)
def test_jitter_takes_a_part_of_the_age_and_never_all(jitter: int, age: int) -> None:
    limits = roll_limits(CONFIG, BASE, CREATED, jitter).began(FIRST)
    assert should_roll(limits, 1, False, Incoming(1, BASE, FIRST + age, 0)) is None
    assert should_roll(limits, 1, False, Incoming(1, BASE, FIRST + age + 1, 0)) is TIME


#    log end   first      last              new base
BASES = [
    (100,      100,       109,              100),
    (100,      150,       159,              150),  # a follower's gap
    (100,      None,      109,              100),
    (0,        None,      2**31 - 1,        0),
    (0,        None,      2**31,            1),
    (100,      None,      2**31 + 500,      501),
]  # fmt: skip


@pytest.mark.parametrize(("log_end", "first", "last", "base"), BASES)
def test_a_new_segment_begins_at_what_comes_and_never_below_the_end(
    log_end: int, first: int | None, last: int, base: int
) -> None:
    assert next_base(log_end, first, last) == base
    assert last - base <= 2**31 - 1


def test_a_roll_onto_an_empty_active_segment_replaces_it() -> None:
    assert replaces_active(100, 0, 100)


def test_a_roll_beyond_the_active_segment_leaves_it() -> None:
    assert not replaces_active(100, 0, 101)
    assert not replaces_active(100, 5, 101)


@pytest.mark.parametrize(("size", "base"), [(5, 100), (5, 99), (0, 99)])
def test_a_roll_onto_data_or_back_is_a_bug(size: int, base: int) -> None:
    with pytest.raises(AssertionError, match="a roll"):
        replaces_active(100, size, base)
