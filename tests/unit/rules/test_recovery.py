"""Recovery's two rounds, in pictures: what is in the folder, and what is to be done."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from esker.rules.epochs import Epochs
from esker.rules.layout import parse_folder
from esker.rules.recovery import (
    Checkpoints,
    Create,
    Cut,
    Drop,
    Found,
    Load,
    Outcome,
    Plan,
    Remove,
    Rename,
    Split,
    Step,
    SyncFolder,
    Trust,
    conclude,
    finished_swaps,
    plan,
    snapshots_to_try,
    sort_folders,
    tidy,
)

CLEAN = Checkpoints(clean=True)
LETTER = {Trust.CHECKED: "C", Trust.REBUILT: "r", Trust.RECOVERED: "R"}


def names(picture: str) -> list[str]:
    """`0.log 5.index.swap` as names with all their digits."""
    return [f"{int(base):020d}.{rest}" for base, _, rest in (word.partition(".") for word in picture.split())]


def short(name: str) -> str:
    base, _, rest = name.partition(".")
    return f"{int(base)}.{rest}"


def drawn(steps: Sequence[Step]) -> list[str]:
    return [_line(step) for step in steps]


def _line(step: Step) -> str:
    match step:
        case Remove(name, _):
            return f"- {short(name)}"
        case Rename(source, target):
            return f"{short(source)} > {short(target)}"
        case SyncFolder():
            return "sync"
        case Drop(base, _):
            return f"drop {base}"
        case Cut(base, position, size, _):
            return f"cut {base} at {position} of {size}"
        case Create(base):
            return f"create {base}"


@pytest.mark.parametrize(
    ("picture", "next_offsets", "steps"),
    [
        ("0.log 0.index 0.timeindex 7.snapshot", {}, []),
        (
            "0.log 0.log.deleted 5.snapshot.deleted",
            {},
            ["- 0.log.deleted", "- 5.snapshot.deleted"],
        ),
        ("0.log 0.log.cleaned 0.index.cleaned", {}, ["- 0.log.cleaned", "- 0.index.cleaned", "sync"]),
        # A split of 0 into 0 and 5: the second half is whole, the first is not.
        (
            "0.log 0.index 0.log.cleaned 5.log.swap 5.index.swap",
            {},
            ["- 5.log.swap", "- 5.index.swap", "sync", "- 0.log.cleaned", "sync"],
        ),
        # Segments 0, 3 and 6 were rewritten as one; nothing of the old is gone yet. 9 is not touched.
        (
            "0.log 0.index 3.log 3.snapshot 6.log 9.log 0.log.swap 0.index.swap",
            {"0.log.swap": 9},
            [
                "- 0.log",
                "- 0.index",
                "- 3.log",
                "- 6.log",
                "sync",
                "0.log.swap > 0.log",
                "0.index.swap > 0.index",
                "sync",
            ],
        ),
        # A split of 0 into 0 and 5, the old one half gone.
        (
            "0.index 0.log.swap 5.log.swap 9.log",
            {"0.log.swap": 5, "5.log.swap": 9},
            ["- 0.index", "sync", "0.log.swap > 0.log", "sync", "5.log.swap > 5.log", "sync"],
        ),
        # The same, its first half in place: it is below what is still to be swapped in, and stays.
        ("0.log 5.log.swap 9.log", {"5.log.swap": 9}, ["5.log.swap > 5.log", "sync"]),
        # The log is in place, an index is not.
        ("0.log 0.index.swap", {}, ["0.index.swap > 0.index", "sync"]),
        # A rewrite before another that is not finished.
        (
            "0.log 5.log 0.log.swap 5.log.cleaned",
            {"0.log.swap": 3},
            ["- 5.log.cleaned", "sync", "- 0.log", "sync", "0.log.swap > 0.log", "sync"],
        ),
        ("0.log 0.index 4.index 4.timeindex 4.txnindex", {}, ["- 4.index", "- 4.timeindex", "- 4.txnindex"]),
        ("4.index.swap", {}, ["4.index.swap > 4.index", "sync", "- 4.index"]),
        ("4.index 4.index.swap", {}, ["4.index.swap > 4.index", "sync", "- 4.index"]),
        # Of a replaced segment the log is gone, its index not yet.
        ("0.log.swap 3.index", {"0.log.swap": 9}, ["- 3.index", "sync", "0.log.swap > 0.log", "sync"]),
    ],
)
def test_what_was_going_on_is_undone_or_finished(picture: str, next_offsets: dict[str, int], steps: list[str]) -> None:
    ends = {names(name)[0]: end for name, end in next_offsets.items()}
    assert sorted(finished_swaps(names(picture))) == sorted(ends)
    assert drawn(tidy(names(picture), ends)) == steps


def test_files_of_nobody_are_left_alone() -> None:
    others = ["leader-epoch-checkpoint", "partition.metadata", "notes.deleted", "5.log.cleaned", "0.checkpoint.deleted"]
    assert tidy([*names("0.log 0.index"), *others], {}) == []


class TestHowFarASegmentIsBelieved:
    """Segments at 0, 10 and 20. C: checked, r: rebuilt, R: recovered."""

    WHOLE = "0.log 0.index 0.timeindex 10.log 10.index 10.timeindex 20.log 20.index 20.timeindex"

    def letters(self, checkpoints: Checkpoints, sizes: dict[str, int] | None = None, without: str = "") -> str:
        there = {name: 0 for name in names(self.WHOLE) if name not in names(without)}
        there |= {names(name)[0]: size for name, size in (sizes or {}).items()}
        return "".join(LETTER[each.trust] for each in plan(there, checkpoints).segments)

    @pytest.mark.parametrize(
        ("recovery_point", "letters"),
        [(0, "RRR"), (9, "RRR"), (10, "CRR"), (19, "CRR"), (20, "CCR"), (25, "CCR"), (10**9, "CCR")],
    )
    def test_from_the_one_with_the_recovery_point_on_all_are_recovered(self, recovery_point: int, letters: str) -> None:
        assert self.letters(Checkpoints(recovery_point)) == letters

    def test_after_a_clean_close_none_is(self) -> None:
        assert self.letters(CLEAN) == "CCC"

    @pytest.mark.parametrize("missing", ["10.index", "10.timeindex"])
    def test_a_missing_index_is_rebuilt(self, missing: str) -> None:
        assert self.letters(CLEAN, without=missing) == "CrC"
        assert self.letters(Checkpoints(20), without=missing) == "CrR"
        assert self.letters(Checkpoints(10), without=missing) == "CRR"

    @pytest.mark.parametrize(("name", "entry"), [("10.index", 8), ("10.timeindex", 12), ("10.txnindex", 34)])
    def test_an_index_of_no_whole_entries_is_rebuilt(self, name: str, entry: int) -> None:
        assert self.letters(CLEAN, {name: 3 * entry}) == "CCC"
        assert self.letters(CLEAN, {name: 3 * entry + 1}) == "CrC"

    def test_one_that_fails_its_check_is_rebuilt(self) -> None:
        whole = plan(dict.fromkeys(names(self.WHOLE), 0), Checkpoints(20))
        after = whole.distrust(10, "the last entry lies beyond the file").distrust(20, "no matter")
        assert [each.trust for each in after.segments] == [Trust.CHECKED, Trust.REBUILT, Trust.RECOVERED]

    def test_it_says_why(self) -> None:
        (segment,) = plan(dict.fromkeys(names("0.log 0.index"), 0), CLEAN).segments
        assert segment.why == "no .timeindex"

    def test_the_folder_before_the_first_segment_has_none(self) -> None:
        assert plan({}, Checkpoints()) == Plan((), ())


def recovered(*bases: int, trust: Trust = Trust.RECOVERED, snapshots: tuple[int, ...] = ()) -> Plan:
    return Plan(tuple(Load(base, 100, trust) for base in bases), snapshots)


def whole(base: int, next_offset: int) -> Found:
    return Found(base, 100, 100, next_offset)


def torn(base: int, next_offset: int) -> Found:
    return Found(base, 100, 60, next_offset, fault="the checksum does not match the bytes")


def concluded(plan: Plan, *found: Found, checkpoints: Checkpoints | None = None) -> Outcome:
    outcome = conclude(plan, {each.base_offset: each for each in found}, checkpoints or Checkpoints())
    assert isinstance(outcome, Outcome)
    return outcome


class TestWhatWasFound:
    def test_a_whole_log_is_left_as_it_is(self) -> None:
        outcome = concluded(recovered(0, 10), whole(0, 10), whole(10, 17))
        assert outcome == Outcome((), (0, 10), 0, 17, 0, (), replay=True)

    def test_after_a_cut_all_later_segments_go_and_they_go_first(self) -> None:
        outcome = concluded(recovered(0, 10, 20, 30), whole(0, 10), torn(10, 13))
        assert drawn(outcome.steps) == ["drop 30", "drop 20", "sync", "cut 10 at 60 of 100"]
        assert (outcome.segments, outcome.log_end) == ((0, 10), 13)

    def test_a_cut_below_the_recovery_point_leaves_a_hole(self) -> None:
        loads = (Load(0, 100, Trust.REBUILT), Load(10, 100, Trust.CHECKED), Load(20, 100, Trust.RECOVERED))
        outcome = concluded(Plan(loads, ()), torn(0, 4), whole(20, 25), checkpoints=Checkpoints(recovery_point=22))
        assert drawn(outcome.steps) == ["cut 0 at 60 of 100"]
        assert (outcome.segments, outcome.log_end) == ((0, 10, 20), 25)

    def test_a_cut_names_what_stood_there(self) -> None:
        (cut,) = concluded(recovered(0), torn(0, 4)).steps
        assert cut == Cut(0, 60, 100, "the checksum does not match the bytes")

    def test_a_log_that_ends_below_its_start_is_emptied(self) -> None:
        outcome = concluded(
            recovered(0, 10, snapshots=(10, 17)),
            whole(0, 10),
            whole(10, 17),
            checkpoints=Checkpoints(recovery_point=30, log_start=18),
        )
        gone = ["drop 10", "drop 0", "sync", "create 18", "- 10.snapshot", "- 17.snapshot", "sync"]
        assert drawn(outcome.steps) == gone
        assert outcome[1:] == ((18,), 18, 18, 18, (), False)

    def test_a_log_that_ends_at_its_start_stays(self) -> None:
        outcome = concluded(recovered(0), whole(0, 18), checkpoints=Checkpoints(log_start=18))
        assert (outcome.steps, outcome.log_start, outcome.log_end) == ((), 18, 18)

    @pytest.mark.parametrize(("log_start", "base"), [(0, 0), (42, 42)])
    def test_without_a_segment_one_is_made_at_the_log_start(self, log_start: int, base: int) -> None:
        outcome = concluded(recovered(), checkpoints=Checkpoints(log_start=log_start))
        assert drawn(outcome.steps) == [f"create {base}"]
        assert (outcome.log_start, outcome.log_end) == (base, base)

    @pytest.mark.parametrize(("checkpoint", "log_start"), [(0, 10), (10, 10), (12, 12)])
    def test_the_log_starts_at_its_checkpoint_or_its_first_segment(self, checkpoint: int, log_start: int) -> None:
        assert concluded(recovered(10), whole(10, 17), checkpoints=Checkpoints(0, checkpoint)).log_start == log_start

    @pytest.mark.parametrize(
        ("checkpoints", "recovery_point"),
        [(Checkpoints(12), 12), (Checkpoints(30), 17), (Checkpoints(12, clean=True), 17)],
    )
    def test_only_a_clean_load_moves_the_recovery_point_forward(
        self, checkpoints: Checkpoints, recovery_point: int
    ) -> None:
        outcome = concluded(recovered(0, 10), whole(0, 10), whole(10, 17), checkpoints=checkpoints)
        assert outcome.recovery_point == recovery_point

    def test_a_segment_that_overflows_is_split_before_all_else(self) -> None:
        found = {0: torn(0, 4), 10: whole(10, 17)._replace(overflows=True), 5: whole(5, 6)._replace(overflows=True)}
        assert conclude(recovered(0, 5, 10), found, Checkpoints()) == Split((5, 10))


class TestSnapshots:
    """Segments at 0, 10 and 20, the log ends at 25."""

    @pytest.mark.parametrize(
        ("there", "log_start", "tried", "gone"),
        [
            ((10, 20, 25), 0, (25, 20, 10), ()),
            ((0, 10), 0, (10,), (0,)),  # nothing lies before the log start
            ((10, 20), 12, (20,), (10,)),
            ((12, 20), 0, (20,), (12,)),  # of no segment
            ((22, 24), 0, (24,), (22,)),  # of no segment, and yet the newest
            ((24, 26), 0, (24,), (26,)),  # beyond the end
            ((), 0, (), ()),
        ],
    )
    def test_those_of_segments_stay_and_the_newest(
        self, there: tuple[int, ...], log_start: int, tried: tuple[int, ...], gone: tuple[int, ...]
    ) -> None:
        loads = recovered(0, 10, 20, trust=Trust.CHECKED, snapshots=there)
        outcome = concluded(loads, whole(20, 25), checkpoints=Checkpoints(0, log_start, clean=True))
        assert outcome.snapshots == tried
        expected = [f"- {offset}.snapshot" for offset in gone]
        assert drawn(outcome.steps) == expected + (["sync"] if gone else [])

    @pytest.mark.parametrize(
        ("there", "clean", "replay"), [((), True, False), ((), False, True), ((5,), True, True), ((10,), False, True)]
    )
    def test_nothing_is_replayed_after_a_clean_close_that_left_none(
        self, there: tuple[int, ...], clean: bool, replay: bool
    ) -> None:
        loads = recovered(0, snapshots=there)
        assert concluded(loads, whole(0, 10), checkpoints=Checkpoints(clean=clean)).replay is replay

    @pytest.mark.parametrize(("loaded", "due"), [(25, False), (20, True), (None, True)])
    def test_one_is_due_at_the_end_unless_it_was_loaded(self, loaded: int | None, due: bool) -> None:
        assert concluded(recovered(20), whole(20, 25)).snapshot_due(loaded) is due

    def test_none_is_due_for_an_empty_log(self) -> None:
        assert not concluded(recovered(20), Found(20, 0, 0, 20)).snapshot_due(None)

    def test_the_newest_is_tried_first(self) -> None:
        assert snapshots_to_try([5, 30, 10, 20, 25], log_start=5, end=25) == (25, 20, 10)


def test_leader_epochs_end_and_start_with_the_log() -> None:
    outcome = concluded(recovered(10), torn(10, 17), checkpoints=Checkpoints(log_start=12))
    assert outcome.settle(Epochs.of([(1, 0), (3, 10), (4, 17)])) == Epochs.of([(3, 12)])


def test_folders_are_told_apart_by_their_names() -> None:
    uuid = "0123456789abcdef0123456789abcdef"
    load, future = f"t-0.{uuid}-delete", f"t-1.{uuid}-future"
    folders = sort_folders([future, "t-3", load, f"t-2.{uuid}-stray", "lost+found", "__cluster_metadata-0"])
    assert folders == tuple((parse_folder(name),) for name in ("t-3", future, load, f"t-2.{uuid}-stray"))
