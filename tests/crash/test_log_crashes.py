"""A log is stopped after every file operation of what it does, in every way that a disk may then look, and opened.

What was synced before is there, nothing is that never was, and all of it agrees: `check_log`. Then it goes on: it is
closed, opened again and appended to. A state is an act, the number of operations that were done, and what the disk had
kept of those that were not synced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from esker.base.errors import Rejected
from esker.kernel.layout import INT32_MAX
from esker.records import batch
from esker.rules.cursors import Checkpoints
from esker.testing.files import KILLED, SYNCED, CrashFiles
from unit.log.kit import (
    FOLDER,
    NOW,
    VERIFIED,
    Sender,
    append,
    check_log,
    client_batch,
    config,
    leader_batch,
    marker,
    new_log,
    reopened,
)

if TYPE_CHECKING:
    from esker.base.config import LogConfig
    from esker.log.log import Log
    from esker.log.values import Deleted

STATES = {"quick": 300, "test": 1_000, "campaign": 10_000, "night": 200_000}

CONFIG = config(segment_bytes=330, index_interval_bytes=0, retention_ms=100, preallocate=True)


class Moment(NamedTuple):
    """What is promised once so many operations were done. `must` is there whatever happens, and no more than `may`.
    `saved` is what the log dir's checkpoints say."""

    operations: int
    must: frozenset[bytes]
    may: frozenset[bytes]
    saved: Checkpoints
    clean: bool = False


class Story:
    """An act on a log, and what is promised at each moment of it."""

    def __init__(self, *, ordered: bool, chosen: LogConfig = CONFIG) -> None:
        self.files = CrashFiles(ordered=ordered)
        self.files.now_ms = NOW
        self.config = chosen
        self.log = new_log(self.files, chosen)
        self.files.sync_folder("/")
        self.files.sync_folder("/logs")
        self.log.segments.sync_names()
        self.saved = Checkpoints(0, 0, 0)
        self.clean = False
        self.may: frozenset[bytes] = frozenset()
        self.moments = [Moment(len(self.files.operations), frozenset(), frozenset(), self.saved)]

    def batches(self) -> frozenset[bytes]:
        found = set()
        for segment in self.log.segments:
            for each in batch.batches(segment.file.read(segment.size, 0)):
                if each.header.last_offset >= self.log.cursors.log_start:
                    found.add(bytes(each.bytes))
        return frozenset(found)

    def did(self) -> None:
        """An act is over: what it wrote may be there, what was synced is."""
        there = self.batches()
        self.may |= there
        point = self.log.cursors.recovery_point
        must = frozenset(each for each in there if last_offset(each) < point)
        self.moments.append(Moment(len(self.files.operations), must, self.may, self.saved, self.clean))

    def about_to(self, taking_away: Callable[[], object]) -> None:
        """While this is going on, what it takes away may be there or not."""
        before = self.batches()
        begun = len(self.files.operations)
        taking_away()
        kept = before & self.batches()
        must = frozenset(each for each in kept if last_offset(each) < self.log.cursors.recovery_point)
        self.moments.append(Moment(begun, must, self.may, self.saved, self.clean))
        self.did()

    def checkpoint(self) -> None:
        at = self.log.cursors
        self.saved = Checkpoints(at.log_start, at.recovery_point, at.high_watermark.offset)
        self.did()

    def at(self, operations: int) -> Moment:
        """Between two moments what the later one adds may be there, and what the earlier one promises must."""
        after = [each for each in self.moments if each.operations > operations]
        before = [each for each in self.moments if each.operations <= operations]
        last = before[-1]
        return last._replace(may=after[0].may) if after else last


def last_offset(data: bytes) -> int:
    (each,) = batch.batches(data)
    return each.header.last_offset


def fill(story: Story, count: int = 6) -> None:
    log = story.log
    for sequence in range(count):
        log.append_as_leader(client_batch([b"v" * 30], Sender(5, 0, sequence), timestamp=NOW + sequence), 0, NOW)
        story.did()


def appends(story: Story) -> None:
    """Rolls, epochs, transactions, with flushes in between."""
    fill(story, 5)
    story.log.flush()
    story.checkpoint()
    story.log.append_as_leader(client_batch(sender=Sender(6, 0, 0, True)), 1, NOW, VERIFIED)
    story.did()
    append(story.log, 3, size=60)
    story.did()
    story.log.append_marker(marker(6, commit=False), 1, 0, NOW)
    story.did()
    story.log.flush()
    story.did()
    for sequence in range(1, 4):
        story.log.append_as_leader(client_batch(sender=Sender(6, 0, sequence, True)), 2, NOW, VERIFIED)
        story.did()
    story.log.append_marker(marker(6, commit=False), 2, 0, NOW)
    story.did()


def follows(story: Story) -> None:
    """Several batches in one write, with gaps."""
    at = 0
    for step in range(5):
        sent = b"".join(leader_batch(at + place, [b"f" * 40], step) for place in (0, 1, 5))
        story.log.append_as_follower(sent, step, NOW)
        story.did()
        at += 20
        if step == 2:
            story.log.flush()
            story.checkpoint()


def retention(story: Story) -> None:
    fill(story, 10)
    story.log.flush()
    story.checkpoint()
    story.log.increment_high_watermark(7)
    story.about_to(lambda: remove(story, story.log.retain(NOW + 105)))
    story.log.increment_high_watermark(10)
    story.about_to(lambda: remove(story, story.log.retain(NOW + 10**6)))
    story.checkpoint()
    append(story.log)
    story.did()


def remove(story: Story, gone: list[Deleted]) -> None:
    for each in gone:
        each.remove(story.files)


def truncation(story: Story) -> None:
    fill(story, 10)
    story.log.flush()
    story.checkpoint()
    story.about_to(lambda: remove(story, story.log.truncate_to(4, NOW)))
    story.checkpoint()
    for sequence in range(4, 8):
        made = client_batch([b"w" * 30], Sender(5, 0, sequence), timestamp=NOW + sequence)
        story.log.append_as_leader(made, 3, NOW)
        story.did()
    story.log.flush()
    story.did()
    story.about_to(lambda: remove(story, story.log.truncate_to(7, NOW)))


def restart(story: Story) -> None:
    fill(story, 6)
    story.log.flush()
    story.checkpoint()
    story.about_to(lambda: remove(story, story.log.truncate_fully_and_start_at(3, NOW)))
    story.checkpoint()
    fill(story, 3)
    story.log.flush()
    story.did()


def closing(story: Story) -> None:
    """Close, and open again; the marker of a clean shutdown is written after the close."""
    fill(story, 6)
    story.log.close()
    story.did()
    story.saved = Checkpoints(0, 6, 0)
    story.clean = True
    story.did()
    story.log = reopened(story.files, CONFIG, story.saved, clean=True).log
    story.did()
    story.clean = False
    story.did()
    append(story.log)
    story.did()


def recovery(story: Story) -> None:
    """Killed, and killed again while it recovers: with a torn end and segments that follow it."""
    fill(story, 8)
    bases = [segment.base_offset for segment in story.log.segments]
    torn = f"{FOLDER}/{bases[-2]:020d}.log"
    story.files.open(torn).truncate(story.files.size(torn) - 3)
    story.moments = [Moment(len(story.files.operations), frozenset(), story.may, story.saved)]
    story.log = reopened(story.files, CONFIG, story.saved).log
    story.did()
    story.log.flush()
    story.did()


def splitting(story: Story) -> None:
    """A segment with offsets too far apart becomes several; all of it was synced."""
    far = INT32_MAX + 10
    data = b"".join(bytes(leader_batch(offset)) for offset in (0, 5, far, 2 * far))
    path = f"{FOLDER}/{0:020d}.log"
    story.log.segments.active.close()
    story.files.write_new(path, data)
    story.files.open(path).sync()
    story.saved = Checkpoints(0, 2 * far + 1, 0)
    whole = frozenset(bytes(each.bytes) for each in batch.batches(data))
    story.may = whole
    story.moments = [Moment(len(story.files.operations), whole, whole, story.saved)]
    story.log = reopened(story.files, CONFIG, story.saved).log
    story.did()


ACTS = [appends, follows, retention, truncation, restart, closing, recovery, splitting]


def told(act: Callable[[Story], None], *, ordered: bool) -> Story:
    story = Story(ordered=ordered)
    act(story)
    return story


def survives(files: CrashFiles, moment: Moment, where: str, chosen: LogConfig = CONFIG) -> None:
    files.now_ms = NOW
    if not files.exists(FOLDER):
        assert not moment.must, where
        files.make_folder(FOLDER)
    opened = reopened(files, chosen, moment.saved, clean=moment.clean)
    try:
        looked_at(opened.log, moment)
        log = again(files, opened.log, chosen)
        check_log(log)
        append(log)
        check_log(log)
    except (AssertionError, Rejected) as error:
        raise AssertionError(f"{where}: {error}\n" + "\n".join(opened.done)) from error


def looked_at(log: Log, moment: Moment) -> None:
    check_log(log)
    found = set()
    for segment in log.segments:
        found |= {bytes(each.bytes) for each in batch.batches(segment.file.read(segment.size, 0))}
    lost = [last_offset(each) for each in moment.must - found]
    assert not lost, f"lost the batches that end at {lost}"
    invented = [last_offset(each) for each in found - moment.may]
    assert not invented, f"invented batches that end at {invented}"


def again(files: CrashFiles, log: Log, chosen: LogConfig) -> Log:
    """Closed and opened: nothing is left to do."""
    at = log.cursors
    log.close()
    saved = Checkpoints(at.log_start, at.log_end.offset, at.high_watermark.offset)
    opened = reopened(files, chosen, saved, clean=True)
    assert not [line for line in opened.done if line.startswith(("cut", "dropped", "scanned"))], opened.done
    assert opened.log.cursors.log_end.offset == at.log_end.offset
    return opened.log


def keeps(chance: Random) -> Iterator[str | int]:
    yield KILLED
    yield SYNCED
    while True:
        yield chance.randrange(1 << 32)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_log_survives_a_crash_at_any_operation(
    act: Callable[[Story], None], *, ordered: bool, profile: str, seed: int
) -> None:
    story = told(act, ordered=ordered)
    first = story.moments[0].operations
    points = range(first, len(story.files.operations) + 1)
    states = max(STATES[profile] // (2 * len(ACTS)), len(points))
    chance = Random(f"{seed} {act.__name__} {ordered}")
    keep = keeps(chance)
    ways = next(keep)
    for count, at in enumerate(islice(cycle(points), states)):
        if count % len(points) == 0 < count or isinstance(ways, int):
            ways = next(keep)
        where = f"{act.__name__} stopped after {at} operations, keep={ways!r}, ordered={ordered}, seed={seed}"
        survives(story.files.crash(at, ways), story.at(at), where)


# Wandering: acts in any order, which no story tells.

STATES_OF_ONE = 12


class Wanderer:
    """Does this and that to a log, by a seed."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        chosen = config(
            segment_bytes=chance.choice([200, 330, 700]),
            index_interval_bytes=chance.choice([0, 0, 100]),
            segment_index_bytes=chance.choice([40, 1 << 20]),
            preallocate=chance.random() < 0.3,
            retention_ms=100,
        )
        self.story = Story(ordered=chance.random() < 0.5, chosen=chosen)
        self.epoch = 0
        self.time = NOW

    def wander(self, steps: int) -> Story:
        acts = [self.send, self.send, self.send, self.end, self.follow, self.flush, self.flush]
        rare = [self.truncate, self.truncate, self.retain, self.restart, self.reopen, self.lead]
        for _ in range(steps):
            self.time += 20
            self.story.files.now_ms = self.time
            self.chance.choice(rare if self.chance.random() < 0.2 else acts)()
            self.story.did()
        return self.story

    def send(self) -> None:
        log, producer_id = self.story.log, self.chance.choice([-1, 1, 2])
        entry = log.producers.entries.get(producer_id)
        sender = Sender()
        if producer_id > 0:
            is_open = entry is not None and entry.txn_first_offset >= 0
            sequence = entry.last_sequence + 1 if entry else 0
            sender = Sender(producer_id, 0, sequence, is_open or self.chance.random() < 0.5)
        made = client_batch([b"%d" % self.time] * self.chance.randint(1, 3), sender, timestamp=self.time)
        log.append_as_leader(made, self.epoch, self.time, VERIFIED)

    def end(self) -> None:
        end = marker(self.chance.choice([1, 2]), commit=self.chance.random() < 0.3)
        self.story.log.append_marker(end._replace(timestamp=self.time), self.epoch, 0, self.time)

    def follow(self) -> None:
        at = self.story.log.cursors.log_end.offset + self.chance.choice([0, 0, 30])
        sent = b"".join(leader_batch(at + place, [b"f"], self.epoch, timestamp=self.time) for place in (0, 1))
        self.story.log.append_as_follower(sent, self.epoch, self.time)

    def flush(self) -> None:
        self.story.log.flush()
        self.story.did()
        if self.chance.random() < 0.7:
            self.story.checkpoint()

    def lead(self) -> None:
        self.epoch += 1

    def truncate(self) -> None:
        log = self.story.log
        offset = self.chance.randint(log.segments.first_base, log.cursors.log_end.offset)
        self.story.about_to(lambda: remove(self.story, log.truncate_to(offset, self.time)))
        self.story.checkpoint()
        self.epoch += 1

    def restart(self) -> None:
        log = self.story.log
        offset = max(0, log.cursors.log_end.offset + self.chance.choice([-20, -3, 0, 20]))
        self.story.about_to(lambda: remove(self.story, log.truncate_fully_and_start_at(offset, self.time)))
        self.story.checkpoint()
        self.epoch += 1

    def retain(self) -> None:
        log = self.story.log
        log.increment_high_watermark(log.cursors.log_end.offset)
        self.story.about_to(lambda: remove(self.story, log.retain(self.time + 20)))

    def reopen(self) -> None:
        """A clean stop and start: the marker is there from after the close until the log is open."""
        story = self.story
        story.log.close()
        story.checkpoint()
        story.clean = True
        story.did()
        story.log = reopened(story.files, story.config, story.saved, clean=True).log
        story.clean = False


def test_log_survives_wherever_it_wandered(profile: str, seed: int) -> None:
    for walk in range(STATES[profile] // STATES_OF_ONE):
        chance = Random(f"{seed} {walk}")
        story = Wanderer(chance).wander(25)
        for _ in range(STATES_OF_ONE):
            at = chance.randint(story.moments[0].operations, len(story.files.operations))
            ways: list[str | int] = [KILLED, SYNCED, *(chance.randrange(1 << 32) for _ in range(8))]
            keep = chance.choice(ways)
            where = f"walk {walk} stopped after {at} operations, keep={keep!r}, seed={seed}"
            survives(story.files.crash(at, keep), story.at(at), where, story.config)


def test_a_lost_sync_would_be_seen() -> None:
    """The test notices what it is there to notice: a flush that syncs nothing."""
    story = Story(ordered=True)
    fill(story, 2)
    flush = story.log.begin_flush()
    assert flush is not None
    assert story.log.flushed(flush)
    story.did()
    operations = len(story.files.operations)
    with pytest.raises(AssertionError, match="lost the batches"):
        survives(story.files.crash(operations, SYNCED), story.at(operations), "planted")
