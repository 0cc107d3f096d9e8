"""A segment whose offsets reach further than its indexes can say becomes several: `storage.md`, "Load", 3.

The batches are copied as they are, each new segment beginning with the first batch that the one before cannot hold.
What stands behind the last good batch goes with the last of them: the load that follows finds it again, and cuts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.kernel.layout import INT32_MAX
from esker.rules.layout import Suffix
from esker.storage import swap
from esker.storage.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.storage.handles import Handles
    from esker.storage.txn_index import AbortedTransaction

PIECE = 1 << 20


def split(handles: Handles, old: Segment, aborted: Sequence[AbortedTransaction]) -> list[int]:
    """The bases of the segments that stand in its place. `aborted` are the entries of its transaction index."""
    new, end = _copied(handles, old)
    for segment in new:
        following = segment.base_offset + INT32_MAX
        for entry in aborted:
            if segment.base_offset <= entry.last_offset <= following:
                segment.append_aborted(entry)
    swap.prepare(handles.files, new, old.modified_ms)
    _copy_tail(old, new[-1], end)
    swap.exchange(handles.files, new, [old])
    old.delete()
    return [segment.base_offset for segment in new]


def _copied(handles: Handles, old: Segment) -> tuple[list[Segment], int]:
    """The new segments, and how far the old one was good."""
    new: list[Segment] = []
    end = 0
    for stretch in old.scan(deep=False):
        for header in stretch.headers:
            if not new or header.last_offset - new[-1].base_offset > INT32_MAX:
                base_offset = header.base_offset if new else old.base_offset
                new.append(Segment.create(handles, old.folder, base_offset, old.settings, Suffix.CLEANED))
            new[-1].append(stretch.data[header.position : header.end], header.last_offset, header.max_timestamp)
        end = stretch.position + stretch.headers[-1].end
    return new, end


def _copy_tail(old: Segment, last: Segment, end: int) -> None:
    source, target = old.file, last.file
    at = last.size
    for position in range(end, old.size, PIECE):
        data = source.read(min(PIECE, old.size - position), position)
        target.write(data, at)
        at += len(data)
    if end < old.size:
        target.sync()


def overlong(segment: Segment, next_offset: int) -> bool:
    """Can its indexes not say all of its offsets?"""
    return next_offset - 1 - segment.base_offset > INT32_MAX
