"""Any legal moves one after another, beside a twin of plain numbers that thinks of no positions and saves no work."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from esker.base.errors import Rejected
from esker.rules import cursors as moves
from esker.rules.cursors import Checkpoints, Cursors, OffsetPosition, check

OFFSETS = st.integers(0, 60)
STEPS = st.integers(1, 9)


@dataclass
class Numbers:
    """The five offsets of `storage.md` and the first unstable one, moved as its sentences say."""

    start: int
    high: int
    end: int
    recovery: int
    unstable: int | None = None

    @property
    def stable(self) -> int:
        return self.high if self.unstable is None else min(self.unstable, self.high)

    def cut(self, end: int) -> None:
        self.start, self.high, self.recovery = min(self.start, end), min(self.high, end), min(self.recovery, end)
        self.end = end
        if self.unstable is not None and self.unstable >= end:
            self.unstable = None


class Moves(RuleBasedStateMachine):
    """One byte of position for each offset. A segment is at most what a roll left behind."""

    twin: Numbers
    cursors: Cursors
    bases: list[int]

    @initialize(start=OFFSETS, more=OFFSETS, saved=st.tuples(*[st.none() | OFFSETS] * 3), clean=st.booleans())
    def load(self, start: int, more: int, saved: tuple[int | None, int | None, int | None], clean: bool) -> None:
        log_start, recovery, high = saved
        first = max(start, log_start or 0)
        end = first + more
        recovery = end if clean else min(end, recovery or 0)
        self.bases = [start]
        self.twin = Numbers(first, first if high is None else max(first, min(end, high)), end, recovery)
        self.cursors = moves.load(start, self.place(end), Checkpoints(*saved), clean=clean)

    def place(self, offset: int) -> OffsetPosition:
        base = max(base for base in self.bases if base <= max(offset, self.bases[0]))
        return OffsetPosition(offset, base, offset - base)

    @rule(count=STEPS)
    def append(self, count: int) -> None:
        self.twin.end += count
        end = self.place(self.twin.end)
        assert end.segment_base is not None
        assert end.position is not None
        self.cursors = moves.append(self.cursors, self.twin.end, end.segment_base, end.position)

    @rule()
    def roll(self) -> None:
        if self.bases[-1] < self.twin.end:
            self.bases.append(self.twin.end)
        self.cursors = moves.roll(self.cursors, self.bases[-1])

    @rule(offset=OFFSETS)
    def truncate(self, offset: int) -> None:
        if offset < self.bases[0]:
            self.cursors = moves.restart(self.cursors, offset)
            self.bases = [offset]
            recovery = min(self.twin.recovery, offset)
            self.twin = Numbers(offset, offset, offset, recovery)
            return
        offset = min(offset, self.twin.end)
        self.bases = [base for base in self.bases if base <= offset]
        self.twin.cut(offset)
        self.cursors = moves.truncate(self.cursors, self.place(offset))

    @rule(offset=OFFSETS)
    def restart(self, offset: int) -> None:
        self.bases = [offset]
        self.twin = Numbers(offset, offset, offset, min(self.twin.recovery, offset))
        self.cursors = moves.restart(self.cursors, offset)

    @rule(offset=OFFSETS)
    def delete_records(self, offset: int) -> None:
        if offset > self.twin.high:
            with pytest.raises(Rejected):
                moves.advance_log_start(self.cursors, offset)
            return
        self.twin.start = max(self.twin.start, offset)
        if self.twin.unstable is not None:
            self.twin.unstable = max(self.twin.unstable, self.twin.start)
        self.cursors = moves.advance_log_start(self.cursors, offset)

    @rule(offset=OFFSETS, known=st.booleans())
    def update_high_watermark(self, offset: int, known: bool) -> None:
        self.twin.high = max(self.twin.start, min(self.twin.end, offset))
        told = self.place(self.twin.high) if known else OffsetPosition(offset)
        self.cursors = moves.update_high_watermark(self.cursors, told)

    @rule(offset=OFFSETS)
    def increment_high_watermark(self, offset: int) -> None:
        if offset > self.twin.end:
            with pytest.raises(AssertionError):
                moves.increment_high_watermark(self.cursors, OffsetPosition(offset))
            return
        before = self.cursors
        told = self.place(max(offset, self.bases[0]))
        self.cursors = moves.increment_high_watermark(before, told)
        assert (self.cursors.high_watermark.offset > before.high_watermark.offset) == (told.offset > self.twin.high)
        self.twin.high = max(self.twin.high, told.offset)

    @rule()
    def resolve(self) -> None:
        self.cursors = moves.resolve_high_watermark(self.cursors, self.place(self.twin.high))
        assert self.cursors.high_watermark.is_known

    @rule(offset=st.none() | OFFSETS)
    def set_first_unstable(self, offset: int | None) -> None:
        if offset is not None and self.twin.start == self.twin.end:
            return
        if offset is not None:
            offset = min(offset, self.twin.end - 1)
        self.twin.unstable = offset if offset is None else max(offset, self.twin.start)
        self.cursors = moves.set_first_unstable(self.cursors, None if offset is None else OffsetPosition(offset))

    @rule(offset=OFFSETS)
    def flush(self, offset: int) -> None:
        offset = min(offset, self.twin.end)
        self.twin.recovery = max(self.twin.recovery, offset)
        self.cursors = moves.flush(self.cursors, offset)

    @invariant()
    def they_agree(self) -> None:
        if not hasattr(self, "twin"):
            return
        check(self.cursors)
        twin, cursors = self.twin, self.cursors
        assert (cursors.log_start, cursors.recovery_point) == (twin.start, twin.recovery)
        assert cursors.last_stable.offset == twin.stable
        assert (cursors.high_watermark.offset, cursors.log_end.offset) == (twin.high, twin.end)
        assert cursors.log_end == self.place(twin.end)

    @invariant()
    def a_known_position_is_right(self) -> None:
        if not hasattr(self, "twin"):
            return
        high = self.cursors.high_watermark
        if high.segment_base is not None and high.position is not None:
            assert high.segment_base in self.bases
            assert high.segment_base + high.position == high.offset


TestMoves = Moves.TestCase
