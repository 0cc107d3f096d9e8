"""The words of `--offset` and `--time`."""

from __future__ import annotations

import pytest

from esker.cli.log.ranges import OFFSET_MAX, BadWords, Window, window
from esker.cli.log.times import span, when

NOW = 1_800_000_000_000
LEAST = -OFFSET_MAX - 1
DAY = 1_763_510_400_000  # 2025-11-19

OFFSETS = [("5", (5, OFFSET_MAX)), ("5:9", (5, 9)), (":9", (0, 9)), ("5:", (5, OFFSET_MAX)), ("0:0", (0, 0))]
TIMES = [
    ("1763510400000", (DAY, OFFSET_MAX)),
    ("1763510400000:1763510400001", (DAY, DAY + 1)),
    ("2025-11-19", (DAY, OFFSET_MAX)),
    ("2025-11-19:2025-11-20", (DAY, DAY + 86_400_000)),
    ("2025-11-19T01:30", (DAY + 5_400_000, OFFSET_MAX)),
    ("2025-11-19T01:30:2025-11-19T02:30", (DAY + 5_400_000, DAY + 9_000_000)),
    ("2025-11-19T01:30:15.250Z", (DAY + 5_415_250, OFFSET_MAX)),
    ("2025-11-19T01:00+01:00", (DAY, OFFSET_MAX)),
    (":2025-11-19T01:30", (LEAST, DAY + 5_400_000)),
    ("-10m", (NOW - 600_000, OFFSET_MAX)),
    ("-10 minutes", (NOW - 600_000, OFFSET_MAX)),
    ("-1h:-30min", (NOW - 3_600_000, NOW - 1_800_000)),
    ("-1.5 hours ago", (NOW - 5_400_000, OFFSET_MAX)),
    ("-2w:", (NOW - 14 * 86_400_000, OFFSET_MAX)),
]


@pytest.mark.parametrize(("words", "offsets"), OFFSETS)
def test_offsets_are_from_and_up_to(words: str, offsets: tuple[int, int]) -> None:
    first, end = offsets
    assert window(words, None, NOW) == Window(first_offset=first, end_offset=end)


@pytest.mark.parametrize(("words", "times"), TIMES)
def test_times_are_said_in_many_ways(words: str, times: tuple[int, int]) -> None:
    first, end = times
    assert window(None, words, NOW) == Window(first_ms=first, end_ms=end)


@pytest.mark.parametrize("words", ["", "ten", "5:6:7", "-5", "1e3", "5;6"])
def test_bad_offset_is_told_with_an_example(words: str) -> None:
    with pytest.raises(BadWords, match=r"--offset 100:200"):
        window(words, None, NOW)


@pytest.mark.parametrize("words", ["", "soon", "2025-13-01", "-10 parsecs", "2025-11-19:soon", "10m"])
def test_bad_time_is_told_with_an_example(words: str) -> None:
    with pytest.raises(BadWords, match=r"--time -10m"):
        window(None, words, NOW)


def test_spans_have_two_units() -> None:
    assert [span(ms) for ms in (0, 999, 61_000, 3_600_000, 90_061_000)] == ["0s", "0s", "1m1s", "1h0m", "1d1h"]


def test_time_that_no_calendar_has_is_a_number() -> None:
    assert when(2**63 - 1) == str(2**63 - 1)
    assert when(DAY) == "2025-11-19T00:00:00.000Z"
