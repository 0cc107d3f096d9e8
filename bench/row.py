"""What a row is. A new row is a value in a file of `bench/rows`, named in `bench.rows.ROWS`."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

# One side of a row: it does its work once and answers its figure in the row's unit.
Side = Callable[[], float]


class Skipped(Exception):
    """The row needs something that is not here; the words name it."""


class Contest(NamedTuple):
    """What a row's set-up made: the three sides over one and the same load. `more` is measured in the same rounds but
    stands only in the report, as does `about`: what ran, in which version and form."""

    esker: Side
    peer: Side
    limit: Side
    more: dict[str, Side]
    about: dict[str, object]

    def sides(self) -> dict[str, Side]:
        """In the order of a round."""
        return {"esker": self.esker, "peer": self.peer, "limit": self.limit, **self.more}


class Row(NamedTuple):
    """One line of the bench. `set_up` prepares the load, which is not measured; it may raise Skipped."""

    name: str
    unit: str
    what: str
    set_up: Callable[[], Contest]
    larger_is_better: bool = True
    needs_kafka: bool = False  # a real one, through Maven and Java: only `make bench-kafka` runs it

    def ratio(self, esker: float, peer: float) -> float:
        """How many times better Esker is; below 1 it is worse."""
        return esker / peer if self.larger_is_better else peer / esker


def speed(amount: float, work: Callable[[], object]) -> Side:
    """A side that does `amount` of the unit in each call of `work`, by the second."""

    def side() -> float:
        return amount / seconds(work)

    return side


def seconds(work: Callable[[], object]) -> float:
    """The garbage of the side before is gone, and none is looked for meanwhile."""
    gc.collect()
    gc.disable()
    try:
        begin = perf_counter()
        work()
        return perf_counter() - begin
    finally:
        gc.enable()
