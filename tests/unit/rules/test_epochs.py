"""Leader epochs: where each began, and where it ended for a follower that asks."""

from __future__ import annotations

import pytest

from esker.rules.epochs import UNDEFINED, EpochEnd, Epochs

#                 offsets  0        10       25
LIST = Epochs.of([(1, 0), (3, 10), (4, 25)])


@pytest.mark.parametrize(
    ("epoch", "start", "after"),
    [
        (4, 25, [(1, 0), (3, 10), (4, 25)]),  # known
        (4, 30, [(1, 0), (3, 10), (4, 25)]),  # an epoch goes on
        (5, 30, [(1, 0), (3, 10), (4, 25), (5, 30)]),
        (5, 25, [(1, 0), (3, 10), (5, 25)]),  # epoch 4 never wrote
        (5, 12, [(1, 0), (3, 10), (5, 12)]),
        (4, 20, [(1, 0), (3, 10), (4, 20)]),
        (3, 30, [(1, 0), (3, 30)]),  # back to an older epoch: what contradicts it goes
        (2, 5, [(1, 0), (2, 5)]),
        (2, 0, [(2, 0)]),
        (0, 0, [(0, 0)]),
    ],
)
def test_an_epoch_takes_away_what_it_contradicts(epoch: int, start: int, after: list[tuple[int, int]]) -> None:
    assert list(LIST.assign(epoch, start).entries) == after


@pytest.mark.parametrize(
    ("epoch", "start", "after"), [(3, 30, LIST), (4, 1, LIST), (5, 30, LIST.assign(5, 30)), (9, 40, LIST.assign(9, 40))]
)
def test_recovery_learns_of_higher_epochs_only(epoch: int, start: int, after: Epochs) -> None:
    assert LIST.learn(epoch, start) == after


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (-1, UNDEFINED),
        (0, EpochEnd(0, 0)),  # below all: as it was asked, up to the first known
        (1, EpochEnd(1, 10)),
        (2, EpochEnd(1, 10)),  # never here: the one before
        (3, EpochEnd(3, 25)),
        (4, EpochEnd(4, 99)),  # the newest goes on to log_end
        (5, UNDEFINED),  # above all
    ],
)
def test_an_epoch_ends_where_the_next_begins(asked: int, answered: EpochEnd) -> None:
    assert LIST.end_offset_for(asked, log_end=99) == answered


def test_an_empty_list_knows_no_end() -> None:
    assert [Epochs().end_offset_for(epoch, 99) for epoch in (-1, 0, 1)] == [UNDEFINED] * 3


@pytest.mark.parametrize(
    ("end", "after"),
    [(26, 3), (25, 2), (11, 2), (10, 1), (1, 1), (0, 0)],
)
def test_a_cut_takes_epochs_that_begin_at_it_or_later(end: int, after: int) -> None:
    assert LIST.truncate_from_end(end).entries == LIST.entries[:after]


@pytest.mark.parametrize(
    ("start", "after"),
    [
        (0, [(1, 0), (3, 10), (4, 25)]),
        (7, [(1, 7), (3, 10), (4, 25)]),  # epoch 1 now begins at the log start
        (10, [(3, 10), (4, 25)]),
        (11, [(3, 11), (4, 25)]),
        (25, [(4, 25)]),
        (90, [(4, 90)]),
    ],
)
def test_a_new_log_start_moves_the_epoch_that_it_lies_in(start: int, after: list[tuple[int, int]]) -> None:
    assert list(LIST.truncate_from_start(start).entries) == after


def test_a_log_start_before_all_epochs_moves_none() -> None:
    later = Epochs.of([(3, 10)])
    assert later.truncate_from_start(5) is later


@pytest.mark.parametrize(("epoch", "before"), [(0, None), (1, None), (2, 1), (3, 1), (4, 3), (9, 4)])
def test_the_epoch_before_another(epoch: int, before: int | None) -> None:
    assert LIST.previous(epoch) == before


@pytest.mark.parametrize(("offset", "epoch"), [(0, 1), (9, 1), (10, 3), (24, 3), (25, 4), (99, 4)])
def test_the_epoch_at_an_offset(offset: int, epoch: int) -> None:
    assert LIST.epoch_at(offset) == epoch


def test_no_epoch_is_known_before_the_first() -> None:
    assert Epochs.of([(3, 10)]).epoch_at(9) is None


def test_what_changes_nothing_answers_the_same_value() -> None:
    assert LIST.assign(4, 90) is LIST
    assert LIST.truncate_from_end(26) is LIST
    assert LIST.truncate_from_start(0) is LIST


@pytest.mark.parametrize(("epoch", "start"), [(-1, 0), (5, -1)])
def test_a_negative_epoch_or_offset_is_a_bug(epoch: int, start: int) -> None:
    with pytest.raises(AssertionError):
        LIST.assign(epoch, start)
