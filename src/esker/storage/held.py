"""The segments of a log as retention sees them, and its cursors, from files alone: for who asks about a log that is
not open here. Nothing is written, and a broker may be at work on it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

from esker.base.types import TopicPartition
from esker.rules import cursors
from esker.rules.cursors import Checkpoints, Cursors, OffsetPosition
from esker.rules.layout import HIGH_WATERMARKS, LOG_STARTS
from esker.rules.retention import Held
from esker.storage.checkpoints import read_offsets
from esker.storage.checks.entries import TIME_ENTRY, Entries
from esker.storage.listing import FoundFile, FoundPartition, Kind
from esker.storage.survey import Survey

if TYPE_CHECKING:
    from esker.ports.files import Files


class HeldLog(NamedTuple):
    """Oldest first; the last one is active."""

    segments: list[Held]
    cursors: Cursors


def read_held(files: Files, partition: FoundPartition) -> HeldLog | None:
    """None: no segment is there. Without a checkpoint everything counts as replicated."""
    logs = partition.of_kind(Kind.LOG)
    if not logs:
        return None
    segments = [_held(files, log) for log in logs[:-1]]
    active = Survey(files.open(logs[-1].path), logs[-1].base_offset, deep=False)
    for _ in active:
        pass
    modified_ms = files.modified_ms(logs[-1].path)
    segments.append(Held(logs[-1].base_offset, active.end, active.largest_timestamp, modified_ms))
    log_end = OffsetPosition(active.next_offset, logs[-1].base_offset, active.end)
    log_dir = posixpath.dirname(partition.path) or "."
    name = TopicPartition(partition.topic, partition.partition)
    starts = read_offsets(files, posixpath.join(log_dir, LOG_STARTS))
    watermarks = read_offsets(files, posixpath.join(log_dir, HIGH_WATERMARKS))
    saved = Checkpoints(
        log_start=min(starts.get(name, 0), log_end.offset),
        high_watermark=watermarks.get(name, log_end.offset),
    )
    return HeldLog(segments, cursors.load(logs[0].base_offset, log_end, saved, clean=True))


def _held(files: Files, log: FoundFile) -> Held:
    """The last entry of a closed segment's time index is its largest timestamp; without one its batches are asked."""
    path = log.path.removesuffix(".log") + ".timeindex"
    largest = -1
    if files.exists(path):
        for entry in Entries(files.open(path), TIME_ENTRY):
            largest = max(largest, entry.first)
    if largest < 0:
        survey = Survey(files.open(log.path), log.base_offset, deep=False)
        for _ in survey:
            pass
        largest = survey.largest_timestamp
    return Held(log.base_offset, files.size(log.path), largest, files.modified_ms(log.path))
