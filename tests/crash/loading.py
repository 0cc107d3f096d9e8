"""What a load makes of a partition's folder, in short: the rules' steps done, and the batches that are there then."""

import posixpath

from esker.rules.layout import FileKind, Suffix, parse_segment_file
from esker.rules.recovery import Remove, Rename, Step, SyncFolder, finished_swaps, tidy
from esker.storage.handles import Handles
from esker.storage.segment import Segment, SegmentSettings
from esker.testing.files import CrashFiles

# The base of its segment, its first and last offset, and its size.
Batches = list[tuple[int, int, int, int]]


def tidied(files: CrashFiles, folder: str) -> None:
    """What is half done is undone or finished."""
    names = files.names(folder)
    for step in tidy(names, {name: next_offset(files, folder, name) for name in finished_swaps(names)}):
        take(files, folder, step)


def next_offset(files: CrashFiles, folder: str, name: str) -> int:
    file = parse_segment_file(name)
    assert file is not None
    return opened(files, folder, file.base_offset, file.suffix).next_offset()


def take(files: CrashFiles, folder: str, step: Step) -> None:
    if isinstance(step, Remove):
        files.remove(f"{folder}/{step.name}")
    elif isinstance(step, Rename):
        files.replace(f"{folder}/{step.source}", f"{folder}/{step.target}")
    else:
        assert isinstance(step, SyncFolder), step
        files.sync_folder(folder)


def opened(files: CrashFiles, folder: str, base_offset: int, suffix: Suffix = Suffix.IN_PLACE) -> Segment:
    return Segment.open(Handles(files, 32), folder, base_offset, SegmentSettings(index_interval_bytes=100), suffix)


def segments(files: CrashFiles, folder: str) -> list[Segment]:
    """In order; those whose indexes are implausible recovered."""
    parsed = [file for file in map(parse_segment_file, files.names(folder)) if file and file.kind is FileKind.LOG]
    found = [opened(files, folder, base) for base in sorted(file.base_offset for file in parsed)]
    for segment, end in zip(found, [*[each.base_offset for each in found[1:]], None], strict=True):
        if segment.fault(end) is not None:
            recover(segment)
    return found


def recover(segment: Segment) -> None:
    scan = segment.scan()
    for _ in segment.recover(scan):
        pass
    segment.cut(scan.end)


def batches(found: list[Segment]) -> Batches:
    """All that is there, each batch also found by its last offset through the index."""
    whole = []
    for segment in found:
        for header in segment.headers():
            assert segment.find(header.last_offset) == header, f"{posixpath.basename(segment.folder)}: {header}"
            whole.append((segment.base_offset, header.base_offset, header.last_offset, header.size))
    return whole
