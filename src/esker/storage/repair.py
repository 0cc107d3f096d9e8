"""Putting right what `check` finds: what was mended is what a second check no longer says.

    indexes, snapshots, checkpoints  made anew from the batches
    damaged bytes of a log           kept in a `.cut` file beside it, then cut out; what is good behind them stays
    rewrites left half done          finished or undone, as the next start would

`plan` only says what is to be done; `mend` does it, and needs the lock of the log dir. Offsets never change: a cut
leaves a gap, as the cleaner does. What cannot be mended is in `left`.

Crash story: each act can be stopped anywhere and begun again. A log is rewritten as `.cleaned`, which every start
removes, and put in place in one step, after its indexes are gone: an index never speaks of other bytes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from esker.base.faults import Fault
from esker.rules.layout import parse_segment_file
from esker.storage import mend_files, mend_log
from esker.storage.check import check
from esker.storage.findings import Finding, Severity
from esker.storage.listing import Found, FoundFile, FoundLogDir, FoundPartition, Kind, look, look_file
from esker.storage.mend_files import Checkpoint
from esker.storage.mend_log import Cut, Mending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import Files

ROUNDS = 4  # a cut may show that a snapshot or a checkpoint now speaks of offsets that are gone
FAULTS = frozenset(fault.name.lower() for fault in Fault)
INDEXES = ("index-", "timeindex-", "txnindex-")


class Plan(NamedTuple):
    """What is to be done, in sentences and as work."""

    tidy: list[tuple[str, list[mend_files.Step]]]  # by folder
    mendings: list[Mending]
    checkpoints: list[Checkpoint]
    left: list[Finding]

    @property
    def is_empty(self) -> bool:
        return not (self.tidy or self.mendings or self.checkpoints)

    def sentences(self) -> Iterator[str]:
        for folder, steps in self.tidy:
            yield from mend_files.said(folder, steps)
        for mending in self.mendings:
            yield from mending.sentences()
        for checkpoint in self.checkpoints:
            yield f"write {checkpoint.path} anew: {checkpoint.why}"


def plan(files: Files, found: Iterable[Found], *, live: bool | None = None) -> Plan:
    """Reads everything once. `live` is as for `check`. Raises OSError where something cannot be read."""
    made = Plan([], [], [], [])
    for one in found:
        findings = [report for report in check(files, one, live=live) if isinstance(report, Finding)]
        serious = [finding for finding in findings if finding.severity is not Severity.INFO]
        siblings = one.partitions if isinstance(one, FoundLogDir) else ()
        for partition in _partitions(one):
            inside = [finding for finding in serious if finding.path.startswith(partition.path + "/")]
            _add_partition(files, made, partition, inside)
            made.left.extend(finding for finding in serious if finding.path == partition.path)
        made.mendings[:] = mend_files.with_topic_ids(files, made.mendings, siblings)
        made.left.extend(_without_id(serious, made.mendings))
        made.mendings[:] = [mending for mending in made.mendings if not mending.is_empty]
        if isinstance(one, FoundLogDir):
            at_root = [finding for finding in serious if posixpath.dirname(finding.path) == one.path]
            made.checkpoints.extend(mend_files.checkpoints(files, one, at_root))
            made.left.extend(finding for finding in at_root if not finding.kind.startswith("checkpoint"))
    return made


def mend(files: Files, paths: Iterable[str]) -> Iterator[str]:
    """Do it; says each act once it is done. The caller holds the locks."""
    for path in paths:
        for _ in range(ROUNDS):
            todo = plan(files, look(files, path), live=False)
            if todo.is_empty:
                break
            for folder, steps in todo.tidy:
                mend_files.tidy_up(files, folder, steps)
            if not todo.tidy:
                for mending in todo.mendings:
                    mend_log.mend(files, mending)
                for checkpoint in todo.checkpoints:
                    mend_files.write_checkpoint(files, checkpoint)
                yield from todo.sentences()
            else:
                for folder, steps in todo.tidy:
                    yield from mend_files.said(folder, steps)


def log_dirs(found: Iterable[Found]) -> set[str]:
    """Whose locks are needed."""
    return {
        one.path
        if isinstance(one, FoundLogDir)
        else posixpath.dirname(one.path if isinstance(one, FoundPartition) else posixpath.dirname(one.path)) or "."
        for one in found
    }


def _partitions(found: Found) -> Iterable[FoundPartition]:
    if isinstance(found, FoundLogDir):
        return found.partitions
    return [found] if isinstance(found, FoundPartition) else []


def _add_partition(files: Files, made: Plan, partition: FoundPartition, findings: list[Finding]) -> None:
    steps = (
        mend_files.tidying(files, partition) if any(each.kind in ("leftover", "orphan") for each in findings) else []
    )
    if steps:
        made.tidy.append((partition.path, steps))
    mending = Mending(partition, {}, {}, [], [], [], {})
    for finding in findings:
        if not _assign(mending, finding) and finding.kind not in ("leftover", "orphan"):
            made.left.append(finding)
    if not mending.is_empty or mending.topic_id:
        made.mendings.append(mending)


def _without_id(findings: list[Finding], mendings: list[Mending]) -> Iterator[Finding]:
    """Ids that no other partition knows."""
    lost = {mending.partition.path for mending in mendings if mending.topic_id and mending.found_id is None}
    return (each for each in findings if each.kind == "topic-id" and posixpath.dirname(each.path) in lost)


def _assign(mending: Mending, finding: Finding) -> bool:
    """Note what mends this finding; False: nothing does."""
    file = look_file(finding.path) or _index(finding.path)
    if file is None:
        return False
    if finding.kind in FAULTS and file.kind is Kind.LOG:
        cut = Cut(finding.position, finding.position + finding.size, finding.cause)
        mending.cuts.setdefault(file.base_offset, []).append(cut)
        mending.rebuild.setdefault(file.base_offset, "its log is cut")
    elif finding.kind == "short":
        mending.rebuild.setdefault(file.base_offset, finding.cause)
    elif finding.kind.startswith(INDEXES):
        mending.rebuild.setdefault(file.base_offset, f"{file.name}: {finding.cause}")
    elif finding.kind == "epoch" and file.kind is Kind.LOG:
        mending.restamp.setdefault(file.base_offset, set()).add(finding.position)
    elif finding.kind.startswith("snapshot"):
        if file not in mending.snapshots:
            mending.snapshots.append(file)
    elif finding.kind.startswith("epochs"):
        mending.epochs[:] = [finding.cause]
    elif finding.kind == "topic-id":
        mending.topic_id[:] = [finding.cause]
    else:
        return False
    return True


def _index(path: str) -> FoundFile | None:
    """An index that is not there has a name all the same."""
    file = parse_segment_file(posixpath.basename(path))
    return None if file is None else FoundFile(path, Kind.INDEX, file.base_offset)
