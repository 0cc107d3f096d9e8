"""The segments of one log, oldest first, and its producer snapshots: the files, by offset.

The last segment is active and there always is one. A segment that goes is renamed at once and removed later by whoever
was told (`Deleted`), so that a reader that holds a slice of it is not disturbed. The list is replaced and never
changed, so that a reader in another thread sees the one before or the one after.

Crash story: a roll writes the snapshot, then makes the segment, and when either fails takes back what it did. Names
are made durable by the next flush. A truncation is synced at once, newest segment first: one that came back without
the one before it would be a hole, a snapshot that came back a lie, and batches that came back would stand beside others
of their offsets.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, NamedTuple

from esker.log.values import Deleted
from esker.rules.layout import FileKind, SegmentFile, Suffix, snapshot_name
from esker.rules.retention import DeleteReason
from esker.rules.roll import RollLimits, jitter_bound_ms, replaces_active, roll_limits
from esker.storage.data_file import WriteNotTakenBack
from esker.storage.segment import KINDS, Segment, SegmentSettings
from esker.storage.snapshots import write_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from esker.base.config import LogConfig
    from esker.base.types import TopicPartition
    from esker.ports.chance import Chance
    from esker.ports.files import File
    from esker.rules.producers import ProducerEntry
    from esker.storage.handles import Handles
    from esker.storage.txn_index import AbortedTransaction

logger = logging.getLogger(__name__)

FLUSHED_AT_ONCE = 32  # segments, with some four handles each


class Place(NamedTuple):
    """Where a log lies and what it needs of the world."""

    topic_partition: TopicPartition
    folder: str
    handles: Handles
    chance: Chance


class View(NamedTuple):
    """The segments at one moment, with their base offsets."""

    bases: tuple[int, ...]
    items: tuple[Segment, ...]


def segment_settings(config: LogConfig) -> SegmentSettings:
    preallocated_bytes = config.segment_bytes if config.preallocate else 0
    return SegmentSettings(config.index_interval_bytes, config.segment_index_bytes, preallocated_bytes)


class Segments:
    """Changed by the log's owner alone. `limits` say when the active one is rolled, `names` counts the changes of names
    that a flush has to sync."""

    __slots__ = (
        "_aborting",
        "_config",
        "_limits_before",
        "_names_synced",
        "_snapshots",
        "_view",
        "active",
        "limits",
        "names",
        "place",
    )

    def __init__(
        self,
        place: Place,
        config: LogConfig,
        items: Iterable[Segment],
        snapshots: Iterable[int] = (),
        aborting: Iterable[int] = (),
    ) -> None:
        """`snapshots` by offset; `aborting`: the bases of segments that have a transaction index."""
        self.place = place
        self._config = config
        self._snapshots = sorted(snapshots)
        self._aborting = tuple(sorted(aborting))
        self.names, self._names_synced = 1, 0  # who made these files may not have synced the folder
        self._show(items)
        self.limits = self._limits_before = self._limits_of_active()

    def _show(self, items: Iterable[Segment]) -> None:
        shown = tuple(items)
        self._view = View(tuple(segment.base_offset for segment in shown), shown)
        self.active = shown[-1]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._view.items)

    def __len__(self) -> int:
        return len(self._view.items)

    @property
    def first_base(self) -> int:
        return self._view.bases[0]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self)

    def since(self, offset: int) -> Iterator[Segment]:
        """From the segment that holds the offset on."""
        bases, items = self._view
        first = bisect_right(bases, offset) - 1
        for place in range(max(first, 0), len(items)):
            yield items[place]

    def aborting_since(self, base_offset: int) -> Iterator[Segment]:
        """From this segment on those that have a transaction index."""
        bases, items = self._view
        for base in self._aborting[bisect_left(self._aborting, base_offset) :]:
            place = bisect_left(bases, base)
            if place < len(bases) and bases[place] == base:
                yield items[place]

    def base_after(self, segment: Segment) -> int | None:
        """Where the next one begins; None after the active one."""
        bases = self._view.bases
        place = bisect_right(bases, segment.base_offset)
        return bases[place] if place < len(bases) else None

    def configure(self, config: LogConfig) -> None:
        """Settings that changed hold for the active segment from now on, its index sizes from the next one on."""
        self._config = config
        since_ms, created_ms = self.limits.since_ms, self.limits.created_ms
        self.limits = self._drawn(self.active.base_offset, created_ms).began(since_ms)
        for segment in self:
            segment.settings = segment_settings(config)

    def _limits_of_active(self) -> RollLimits:
        active = self.active
        limits = self._drawn(active.base_offset, active.modified_ms)
        first = next(active.headers(), None)
        return limits if first is None else limits.began(first.max_timestamp)

    def _drawn(self, base_offset: int, created_ms: int) -> RollLimits:
        """With a jitter of its own, so that thousands of logs do not roll in one moment."""
        bound_ms = jitter_bound_ms(self._config)
        jitter_ms = self.place.chance.below(bound_ms) if bound_ms else 0
        return roll_limits(self._config, base_offset, created_ms, jitter_ms)

    # Growing.

    def roll(self, base_offset: int, producers: Iterable[ProducerEntry], now_ms: int) -> None:
        """A new active segment, and a snapshot of the producers before it. The old one rests but is not synced. When
        it raises OSError nothing has changed."""
        old = self.active
        anew = replaces_active(old.base_offset, old.size, base_offset)
        self.write_snapshot(base_offset, producers)
        try:
            if anew:
                old.cut(0)  # its preallocated part goes
            else:
                old.become_inactive()
            segment = self._created(base_offset, anew=anew)
        except OSError:
            self._drop_new_snapshot(base_offset)
            raise
        self._show([*self._view.items[:-1], segment] if anew else [*self._view.items, segment])
        self._limits_before = self.limits
        self.limits = self._drawn(base_offset, now_ms)

    def unroll(self) -> None:
        """Take the roll back after which no batch could be written."""
        new = self.active
        self._show(self._view.items[:-1])
        self.limits = self._limits_before
        new.delete()
        self._drop_new_snapshot(new.base_offset)

    def _created(self, base_offset: int, *, anew: bool = False) -> Segment:
        place = self.place
        self.names += 1
        try:
            return Segment.create(place.handles, place.folder, base_offset, segment_settings(self._config))
        except OSError:
            if not anew:
                self._remove_files(base_offset)
            raise

    def _remove_files(self, base_offset: int) -> None:
        handles = self.place.handles
        try:
            for path in (f"{self.place.folder}/{SegmentFile(base_offset, kind).name}" for kind in KINDS):
                handles.forget(path)
                if handles.files.exists(path):
                    handles.files.remove(path)
        except OSError as error:
            raise WriteNotTakenBack(error.errno, error.strerror, error.filename) from error

    def append_aborted(self, entries: Sequence[AbortedTransaction]) -> int:
        """To the transaction index of the active segment: all or, with OSError, none. Answers its size before, for
        `take_back_aborted`."""
        active = self.active
        size = active.txn_index.size
        if active.base_offset not in self._aborting:
            self._aborting = tuple(sorted({*self._aborting, active.base_offset}))
            self.names += 1
        try:
            for entry in entries:
                active.append_aborted(entry)
        except OSError:
            self.take_back_aborted(size)
            raise
        return size

    def take_back_aborted(self, size: int) -> None:
        index = self.active.txn_index
        try:
            if index.size > size:
                self.place.handles.get(index.path).truncate(size)
        except OSError as error:
            raise WriteNotTakenBack(error.errno, error.strerror, index.path) from error

    # Syncing.

    def files_to_sync(self, offset: int) -> tuple[list[File], int | None]:
        """What makes all from the segment that holds this offset on durable, and where that ends: None means at the
        log's end. Of the active segment it is the log alone, as it would be recovered."""
        files: list[File] = []
        for count, segment in enumerate(self.since(offset)):
            if count == FLUSHED_AT_ONCE:
                return files, segment.base_offset
            files.append(segment.file)
            if segment is not self.active:
                files += self._files_at_rest(segment)
        return files, None

    def _files_at_rest(self, segment: Segment) -> Iterator[File]:
        handles = self.place.handles
        for kind in (FileKind.INDEX, FileKind.TIME_INDEX):
            yield handles.get(segment.path(kind))
        if segment.base_offset in self._aborting and segment.txn_index.size:
            yield handles.get(segment.path(FileKind.TXN_INDEX))
        after = self.base_after(segment)
        if after is not None and after in self._snapshots:
            yield handles.files.open(self._snapshot_path(after))

    @property
    def has_new_names(self) -> bool:
        return self.names > self._names_synced

    def names_synced(self, names: int) -> None:
        """All changes of names up to this one are durable."""
        self._names_synced = max(names, self._names_synced)

    def sync_names(self) -> None:
        self.place.handles.files.sync_folder(self.place.folder)
        self._names_synced = self.names

    # Shrinking.

    def release(self, segment_count: int, reason: DeleteReason) -> list[Deleted]:
        """So many of the oldest go; the active one never does."""
        assert segment_count < len(self), f"{segment_count} of {len(self)} segments"
        items = self._view.items
        self._show(items[segment_count:])
        return [self._put_away(segment, reason) for segment in items[:segment_count]]

    def truncate_to(self, offset: int) -> list[Deleted]:
        """Whole batches from this offset on go, later segments as a whole, the newest first."""
        gone = []
        while len(self) > 1 and self.active.base_offset >= offset:
            last = self.active
            self._show(self._view.items[:-1])
            gone.append(self._put_away(last, DeleteReason.TRUNCATION))
            self.sync_names()
        if self.active.truncate_to(offset):
            self.active.flush()
        self.drop_snapshots(min(offset, self.active.next_offset()))
        self.limits = self._limits_of_active()
        return gone

    def restart(self, offset: int, now_ms: int) -> list[Deleted]:
        """Everything goes, and one empty segment begins at this offset."""
        gone = [self._put_away(segment, DeleteReason.TRUNCATION) for segment in reversed(self._view.items)]
        self.drop_snapshots(-1)
        self.sync_names()
        self._show([self._created(offset)])
        self.limits = self._drawn(offset, now_ms)
        return gone

    def _put_away(self, segment: Segment, reason: DeleteReason) -> Deleted:
        segment.rename(Suffix.DELETED)
        snapshot = None
        base_offset = segment.base_offset
        self._aborting = tuple(base for base in self._aborting if base != base_offset)
        if base_offset in self._snapshots:
            self._snapshots.remove(base_offset)
            snapshot = f"{self.place.folder}/{SegmentFile(base_offset, FileKind.SNAPSHOT, Suffix.DELETED).name}"
            self.place.handles.files.replace(self._snapshot_path(base_offset), snapshot)
        logger.info(
            "deleted segment=%d log=%s reason=%r bytes=%d", base_offset, self.place.folder, str(reason), segment.size
        )
        return Deleted(segment, reason, segment.size, snapshot)

    # Snapshots.

    @property
    def snapshots(self) -> list[int]:
        """By offset, oldest first."""
        return list(self._snapshots)

    def write_snapshot(self, offset: int, producers: Iterable[ProducerEntry], *, durable: bool = False) -> None:
        """What is known of the producers of all records below this offset. One that cannot be written is not there."""
        self.names += 1
        try:
            write_snapshot(self.place.handles.files, self._snapshot_path(offset), producers, durable=durable)
        except OSError:
            self._drop_new_snapshot(offset)
            raise
        if offset not in self._snapshots:
            insort(self._snapshots, offset)

    def drop_snapshots(self, offset: int) -> None:
        """Those above the offset go: they know of records that are gone."""
        stale = [each for each in self._snapshots if each > offset]
        for each in reversed(stale):
            self.place.handles.files.remove(self._snapshot_path(each))
            self._snapshots.remove(each)
        if stale:
            self.sync_names()

    def _drop_new_snapshot(self, offset: int) -> None:
        files, path = self.place.handles.files, self._snapshot_path(offset)
        try:
            if files.exists(path):
                files.remove(path)
        except OSError as error:
            raise WriteNotTakenBack(error.errno, error.strerror, path) from error
        if offset in self._snapshots:
            self._snapshots.remove(offset)

    def _snapshot_path(self, offset: int) -> str:
        return f"{self.place.folder}/{snapshot_name(offset)}"
