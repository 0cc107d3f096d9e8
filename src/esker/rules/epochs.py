"""Leader epochs of one log: which leader's records begin where.

A follower that comes back asks where an epoch of its own ended on the leader, and cuts off what lies past it. So this
list must never say that an epoch reached further than it did. Epochs and start offsets both rise from entry to entry;
an epoch ends where the next one begins, the newest at log_end.

The values are immutable: each change answers a new list, or the same one when nothing changed (`is` tells), so that
the caller knows when the checkpoint has to be written.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1

_epoch, _start = attrgetter("epoch"), attrgetter("start_offset")


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """The largest epoch ≤ the one asked for, and where it ends (exclusive); both -1: undefined."""

    epoch: int
    end_offset: int


UNDEFINED = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


class Epochs:
    """The list, oldest first."""

    __slots__ = ("entries", "latest")

    def __init__(self, entries: tuple[EpochStart, ...] = ()) -> None:
        self.entries = entries
        self.latest = entries[-1].epoch if entries else UNDEFINED_EPOCH

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Epochs:
        """Entries from anywhere, in the order given: one that goes back takes away what it contradicts."""
        epochs = cls()
        for epoch, start_offset in pairs:
            epochs = epochs.assign(epoch, start_offset)
        return epochs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Epochs) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def __repr__(self) -> str:
        return f"Epochs({' '.join(f'{epoch}@{start}' for epoch, start in self.entries)})"

    def assign(self, epoch: int, start_offset: int) -> Epochs:
        """Records of this epoch begin at this offset. Entries that contradict it (the epoch or the offset not below)
        go: they tell of records that were never committed."""
        if epoch == self.latest and self.entries[-1].start_offset <= start_offset:
            return self
        assert epoch >= 0 <= start_offset, f"epoch {epoch} at offset {start_offset}"
        keep = min(bisect_left(self.entries, epoch, key=_epoch), bisect_left(self.entries, start_offset, key=_start))
        return Epochs((*self.entries[:keep], EpochStart(epoch, start_offset)))

    def learn(self, epoch: int, start_offset: int) -> Epochs:
        """What recovery does with a batch that it meets: only a higher epoch is news."""
        return self.assign(epoch, start_offset) if epoch > self.latest else self

    def truncate_from_end(self, end_offset: int) -> Epochs:
        """The log now ends here: entries from this offset on go."""
        keep = bisect_left(self.entries, end_offset, key=_start)
        return self if keep == len(self.entries) else Epochs(self.entries[:keep])

    def truncate_from_start(self, start_offset: int) -> Epochs:
        """The log now starts here: entries before it go, but the last of them now starts here too."""
        passed = bisect_right(self.entries, start_offset, key=_start)
        if passed == 0 or (passed == 1 and self.entries[0].start_offset == start_offset):
            return self
        first = EpochStart(self.entries[passed - 1].epoch, start_offset)
        return Epochs((first, *self.entries[passed:]))

    def end_offset_for(self, epoch: int, log_end: int) -> EpochEnd:
        """Where this epoch ended. Below all known ones the answer tells the epoch asked for, and where the log's first
        known one starts; above all known ones it is undefined."""
        if epoch == UNDEFINED_EPOCH or epoch > self.latest:
            return UNDEFINED
        if epoch == self.latest:
            return EpochEnd(epoch, log_end)
        higher = bisect_right(self.entries, epoch, key=_epoch)
        known = self.entries[higher - 1].epoch if higher else epoch
        return EpochEnd(known, self.entries[higher].start_offset)

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of the record at this offset; None before the first entry."""
        place = bisect_right(self.entries, offset, key=_start)
        return self.entries[place - 1].epoch if place else None

    def previous(self, epoch: int) -> int | None:
        """The largest known epoch below this one."""
        place = bisect_left(self.entries, epoch, key=_epoch)
        return self.entries[place - 1].epoch if place else None
