"""What a log holds, in figures: counted in one walk over its batches. Damaged bytes are counted as such."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from esker import kernel
from esker.base.errors import Corrupt
from esker.kernel.contract import Column, Selection
from esker.kernel.layout import HEADER_SIZE, Codec
from esker.records.batch import Batch
from esker.records.text import codec_name
from esker.storage.checks.entries import batch_starts
from esker.storage.findings import Looked
from esker.storage.listing import FoundFile, FoundPartition, Kind
from esker.storage.survey import Damage, Survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import Files
    from esker.records.record import LogRecord
    from esker.storage.scan import Stretch

NULLS = Selection(columns=Column.KEY | Column.VALUE, views=True, verify_crc=False)


class Stats:
    """The figures of one partition, or of several added up. Times are the least and the largest in batch headers."""

    def __init__(self) -> None:
        self.bytes = self.segments = self.batches = self.records = 0
        self.damaged_bytes = 0
        self.tombstones = self.keyless = 0  # among the records of clients
        self.transactional = self.control = 0  # batches
        self.packed_bytes = self.unpacked_bytes = 0  # of records, without the headers of batches
        self.first_offset = self.next_offset = -1
        self.first_timestamp = self.last_timestamp = -1
        self.codecs: Counter[str] = Counter()  # batches by codec
        self.magics: Counter[str] = Counter()

    def partition(self, files: Files, partition: FoundPartition) -> Iterator[Looked]:
        """Count all segments in place."""
        for log in partition.of_kind(Kind.LOG):
            yield from self.log(files, log)

    def log(self, files: Files, log: FoundFile) -> Iterator[Looked]:
        file = files.open(log.path)
        index = log.path.removesuffix(".log") + ".index"
        survey = Survey(file, log.base_offset, batch_starts(files.open(index)) if files.exists(index) else ())
        self.segments += 1
        self.bytes += survey.size
        if self.first_offset < 0:
            self.first_offset = log.base_offset
        for part in survey:
            if not isinstance(part, Damage):
                self._stretch(part)
                yield Looked(part.headers[-1].end)
        self.next_offset = survey.next_offset
        self.damaged_bytes += survey.damaged_bytes

    def add(self, other: Stats) -> None:
        """The figures of another partition; offsets of several mean nothing."""
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            elif not name.endswith(("_offset", "_timestamp")):
                setattr(self, name, getattr(self, name) + value)
        if other.first_timestamp >= 0:
            self._time(other.first_timestamp, other.last_timestamp)

    @property
    def ratio(self) -> float:
        """How many bytes of records one byte on disk stands for; 1 where nothing is compressed."""
        return self.unpacked_bytes / self.packed_bytes if self.packed_bytes else 1.0

    def fields(self) -> dict[str, object]:
        return {
            "bytes": self.bytes,
            "segments": self.segments,
            "batches": self.batches,
            "records": self.records,
            "firstOffset": self.first_offset,
            "nextOffset": self.next_offset,
            "firstTimestamp": self.first_timestamp,
            "lastTimestamp": self.last_timestamp,
            "averageBatchBytes": round(self.bytes / self.batches) if self.batches else 0,
            "compressionRatio": round(self.ratio, 3),
            "codecs": dict(self.codecs),
            "magics": dict(self.magics),
            "tombstones": self.tombstones,
            "keyless": self.keyless,
            "transactionalBatches": self.transactional,
            "controlBatches": self.control,
            "damagedBytes": self.damaged_bytes,
        }

    def _stretch(self, stretch: Stretch) -> None:
        modern = all(header.magic == 2 for header in stretch.headers)
        for header in stretch.headers:
            self.batches += 1
            self.codecs[codec_name(header.codec)] += 1
            self.magics[str(header.magic)] += 1
            self.transactional += header.transactional
            self.control += header.control
            if header.max_timestamp >= 0:
                is_first = not header.log_append_time and header.delete_horizon_ms is None
                self._time(header.base_timestamp if is_first else header.max_timestamp, header.max_timestamp)
            if header.magic < 2:
                self._legacy(Batch(header, stretch.data))
            else:
                self.records += header.record_count
                self.packed_bytes += header.size - HEADER_SIZE
                if header.codec == Codec.NONE or header.control:
                    self.unpacked_bytes += header.size - HEADER_SIZE
                if not modern:
                    self._columns(stretch.data[header.position : header.end])
        if modern:
            self._columns(stretch.data)

    def _columns(self, data: memoryview) -> None:
        """Nulls are counted by the kernel; compressed blocks are as large as it unpacks them to."""
        position = 0
        while position < len(data):
            try:
                columns = kernel.decode(data, position, NULLS)
            except Corrupt:
                return
            position = columns.end
            assert columns.key is not None
            assert columns.value is not None
            self.keyless += columns.key.nulls
            self.tombstones += columns.value.nulls
            buffers = getattr(columns.value, "buffers", [])
            self.unpacked_bytes += memoryview(buffers[-1]).nbytes if len(buffers) > 1 else 0

    def _legacy(self, batch: Batch) -> None:
        self.packed_bytes += batch.header.size
        try:
            records = batch.records()
        except Corrupt:
            return
        self.records += len(records)
        self.keyless += sum(record.key is None for record in records)
        self.tombstones += sum(record.value is None for record in records)
        self.unpacked_bytes += batch.header.size if batch.header.codec == Codec.NONE else _size(records)

    def _time(self, first: int, last: int) -> None:
        self.first_timestamp = first if self.first_timestamp < 0 else min(self.first_timestamp, first)
        self.last_timestamp = max(self.last_timestamp, last)


def _size(records: list[LogRecord]) -> int:
    return sum(len(record.key or b"") + len(record.value or b"") for record in records)
