"""From an offset or a time to a position to walk from, by plain reads of the indexes: nothing is mapped or changed, so
it may be done beside a live broker. An index that is damaged, or missing, costs only a longer walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.storage.checks.entries import OFFSET_ENTRY, TIME_ENTRY, Entries
from esker.storage.survey import good_at

if TYPE_CHECKING:
    from esker.ports.files import Files
    from esker.storage.listing import FoundFile


def seek(files: Files, log: FoundFile, offset: int, timestamp: int) -> int:
    """A position in the log before which every record has a lower offset, or is older."""
    by_time = _floor_time(files, log, timestamp)
    position = _floor_offset(files, log, max(offset, by_time))
    if not position:
        return 0
    header = good_at(files.open(log.path), position)
    return position if header is not None else 0


def _floor_offset(files: Files, log: FoundFile, offset: int) -> int:
    path = log.path.removesuffix(".log") + ".index"
    if not files.exists(path) or offset <= log.base_offset:
        return 0
    position = last = 0
    for entry in Entries(files.open(path), OFFSET_ENTRY):
        if log.base_offset + entry.first > offset:
            break
        if entry.second < last:
            return 0
        position = last = entry.second
    return position


def _floor_time(files: Files, log: FoundFile, timestamp: int) -> int:
    """An offset before which every record is older; the log's base where nothing tells."""
    path = log.path.removesuffix(".log") + ".timeindex"
    if timestamp < 0 or not files.exists(path):
        return log.base_offset
    offset = log.base_offset
    for entry in Entries(files.open(path), TIME_ENTRY):
        if entry.first >= timestamp:
            break
        offset = log.base_offset + entry.second
    return offset
