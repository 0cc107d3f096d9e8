"""Appends, flushes, truncations and closing, stopped anywhere: after recovery nothing flushed is lost, nothing is
invented, and the indexes agree with the log."""

from random import Random
from typing import NamedTuple

import pytest

from crash.loading import Batches, batches, opened, recover, segments
from crash.states import crashes
from esker.storage.handles import Handles
from esker.storage.segment import Segment, SegmentSettings
from esker.testing.files import KILLED, CrashFiles
from unit.storage.made import append, made_batch

FOLDER = "/data/t-0"
BASE = 10
ROUNDS = {"quick": 2, "test": 5, "campaign": 30, "night": 1000}


class Moment(NamedTuple):
    """After so many operations: what was appended until then, in order, and how much of it is promised."""

    operations: int
    written: Batches
    promised: int


class History:
    """One segment's life, and what may be left of it at each moment."""

    def __init__(self, seed: str, *, ordered: bool, preallocated: int) -> None:
        self.chance = Random(seed)
        self.files = CrashFiles(ordered=ordered)
        self.files.make_folder(FOLDER)
        for folder in ("/", "/data"):
            self.files.sync_folder(folder)
        settings = SegmentSettings(index_interval_bytes=100, preallocated_bytes=preallocated)
        self.segment = Segment.create(Handles(self.files, 16), FOLDER, BASE, settings)
        self.moments: list[Moment] = []
        self.written: Batches = []
        self.promised = 0
        self.note()

    def live(self, steps: int) -> None:
        for _ in range(steps):
            act = self.chance.choice([self.append] * 6 + [self.flush, self.flush_log, self.truncate])
            act()
            self.note()

    def note(self) -> None:
        self.moments.append(Moment(len(self.files.operations), list(self.written), self.promised))

    def append(self) -> None:
        offset = self.written[-1][2] + 1 if self.written else BASE
        records = self.chance.randrange(1, 4)
        batch = made_batch(offset, [self.chance.randrange(1000)] * records, size=self.chance.randrange(600))
        append(self.segment, batch)
        self.written.append((BASE, offset, offset + records - 1, len(batch.data)))

    def flush(self) -> None:
        self.segment.flush()
        self.promised = len(self.written)

    def flush_log(self) -> None:
        self.segment.flush(log_only=True)
        self.promised = len(self.written)

    def truncate(self) -> None:
        """From here on what was cut is no longer promised, though it may come back until the next flush."""
        if not self.written:
            return
        kept = self.chance.randrange(len(self.written))
        self.segment.truncate_to(self.written[kept][1])
        del self.written[kept:]
        self.promised = min(self.promised, kept)

    def until(self, at: int) -> tuple[list[Moment], Moment]:
        """The moments that had passed before the crash, and the one that was under way."""
        passed = [moment for moment in self.moments if moment.operations <= at]
        return passed, self.moments[min(len(passed), len(self.moments) - 1)]


@pytest.mark.parametrize("preallocated", [0, 20_000], ids=["plain", "preallocated"])
@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
def test_flushed_batches_survive_every_crash(ordered: bool, preallocated: int, profile: str, seed: int) -> None:
    for number in range(ROUNDS[profile]):
        history = History(f"{seed} {number}", ordered=ordered, preallocated=preallocated)
        history.live(15)
        look_at_every_crash(history, profile, seed + number)


def test_flush_that_does_not_sync_is_seen_to_lose(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would see it."""
    monkeypatch.setattr("esker.testing.files.CrashFile.sync", str)
    history = History(str(seed), ordered=True, preallocated=0)
    history.append()
    history.note()
    history.flush()
    history.note()
    with pytest.raises(AssertionError, match="lost"):
        look_at_every_crash(history, "test", seed)


def look_at_every_crash(history: History, profile: str, seed: int) -> None:
    for crash in crashes(history.files, history.moments[0].operations, profile, seed):
        found = recovered(crash.after)
        passed, under_way = history.until(crash.at)
        promised = min(passed[-1].promised, under_way.promised)  # a truncation promises less
        assert found[:promised] == passed[-1].written[:promised], f"lost: at={crash.at} keep={crash.keep} {seed}"
        possible = any(is_prefix(found, moment.written) for moment in (*passed, under_way))
        assert possible, f"invented: at={crash.at} keep={crash.keep} {seed}"


def is_prefix(found: Batches, written: Batches) -> bool:
    return found == written[: len(found)]


def recovered(files: CrashFiles) -> Batches:
    if not files.exists(f"{FOLDER}/{BASE:020d}.log"):
        return []
    segment = opened(files, FOLDER, BASE)
    recover(segment)
    assert segment.fault() is None
    found = batches([segment])
    last = max((header.max_timestamp for header in segment.headers()), default=-1)
    assert segment.largest.timestamp == last
    return found


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
def test_closed_and_flushed_segment_needs_no_recovery(ordered: bool, seed: int) -> None:
    history = History(str(seed), ordered=ordered, preallocated=20_000)
    history.live(40)
    history.segment.close()
    history.segment.flush()
    after = history.files.crash()
    (segment,) = segments(after, FOLDER)
    assert segment.fault() is None
    assert batches([segment]) == history.written
    assert after.operations == []


def test_killed_while_closing_is_plausible_or_recovered(profile: str, seed: int) -> None:
    history = History(str(seed), ordered=True, preallocated=20_000)
    history.live(40)
    history.segment.flush()
    start = len(history.files.operations)
    history.segment.close()
    for at in range(start, len(history.files.operations) + 1):
        assert recovered(history.files.crash(at, KILLED)) == history.written
