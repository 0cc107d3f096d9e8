"""Leader epochs against a twin that knows the epoch of each single record."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from esker.rules.epochs import UNDEFINED, EpochEnd, Epochs
from esker.storage.checkpoints import format_epochs, parse_epochs

EPOCHS = st.integers(0, 6)
OFFSETS = st.integers(0, 12)
ANY = st.lists(st.tuples(EPOCHS, OFFSETS), max_size=8).map(Epochs.of)
# Epochs never fall along a log; each record's, from offset 0 on.
RECORDS = st.lists(EPOCHS, max_size=12).map(sorted)


def learned(records: list[int], start: int = 0) -> Epochs:
    """What recovery learns from these records."""
    epochs = Epochs()
    for offset, epoch in enumerate(records[start:], start):
        epochs = epochs.learn(epoch, offset)
    return epochs


def rising(epochs: Epochs) -> bool:
    pairs = list(zip(epochs.entries, epochs.entries[1:], strict=False))
    return all(one.epoch < two.epoch and one.start_offset < two.start_offset for one, two in pairs)


@given(ANY, EPOCHS, OFFSETS)
def test_epochs_and_offsets_rise_whatever_is_assigned(epochs: Epochs, epoch: int, offset: int) -> None:
    after = epochs.assign(epoch, offset)
    assert rising(after)
    assert after.latest == epoch
    assert set(after.entries) <= {*epochs.entries, (epoch, offset)}
    assert after.assign(epoch, offset) is after


@given(ANY, EPOCHS, OFFSETS)
def test_an_assignment_leaves_all_that_does_not_contradict_it(epochs: Epochs, epoch: int, offset: int) -> None:
    if epoch == epochs.latest and offset >= epochs.entries[-1].start_offset:
        return
    consistent = [each for each in epochs.entries if each.epoch < epoch and each.start_offset < offset]
    assert list(epochs.assign(epoch, offset).entries) == [*consistent, (epoch, offset)]


@given(RECORDS)
def test_the_epoch_of_each_record_is_known(records: list[int]) -> None:
    epochs = learned(records)
    assert [epochs.epoch_at(offset) for offset in range(len(records))] == records


@given(RECORDS, st.integers(-1, 8))
def test_an_epoch_ends_behind_the_last_record_that_is_not_newer(records: list[int], asked: int) -> None:
    answer = learned(records).end_offset_for(asked, len(records))
    if asked < 0 or asked > max(records, default=-1):
        assert answer == UNDEFINED
    else:
        older = [epoch for epoch in records if epoch <= asked]
        assert answer == EpochEnd(max(older, default=asked), len(older))


@given(RECORDS, OFFSETS)
def test_cutting_the_log_is_learning_of_less(records: list[int], end: int) -> None:
    assert learned(records).truncate_from_end(end) == learned(records[:end])


@given(RECORDS, OFFSETS)
def test_moving_the_log_start_is_learning_from_there_on(records: list[int], start: int) -> None:
    if start < len(records):
        assert learned(records).truncate_from_start(start) == learned(records, start)


@given(ANY, OFFSETS)
def test_a_log_start_keeps_the_newest_epoch_even_of_an_empty_log(epochs: Epochs, start: int) -> None:
    after = epochs.truncate_from_start(start)
    assert rising(after)
    assert after.latest == epochs.latest
    assert all(each.start_offset >= start for each in after.entries)


@given(ANY, st.integers(-1, 8))
def test_the_epoch_before_is_the_largest_smaller_one(epochs: Epochs, epoch: int) -> None:
    assert epochs.previous(epoch) == max((each.epoch for each in epochs.entries if each.epoch < epoch), default=None)


@given(ANY)
def test_the_checkpoint_brings_them_back(epochs: Epochs) -> None:
    assert parse_epochs(format_epochs(epochs), "leader-epoch-checkpoint") == epochs
