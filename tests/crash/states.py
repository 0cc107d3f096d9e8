"""Every state that a crash may leave: after each operation, killed, cut off from power, and by seeds in between."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from esker.testing.files import KILLED, SYNCED, CrashFiles

SEEDS = {"quick": 2, "test": 6, "campaign": 150, "night": 3000}


class Crash(NamedTuple):
    """`at` operations were done; `keep` replays it: `files.crash(at, keep)`."""

    at: int
    keep: str | int
    after: CrashFiles


def crashes(files: CrashFiles, start: int, profile: str, seed: int) -> Iterator[Crash]:
    """From operation `start` on; the state before it and the one after the last belong to them."""
    chance = Random(seed)
    for at in range(start, len(files.operations) + 1):
        keeps: list[str | int] = [KILLED, SYNCED, *(chance.randrange(2**32) for _ in range(SEEDS[profile]))]
        for keep in keeps:
            yield Crash(at, keep, files.crash(at, keep))
