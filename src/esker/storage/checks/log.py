"""The segments of one partition: each log is walked once, and everything that is said of its batches elsewhere, in
indexes, snapshots and the epoch checkpoint, is held against them on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker.base.faults import Fault
from esker.kernel.layout import INT32_MAX
from esker.records.batch import QUIET_ENDS
from esker.rules.layout import KRAFT_TOPIC, Suffix
from esker.storage.checks.entries import batch_starts
from esker.storage.checks.epochs import EpochsCheck
from esker.storage.checks.indexes import Indexes, OffsetIndexCheck, TimeIndexCheck
from esker.storage.checks.producers import Replay, Snapshot, check_snapshot, check_txn_index, read_snapshots
from esker.storage.checks.small_files import Range
from esker.storage.findings import Finding, Looked, Place, Report, Severity, error, info, warning
from esker.storage.listing import FoundFile, FoundPartition, Kind
from esker.storage.survey import Damage, Survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import File, Files
    from esker.storage.scan import Stretch


ZEROS_INSIDE = "zeros where a batch should begin, and other bytes behind them"


class Situation(NamedTuple):
    """What the log dir tells of a log. `is_live`: a broker has it open, so what may be there while it is written is no
    fault. `is_closed`: it was closed cleanly, so nothing of that kind may be there. `log_start`: None where no
    checkpoint is there to tell. `is_alone`: only some files of the log are given, so none is missed."""

    is_live: bool = False
    is_closed: bool = False
    log_start: int | None = None
    is_alone: bool = False


class LogCheck:
    """One partition. Afterwards `range` is that of its log."""

    def __init__(self, files: Files, partition: FoundPartition, situation: Situation | None = None) -> None:
        situation = situation or Situation()
        self._files = files
        self._partition = partition
        self._is_live = situation.is_live
        self._is_closed = situation.is_closed
        self._replay = Replay()
        self._snapshots: list[Snapshot] = []
        epochs = partition.of_kind(Kind.EPOCHS)
        self._epochs = EpochsCheck(epochs[0].path if epochs else None, None if self._is_live else situation.log_start)
        self._next_offset = 0
        self.range: Range | None = None
        is_kraft = partition.topic == KRAFT_TOPIC or partition.of_kind(Kind.KRAFT_SNAPSHOT)
        self._has_all = not (situation.is_alone or is_kraft)

    def __iter__(self) -> Iterator[Report]:
        for snapshot in read_snapshots(self._files, self._partition.of_kind(Kind.SNAPSHOT)):
            if isinstance(snapshot, Finding):
                yield snapshot
            else:
                self._snapshots.append(snapshot)
        if self._epochs.path is not None:
            yield from self._epochs.read(self._files.read(self._epochs.path))
        logs = self._partition.of_kind(Kind.LOG)
        if logs:
            self._next_offset = logs[0].base_offset
        for place, log in enumerate(logs):
            end = logs[place + 1].base_offset if place + 1 < len(logs) else None
            try:
                yield from self._segment(log, end)
            except FileNotFoundError:
                if not self._is_live:
                    raise
        yield from self._finish()
        if logs:
            self.range = Range(logs[0].base_offset, self._next_offset)

    def _segment(self, log: FoundFile, end_offset: int | None) -> Iterator[Report]:
        """`end_offset`: the next segment's base; None for the last one."""
        is_active = end_offset is None and not self._is_closed
        if log.base_offset < self._next_offset:
            cause = f"its base is not above {self._next_offset - 1}, the last offset of the segment before"
            yield error(log.path, "segment-overlap", Place(0, 0, log.base_offset, self._next_offset - 1), cause)
        offset_index, time_index = self._index(log, Kind.INDEX), self._index(log, Kind.TIME_INDEX)
        yield from self._missing(log, offset_index, time_index)
        grows, base = self._is_live and end_offset is None, log.base_offset
        indexes = Indexes(
            None if offset_index is None else OffsetIndexCheck(self._open(offset_index), base, grows=grows),
            None if time_index is None else TimeIndexCheck(self._open(time_index), base, grows=grows),
        )
        starts = [] if offset_index is None else batch_starts(self._open(offset_index))
        survey = Survey(self._open(log), log.base_offset, starts)
        yield from self._walk(log, survey, indexes, end_offset)
        self._next_offset = survey.next_offset
        if survey.has_zero_tail:
            yield from self._zeros(log, survey, is_active=is_active)
        yield from indexes.finish(survey.end, survey.next_offset, is_active=is_active)
        yield from self._short(log, survey, indexes.beyond, is_last=end_offset is None)
        txn_index = self._index(log, Kind.TXN_INDEX)
        path = log.path.removesuffix(".log") + ".txnindex"
        data = b"" if txn_index is None else self._files.read(txn_index.path)
        if self._has_all or txn_index is not None:
            yield from check_txn_index(path, data, self._replay, self._next_offset if grows else None)

    def _short(self, log: FoundFile, survey: Survey, beyond: list[int], *, is_last: bool) -> Iterator[Finding]:
        """A log cut between two batches looks whole, as does one that ends in zeros: only what stands beside it tells,
        and one alone may be wrong itself."""
        if survey.end < survey.size and not survey.has_zero_tail:
            return  # told already
        snapshots = [each.file.base_offset for each in self._snapshots] if is_last else []
        beyond = beyond + [offset - 1 for offset in snapshots[-1:] if offset > survey.next_offset]
        if len(beyond) > 1 and not self._is_live:
            place = Place(survey.end, survey.size - survey.end, survey.next_offset, max(beyond))
            yield error(log.path, "short", place, "batches are missing at its end, of which other files speak")

    def _walk(self, log: FoundFile, survey: Survey, indexes: Indexes, end_offset: int | None) -> Iterator[Report]:
        self._replay.begin_segment()
        self._next_offset = log.base_offset
        for part in survey:
            if isinstance(part, Damage):
                yield self._damage(log, part, is_last=end_offset is None)
                if not part.is_readable:
                    self._replay.is_whole = False
                    yield from indexes.pass_over(part.end)
            else:
                yield from indexes.take(part, self._next_offset)
                yield from self._stretch(log, part, end_offset)
                yield Looked(part.headers[-1].end)

    def _stretch(self, log: FoundFile, stretch: Stretch, end_offset: int | None) -> Iterator[Finding]:
        last = stretch.headers[-1]
        limit = log.base_offset + INT32_MAX
        if last.last_offset > limit or (end_offset is not None and last.last_offset >= end_offset):
            yield from self._beyond(log, stretch, limit, end_offset)
        yield from self._epochs.take(stretch, log.path)
        self._replay.pass_by(stretch)
        if any(header.producer_id >= 0 for header in stretch.headers):
            yield from self._producers(stretch)
        self._next_offset = last.last_offset + 1

    def _beyond(self, log: FoundFile, stretch: Stretch, limit: int, end: int | None) -> Iterator[Finding]:
        for header in stretch.headers:
            place = Place(stretch.position + header.position, header.size, header.base_offset, header.last_offset)
            if header.last_offset > limit:
                cause = f"offset {header.last_offset} is more than 2^31-1 above the segment's base {log.base_offset}"
                yield error(log.path, "overflow", place, cause)
            elif end is not None and header.last_offset >= end:
                cause = f"offset {header.last_offset} is not below {end}, where the next segment starts"
                yield error(log.path, "segment-overlap", place, cause)

    def _producers(self, stretch: Stretch) -> Iterator[Finding]:
        """Batches of producers, with a stop at each snapshot on the way."""
        done = 0
        for at, header in enumerate(stretch.headers):
            if self._snapshots and header.base_offset >= self._snapshots[0].file.base_offset:
                self._replay.take(stretch, done, at)
                done = at
                while self._snapshots and header.base_offset >= self._snapshots[0].file.base_offset:
                    yield from check_snapshot(self._snapshots.pop(0), self._replay)
        self._replay.take(stretch, done, len(stretch.headers))

    def _finish(self) -> Iterator[Finding]:
        for snapshot in self._snapshots:
            if snapshot.file.base_offset > self._next_offset and self._replay.is_whole:
                place = Place(-1, -1, self._next_offset, snapshot.file.base_offset)
                cause = f"it is past the end of the log, {self._next_offset}"
                yield (info if self._is_live else warning)(snapshot.file.path, "snapshot-offset", place, cause)
            else:
                yield from check_snapshot(snapshot, self._replay)
        if not self._is_live and self._replay.is_whole:
            yield from self._epochs.finish(self._next_offset)

    def _damage(self, log: FoundFile, damage: Damage, *, is_last: bool) -> Finding:
        fault = damage.finding.fault
        place = Place(damage.position, damage.end - damage.position, damage.base_offset, damage.last_offset)
        if self._is_live and is_last and fault in QUIET_ENDS:
            return info(log.path, fault.name.lower(), place, "a batch is being written here")
        cause = ZEROS_INSIDE if fault is Fault.ZEROS else str(damage.finding).partition(": ")[2]
        return error(log.path, fault.name.lower(), place, cause)

    def _zeros(self, log: FoundFile, survey: Survey, *, is_active: bool) -> Iterator[Finding]:
        place = Place(survey.end, survey.size - survey.end)
        tell = info if is_active else warning
        yield tell(log.path, Fault.ZEROS.name.lower(), place, Fault.ZEROS.said)

    def _missing(self, log: FoundFile, offset: FoundFile | None, time: FoundFile | None) -> Iterator[Finding]:
        if not self._has_all or self._is_live:
            return
        for kind, found in ((".index", offset), (".timeindex", time)):
            if found is None:
                path = log.path.removesuffix(".log") + kind
                yield warning(path, "index-missing", Place(), "it is not there; the next start writes it anew")

    def _index(self, log: FoundFile, kind: Kind) -> FoundFile | None:
        found = [file for file in self._partition.of_kind(kind) if file.base_offset == log.base_offset]
        return found[0] if found else None

    def _open(self, file: FoundFile) -> File:
        return self._files.open(file.path)


def leftovers(partition: FoundPartition, *, is_live: bool) -> Iterator[Finding]:
    """Files of a rewrite or a deletion that was going on, and indexes whose log is gone."""
    bases = {file.base_offset for file in partition.of_kind(Kind.LOG)}
    for file in partition.files:
        if file.suffix is Suffix.DELETED:
            yield info(file.path, "leftover", Place(), "it waits to be removed")
        elif file.suffix is not Suffix.IN_PLACE:
            severity = Severity.INFO if is_live else Severity.WARNING
            cause = "a rewrite that is under way" if is_live else "a rewrite that was not finished"
            yield Finding(file.path, "leftover", severity, *Place(), cause)
        elif file.kind in (Kind.INDEX, Kind.TIME_INDEX, Kind.TXN_INDEX) and file.base_offset not in bases:
            yield warning(file.path, "orphan", Place(), "an index without its log; the next start removes it")
        elif file.kind is Kind.CUT:
            yield info(file.path, "set-aside", Place(0), "bytes that a repair or a recovery cut out")
