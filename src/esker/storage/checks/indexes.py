"""The offset index and the time index of a segment, held against its batches as these go by.

Both look at one stretch of batches after the other and keep no more than the next entry: a segment of any size takes
the same memory. What lies in damaged bytes is not judged, since nobody knows what was there.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from esker.storage.checks.entries import OFFSET_ENTRY, TIME_ENTRY, Entries, RawEntry
from esker.storage.findings import Finding, Place, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import File
    from esker.storage.scan import Stretch

NO_TIMESTAMP = -1
LEAST_ENTRIES = 3
OPENED = 4


class OffsetIndexCheck:
    """An entry's position is the first byte of a batch; every batch before it ends below the entry's offset, which is
    one that the segment has."""

    def __init__(self, file: File, base_offset: int, *, grows: bool = False) -> None:
        self.path = file.path
        self._base = base_offset
        self._entries = Entries(file, OFFSET_ENTRY, grows=grows)
        self._stream = iter(self._entries)
        self._before: RawEntry | None = None
        self._next: RawEntry | None = next(self._stream, None)
        self._open: list[RawEntry] = []  # whose offset has not come yet
        self._gap = 0  # the least between two positions, so at least the interval that the index was made with
        self._by_batch = 0  # so many entries, all of them, have the last offset of the batch at their position
        self._last_position = 0  # of a batch
        self.beyond = -1  # the last offset that it has past the end of the log

    def take(self, stretch: Stretch, before: int) -> Iterator[Finding]:
        """The next good batches; offsets below `before` came earlier."""
        end = stretch.position + stretch.headers[-1].end
        self._last_position = stretch.position + stretch.headers[-1].position
        yield from self._positions(stretch, before, end)
        if self._open and self._base + self._open[0].first <= stretch.headers[-1].last_offset:
            yield from self._offsets(stretch)

    def _positions(self, stretch: Stretch, before: int, end: int) -> Iterator[Finding]:
        if not self._points_below(end):
            return
        places = {header.position: at for at, header in enumerate(stretch.headers)}
        while self._points_below(end):
            entry = self._next
            assert entry is not None
            at = places.get(entry.second - stretch.position)
            if at is None:
                yield self._wrong(entry, "index-position", f"no batch begins at its position {entry.second}")
            else:
                ended = stretch.headers[at - 1].last_offset if at else before - 1
                offset = self._base + entry.first
                if ended >= offset:
                    cause = f"a batch before position {entry.second} ends with {ended}, not below its offset {offset}"
                    yield self._wrong(entry, "index-offset", cause)
                else:
                    self._open.append(entry)
                    self._measure(entry, is_last=stretch.headers[at].last_offset == offset)
            yield from self._step()

    def _measure(self, entry: RawEntry, *, is_last: bool) -> None:
        self._by_batch = self._by_batch + 1 if is_last and self._by_batch >= 0 else -1
        if self._before is not None:
            gap = entry.second - self._before.second
            self._gap = min(self._gap, gap) if self._gap else gap

    def _end_is_missing(self) -> bool:
        """Entries come at least every interval, and at one less for each time that the segment was opened anew. Nobody
        knows that where an entry stood for an append of many batches, as up to Kafka 3.9 and after a cleaning."""
        if self._by_batch < LEAST_ENTRIES or self._before is None:
            return False
        return self._last_position - self._before.second > OPENED * self._gap

    def _offsets(self, stretch: Stretch) -> Iterator[Finding]:
        """An entry's offset is the last one of a batch; the cleaner notes the last record that it kept."""
        ends = [header.last_offset for header in stretch.headers]
        while self._open and (offset := self._base + self._open[0].first) <= ends[-1]:
            entry = self._open.pop(0)
            header = stretch.headers[bisect_left(ends, offset)]
            is_whole = header.record_count == header.last_offset_delta + 1
            if header.magic > 1 and (header.base_offset > offset or (is_whole and header.last_offset != offset)):
                yield self._wrong(entry, "index-offset", f"its offset {offset} is the last one of no batch")

    def pass_over(self, end: int) -> Iterator[Finding]:
        """Damaged bytes up to `end`: entries that point into them, or whose batch may be there, are not judged."""
        self._open.clear()
        while self._points_below(end):
            yield from self._step()

    def _points_below(self, end: int) -> bool:
        return self._next is not None and self._next.second < end

    def finish(self, size: int, next_offset: int, *, is_active: bool) -> Iterator[Finding]:
        """The log ends here."""
        if self._entries.grows:
            return
        while self._next is not None:
            entry = self._next
            self.beyond = max(self.beyond, self._base + entry.first)
            cause = f"its position {entry.second} is not within the log's {size} bytes of batches"
            yield self._wrong(entry, "index-position", cause)
            yield from self._step()
        if self._before is not None and self._base + self._before.first >= next_offset:
            cause = f"its offset {self._base + self._before.first} is past the log's last one, {next_offset - 1}"
            yield self._wrong(self._before, "index-offset", cause)
        if not is_active and self._end_is_missing():
            rest = size - self._before.second if self._before else size
            place = Place(self._entries.end)
            yield warning(self.path, "index-short", place, f"its last entry is {rest} bytes before the log's end")
        yield from tail_of(self.path, self._entries, OFFSET_ENTRY.size, is_active=is_active)

    def _step(self) -> Iterator[Finding]:
        """On to the next entry, which must be above this one in both fields."""
        before, self._before = self._before, self._next
        self._next = next(self._stream, None)
        entry = self._before
        assert entry is not None
        if before is not None and entry.first <= before.first:
            yield self._wrong(entry, "index-order", f"its offset is not above {self._base + before.first}")
        elif before is None and entry.first < 0:
            yield self._wrong(entry, "index-order", f"its offset is below the segment's base {self._base}")
        if before is not None and entry.second <= before.second:
            yield self._wrong(entry, "index-order", f"its position is not above {before.second}")

    def _wrong(self, entry: RawEntry, kind: str, cause: str) -> Finding:
        offset = self._base + entry.first
        return error(self.path, kind, Place(entry.at, OFFSET_ENTRY.size, offset, offset), cause)


class TimeIndexCheck:
    """An entry's timestamp is the largest of all batches up to the one that has the entry's offset. In a segment that
    is closed the last entry has the largest of all."""

    def __init__(self, file: File, base_offset: int, *, grows: bool = False) -> None:
        self.path = file.path
        self._base = base_offset
        self._entries = Entries(file, TIME_ENTRY, grows=grows)
        self._stream = iter(self._entries)
        self._before: RawEntry | None = None
        self._next: RawEntry | None = next(self._stream, None)
        self._largest = NO_TIMESTAMP
        self.beyond = -1  # as above
        self._is_sure = True  # until damage hides what the largest was

    def take(self, stretch: Stretch) -> Iterator[Finding]:
        headers = stretch.headers
        if headers[0].magic == 0:
            # Kafka noted the timestamps that came from producers, and then wrote the messages without them.
            self._is_sure = False
        largest = max(self._largest, *[header.max_timestamp for header in headers])
        last_offset = headers[-1].last_offset
        if self._is_within(last_offset):
            ends = [header.last_offset for header in headers]
            stamps = list(accumulate((header.max_timestamp for header in headers), max, initial=self._largest))
            while self._is_within(last_offset):
                entry = self._next
                assert entry is not None
                yield from self._judge(entry, stamps[bisect_left(ends, self._base + entry.second) + 1])
                yield from self._step()
        self._largest = largest

    def pass_over(self) -> None:
        """Damaged bytes: they may have had any timestamp."""
        self._is_sure = False

    def finish(self, next_offset: int, *, is_active: bool) -> Iterator[Finding]:
        if self._entries.grows:
            return
        while self._next is not None:
            self.beyond = max(self.beyond, self._base + self._next.second)
            if self._is_sure:
                cause = f"its offset {self._base + self._next.second} is past the log's last one, {next_offset - 1}"
                yield self._wrong(self._next, "timeindex-offset", cause)
            yield from self._step()
        yield from tail_of(self.path, self._entries, TIME_ENTRY.size, is_active=is_active)
        last = NO_TIMESTAMP if self._before is None else self._before.first
        if not is_active and self._is_sure and last < self._largest:
            cause = f"its last timestamp is {last}, the segment's largest one is {self._largest}"
            yield warning(self.path, "timeindex-end", Place(self._entries.end), cause)

    def _is_within(self, last_offset: int) -> bool:
        return self._next is not None and self._base + self._next.second <= last_offset

    def _judge(self, entry: RawEntry, largest: int) -> Iterator[Finding]:
        if self._is_sure and entry.first != largest:
            offset = self._base + entry.second
            cause = f"its timestamp is {entry.first}, the largest one up to offset {offset} is {largest}"
            yield self._wrong(entry, "timeindex-timestamp", cause)

    def _step(self) -> Iterator[Finding]:
        before, self._before = self._before, self._next
        self._next = next(self._stream, None)
        entry = self._before
        assert entry is not None
        if entry.second < 0 or (before is not None and entry.second <= before.second):
            yield self._wrong(entry, "timeindex-order", "its offset is not above the one before")
        if before is not None and entry.first <= before.first:
            yield self._wrong(entry, "timeindex-order", f"its timestamp is not above {before.first}, the one before")

    def _wrong(self, entry: RawEntry, kind: str, cause: str) -> Finding:
        offset = self._base + entry.second
        return error(self.path, kind, Place(entry.at, TIME_ENTRY.size, offset, offset), cause)


def tail_of(path: str, entries: Entries, width: int, *, is_active: bool) -> Iterator[Finding]:
    """What stands behind the entries: zeros belong to the active segment alone."""
    rest = entries.size - entries.end
    if entries.has_zeros and not is_active:
        yield warning(path, "index-zeros", Place(entries.end, rest), "zeros behind the entries of a closed segment")
    elif entries.is_cut and not entries.has_zeros:
        cause = f"its size of {entries.size} bytes is no multiple of {width}"
        yield error(path, "index-size", Place(entries.end, rest), cause)


class Indexes(NamedTuple):
    """Those that a segment has."""

    offsets: OffsetIndexCheck | None
    times: TimeIndexCheck | None

    def take(self, stretch: Stretch, before: int) -> Iterator[Finding]:
        if self.offsets is not None:
            yield from self.offsets.take(stretch, before)
        if self.times is not None:
            yield from self.times.take(stretch)

    def pass_over(self, end: int) -> Iterator[Finding]:
        if self.offsets is not None:
            yield from self.offsets.pass_over(end)
        if self.times is not None:
            self.times.pass_over()

    def finish(self, size: int, next_offset: int, *, is_active: bool) -> Iterator[Finding]:
        if self.offsets is not None:
            yield from self.offsets.finish(size, next_offset, is_active=is_active)
        if self.times is not None:
            yield from self.times.finish(next_offset, is_active=is_active)

    @property
    def beyond(self) -> list[int]:
        """The last offsets past the end of the log, of those that have such."""
        return [index.beyond for index in (self.offsets, self.times) if index is not None and index.beyond >= 0]
