"""One log dir: its lock, its identity, its checkpoints, the marker of a clean close. Offline once it fails.

Crash story: the marker goes, and is known to have gone, before anything is loaded; it comes back when every log of the
dir is closed and the checkpoints say so. A checkpoint that cannot be parsed is named and not believed: recovery points
then count as 0, log starts as the first segment's base, so records that were deleted may show again.
"""

from __future__ import annotations

import logging
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile
from esker.base.types import TopicPartition
from esker.rules import layout
from esker.rules.cursors import Checkpoints
from esker.storage.checkpoints import CleanShutdown, read_offsets, write_clean_shutdown, write_offsets
from esker.storage.lock import FolderLock
from esker.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from esker.upkeep.reserve import Reserve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from esker.log.log import Log
    from esker.ports.files import Files

logger = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]
CHECKPOINTS = (layout.RECOVERY_POINTS, layout.LOG_STARTS, layout.HIGH_WATERMARKS)


class Draft(NamedTuple):
    """What a checkpoint is to say; of two the one with the higher number is the later."""

    name: str
    number: int
    offsets: Offsets


class LogDir:
    """`path` is its name for life. `offline` says why it is out of service; empty while it serves."""

    def __init__(self, files: Files, path: str, reserve_bytes: int) -> None:
        self.path = path
        self.offline = ""
        self.meta: MetaProperties | None = None
        self.was_clean = False
        self.all_loaded = True
        self.reserve = Reserve(files, path, reserve_bytes)
        self._files = files
        self._lock: FolderLock | None = None
        self._drafts = {name: Draft(name, 0, {}) for name in CHECKPOINTS}
        self._written = dict.fromkeys(CHECKPOINTS, 0)
        self._writing = Lock()

    @property
    def is_online(self) -> bool:
        return not self.offline

    def go_offline(self, why: str) -> None:
        self.offline = why
        logger.error("offline log_dir=%s cause=%r", self.path, why)

    # Opening.

    def take(self) -> None:
        """Make it if need be, and lock it. Raises Locked, OSError."""
        self._files.make_folder(self.path)
        self._lock = FolderLock(self._files, self.path)

    def read_identity(self) -> MetaProperties | None:
        """Raises BadFile, OSError."""
        self.meta = read_meta_properties(self._files, self._path(layout.META_PROPERTIES))
        return self.meta

    def write_identity(self, meta: MetaProperties, now_ms: int) -> None:
        write_meta_properties(self._files, self._path(layout.META_PROPERTIES), meta, now_ms)
        self.meta = meta

    def begin(self) -> list[str]:
        """Before loading: the marker is noted and gone, the checkpoints are read, the names in the dir answered."""
        marker = self._path(layout.CLEAN_SHUTDOWN)
        self.was_clean = self._files.exists(marker)
        if self.was_clean:
            self._files.remove(marker)
        # Also the folders that a killed process made are durable from here on.
        self._files.sync_folder(self.path)
        self._drafts = {name: Draft(name, 0, self._read(name)) for name in CHECKPOINTS}
        return self._files.names(self.path)

    def _read(self, name: str) -> Offsets:
        try:
            return read_offsets(self._files, self._path(name))
        except BadFile as error:
            logger.warning("not believed file=%s place=%r found=%r", error.path, error.place, error.found)
            return {}

    def saved(self, topic_partition: TopicPartition) -> Checkpoints:
        """What the checkpoints say of this log."""
        points, starts, watermarks = (self._drafts[name].offsets.get(topic_partition) for name in CHECKPOINTS)
        return Checkpoints(starts, points, watermarks)

    def said(self, name: str, of: Iterable[TopicPartition]) -> Offsets:
        """What one checkpoint says of these, where it does."""
        offsets = self._drafts[name].offsets
        return {each: offsets[each] for each in of if each in offsets}

    # While it serves.

    def draft(self, name: str, offsets: Offsets) -> Draft | None:
        """A checkpoint to be written; None: it says nothing new. The owner's call, `write` is anybody's."""
        last = self._drafts[name]
        if last.offsets == offsets and last.number == self._written[name]:
            return None
        self._drafts[name] = Draft(name, last.number + 1, offsets)
        return self._drafts[name]

    def write(self, draft: Draft) -> None:
        """Put it in place, unless a later one was: after a truncation an older one would vouch for too much. May
        block. Raises OSError."""
        name, number, offsets = draft
        with self._writing:
            if number < self._written[name]:
                return
            self.reserve.used_for(lambda: write_offsets(self._files, self._path(name), offsets))
            self._written[name] = number

    def sync(self) -> None:
        """The folders in it are durable when this returns."""
        self._files.sync_folder(self.path)

    # The end.

    def mark_clean(self) -> None:
        path = self._path(layout.CLEAN_SHUTDOWN)
        self.reserve.used_for(lambda: write_clean_shutdown(self._files, path, CleanShutdown()))

    def release(self) -> None:
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            lock.release()
        except OSError as error:
            logger.warning("lock left log_dir=%s cause=%r", self.path, str(error))

    def _path(self, name: str) -> str:
        return f"{self.path}/{name}"


def offsets_of(name: str, logs: Iterable[Log]) -> Offsets:
    """What a checkpoint is to say of these logs: nothing of log starts that the first segment's name tells."""
    if name == layout.RECOVERY_POINTS:
        return {log.place.topic_partition: log.cursors.recovery_point for log in logs}
    if name == layout.HIGH_WATERMARKS:
        return {log.place.topic_partition: log.cursors.high_watermark.offset for log in logs}
    starts = ((log.place.topic_partition, log.cursors.log_start, log.segments.first_base) for log in logs)
    return {topic_partition: log_start for topic_partition, log_start, first_base in starts if log_start > first_base}
