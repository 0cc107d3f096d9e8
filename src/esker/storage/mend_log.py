"""One partition put right: ranges cut out of its logs, then indexes, snapshots and leader epochs made anew from one
walk over all that is left."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile
from esker.kernel.layout import LOG_OVERHEAD
from esker.rules.epochs import Epochs
from esker.rules.layout import LEADER_EPOCHS, FileKind, SegmentFile, Suffix, snapshot_name
from esker.storage.aside import SUFFIX, set_aside
from esker.storage.checkpoints import write_epochs, write_topic_id
from esker.storage.checks.producers import Replay
from esker.storage.handles import Handles
from esker.storage.listing import FoundFile, FoundPartition, Kind
from esker.storage.segment import Segment, SegmentSettings
from esker.storage.snapshots import read_snapshot, write_snapshot
from esker.storage.survey import Damage, Survey
from esker.storage.txn_index import AbortedTransaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import Files
    from esker.rules.producers import ProducerEntry
    from esker.storage.scan import Stretch

EPOCH = Struct(">i")  # behind offset and size
PIECE = 1 << 20
HANDLES = 16


class Cut(NamedTuple):
    """Bytes [position, end) of a log."""

    position: int
    end: int
    why: str


class Mending(NamedTuple):
    """What one partition needs. Cuts and the reasons to rebuild are by segment, as are the positions of batches whose
    epoch is wrong (`restamp`). `epochs` and `topic_id` hold the reason, if there is one; `found_id` the topic's id,
    where another partition knows it."""

    partition: FoundPartition
    cuts: dict[int, list[Cut]]
    rebuild: dict[int, str]
    snapshots: list[FoundFile]
    epochs: list[str]
    topic_id: list[str]
    restamp: dict[int, set[int]]
    found_id: bytes | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.cuts or self.rebuild or self.snapshots or self.epochs or self.restamp or self.found_id)

    def sentences(self) -> Iterator[str]:
        folder = self.partition.path
        for base_offset, cuts in self.cuts.items():
            path = f"{folder}/{SegmentFile(base_offset, FileKind.LOG).name}"
            for cut in cuts:
                kept = f"{path}.{cut.position}-{cut.end}{SUFFIX}"
                yield f"cut bytes {cut.position}-{cut.end - 1} out of {path} ({cut.why}); they are kept in {kept}"
        for base_offset, why in self.rebuild.items():
            yield f"write the indexes of {folder}/{SegmentFile(base_offset, FileKind.LOG).name} anew: {why}"
        for snapshot in self.snapshots:
            yield f"write {snapshot.path} anew from the batches, or remove it if it is past the log's end"
        for why in self.epochs:
            yield f"write {folder}/{LEADER_EPOCHS} anew from the batches: {why}"
        for base_offset, positions in self.restamp.items():
            path = f"{folder}/{SegmentFile(base_offset, FileKind.LOG).name}"
            for position in sorted(positions):
                yield f"write the leader epoch of the batches around into the one at position {position} of {path}"
        if self.found_id is not None:
            yield f"write {folder}/partition.metadata anew with the id that another partition of the topic has"


def mend(files: Files, mending: Mending) -> None:
    """The caller holds the lock of the log dir."""
    folder = mending.partition.path
    for base_offset, cuts in mending.cuts.items():
        cut_out(files, folder, base_offset, cuts)
    if mending.rebuild or mending.snapshots or mending.epochs or mending.restamp:
        Rebuild(files, mending).run()
    if mending.found_id is not None:
        write_topic_id(files, f"{folder}/partition.metadata", mending.found_id)


def cut_out(files: Files, folder: str, base_offset: int, cuts: list[Cut]) -> None:
    """Set aside first, then the indexes go, then the log is cut: stopped anywhere, nothing is lost."""
    path = f"{folder}/{SegmentFile(base_offset, FileKind.LOG).name}"
    cuts = sorted(set(cuts))
    for cut in cuts:
        _make_way(files, f"{path}.{cut.position}-{cut.end}{SUFFIX}")
        set_aside(files, path, cut.position, cut.end)
    files.sync_folder(folder)
    for kind in (FileKind.INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX):
        index = f"{folder}/{SegmentFile(base_offset, kind).name}"
        if files.exists(index):
            files.remove(index)
    files.sync_folder(folder)
    modified_ms = files.modified_ms(path)
    if len(cuts) == 1 and cuts[0].end >= files.size(path):
        log = files.open(path)
        log.truncate(cuts[0].position)
        log.sync()
    else:
        _rewrite(files, path, cuts)
    files.set_modified_ms(path, modified_ms)


def _make_way(files: Files, path: str) -> None:
    """An earlier cut at the same place keeps its bytes under another name."""
    if not files.exists(path):
        return
    number = 1
    while files.exists(other := f"{path.removesuffix(SUFFIX)}.{number}{SUFFIX}"):
        number += 1
    files.replace(path, other)


def _rewrite(files: Files, path: str, cuts: list[Cut]) -> None:
    scratch = path + Suffix.CLEANED
    source, target = files.open(path), files.open(scratch, create=True)
    target.truncate(0)
    size, position, done = source.size(), 0, 0
    for begin, end in [*((cut.position, cut.end) for cut in cuts), (size, size)]:
        while position < begin:
            data = source.read(min(PIECE, begin - position), position)
            target.write(data, done)
            position, done = position + len(data), done + len(data)
        position = max(position, end)
    target.sync()
    files.replace(scratch, path)
    files.sync_folder(path.rpartition("/")[0])


class Rebuild:
    """The walk."""

    def __init__(self, files: Files, mending: Mending) -> None:
        self._files = files
        self._mending = mending
        self._handles = Handles(files, HANDLES)
        self._replay = Replay()
        self._epochs = Epochs()
        self._due = sorted(mending.snapshots, key=lambda file: file.base_offset)
        self._older: list[ProducerEntry] = []  # of the newest good snapshot so far
        self._good = [file for file in mending.partition.of_kind(Kind.SNAPSHOT) if file not in mending.snapshots]

    def run(self) -> None:
        folder = self._mending.partition.path
        next_offset = -1
        for log in self._mending.partition.of_kind(Kind.LOG):
            next_offset = self._segment(log)
        self._reach(next_offset)
        for past in self._due:
            if self._files.exists(past.path):
                self._files.remove(past.path)
        if self._due and next_offset >= 0:
            # After a clean close Kafka believes that there were no producers where there is no snapshot.
            self._write(f"{folder}/{snapshot_name(next_offset)}")
        if self._mending.epochs:
            write_epochs(self._files, f"{folder}/{LEADER_EPOCHS}", self._epochs.truncate_from_end(max(next_offset, 0)))
        self._files.sync_folder(folder)

    def _segment(self, log: FoundFile) -> int:
        """Answers the offset after its last batch."""
        self._replay.begin_segment()
        if log.base_offset in self._mending.restamp:
            self._restamp(log, self._mending.restamp[log.base_offset])
        if log.base_offset in self._mending.rebuild:
            return self._indexes(log)
        survey = Survey(self._files.open(log.path), log.base_offset, deep=False)
        for part in survey:
            if not isinstance(part, Damage):
                self._take(part)
        return survey.next_offset

    def _indexes(self, log: FoundFile) -> int:
        folder = self._mending.partition.path
        segment = Segment.open(self._handles, folder, log.base_offset, SegmentSettings())
        scan = segment.scan()
        for stretch in segment.recover(scan):
            self._take(stretch)
        for aborted in self._replay.aborted:
            segment.append_aborted(AbortedTransaction(*aborted[:4]))
        if scan.finding is None and not scan.has_zero_tail:
            segment.become_inactive()
        segment.flush()
        segment.close()
        return scan.next_offset

    def _restamp(self, log: FoundFile, positions: set[int]) -> None:
        """No checksum covers the epoch, so the batch stays good. It gets that of the batch before, the first one that
        of the batch after it."""
        file = self._files.open(log.path)
        epochs = [
            (part.position + header.position, header.leader_epoch)
            for part in Survey(file, log.base_offset, deep=False)
            if not isinstance(part, Damage)
            for header in part.headers
        ]
        before = next((epoch for position, epoch in epochs if position not in positions), -1)
        for position, epoch in epochs:
            if position in positions:
                file.write(EPOCH.pack(before), position + LOG_OVERHEAD)
            else:
                before = epoch
        file.sync()

    def _take(self, stretch: Stretch) -> None:
        done = 0
        for at, header in enumerate(stretch.headers):
            if header.leader_epoch >= 0:
                self._epochs = self._epochs.learn(header.leader_epoch, header.base_offset)
            elif header.magic < 2:
                self._epochs = Epochs()
            if self._due and header.base_offset >= self._due[0].base_offset:
                self._replay.take(stretch, done, at)
                done = at
                self._reach(header.base_offset)
        self._replay.take(stretch, done, len(stretch.headers))

    def _reach(self, offset: int) -> None:
        """Write the snapshots up to here."""
        while self._due and self._due[0].base_offset <= offset:
            self._write(self._due.pop(0).path)

    def _write(self, path: str) -> None:
        """Producers whose batches are gone are known from an older snapshot alone."""
        offset = int(path.rpartition("/")[2].partition(".")[0])
        while self._good and self._good[0].base_offset <= offset:
            try:
                self._older = read_snapshot(self._files, self._good.pop(0).path)
            except BadFile:
                continue
        known = self._replay.state.entries
        gone = [entry for entry in self._older if entry.producer_id not in known]
        entries = [*gone, *(entry.kept_by_snapshot() for entry in known.values())]
        write_snapshot(self._files, path, entries, durable=True)
