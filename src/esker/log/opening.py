"""From a folder to a log: the shell around `rules.recovery`, and a new log's first files.

Everything here may be done again from the start when it was killed in the middle. What is cut away is set aside first.

What would surprise: the segment that holds the last offset synced is recovered even where the recovery point stands on
the first byte of the next one. When that offset was synced the segment may have been the active one, and nobody has
synced its indexes since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile, Corrupt
from esker.log.log import Log
from esker.log.replay import Known
from esker.log.segments import Place, Segments, segment_settings
from esker.log.splitting import overlong, split
from esker.log.telling import Told
from esker.rules import cursors, recovery
from esker.rules.cursors import OffsetPosition
from esker.rules.epochs import Epochs
from esker.rules.layout import LEADER_EPOCHS, FileKind, Suffix, parse_segment_file, snapshot_name
from esker.rules.producers import Producers
from esker.rules.recovery import Cut, Drop, Found, Outcome, Plan, Remove, Rename, Split, Trust
from esker.storage.aside import set_aside, set_whole_aside
from esker.storage.checkpoints import read_epochs
from esker.storage.segment import Segment
from esker.storage.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.base.config import LogConfig
    from esker.rules.recovery import Step

DELETED_TXN_INDEX = f"{FileKind.TXN_INDEX}{Suffix.DELETED}"
INDEXES = (FileKind.INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)


class Opened(NamedTuple):
    """A log, and what was done to it: one line each, for whoever logs and counts."""

    log: Log
    done: list[str]
    recovered_bytes: int


class Left(NamedTuple):
    """What is still to be scanned."""

    segments: int
    bytes: int


def create(place: Place, config: LogConfig, start_offset: int = 0) -> Log:
    """A new log, empty; the folder is there."""
    segment = Segment.create(place.handles, place.folder, start_offset, segment_settings(config))
    end = OffsetPosition(start_offset, start_offset, 0)
    at = cursors.restart(cursors.load(start_offset, end, cursors.Checkpoints(), clean=True), start_offset)
    return Log(Segments(place, config, [segment]), config, at, Epochs(), Producers())


def open_log(place: Place, config: LogConfig, saved: cursors.Checkpoints, *, clean: bool) -> Opened:
    """What is in the folder, as a log. Raises OSError when a file may not be read."""
    return Opening(place, config, saved, clean=clean).run()


class Opening:
    """The same for who wants to see how far it is: `left` may be read by another thread. `keep_cuts` false: what is
    cut away is not set aside."""

    def __init__(
        self, place: Place, config: LogConfig, saved: cursors.Checkpoints, *, clean: bool, keep_cuts: bool = True
    ) -> None:
        self.place = place
        self.config = config
        self.saved = saved
        self.clean = clean
        self.keep_cuts = keep_cuts
        self.files = place.handles.files
        self.checkpoints = recovery.Checkpoints(saved.recovery_point or 0, saved.log_start or 0, clean)
        self.done: list[str] = []
        self.recovered_bytes = 0
        self.left = Left(0, 0)
        self.found: dict[int, Found] = {}
        self.scanned: set[int] = set()
        self.half_deleted: set[int] = set()  # their transaction index is gone, which nobody would miss
        self.segments: dict[int, Segment] = {}
        self.told = Told(Known(place, (), (), self.checkpoints.log_start))

    def run(self) -> Opened:
        self._tidy()
        while True:
            plan = self._look(recovery.plan(self._sizes(), self._believed()))
            outcome = recovery.conclude(plan, self.found, self.checkpoints)
            if isinstance(outcome, Outcome):
                break
            self._split(outcome)
        for step in outcome.steps:
            self._do(step)
        return Opened(self._log(outcome), self.done, self.recovered_bytes)

    # Round one.

    def _tidy(self) -> None:
        names = self.files.names(self.place.folder)
        self.half_deleted = {
            file.base_offset for file in map(parse_segment_file, filter(_is_deleted_txn_index, names)) if file
        }
        next_offsets = {name: self._swapped(name) for name in recovery.finished_swaps(names)}
        for step in recovery.tidy(names, next_offsets):
            self._do(step)

    def _swapped(self, name: str) -> int:
        """Where a finished rewrite ends, by its own headers: its indexes may have their final names already."""
        file = parse_segment_file(name)
        assert file is not None
        segment = self._opened(file.base_offset, Suffix.SWAP)
        return max((header.last_offset + 1 for header in segment.headers()), default=file.base_offset)

    def _sizes(self) -> dict[str, int]:
        names = self.files.names(self.place.folder)
        return {name: self.files.size(f"{self.place.folder}/{name}") for name in names if parse_segment_file(name)}

    def _believed(self) -> recovery.Checkpoints:
        """See the head of this module."""
        return self.checkpoints._replace(recovery_point=max(self.checkpoints.recovery_point - 1, 0))

    def _look(self, plan: Plan) -> Plan:
        """Open the segments, look at those that are believed and scan those that are not."""
        self.found, self.scanned = {}, set()
        self.segments = {load.base_offset: self._opened(load.base_offset) for load in plan.segments}
        bases = sorted(self.segments)
        segments = [self.segments[base] for base in bases]
        snapshots = [offset for offset in plan.snapshots if offset in self.segments]
        self.told = Told(Known(self.place, segments, snapshots, self.checkpoints.log_start))
        following: dict[int, int | None] = dict(zip(bases, [*bases[1:], None], strict=False))
        for load in plan.segments:
            if load.trust is Trust.CHECKED:
                why = self._distrusted(load.base_offset, following[load.base_offset])
                plan = plan.distrust(load.base_offset, why) if why else plan
        to_scan = [load for load in plan.segments if load.trust is not Trust.CHECKED]
        self.left = Left(len(to_scan), sum(load.size for load in to_scan))
        for load in to_scan:
            found = self._scan(load, following[load.base_offset])
            if load.trust is Trust.RECOVERED and found.end < found.size:
                break
        return plan

    def _opened(self, base_offset: int, suffix: Suffix = Suffix.IN_PLACE) -> Segment:
        return Segment.open(self.place.handles, self.place.folder, base_offset, segment_settings(self.config), suffix)

    def _distrusted(self, base_offset: int, following: int | None) -> str:
        """Why the indexes of a segment are not believed; '' when they are. Of the last one the end is looked at."""
        segment = self.segments[base_offset]
        if base_offset in self.half_deleted:
            return "it was deleted, and not all of that reached the disk"
        fault = segment.fault(following)
        if fault is not None:
            return f"{fault.path}: {fault.why}"
        if following is not None:
            return ""
        entry = segment.offset_index.last
        end, next_offset = 0, base_offset
        try:
            for header in segment.headers(entry.position if entry else 0):
                end, next_offset = header.end, header.last_offset + 1
        except Corrupt as error:
            return str(error)
        if end != segment.size:
            return f"position {end}: no whole batch"
        self.found[base_offset] = Found(base_offset, end, end, next_offset, overlong(segment, next_offset))
        return ""

    def _scan(self, load: recovery.Load, following: int | None) -> Found:
        """Every byte; the indexes are made anew."""
        base_offset = load.base_offset
        segment, told = self.segments[base_offset], self.told
        size = segment.size
        rebuilt = load.trust is Trust.REBUILT
        if rebuilt:
            self._remove_indexes(segment)
        scan = segment.scan(deep=False)
        told.begin(base_offset)
        for stretch in scan if rebuilt else segment.recover(scan):
            told.take(stretch)
        told.end(following)
        self.recovered_bytes += size
        self.left = Left(self.left.segments - 1, self.left.bytes - size)
        self.done.append(f"scanned segment={base_offset} bytes={size} why={load.why or 'it may not be flushed'!r}")
        if following is not None:
            # It was cut to size before the next one was made, and was not empty: the crash took its bytes.
            size = max(size, 1)
        elif scan.has_zero_tail:
            # The unused part of a preallocated file is cut off too, but is no damage.
            size = scan.end
        fault = "its bytes never reached the disk" if scan.finding is None else str(scan.finding)
        overflows = overlong(segment, scan.next_offset)
        found = Found(base_offset, size, scan.end, scan.next_offset, overflows, fault)
        if rebuilt and not overflows:
            found = self._rebuild(segment, found)
        elif not overflows:
            self._fill_transactions(segment)
        self.found[base_offset] = found
        self.scanned.add(base_offset)
        return found

    def _remove_indexes(self, segment: Segment) -> None:
        """Until they are whole again their lack says that the segment has to be scanned."""
        for path in map(segment.path, INDEXES):
            self.place.handles.forget(path)
            if self.files.exists(path):
                self.files.remove(path)
        self.files.sync_folder(self.place.folder)

    def _rebuild(self, segment: Segment, found: Found) -> Found:
        """What is no good is cut off first, and all of it is synced: the recovery point is past this segment."""
        if found.end < found.size:
            self._cut(Cut(found.base_offset, found.end, found.size, found.fault))
        elif segment.size > found.end:
            segment.cut(found.end)
        segment.file.sync()
        for _ in segment.recover(segment.scan(deep=False)):
            pass
        self._fill_transactions(segment)
        segment.cut(found.end)
        segment.flush()
        return found._replace(size=found.end)

    def _fill_transactions(self, segment: Segment) -> None:
        for entry in self.told.aborted.get(segment.base_offset, []):
            segment.append_aborted(entry)

    def _split(self, which: Split) -> None:
        for base_offset in which.base_offsets:
            segment = self.segments[base_offset]
            aborted = self.told.aborted.get(base_offset) or segment.txn_index.entries()
            new = split(self.place.handles, segment, aborted)
            self.done.append(f"split segment={base_offset} into={new}")

    # Steps.

    def _do(self, step: Step) -> None:
        folder = self.place.folder
        match step:
            case Remove(name, why):
                self.place.handles.forget(f"{folder}/{name}")
                self.files.remove(f"{folder}/{name}")
                self.done.append(f"removed file={name} why={why!r}")
            case Rename(source, target):
                for name in (source, target):
                    self.place.handles.forget(f"{folder}/{name}")
                self.files.replace(f"{folder}/{source}", f"{folder}/{target}")
                self.done.append(f"finished file={target}")
            case recovery.SyncFolder():
                self.files.sync_folder(folder)
            case Cut():
                self._cut(step)
            case Drop():
                self._drop(step)
            case recovery.Create(base_offset):
                settings = segment_settings(self.config)
                self.segments[base_offset] = Segment.create(self.place.handles, folder, base_offset, settings)

    def _cut(self, step: Cut) -> None:
        segment = self.segments[step.base_offset]
        kept = None
        if self.keep_cuts and segment.size > step.position:
            kept = set_aside(self.files, segment.path(FileKind.LOG), step.position, step.size)
        segment.cut(step.position)
        self.done.append(
            f"cut segment={step.base_offset} position={step.position} size={step.size} why={step.why!r} kept={kept}"
        )

    def _drop(self, step: Drop) -> None:
        segment = self.segments.pop(step.base_offset)
        kept = None
        if self.keep_cuts and segment.size:
            self.place.handles.forget(segment.path(FileKind.LOG))
            kept = set_whole_aside(self.files, segment.path(FileKind.LOG))
        segment.delete()
        self.done.append(f"dropped segment={step.base_offset} bytes={segment.size} why={step.why!r} kept={kept}")

    # The log.

    def _log(self, outcome: Outcome) -> Log:
        items = [self.segments[base_offset] for base_offset in outcome.segments]
        for segment in items:
            if segment.base_offset in self.scanned:
                segment.cut(self.found[segment.base_offset].end)
        snapshots = self._readable(outcome.snapshots)
        aborting = [segment.base_offset for segment in items if segment.txn_index.size]
        segments = Segments(self.place, self.config, items, snapshots, aborting)
        known = Known(self.place, items, snapshots, outcome.log_start)
        producers = self.told.producers(known, outcome.log_end) if outcome.replay else Producers()
        if outcome.snapshot_due(snapshots[0] if snapshots else None):
            segments.write_snapshot(outcome.log_end, producers.entries.values())
        active = segments.active
        end = OffsetPosition(outcome.log_end, active.base_offset, active.size)
        saved = self.saved._replace(log_start=outcome.log_start, recovery_point=outcome.recovery_point)
        at = cursors.load(segments.first_base, end, saved, clean=self.clean)
        epochs = self._saved_epochs()
        log = Log(segments, self.config, at, epochs, producers)
        log.save_epochs(outcome.settle(self.told.correct(epochs, outcome.log_end)))
        log.settle()
        return log

    def _readable(self, snapshots: Sequence[int]) -> list[int]:
        """Newest first, down from the first that can be read; those above it go."""
        for place, offset in enumerate(snapshots):
            path = f"{self.place.folder}/{snapshot_name(offset)}"
            try:
                read_snapshot(self.files, path)
            except BadFile as error:
                self.files.remove(path)
                self.done.append(f"removed file={path} why={error!s}")
            else:
                return list(snapshots[place:])
        return []

    def _saved_epochs(self) -> Epochs:
        """The checkpoint's; of one that cannot be read what all segments tell."""
        path = f"{self.place.folder}/{LEADER_EPOCHS}"
        try:
            return read_epochs(self.files, path)
        except BadFile as error:
            self.done.append(f"not believed file={error.path} place={error.place!r}")
        headers = (header for base in sorted(self.segments) for header in self.segments[base].headers())
        self.told.epochs = [(header.leader_epoch, header.base_offset) for header in headers]
        return Epochs()


def _is_deleted_txn_index(name: str) -> bool:
    return name.endswith(DELETED_TXN_INDEX)
