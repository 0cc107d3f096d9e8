"""Recovery against a small world of files: killed after any step, with what was not synced lost in any way, and begun
again, it ends where one run would have ended; and a second run finds nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from esker.rules.layout import FileKind, SegmentFile, Suffix, parse_segment_file
from esker.rules.recovery import (
    Checkpoints,
    Create,
    Cut,
    Drop,
    Found,
    Outcome,
    Remove,
    Rename,
    Step,
    SyncFolder,
    Trust,
    conclude,
    finished_swaps,
    plan,
    tidy,
)

INDEXES = (FileKind.INDEX, FileKind.TIME_INDEX)


@dataclass(frozen=True)
class Log:
    """Batches of one offset each, ten bytes long, and bytes behind them that are none. `tag` tells old from new."""

    offsets: tuple[int, ...] = ()
    junk: int = 0
    tag: str = "old"

    @property
    def size(self) -> int:
        return 10 * len(self.offsets) + self.junk


World = dict[str, Log]


@dataclass
class Machine:
    """Does steps on a world; can stop at one and forget what was not synced."""

    world: World
    unsynced: list[Step] = field(default_factory=list)
    durable: World = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.durable = dict(self.world)

    def do(self, step: Step) -> None:
        apply(self.world, step)
        self.unsynced.append(step)
        if isinstance(step, SyncFolder):
            self.durable, self.unsynced = dict(self.world), []
        elif isinstance(step, Cut):
            apply(self.durable, step)  # the file is synced, whatever of the folder is

    def lose(self, kept: Callable[[Step], bool]) -> World:
        for step in filter(kept, self.unsynced):
            apply(self.durable, step)
        return self.durable


def apply(world: World, step: Step) -> None:
    match step:
        case Remove(name, _):
            world.pop(name, None)
        case Rename(source, target):
            if source in world:
                world[target] = world.pop(source)
        case Drop(base, _):
            for kind in (FileKind.LOG, *INDEXES):
                world.pop(SegmentFile(base, kind).name, None)
        case Cut(base, position, _, _):
            name = SegmentFile(base, FileKind.LOG).name
            world[name] = replace(world[name], offsets=world[name].offsets[: position // 10], junk=0)
        case Create(base):
            for kind in (FileKind.LOG, *INDEXES):
                world.setdefault(SegmentFile(base, kind).name, Log())
        case SyncFolder():
            pass


def next_offset(name: str, log: Log) -> int:
    found = parse_segment_file(name)
    assert found
    return log.offsets[-1] + 1 if log.offsets else found.base_offset


def steps(world: World, checkpoints: Checkpoints) -> Iterable[Step]:
    """Both rounds, looking at the world in between as the shell does."""
    yield from tidy(list(world), {name: next_offset(name, world[name]) for name in finished_swaps(world)})
    # Index files are written whole; the world has no sizes for them that could be wrong.
    sizes = {name: log.size if name.endswith(".log") else 0 for name, log in world.items()}
    loads = plan(sizes, checkpoints)
    found = {}
    for load in loads.segments:
        name = SegmentFile(load.base_offset, FileKind.LOG).name
        log = world[name]
        end = 10 * len(log.offsets)
        if load.trust is not Trust.CHECKED or load is loads.segments[-1]:
            found[load.base_offset] = Found(load.base_offset, log.size, end, next_offset(name, log))
    outcome = conclude(loads, found, checkpoints)
    assert isinstance(outcome, Outcome)
    yield from outcome.steps
    for base in outcome.segments:
        for kind in INDEXES:
            world.setdefault(SegmentFile(base, kind).name, Log())


def run(machine: Machine, checkpoints: Checkpoints, limit: int | None = None) -> list[Step]:
    done = []
    for step in islice(steps(machine.world, checkpoints), limit):
        machine.do(step)
        done.append(step)
    return done


def recover(world: World, checkpoints: Checkpoints) -> World:
    machine = Machine(dict(world))
    run(machine, checkpoints)
    return machine.world


def content(world: World) -> list[tuple[str, Log]]:
    """The log, less the indexes, which a killed run may have written already."""
    return sorted((name, log) for name, log in world.items() if not name.endswith("index"))


@st.composite
def logs(draw: st.DrawFn) -> World:
    """Up to five segments with indexes, some of them missing, snapshots anywhere; junk at the end of any."""
    world: World = {}
    base = draw(st.integers(0, 3))
    for _ in range(draw(st.integers(0, 5))):
        count = draw(st.integers(0, 4))
        name = SegmentFile(base, FileKind.LOG).name
        world[name] = Log(tuple(range(base, base + count)), draw(st.sampled_from([0, 0, 0, 7])))
        for kind in draw(st.sampled_from([INDEXES, INDEXES, INDEXES[:1], ()])):
            world[SegmentFile(base, kind).name] = Log()
        base += count + draw(st.integers(0 if count else 1, 2))
    for offset in draw(st.sets(st.integers(0, 20), max_size=3)):
        world[SegmentFile(offset, FileKind.SNAPSHOT).name] = Log()
    return world


SETTINGS = st.builds(Checkpoints, recovery_point=st.integers(0, 20), log_start=st.integers(0, 20), clean=st.booleans())


@st.composite
def rewritten(draw: st.DrawFn) -> tuple[World, set[tuple[Log, ...]]]:
    """A world in the middle of a rewrite, done as storage.md orders it: one segment into several, or several into one;
    and the contents, old and new, that are right afterwards."""
    cuts = sorted(draw(st.sets(st.integers(1, 9), min_size=2, max_size=4)))
    many = [Log(tuple(range(*reach))) for reach in zip([0, *cuts], [*cuts, 10], strict=True)]
    one = [Log(tuple(range(10)))]
    old, new = (one, many) if draw(st.booleans()) else (many, one)
    new = [replace(log, tag="new") for log in new]
    tail = Log(tuple(range(10, 13)))
    world = {file(log, FileKind.LOG): log for log in (*old, tail)}
    world |= {file(log, kind): Log() for log in (*old, tail) for kind in INDEXES}
    moves = list(protocol(old, new))
    for move in moves[: draw(st.integers(0, len(moves)))]:
        move(world)
    return world, {(*old, tail), (*new, tail)}


def file(log: Log, kind: FileKind, suffix: Suffix = Suffix.IN_PLACE) -> str:
    return SegmentFile(log.offsets[0], kind, suffix).name


def protocol(old: list[Log], new: list[Log]) -> Iterable[Callable[[World], None]]:
    kinds = (FileKind.LOG, *INDEXES)
    for log in new:
        for kind in kinds:
            yield placing(file(log, kind, Suffix.CLEANED), log if kind is FileKind.LOG else Log())
    yield from (renaming(log, kind, Suffix.CLEANED, Suffix.SWAP) for log in reversed(new) for kind in kinds)
    yield from (renaming(log, kind, Suffix.IN_PLACE, Suffix.DELETED) for log in old for kind in kinds)
    yield from (renaming(log, kind, Suffix.SWAP, Suffix.IN_PLACE) for log in new for kind in kinds)


def placing(name: str, log: Log) -> Callable[[World], None]:
    return lambda world: world.update({name: log})


def renaming(log: Log, kind: FileKind, source: Suffix, target: Suffix) -> Callable[[World], None]:
    return lambda world: world.update({file(log, kind, target): world.pop(file(log, kind, source))})


@given(logs(), SETTINGS)
def test_a_second_run_finds_nothing_to_do(world: World, checkpoints: Checkpoints) -> None:
    assert [step for step in steps(recover(world, checkpoints), checkpoints) if step != SyncFolder()] == []


@given(rewritten(), st.sampled_from([Checkpoints(), Checkpoints(clean=True)]))
def test_a_rewrite_is_undone_or_finished(
    given_world: tuple[World, set[tuple[Log, ...]]], checkpoints: Checkpoints
) -> None:
    world, right = given_world
    after = recover(world, checkpoints)
    assert tuple(log for name, log in sorted(after.items()) if name.endswith(".log")) in right
    assert all(parse_segment_file(name).suffix is Suffix.IN_PLACE for name in after)  # type: ignore[union-attr]


def stopped(world: World, checkpoints: Checkpoints, data: st.DataObject) -> World:
    """The world after a power cut in the middle: of what was not synced, any part is there."""
    count = len(run(Machine(dict(world)), checkpoints))
    machine = Machine(dict(world))
    run(machine, checkpoints, data.draw(st.integers(0, count), label="steps done"))
    return machine.lose(lambda step: data.draw(st.booleans(), label=f"{step} reached the disk"))


@given(logs(), SETTINGS.map(lambda each: each._replace(clean=False)), st.data())
def test_a_run_that_was_killed_is_finished_by_the_next(
    world: World, checkpoints: Checkpoints, data: st.DataObject
) -> None:
    half = stopped(world, checkpoints, data)
    assert content(recover(half, checkpoints)) == content(recover(world, checkpoints))


@given(rewritten(), st.data())
def test_a_rewrite_is_not_lost_by_a_run_that_was_killed(
    given_world: tuple[World, set[tuple[Log, ...]]], data: st.DataObject
) -> None:
    world, _ = given_world
    half = stopped(world, Checkpoints(), data)
    assert content(recover(half, Checkpoints())) == content(recover(world, Checkpoints()))
