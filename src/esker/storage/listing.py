"""What is in a path that somebody names: one file, a partition's folder, a topic, a log dir.

Only names are looked at. Unlike the broker's own reading of names, a folder or file that somebody points at is taken
for what it holds, whatever it is called: copies made for a look seldom keep their names.
"""

from __future__ import annotations

import os
import posixpath
import re
from enum import StrEnum
from io import UnsupportedOperation
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import EskerError
from esker.ports.files import lock_holder
from esker.rules import layout
from esker.rules.layout import FileKind, FolderKind, Suffix, parse_folder, parse_segment_file
from esker.storage import lock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from esker.ports.files import Files

KRAFT_SNAPSHOT = re.compile(r"([0-9]{20})-[0-9]{10}\.checkpoint")
CUT = re.compile(r"([0-9]{20})\.log\.([0-9]+)-([0-9]+)(\.[0-9]+)?\.cut")
KRAFT_FOLDER = re.compile(rf"{layout.KRAFT_TOPIC}-([0-9]+)")
LOOSE_LOG = re.compile(r"([0-9]{20})?.*\.log")
OFFSET_CHECKPOINTS = (layout.RECOVERY_POINTS, layout.LOG_STARTS, layout.HIGH_WATERMARKS, layout.CLEANER_OFFSETS)
NO_PARTITION = -1


class NothingThere(EskerError):
    """A path that holds no log."""


class Kind(StrEnum):
    """What a file holds."""

    LOG = "log"
    INDEX = "index"
    TIME_INDEX = "timeindex"
    TXN_INDEX = "txnindex"
    SNAPSHOT = "snapshot"
    KRAFT_SNAPSHOT = "kraft-snapshot"
    CUT = "cut"
    EPOCHS = "leader-epochs"
    TOPIC_ID = "topic-id"
    OFFSETS = "offsets"
    META = "meta-properties"
    CLEAN = "clean-shutdown"


OF_SEGMENT = {
    FileKind.LOG: Kind.LOG,
    FileKind.INDEX: Kind.INDEX,
    FileKind.TIME_INDEX: Kind.TIME_INDEX,
    FileKind.TXN_INDEX: Kind.TXN_INDEX,
    FileKind.SNAPSHOT: Kind.SNAPSHOT,
}
BY_NAME = {
    layout.LEADER_EPOCHS: Kind.EPOCHS,
    layout.PARTITION_METADATA: Kind.TOPIC_ID,
    layout.META_PROPERTIES: Kind.META,
    layout.CLEAN_SHUTDOWN: Kind.CLEAN,
    **dict.fromkeys(OFFSET_CHECKPOINTS, Kind.OFFSETS),
}
HOLDS_BATCHES = (Kind.LOG, Kind.KRAFT_SNAPSHOT, Kind.CUT)


class FoundFile(NamedTuple):
    """One file. `base_offset` is the number in its name."""

    path: str
    kind: Kind
    base_offset: int = 0
    suffix: Suffix = Suffix.IN_PLACE

    @property
    def name(self) -> str:
        return posixpath.basename(self.path)


class FoundPartition(NamedTuple):
    """A partition's folder. One whose name is no partition's has its name as topic, and no number."""

    path: str
    topic: str
    partition: int
    kind: FolderKind
    files: tuple[FoundFile, ...]

    def of_kind(self, kind: Kind, suffix: Suffix = Suffix.IN_PLACE) -> list[FoundFile]:
        """In the order of their offsets."""
        return [file for file in self.files if file.kind is kind and file.suffix is suffix]

    @property
    def label(self) -> str:
        return self.topic if self.partition < 0 else f"{self.topic}-{self.partition}"


class FoundLogDir(NamedTuple):
    """A log dir: the files at its root, and its partitions."""

    path: str
    files: tuple[FoundFile, ...]
    partitions: tuple[FoundPartition, ...]


Found = FoundFile | FoundPartition | FoundLogDir


def look(files: Files, path: str) -> list[Found]:
    """What the path names; a topic within a log dir (`dir/topic`) is its partitions. Raises NothingThere, OSError."""
    path = path.rstrip("/") or "/"
    names = _names(files, path)
    if names is None:
        if files.exists(path):
            return [_named_file(path)]
        return list(_topic(files, path))
    partition = _partition(path, names)
    if partition is not None:
        return [partition]
    return [_log_dir(files, path, names)]


def look_file(path: str) -> FoundFile | None:
    """What the file is by its name alone."""
    name = posixpath.basename(path)
    segment_file = parse_segment_file(name)
    if segment_file is not None:
        return FoundFile(path, OF_SEGMENT[segment_file.kind], segment_file.base_offset, segment_file.suffix)
    for kind, shape in ((Kind.KRAFT_SNAPSHOT, KRAFT_SNAPSHOT), (Kind.CUT, CUT)):
        if match := shape.fullmatch(name):
            return FoundFile(path, kind, int(match[1]))
    kind_by_name = BY_NAME.get(name)
    return None if kind_by_name is None else FoundFile(path, kind_by_name)


def partition_of(path: str) -> tuple[str, int]:
    """The topic and number that a partition's folder is named for."""
    name = posixpath.basename(path)
    folder = parse_folder(name)
    if folder is not None:
        return folder.topic_partition
    kraft = KRAFT_FOLDER.fullmatch(name)
    return (layout.KRAFT_TOPIC, int(kraft[1])) if kraft else (name, NO_PARTITION)


def is_live(files: Files, log_dir: str) -> bool:
    """Does a process hold the lock of this log dir? The lock is not touched: one that this very process holds would
    end as soon as any handle of its file is closed, so then the file is not opened."""
    if lock._held.get((files, os.path.realpath(log_dir))) == os.getpid():
        return True
    path = posixpath.join(log_dir, layout.LOCK)
    if not files.exists(path):
        return False
    file = files.open(path)
    try:
        return lock_holder(file.fileno()) > 0
    except UnsupportedOperation:
        return False  # a file in memory: no other process can have it


def _names(files: Files, path: str) -> list[str] | None:
    """None: no folder."""
    try:
        return files.names(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _named_file(path: str) -> FoundFile:
    """A file that somebody points at may have any name that ends right."""
    found = look_file(path)
    if found is not None:
        return found
    match = LOOSE_LOG.fullmatch(posixpath.basename(path))
    if match is None:
        raise NothingThere(f"{path}: no file of a log by its name (.log, .index, .timeindex, .snapshot, a checkpoint)")
    return FoundFile(path, Kind.LOG, int(match[1] or 0))


def _topic(files: Files, path: str) -> Iterable[FoundPartition]:
    parent, topic = posixpath.split(path)
    names = _names(files, parent or ".") or []
    folders = [folder for folder in map(parse_folder, names) if folder and folder.topic_partition.topic == topic]
    if not folders:
        raise NothingThere(f"{path}: there is no such file or folder, and no topic of this name beside it")
    for folder in sorted(folders):
        yield _folder(files, posixpath.join(parent, folder.name))


def _partition(path: str, names: list[str]) -> FoundPartition | None:
    """The folder as a partition, if it holds a segment's files or is named as one."""
    topic, number = partition_of(path)
    found = sorted(filter(None, (look_file(posixpath.join(path, name)) for name in names)), key=_order)
    is_segment_file = any(file.kind in HOLDS_BATCHES or file.kind in OF_SEGMENT.values() for file in found)
    if number < 0 and not is_segment_file:
        return None
    folder = parse_folder(posixpath.basename(path))
    return FoundPartition(path, topic, number, folder.kind if folder else FolderKind.LOG, tuple(found))


def _order(file: FoundFile) -> tuple[int, str]:
    return file.base_offset, file.name


def _folder(files: Files, path: str) -> FoundPartition:
    found = _partition(path, _names(files, path) or [])
    assert found is not None
    return found


def _log_dir(files: Files, path: str, names: list[str]) -> FoundLogDir:
    at_root = [file for file in (look_file(posixpath.join(path, name)) for name in sorted(names)) if file]
    partitions = []
    for name in names:
        below = posixpath.join(path, name)
        found = _names(files, below)
        partition = None if found is None else _partition(below, found)
        if partition is not None:
            partitions.append(partition)
    if not partitions and not at_root:
        raise NothingThere(f"{path}: no log is here: no segment file, no folder of a partition, no checkpoint")
    return FoundLogDir(path, tuple(at_root), tuple(sorted(partitions, key=lambda one: (one.topic, one.partition))))
