"""Counted times: how often, how long in all, and how many in each of a row of growing spans."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

# In ms, inclusive; a last bucket takes what is longer.
BOUNDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0)


class Counted(NamedTuple):
    """A histogram as of one moment: so many times were measured, and `buckets[i]` counts those up to `BOUNDS[i]`, the
    last one all longer ones."""

    measured: int
    total_ms: float
    max_ms: float
    buckets: tuple[int, ...]

    @property
    def mean_ms(self) -> float:
        return self.total_ms / self.measured if self.measured else 0.0


class Histogram:
    """Changed by one thread at a time."""

    __slots__ = ("_buckets", "_max_ms", "_total_ms")

    def __init__(self) -> None:
        self._buckets = [0] * (len(BOUNDS) + 1)
        self._total_ms = 0.0
        self._max_ms = 0.0

    def add(self, ms: float) -> None:
        self._buckets[bisect_left(BOUNDS, ms)] += 1
        self._total_ms += ms
        self._max_ms = max(self._max_ms, ms)

    @property
    def counted(self) -> Counted:
        return Counted(sum(self._buckets), self._total_ms, self._max_ms, tuple(self._buckets))
