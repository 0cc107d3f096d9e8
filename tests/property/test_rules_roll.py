"""Rolling beside Kafka's own condition, written down as it stands there."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from esker.base.config import DEFAULT, LogConfig
from esker.rules.roll import Incoming, jitter_bound_ms, roll_limits, should_roll

NUMBERS = st.integers(-2, 40)
OFFSETS = st.integers(0, 40) | st.integers(2**31 - 5, 2**31 + 50)
CONFIGS = st.builds(
    lambda compact, size, age, lag, jitter: replace(
        DEFAULT,
        cleanup_compact=compact,
        segment_bytes=size,
        segment_ms=age,
        max_compaction_lag_ms=lag,
        segment_jitter_ms=jitter,
    ),
    st.booleans(),
    *(st.integers(1, 40) for _ in range(3)),
    st.integers(0, 40),
)


@given(CONFIGS, st.data())
def test_a_segment_is_rolled_as_kafka_would(config: LogConfig, data: st.DataObject) -> None:
    base, size, created = data.draw(st.integers(0, 20)), data.draw(st.integers(0, 40)), data.draw(st.integers(0, 40))
    bound = jitter_bound_ms(config)
    jitter = data.draw(st.integers(0, bound - 1)) if bound else 0
    first, full = data.draw(NUMBERS), data.draw(st.booleans())
    incoming = Incoming(data.draw(st.integers(1, 40)), data.draw(OFFSETS), data.draw(NUMBERS), data.draw(NUMBERS))
    assume(incoming.last_offset >= base)
    reason = should_roll(roll_limits(config, base, created, jitter).began(first), size, full, incoming)

    compacted = config.cleanup_compact and config.max_compaction_lag_ms < config.segment_ms
    oldest = config.max_compaction_lag_ms if compacted else config.segment_ms
    waited = incoming.max_timestamp - first if first >= 0 else incoming.now_ms - created
    reasons = {
        "size": size > config.segment_bytes - incoming.size,
        "time": size > 0 and waited > oldest - jitter,
        "index full": full,
        "offset range": incoming.last_offset - base > 2**31 - 1,
    }
    assert reason == next((name for name, holds in reasons.items() if holds), None)


@given(CONFIGS, st.integers(0, 10**6))
def test_whatever_jitter_was_drawn_some_age_is_left_and_no_more_than_all(config: LogConfig, jitter: int) -> None:
    oldest = roll_limits(replace(config, segment_jitter_ms=0), 0, 0).age_ms
    assert 0 < roll_limits(config, 0, 0, jitter).age_ms <= oldest
