"""Retention beside a slow twin that deletes one segment at a time, and the promise of `until_ms`."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from esker.base.config import DEFAULT, LogConfig
from esker.rules.cursors import Cursors, OffsetPosition
from esker.rules.retention import DeleteReason, Held, explain, release

SMALL = st.integers(0, 12)
CONFIGS = st.builds(
    lambda delete, compact, size, age: replace(
        DEFAULT, cleanup_delete=delete, cleanup_compact=compact, retention_bytes=size, retention_ms=age
    ),
    st.sampled_from([True, True, False]),
    st.booleans(),
    st.integers(-1, 30),
    st.integers(-1, 12),
)


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Held], Cursors]:
    steps = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    bases = [sum(steps[:index]) for index in range(len(steps))]
    segments = [Held(base, draw(SMALL), draw(st.integers(-1, 12)), draw(SMALL)) for base in bases]
    end = sum(steps) if segments[-1].size else bases[-1]
    high = draw(st.integers(0, end))
    high_watermark = OffsetPosition(high)
    log_start = draw(st.integers(0, high))
    return segments, Cursors(log_start, high_watermark, high_watermark, OffsetPosition(end, bases[-1], 0), 0)


def twin(segments: list[Held], config: LogConfig, cursors: Cursors, now: int) -> list[str]:
    """Kafka's three passes, each over a list from which the last one really deleted."""
    left, reasons = list(segments), []

    def delete(reason: str) -> None:
        left.pop(0)
        reasons.append(reason)

    def free() -> bool:
        last_and_empty = len(left) == 1 and left[0].size == 0
        upper = left[1].base_offset if len(left) > 1 else cursors.log_end.offset
        return cursors.high_watermark.offset >= upper and not last_and_empty

    while len(left) > 1 and free() and left[1].base_offset <= cursors.log_start:
        delete("log start")
    if not config.cleanup_delete:
        return reasons
    difference = sum(held.size for held in left) - config.retention_bytes
    while left and config.retention_bytes >= 0 and free() and difference - left[0].size >= 0:
        difference -= left[0].size
        delete("size")
    while left and config.retention_ms >= 0 and free():
        newest = left[0].max_timestamp if left[0].max_timestamp >= 0 else left[0].modified_ms
        if now - newest <= config.retention_ms:
            break
        delete("time")
    return reasons


@given(logs(), CONFIGS, SMALL)
def test_what_goes_is_what_goes_one_by_one(log: tuple[list[Held], Cursors], config: LogConfig, now: int) -> None:
    segments, cursors = log
    released = release(segments, config, cursors, now)
    reasons = [each.reason for each in released.releases for _ in range(each.segment_count)]
    assert reasons == twin(segments, config, cursors, now)
    assert released.roll_first == (len(reasons) == len(segments))
    assert cursors.log_start <= released.log_start <= cursors.high_watermark.offset
    assert all(held.base_offset >= released.log_start for held in segments[len(reasons) + 1 :])


@given(logs(), CONFIGS, SMALL)
def test_a_segment_goes_at_its_moment_and_not_before(
    log: tuple[list[Held], Cursors], config: LogConfig, now: int
) -> None:
    segments, cursors = log
    verdicts = explain(segments, config, cursors, now)
    assert [each.base_offset for each in verdicts] == [held.base_offset for held in segments]
    assert [each.reason for each in verdicts if each.goes] == twin(segments, config, cursors, now)
    for index, verdict in enumerate(verdicts):
        if verdict.until_ms is not None:
            assert verdict.until_ms > now
            assert release(segments, config, cursors, verdict.until_ms - 1).segment_count <= index
            assert release(segments, config, cursors, verdict.until_ms).segment_count > index


@given(logs(), CONFIGS, SMALL)
def test_what_has_no_moment_never_goes_by_time_alone(
    log: tuple[list[Held], Cursors], config: LogConfig, now: int
) -> None:
    segments, cursors = log
    for verdict, later in zip(
        explain(segments, config, cursors, now), explain(segments, config, cursors, 10**15), strict=True
    ):
        if verdict.until_ms is None:
            assert later.goes == verdict.goes
            assert not later.goes or (later.reason is DeleteReason.TIME) == (verdict.reason is DeleteReason.TIME)
