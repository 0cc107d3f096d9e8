"""What to do with a partition's folder before it is a log again.

Round one knows names, sizes and checkpoints alone. `tidy` says how what a crash left half done is undone or finished;
`plan` says of each segment how far it is believed. Between the rounds the shell checks and scans what the plan says.
Round two, `conclude`, says from what was found what is cut and dropped, and where the log starts and ends.

Crash stories, as recovery may be killed as well, and a power cut may undo what was not synced, in any order:
- Steps are safe to repeat: stopped anywhere, and begun again, they lead where one run would have led. A `SyncFolder`
  stands wherever a later step may not reach the disk before an earlier one.
- The `.swap` files of an unfinished split go before its `.cleaned` ones: a `.swap` alone would be taken for complete.
- Swaps are finished oldest first, log file first: a rewrite that is in place already is then below the range of those
  that are not, and is not deleted with what they replace. (Kafka renames in the order of its directory listing.)
- Segments after a cut are dropped before the cut is made: afterwards nothing would tell that they must go.
- For the same reason the indexes of a `REBUILT` segment come last, after its cut is on disk: until they are there,
  their lack says that it has to be scanned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from esker.rules.epochs import Epochs
from esker.rules.layout import (
    FileKind,
    Folder,
    FolderKind,
    SegmentFile,
    Suffix,
    parse_folder,
    parse_segment_file,
    snapshot_name,
)

ENTRY_BYTES = {FileKind.INDEX: 8, FileKind.TIME_INDEX: 12, FileKind.TXN_INDEX: 34}
ORDER = {kind: place for place, kind in enumerate(FileKind)}  # the log first


class Checkpoints(NamedTuple):
    """What the log dir's files say of this partition; 0 where they say nothing or could not be read."""

    recovery_point: int = 0
    log_start: int = 0
    clean: bool = False


class Remove(NamedTuple):
    name: str
    why: str


class Rename(NamedTuple):
    source: str
    target: str


class SyncFolder(NamedTuple):
    """Nothing of what follows may reach the disk before all that went before has."""


class Drop(NamedTuple):
    """The whole segment goes, its indexes with it; what is in it is set aside."""

    base_offset: int
    why: str


class Cut(NamedTuple):
    """The log file ends at `position`; from there up to `size` it is set aside."""

    base_offset: int
    position: int
    size: int
    why: str


class Create(NamedTuple):
    """An empty segment."""

    base_offset: int


Step = Remove | Rename | SyncFolder | Drop | Cut | Create


class Trust(Enum):
    """How far a segment is believed before it was looked at."""

    CHECKED = "its indexes look whole"
    REBUILT = "its indexes do not: scan it, write them anew"
    RECOVERED = "it may not have reached the disk: the same, and what follows a cut is not believed"


class Load(NamedTuple):
    base_offset: int
    size: int
    trust: Trust
    why: str = ""


class Plan(NamedTuple):
    """Segments in order of their offsets, and the snapshots there are, by offset."""

    segments: tuple[Load, ...]
    snapshots: tuple[int, ...]

    def distrust(self, base_offset: int, why: str) -> Plan:
        """A check found this segment's indexes wanting."""
        segments = tuple(
            each._replace(trust=Trust.REBUILT, why=why)
            if each.base_offset == base_offset and each.trust is Trust.CHECKED
            else each
            for each in self.segments
        )
        return self._replace(segments=segments)


class Found(NamedTuple):
    """A segment that was looked at: a scan, or, for one that is believed, its last batch alone."""

    base_offset: int
    size: int
    end: int  # the position after the last good batch
    next_offset: int  # the base offset when there is none
    overflows: bool = False  # an offset lies more than 2^31-1 above the base
    fault: str = ""  # what stands at `end`


class Split(NamedTuple):
    """These segments are to be split; then all begins again with round one."""

    base_offsets: tuple[int, ...]


class Outcome(NamedTuple):
    """`snapshots` are those to try, newest first; without any that can be read, batches are replayed from `log_start`.
    `replay` is false where Kafka believes that there were no producers: after a clean close that left no snapshot."""

    steps: tuple[Step, ...]
    segments: tuple[int, ...]
    log_start: int
    log_end: int
    recovery_point: int
    snapshots: tuple[int, ...]
    replay: bool

    def settle(self, epochs: Epochs) -> Epochs:
        """The leader epochs of what is left."""
        return epochs.truncate_from_end(self.log_end).truncate_from_start(self.log_start)

    def snapshot_due(self, loaded: int | None) -> bool:
        """Is one to be written at log_end, after this one was loaded?"""
        return self.log_end > (self.log_start if loaded is None else loaded)


# Round one.


def finished_swaps(names: Iterable[str]) -> list[str]:
    """The log files whose next offset `tidy` needs to know: rewrites that are whole but not in place."""
    valid, _ = _swaps(_parsed(names))
    return [file.name for file in valid if file.kind is FileKind.LOG]


def tidy(names: Iterable[str], next_offsets: Mapping[str, int]) -> list[Step]:
    """Undo or finish what was going on. `next_offsets` are those of the `finished_swaps`, by name."""
    files = _parsed(names)
    swaps, broken = _swaps(files)
    replaced = _replaced(files, swaps, next_offsets)
    steps: list[Step] = [Remove(file.name, "deleted before") for file in files if file.suffix is Suffix.DELETED]
    steps += _removed(broken, "a split that was not finished")
    steps += _removed([file for file in files if file.suffix is Suffix.CLEANED], "a rewrite that was not finished")
    steps += _removed(replaced, "rewritten")
    for base_offset in sorted({file.base_offset for file in swaps}):
        of_base = [file for file in swaps if file.base_offset == base_offset]
        steps += [Rename(file.name, _placed(file).name) for file in of_base]
        steps.append(SyncFolder())
    there = [file for file in files if file.suffix is Suffix.IN_PLACE and file not in replaced]
    orphans = _orphans([*there, *map(_placed, swaps)])
    return steps + [Remove(name, "an index without its log") for name in orphans]


def plan(sizes: Mapping[str, int], checkpoints: Checkpoints) -> Plan:
    """How to load a tidy folder: the sizes of its files by name."""
    parsed = [(parse_segment_file(name), size) for name, size in sizes.items()]
    files = {(file.base_offset, file.kind): size for file, size in parsed if file and file.suffix is Suffix.IN_PLACE}
    bases = sorted(base_offset for base_offset, kind in files if kind is FileKind.LOG)
    believed = len(bases) if checkpoints.clean else _flushed(bases, checkpoints.recovery_point)
    loads = []
    for place, base_offset in enumerate(bases):
        why = _implausible(files, base_offset)
        trust = Trust.RECOVERED if place >= believed else Trust.REBUILT if why else Trust.CHECKED
        loads.append(Load(base_offset, files[base_offset, FileKind.LOG], trust, why))
    snapshots = sorted(base_offset for base_offset, kind in files if kind is FileKind.SNAPSHOT)
    return Plan(tuple(loads), tuple(snapshots))


def _parsed(names: Iterable[str]) -> list[SegmentFile]:
    files = [file for file in map(parse_segment_file, names) if file]
    return sorted(files, key=lambda file: (file.base_offset, ORDER[file.kind], file.suffix))


def _swaps(files: Sequence[SegmentFile]) -> tuple[list[SegmentFile], list[SegmentFile]]:
    """Finished ones, and those of an unfinished split: not below the smallest `.cleaned`."""
    cleaned = [file.base_offset for file in files if file.suffix is Suffix.CLEANED]
    swaps = [file for file in files if file.suffix is Suffix.SWAP]
    if not cleaned:
        return swaps, []
    first = min(cleaned)
    return [file for file in swaps if file[0] < first], [file for file in swaps if file[0] >= first]


def _replaced(
    files: Sequence[SegmentFile], swaps: Sequence[SegmentFile], next_offsets: Mapping[str, int]
) -> list[SegmentFile]:
    """What finished rewrites cover: from the smallest base up to the largest next offset. Snapshots may stay: the
    state that they hold is as true of the rewritten segments."""
    logs = [file for file in swaps if file.kind is FileKind.LOG]
    if not logs:
        return []
    first, end = logs[0].base_offset, max(next_offsets[file.name] for file in logs)
    in_place = (file for file in files if file.suffix is Suffix.IN_PLACE and file.kind is not FileKind.SNAPSHOT)
    return [file for file in in_place if first <= file.base_offset < end]


def _removed(files: Sequence[SegmentFile], why: str) -> list[Step]:
    return [*(Remove(file.name, why) for file in files), SyncFolder()] if files else []


def _placed(file: SegmentFile) -> SegmentFile:
    return file._replace(suffix=Suffix.IN_PLACE)


def _orphans(files: Sequence[SegmentFile]) -> list[str]:
    logs = {file.base_offset for file in files if file.kind is FileKind.LOG}
    indexes = [file for file in files if file.base_offset not in logs and file.kind is not FileKind.SNAPSHOT]
    return sorted({file.name for file in indexes})


def _flushed(bases: Sequence[int], recovery_point: int) -> int:
    """How many segments lie wholly below the recovery point: all before the one that holds it."""
    return max(sum(base_offset <= recovery_point for base_offset in bases) - 1, 0)


def _implausible(files: Mapping[tuple[int, FileKind], int], base_offset: int) -> str:
    """What names and sizes tell of a segment's indexes. Kafka looks at the offset index's existence alone."""
    for kind, entry_bytes in ENTRY_BYTES.items():
        size = files.get((base_offset, kind))
        if size is None and kind is not FileKind.TXN_INDEX:
            return f"no {kind}"
        if size and size % entry_bytes:
            return f"{kind} of {size} bytes is not a multiple of {entry_bytes}"
    return ""


# Round two.


def conclude(plan: Plan, found: Mapping[int, Found], checkpoints: Checkpoints) -> Split | Outcome:
    """What becomes of the log. `found` has what was scanned, up to the first cut in a `RECOVERED` segment, and
    otherwise the last segment at least."""
    overflowing = tuple(each.base_offset for each in found.values() if each.overflows)
    if overflowing:
        return Split(tuple(sorted(overflowing)))
    kept, dropped = _kept(plan, found)
    steps = _dropped(dropped, "it follows a cut")
    log_end = found[kept[-1]].next_offset if kept else -1
    if log_end < checkpoints.log_start:
        return _emptied(plan, checkpoints, [*steps, *_dropped(kept, "it ends below the log start")])
    steps += [Cut(base, found[base].end, found[base].size, found[base].fault) for base in _torn(kept, found)]
    log_start = max(checkpoints.log_start, kept[0])
    recovery_point = log_end if checkpoints.clean else min(checkpoints.recovery_point, log_end)
    usable = _usable_snapshots(plan.snapshots, kept, (log_start, log_end))
    steps += _without([offset for offset in plan.snapshots if offset not in usable])
    replay = bool(plan.snapshots) or not checkpoints.clean
    return Outcome(tuple(steps), tuple(kept), log_start, log_end, recovery_point, usable, replay)


def snapshots_to_try(offsets: Iterable[int], log_start: int, end: int) -> tuple[int, ...]:
    """For the state of producers at `end`, newest first: also what a truncation may load from. The others go when
    `end` is the log's."""
    return tuple(sorted((offset for offset in offsets if log_start < offset <= end), reverse=True))


def _kept(plan: Plan, found: Mapping[int, Found]) -> tuple[list[int], list[int]]:
    """Segments that stay, and those that follow a cut. A cut in a segment below the recovery point leaves a hole, as in
    Kafka: what follows it was flushed, and somebody may have been told so."""
    bases = [each.base_offset for each in plan.segments]
    for place, each in enumerate(plan.segments, 1):
        if each.trust is Trust.RECOVERED and _torn([each.base_offset], found):
            return bases[:place], bases[place:]
    return bases, []


def _torn(bases: Iterable[int], found: Mapping[int, Found]) -> list[int]:
    return [base for base in bases if base in found and found[base].end < found[base].size]


def _dropped(bases: Sequence[int], why: str) -> list[Step]:
    return [*(Drop(base, why) for base in reversed(bases)), SyncFolder()] if bases else []


def _emptied(plan: Plan, checkpoints: Checkpoints, drops: Sequence[Step]) -> Outcome:
    """No segment, or all that is left lies below the log start: the log is empty and starts there."""
    start = checkpoints.log_start
    steps = (*drops, Create(start), *_without(plan.snapshots))
    return Outcome(steps, (start,), start, start, min(checkpoints.recovery_point, start), (), replay=False)


def _usable_snapshots(snapshots: Iterable[int], bases: Sequence[int], reach: tuple[int, int]) -> tuple[int, ...]:
    """Those within (log start, log end] that stand at a segment's base, or are the newest and beyond the last base."""
    inside = snapshots_to_try(snapshots, *reach)
    return tuple(offset for offset in inside if offset in bases or (offset == inside[0] and offset > bases[-1]))


def _without(snapshots: Iterable[int]) -> list[Step]:
    """Synced, as one that came back could be believed by a log that has grown past it anew."""
    removed = [Remove(snapshot_name(offset), "a snapshot of no segment, or out of range") for offset in snapshots]
    return [*removed, SyncFolder()] if removed else []


# The folders of a log dir.


class Folders(NamedTuple):
    """Folders by what becomes of them. One that is no partition's is in none of these, and left alone."""

    load: tuple[Folder, ...]
    load_as_future: tuple[Folder, ...]
    remove: tuple[Folder, ...]
    leave: tuple[Folder, ...]


def sort_folders(names: Iterable[str]) -> Folders:
    """`-delete` folders are not recovered, they wait to be removed; `-stray` ones stay aside."""
    folders = [folder for folder in map(parse_folder, sorted(names)) if folder]
    kinds = (FolderKind.LOG, FolderKind.FUTURE, FolderKind.DELETED, FolderKind.STRAY)
    return Folders(*(tuple(folder for folder in folders if folder.kind is kind) for kind in kinds))
