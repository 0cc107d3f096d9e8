"""The small acts of a repair: a folder tidied up, checkpoints and topic ids written anew."""

from __future__ import annotations

import posixpath
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile, EskerError
from esker.base.types import TopicPartition
from esker.rules import recovery
from esker.rules.layout import FolderKind, is_topic_name
from esker.rules.recovery import Remove, Rename, Step
from esker.storage.checkpoints import parse_offsets, read_topic_id, write_offsets
from esker.storage.checks.log import LogCheck
from esker.storage.listing import FoundLogDir, FoundPartition, Kind
from esker.storage.survey import Survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from esker.ports.files import Files
    from esker.storage.findings import Finding
    from esker.storage.mend_log import Mending

__all__ = ["Checkpoint", "Step", "checkpoints", "said", "tidy_up", "tidying", "with_topic_ids", "write_checkpoint"]


class Checkpoint(NamedTuple):
    """A checkpoint at the root of a log dir, and what it is to say."""

    path: str
    offsets: dict[TopicPartition, int]
    why: str


def tidying(files: Files, partition: FoundPartition) -> list[Step]:
    """What the next start would do with files of rewrites and deletions, and with indexes that have no log."""
    names = files.names(partition.path)
    next_offsets = {name: _next_offset(files, f"{partition.path}/{name}") for name in recovery.finished_swaps(names)}
    steps = recovery.tidy(names, next_offsets)
    return steps if any(isinstance(step, Remove | Rename) for step in steps) else []


def said(folder: str, steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Remove):
            yield f"remove {folder}/{step.name}: {step.why}"
        elif isinstance(step, Rename):
            yield f"rename {folder}/{step.source} to {step.target}: the rewrite is whole"


def tidy_up(files: Files, folder: str, steps: Iterable[Step]) -> None:
    for step in steps:
        if isinstance(step, Remove):
            files.remove(f"{folder}/{step.name}")
        elif isinstance(step, Rename):
            files.replace(f"{folder}/{step.source}", f"{folder}/{step.target}")
        else:
            files.sync_folder(folder)
    files.sync_folder(folder)


def _next_offset(files: Files, path: str) -> int:
    base_offset = int(posixpath.basename(path).partition(".")[0])
    survey = Survey(files.open(path), base_offset, deep=False)
    for _ in survey:
        pass
    return survey.next_offset


def checkpoints(files: Files, log_dir: FoundLogDir, findings: Sequence[Finding]) -> Iterator[Checkpoint]:
    """Rows that cannot be read, or whose log is gone, are left out; an offset past the end of its log comes down."""
    whys: dict[str, str] = {}
    for finding in findings:
        if finding.kind.startswith("checkpoint"):
            whys.setdefault(finding.path, finding.cause)
    if not whys:
        return
    ends = _ends(files, log_dir)
    for path, why in whys.items():
        rows = _rows(files.read(path), path)
        offsets = {name: min(offset, ends[name]) for name, offset in rows.items() if name in ends}
        yield Checkpoint(path, offsets, why)


def write_checkpoint(files: Files, checkpoint: Checkpoint) -> None:
    write_offsets(files, checkpoint.path, checkpoint.offsets)


def with_topic_ids(files: Files, mendings: Iterable[Mending], siblings: Iterable[FoundPartition]) -> Iterator[Mending]:
    """A topic's partitions all have its id: one that lost it gets the one that most others in the log dir have."""
    known: dict[str, Counter[bytes]] = {}
    for partition in siblings:
        for file in partition.of_kind(Kind.TOPIC_ID):
            try:
                topic_id = read_topic_id(files, file.path)
            except EskerError:
                continue
            if topic_id is not None:
                known.setdefault(partition.topic, Counter())[topic_id] += 1
    for mending in mendings:
        ids = known.get(mending.partition.topic) if mending.topic_id else None
        yield mending._replace(found_id=ids.most_common(1)[0][0]) if ids else mending


def _ends(files: Files, log_dir: FoundLogDir) -> Mapping[TopicPartition, int]:
    ends = {}
    for partition in log_dir.partitions:
        if partition.kind is not FolderKind.LOG:
            continue
        log = LogCheck(files, partition)
        for _ in log:
            pass
        if log.range is not None:
            ends[TopicPartition(partition.topic, partition.partition)] = log.range.end
    return ends


def _rows(data: bytes, path: str) -> dict[TopicPartition, int]:
    """All rows, or those that make sense alone."""
    try:
        return parse_offsets(data, path)
    except BadFile:
        pass
    rows = {}
    for line in data.splitlines()[2:]:
        try:
            rows.update(parse_offsets(b"0\n1\n" + line + b"\n", path))
        except BadFile:
            continue
    return {name: offset for name, offset in rows.items() if is_topic_name(name.topic)}
