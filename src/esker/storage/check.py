"""Does everything on disk hold what its format promises? Every byte of every file of a log is looked at once.

`check` reads alone, takes no lock, and works beside a live broker. It answers findings as they come, with counts of
bytes between them, and goes on behind what it finds: a damaged batch does not hide the next one. Gaps between offsets
are no finding, the cleaner makes them. The checks themselves are in `checks`, a file kind each.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from esker.base.errors import BadFile
from esker.base.types import TopicPartition
from esker.rules.layout import CLEAN_SHUTDOWN, LOG_STARTS, FolderKind
from esker.storage.checkpoints import parse_offsets, parse_topic_id
from esker.storage.checks.epochs import EpochsCheck
from esker.storage.checks.log import LogCheck, Situation, leftovers
from esker.storage.checks.producers import read_snapshots
from esker.storage.checks.small_files import (
    Range,
    bad,
    check_meta_properties,
    check_offsets,
    check_same_ids,
    check_topic_id,
)
from esker.storage.findings import Finding, Looked, Place, Report, error
from esker.storage.listing import (
    HOLDS_BATCHES,
    Found,
    FoundFile,
    FoundLogDir,
    FoundPartition,
    Kind,
    is_live,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import Files

ALONE = Situation(is_alone=True)


def check(files: Files, found: Found, *, live: bool | None = None) -> Iterator[Report]:
    """Look at all of it. A file that cannot be read is a finding of the kind `unreadable`. `live`: is a broker at work
    on it? Told by the lock of the log dir unless the caller knows, who may hold that lock."""
    if isinstance(found, FoundLogDir):
        yield from _check_log_dir(files, found, live)
    elif isinstance(found, FoundPartition):
        log_dir = posixpath.dirname(found.path) or "."
        yield from _check_partition(files, found, _situation(files, found, log_dir, live), {})
    else:
        yield from _check_file(files, found)


def unreadable(path: str, failed: OSError) -> Finding:
    return error(failed.filename or path, "unreadable", Place(), failed.strerror or str(failed))


def _check_log_dir(files: Files, log_dir: FoundLogDir, live: bool | None) -> Iterator[Report]:
    """The checkpoints are read before the logs: a live broker moves both, and only forward."""
    ranges: dict[TopicPartition, Range] = {}
    checkpoints = []
    for file in log_dir.files:
        try:
            checkpoints.append((file, files.read(file.path)))
        except OSError as failed:
            yield unreadable(file.path, failed)
    for partition in log_dir.partitions:
        situation = _situation(files, partition, log_dir.path, live)
        yield from _check_partition(files, partition, situation, ranges)
    yield from check_same_ids(_topic_ids(files, log_dir))
    for file, data in checkpoints:
        if file.kind is Kind.OFFSETS:
            yield from check_offsets(file.path, data, ranges)
        elif file.kind is Kind.META:
            yield from check_meta_properties(file.path, data)


def _topic_ids(files: Files, log_dir: FoundLogDir) -> dict[str, tuple[str, bytes]]:
    """Those that can be read; the others are told already."""
    ids = {}
    for partition in log_dir.partitions:
        for file in partition.of_kind(Kind.TOPIC_ID):
            try:
                if partition.kind is FolderKind.LOG:
                    ids[file.path] = partition.topic, parse_topic_id(files.read(file.path), file.path)
            except (BadFile, OSError):
                continue
    return ids


def _check_partition(
    files: Files, partition: FoundPartition, situation: Situation, ranges: dict[TopicPartition, Range]
) -> Iterator[Report]:
    """Folders that wait to be removed are not looked into, as nobody will read them again."""
    if partition.kind is FolderKind.DELETED:
        return
    log = LogCheck(files, partition, situation)
    try:
        yield from leftovers(partition, is_live=situation.is_live)
        for file in partition.of_kind(Kind.TOPIC_ID):
            yield from check_topic_id(file.path, files.read(file.path))
        yield from log
        for file in partition.of_kind(Kind.KRAFT_SNAPSHOT):
            yield from _check_file(files, file)
    except OSError as failed:
        yield unreadable(partition.path, failed)
    if partition.kind is FolderKind.LOG:
        ranges[TopicPartition(partition.topic, partition.partition)] = log.range or Range(0, 2**63 - 1)


def _situation(files: Files, partition: FoundPartition, log_dir: str, live: bool | None) -> Situation:
    live = is_live(files, log_dir) if live is None else live
    closed = not live and files.exists(posixpath.join(log_dir, CLEAN_SHUTDOWN))
    path = posixpath.join(log_dir, LOG_STARTS)
    try:
        starts = parse_offsets(files.read(path), path) if files.exists(path) else None
    except (BadFile, OSError):
        starts = None  # told where the log dir is looked at
    name = TopicPartition(partition.topic, partition.partition)
    return Situation(live, closed, None if starts is None else starts.get(name, 0))


def _check_file(files: Files, file: FoundFile) -> Iterator[Report]:
    """One file by itself: what its neighbours say is not known. An index is checked with its segment."""
    try:
        if file.kind in HOLDS_BATCHES:
            alone = FoundPartition(posixpath.dirname(file.path), "", -1, FolderKind.LOG, (file,))
            log = file._replace(kind=Kind.LOG)
            yield from LogCheck(files, alone._replace(files=(log,)), ALONE)
        elif file.kind in (Kind.INDEX, Kind.TIME_INDEX, Kind.TXN_INDEX):
            yield from _check_segment_of(files, file)
        elif file.kind is Kind.SNAPSHOT:
            yield from (each for each in read_snapshots(files, [file]) if isinstance(each, Finding))
        else:
            yield from _check_small(file, files.read(file.path))
    except OSError as failed:
        yield unreadable(file.path, failed)


def _check_segment_of(files: Files, file: FoundFile) -> Iterator[Report]:
    log = FoundFile(file.path[: file.path.rindex(".", 0, len(file.path))] + ".log", Kind.LOG, file.base_offset)
    pair = FoundPartition(posixpath.dirname(file.path), "", -1, FolderKind.LOG, (log, file))
    yield from LogCheck(files, pair, ALONE)


def _check_small(file: FoundFile, data: bytes) -> Iterator[Report]:
    if file.kind is Kind.TOPIC_ID:
        yield from check_topic_id(file.path, data)
    elif file.kind is Kind.EPOCHS:
        yield from EpochsCheck(file.path).read(data)
    elif file.kind is Kind.META:
        yield from check_meta_properties(file.path, data)
    elif file.kind is Kind.OFFSETS:
        try:
            parse_offsets(data, file.path)
        except BadFile as wrong:
            yield bad(wrong, len(data), "checkpoint")
    yield Looked(len(data))
