"""A partition's folder made here, with everything that one has: segments, indexes, aborted transactions, snapshots,
epochs, a topic id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker import kernel
from esker.kernel.contract import BatchHeader, Encoding, Rows
from esker.kernel.layout import Attribute, Codec
from esker.records.control import ControlType, EndMarker, end_marker_batch
from esker.rules.epochs import Epochs
from esker.rules.producers import Producers
from esker.storage.check import check
from esker.storage.checkpoints import write_epochs, write_topic_id
from esker.storage.findings import Finding, Severity
from esker.storage.handles import Handles
from esker.storage.listing import look
from esker.storage.segment import Segment, SegmentSettings
from esker.storage.snapshots import write_snapshot
from esker.storage.txn_index import AbortedTransaction

if TYPE_CHECKING:
    from esker.ports.files import Files

DIR = "/d"
FOLDER = "/d/t-0"
START_MS = 1_700_000_000_000
RECORDS = 5
ROUNDS = 24  # each is three batches: a plain one, one of a transaction, its marker
OFFSETS_A_ROUND = 2 * RECORDS + 1


class MadeLog:
    """Closed when made. `bases` are the segments' base offsets."""

    def __init__(self, files: Files, folder: str, segments: int = 3, codec: Codec = Codec.NONE) -> None:
        files.make_folder(folder)
        self.folder = folder
        self.files = files
        self._handles = Handles(files, 16)
        self._codec = codec
        self._producers = Producers()
        self._epochs = Epochs()
        self.next_offset = 0
        self.bases: list[int] = []
        write_topic_id(self.files, f"{folder}/partition.metadata", bytes(range(16)))
        for number in range(segments):
            self._segment(number)
        write_epochs(self.files, f"{folder}/leader-epoch-checkpoint", self._epochs)
        self._snapshot()
        files.write_new(f"{folder.rpartition('/')[0]}/log-start-offset-checkpoint", b"0\n0\n")

    def _segment(self, number: int) -> None:
        base = self.next_offset
        self.bases.append(base)
        if number:
            self._snapshot()
        self._epochs = self._epochs.assign(number * 2, base)
        segment = Segment.create(self._handles, self.folder, base, SegmentSettings(index_interval_bytes=700))
        for turn in range(ROUNDS):
            self._append(segment, self._data(Encoding(codec=self._codec, leader_epoch=number * 2)))
            in_transaction = Encoding(
                codec=self._codec,
                leader_epoch=number * 2,
                attributes=int(Attribute.TRANSACTIONAL),
                producer_id=7 + turn % 2,
                producer_epoch=0,
                base_sequence=(number * ROUNDS + turn) // 2 * RECORDS,
            )
            self._append(segment, self._data(in_transaction))
            self._mark(segment, 7 + turn % 2, ControlType.ABORT if turn % 3 == 0 else ControlType.COMMIT, number * 2)
        segment.flush()
        segment.close()

    def _data(self, encoding: Encoding) -> bytes:
        offsets = range(self.next_offset, self.next_offset + RECORDS)
        rows = Rows(
            timestamps=[START_MS + offset for offset in offsets],
            keys=[b"key-%d" % offset for offset in offsets],
            values=[b"value of offset %d, %s" % (offset, b"x" * 40) for offset in offsets],
            offsets=offsets,
        )
        return kernel.encode(rows, encoding)

    def _mark(self, segment: Segment, producer_id: int, kind: ControlType, epoch: int) -> None:
        marker = EndMarker(kind, producer_id, 0, 0, START_MS + self.next_offset)
        self._append(segment, end_marker_batch(marker, self.next_offset, epoch), marker)

    def _append(self, segment: Segment, data: bytes, marker: EndMarker | None = None) -> None:
        (header,) = kernel.walk(data).headers
        segment.append(data, header.last_offset, header.max_timestamp)
        if marker is None:
            self._producers.take(header, header.base_offset, header.max_timestamp)
        else:
            completed = self._producers.take_marker(marker, header.base_offset)
            assert completed is not None
            if completed.aborted:
                segment.append_aborted(AbortedTransaction(*completed[:4]))
        self.next_offset = header.last_offset + 1

    def _snapshot(self) -> None:
        path = f"{self.folder}/{self.next_offset:020d}.snapshot"
        write_snapshot(self.files, path, self._producers.entries.values())


def log_path(base_offset: int, folder: str = FOLDER) -> str:
    return f"{folder}/{base_offset:020d}.log"


def change(files: Files, path: str, position: int, data: bytes) -> None:
    """Write over bytes of a file."""
    files.open(path).write(data, position)


def flip(files: Files, path: str, position: int, bit: int = 0) -> None:
    (byte,) = files.open(path).read(1, position)
    change(files, path, position, bytes([byte ^ 1 << bit]))


def headers_of(files: Files, path: str) -> list[BatchHeader]:
    return kernel.walk(files.read(path)).headers


def findings(files: Files, path: str = FOLDER) -> list[Finding]:
    """All that check says."""
    return [each for found in look(files, path) for each in check(files, found) if isinstance(each, Finding)]


def faults(files: Files, path: str = FOLDER) -> list[Finding]:
    """Without what is only worth knowing."""
    return [finding for finding in findings(files, path) if finding.severity is not Severity.INFO]
