"""A row's rounds: every side once a round, in turn, so that what else the machine does meets all of them alike."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from bench.row import Contest, Row

ROUNDS = 5


class Measured(NamedTuple):
    """A row's runs, in the order they were made, without the warm-up."""

    row: Row
    runs: dict[str, list[float]]

    def figure(self, side: str) -> float:
        return median(self.runs[side])

    @property
    def ratio(self) -> float:
        return self.row.ratio(self.figure("esker"), self.figure("peer"))

    def line(self) -> str:
        figures = {side: short(self.figure(side)) for side in ("esker", "peer", "limit")}
        return (
            f"{self.row.name} esker={figures['esker']} peer={figures['peer']} ratio={self.ratio:.2f} "
            f"limit={figures['limit']} unit={self.row.unit}"
        )


def measure(row: Row, contest: Contest, rounds: int = ROUNDS) -> Measured:
    """One warm-up of each side, then the rounds."""
    sides = contest.sides()
    for side in sides.values():
        side()
    runs: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            runs[name].append(side())
    return Measured(row, runs)


def short(figure: float) -> str:
    """Three digits that count; more would be noise."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"
