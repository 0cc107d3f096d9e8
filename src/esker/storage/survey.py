"""A walk through a whole log file that does not stop at damage: `scan` from good stretch to good stretch.

Where the good part ends, the next good batch is looked for behind the damaged one, if its size field can be believed;
where the offset index says that batches begin; and anywhere before that. A batch counts as good when its checksum is.

A batch whose offset does not rise is whole, only its offset is not believed, which no checksum covers. Of two batches
that contradict each other the earlier one is to blame when the later one would fit without it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from esker.base.faults import Fault, Finding
from esker.kernel.layout import INT32_MAX, OFFSET_AND_SIZE, UP_TO_MAGIC
from esker.records import batch
from esker.storage.data_file import header_at_start
from esker.storage.scan import Scan, Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esker.kernel.contract import BatchHeader
    from esker.ports.files import File

HEAD_BYTES = 128  # holds any batch's header
MAGIC, MAGIC_AT = b"\x02", UP_TO_MAGIC - 1
SEARCH_BYTES = 4 << 20
TRIES = 64  # places of the offset index that are tried behind one damage


class Damage(NamedTuple):
    """Bytes that are no good. Both offsets are inclusive, as far as the good batches around tell; -1: nothing was
    lost, or nobody knows. `is_readable`: only the offset is in doubt, and a stretch has the batch as well."""

    position: int
    end: int
    base_offset: int
    last_offset: int
    finding: Finding
    is_readable: bool = False


class Survey:
    """Iterate once; the totals grow meanwhile, and are those of the file afterwards."""

    def __init__(
        self, file: File, base_offset: int, starts: Sequence[int] = (), *, deep: bool = True, position: int = 0
    ) -> None:
        """`starts`: where batches begin, rising, as far as the offset index knows. A walk may begin at one of them."""
        self._file = file
        self._starts = starts
        self._deep = deep
        self.size = file.size()
        self.end = position  # behind the last good batch
        self.next_offset = base_offset
        self.largest_timestamp = -1
        self.batches = 0
        self.records = 0
        self.damaged_bytes = 0
        self.has_zero_tail = False
        self._last: BatchHeader | None = None  # its position is the file's
        self._before_last = base_offset  # the offset that the batch before the last one left

    def __iter__(self) -> Iterator[Stretch | Damage]:
        position = self.end
        trusted = True  # false: the batch at `position` was found out already, and is stepped over
        while True:
            scan = Scan(self._file, self.next_offset, position=position, deep=self._deep)
            for stretch in scan:
                self._note(stretch, scan.next_offset)
                yield stretch
            self._add(scan)
            if scan.finding is None:
                return
            trusted = trusted or scan.end > position
            damage = self._disorder(scan) if trusted else None
            if damage is not None:
                position, trusted = scan.end, False
            else:
                damage = self._damage(scan)
                position, trusted = damage.end, True
            yield damage
            if position >= self.size:
                return

    def _add(self, scan: Scan) -> None:
        self.end = scan.end if scan.batches else self.end
        self.batches += scan.batches
        self.records += scan.records
        self.next_offset = scan.next_offset
        self.largest_timestamp = max(self.largest_timestamp, scan.largest_timestamp)
        self.has_zero_tail = scan.has_zero_tail

    def _note(self, stretch: Stretch, next_offset: int) -> None:
        self.next_offset = next_offset
        last = stretch.headers[-1]
        if len(stretch.headers) > 1:
            self._before_last = stretch.headers[-2].last_offset + 1
        elif self._last is not None:
            self._before_last = self._last.last_offset + 1
        self._last = last._replace(position=stretch.position + last.position)

    def _disorder(self, scan: Scan) -> Damage | None:
        """A whole batch whose offsets lie below where the one before ended."""
        assert scan.finding is not None
        if scan.finding.fault is not Fault.ORDER or scan.finding.record >= 0:
            return None
        header = _header_at(self._file, scan.end)
        if header is None or header.base_offset < 0:
            return None
        self.next_offset = header.base_offset
        blamed = header
        if self._last is not None and self._last.end == scan.end and self._before_last <= header.base_offset:
            blamed = self._last
        place = blamed.position, blamed.end, blamed.base_offset, blamed.last_offset
        return Damage(*place, scan.finding, is_readable=True)

    def _damage(self, scan: Scan) -> Damage:
        assert scan.finding is not None
        header = _header_at(self._file, scan.end)
        expected = self.next_offset
        behind = self._next_good(scan.end, header)
        self._last, self._before_last = None, expected
        if behind is not None:
            self.damaged_bytes += behind.position - scan.end
            return Damage(scan.end, behind.position, *_range(expected, behind.base_offset - 1), scan.finding)
        self.damaged_bytes += self.size - scan.end
        last = header.last_offset if header is not None and header.base_offset >= expected else -1
        return Damage(scan.end, self.size, *_range(expected, last), scan.finding)

    def _next_good(self, position: int, header: BatchHeader | None) -> BatchHeader | None:
        """The first good batch behind the one at `position`; None: there is none up to the end."""
        if header is not None and header.end <= self.size:
            if header.end == self.size:
                return None
            found = good_at(self._file, header.end)
            if found is not None:
                return found
        first = bisect_right(self._starts, position)
        places = (good_at(self._file, start) for start in self._starts[first : first + TRIES])
        known = next(filter(None, places), None)
        return self._searched(position, known) or known

    def _searched(self, position: int, known: BatchHeader | None) -> BatchHeader | None:
        """A batch that nobody points to, before the `known` one, by its header and its checksum."""
        end = min(position + SEARCH_BYTES, self.size if known is None else known.position)
        last_offset = self.next_offset + INT32_MAX if known is None else known.base_offset - 1
        data = self._file.read(end - position, position)
        at = data.find(MAGIC, MAGIC_AT + 1)
        while at >= 0:
            start = at - MAGIC_AT
            offset, size_field = OFFSET_AND_SIZE.unpack_from(data, start)
            is_likely = self.next_offset <= offset <= last_offset and size_field > 0
            if is_likely and (found := good_at(self._file, position + start)) is not None:
                return found
            at = data.find(MAGIC, at + 1)
        return None


def good_at(file: File, position: int) -> BatchHeader | None:
    """The batch that begins there, if one does and its checksum is right."""
    header = _header_at(file, position)
    if header is None:
        return None
    data = file.read(header.size, position) if header.end <= file.size() else b""
    found = batch.check(data, 0, min(header.base_offset, 0), deep=False)
    return header if found.batches == 1 else None


def _header_at(file: File, position: int) -> BatchHeader | None:
    """The header of a batch that may reach past the file's end."""
    data = file.read(HEAD_BYTES, position)
    header = header_at_start(data, position) if data else Fault.PARTIAL
    return None if isinstance(header, Fault) else header


def _range(first: int, last: int) -> tuple[int, int]:
    return (first, last) if last >= first else (-1, -1)
