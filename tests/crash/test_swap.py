"""Cleaning and splitting, stopped anywhere: what loads is the old content or the new, never a mix, never nothing."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from crash.loading import Batches, batches, opened, segments, tidied
from crash.states import Crash, crashes
from esker.rules.layout import Suffix
from esker.storage.handles import Handles
from esker.storage.segment import Segment, SegmentSettings
from esker.storage.swap import exchange, prepare
from esker.storage.txn_index import AbortedTransaction
from esker.testing.files import KILLED, SYNCED, CrashFiles
from unit.storage.made import Made, append, made_batch

FOLDER = "/data/t-0"
SETTINGS = SegmentSettings(index_interval_bytes=100)


class World:
    """Segments at 0, 30, 60 and the active one at 90, each of ten batches of three records; all of it durable."""

    def __init__(self, *, ordered: bool) -> None:
        self.files = CrashFiles(ordered=ordered)
        self.handles = Handles(self.files, 64)
        self.files.make_folder(FOLDER)
        for folder in ("/", "/data"):
            self.files.sync_folder(folder)
        self.old = [self.written(base, self.batches_of(base)) for base in (0, 30, 60, 90)]
        self.old[1].append_aborted(AbortedTransaction(5, 31, 40, 31))
        for segment in self.old:
            segment.become_inactive()
            segment.flush()
        self.before = batches(self.old)
        self.start = len(self.files.operations)

    @staticmethod
    def batches_of(base: int) -> list[Made]:
        return [made_batch(offset, [1000 + offset] * 3, size=20) for offset in range(base, base + 30, 3)]

    def written(self, base: int, made: list[Made], suffix: Suffix = Suffix.IN_PLACE) -> Segment:
        segment = Segment.create(self.handles, FOLDER, base, SETTINGS, suffix)
        for batch in made:
            append(segment, batch)
        return segment

    def swap(self, new: list[Segment], old: list[Segment]) -> None:
        prepare(self.files, new, 77)
        exchange(self.files, new, old)

    def clean(self) -> None:
        """Three segments become one, of every second batch and the last."""
        kept = [batch for base in (0, 30, 60) for batch in self.batches_of(base)][1::2]
        new = self.written(0, kept, Suffix.CLEANED)
        new.append_aborted(AbortedTransaction(5, 33, 39, 31))
        self.swap([new], self.old[:3])
        self.after = batches([new, self.old[3]])

    def clean_one(self) -> None:
        new = self.written(30, self.batches_of(30)[1::2], Suffix.CLEANED)
        self.swap([new], [self.old[1]])
        self.after = batches([self.old[0], new, *self.old[2:]])

    def split(self) -> None:
        """The segment at 30 becomes three."""
        made = self.batches_of(30)
        new = [
            self.written(part[0].header.base_offset, part, Suffix.CLEANED) for part in (made[:3], made[3:7], made[7:])
        ]
        self.swap(new, [self.old[1]])
        self.after = batches([self.old[0], *new, *self.old[2:]])


PROTOCOLS: dict[str, Callable[[World], None]] = {"clean": World.clean, "one": World.clean_one, "split": World.split}


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_old_or_new_after_every_crash(name: str, ordered: bool, profile: str, seed: int) -> None:
    world = World(ordered=ordered)
    PROTOCOLS[name](world)
    seen: Counter[str] = Counter()
    for crash in crashes(world.files, world.start, profile, seed):
        seen[which(world, loaded(crash), crash)] += 1
        reload_after_a_crash_while_loading(world, crash)
    assert min(seen["old"], seen["new"]) > 10


def loaded(crash: Crash) -> Batches:
    tidied(crash.after, FOLDER)
    return batches(segments(crash.after, FOLDER))


def which(world: World, found: Batches, crash: Crash) -> str:
    if found == world.before:
        return "old"
    assert found == world.after, f"a mix at={crash.at} keep={crash.keep} after {world.files.operations[crash.at - 1]}"
    return "new"


def reload_after_a_crash_while_loading(world: World, crash: Crash) -> None:
    """The load is stopped somewhere, by a power cut, and run again."""
    chance = Random(f"{crash.at} {crash.keep}")
    again = world.files.crash(crash.at, crash.keep)
    tidied(again, FOLDER)
    if again.operations:
        at = chance.randrange(len(again.operations))
        keeps: list[str | int] = [KILLED, SYNCED, chance.randrange(2**32)]
        keep = chance.choice(keeps)
        twice = Crash(at, keep, again.crash(at, keep))
        which(world, loaded(twice), crash)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_finished_swap_is_the_new_content_even_without_a_later_sync(name: str) -> None:
    world = World(ordered=False)
    PROTOCOLS[name](world)
    after = world.files.crash(keep=SYNCED)
    tidied(after, FOLDER)
    assert batches(segments(after, FOLDER)) == world.after
    assert not [each for each in after.names(FOLDER) if each.endswith((".cleaned", ".swap"))]


def test_new_segment_has_the_modification_time_of_the_last_source() -> None:
    world = World(ordered=True)
    world.clean()
    assert opened(world.files, FOLDER, 0).modified_ms == 77


def test_kept_aborted_transactions_come_along() -> None:
    world = World(ordered=True)
    world.clean()
    assert opened(world.files, FOLDER, 0).txn_index.entries() == [AbortedTransaction(5, 33, 39, 31)]


@pytest.mark.parametrize("left_out", ["before the old go", "before the new come"])
def test_without_its_folder_syncs_an_unordered_disk_mixes(left_out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would see a protocol that leans on the order of renames."""
    world = World(ordered=False)
    synced = CrashFiles.sync_folder

    def sync_folder(files: CrashFiles, path: str) -> None:
        suffixes = [".deleted" in name for name in files.names(path)]
        if any(suffixes) != (left_out == "before the new come"):
            return
        synced(files, path)

    monkeypatch.setattr(CrashFiles, "sync_folder", sync_folder)
    world.clean()
    monkeypatch.undo()
    with pytest.raises(AssertionError, match="a mix"):
        every_crash_is_old_or_new(world)


def every_crash_is_old_or_new(world: World) -> None:
    renames = [at for at, operation in enumerate(world.files.operations) if operation.name == "replace"]
    for crash in crashes(world.files, renames[4], "campaign", 1):
        which(world, loaded(crash), crash)
