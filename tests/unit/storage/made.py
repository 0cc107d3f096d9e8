"""Batches, and segments in memory, for the tests of storage."""

from typing import NamedTuple

from esker import kernel
from esker.kernel.contract import BatchHeader, Encoding, Rows
from esker.storage.handles import Handles
from esker.storage.segment import Segment, SegmentSettings
from esker.testing.files import CrashFiles

FOLDER = "/t-0"


class Made(NamedTuple):
    """A batch as bytes, and its header as if it stood alone."""

    data: bytes
    header: BatchHeader


def made_batch(base_offset: int, timestamps: list[int], *, size: int = 10, leader_epoch: int = 0) -> Made:
    """One record a timestamp, each with a value of `size` bytes."""
    rows = Rows(timestamps, [None] * len(timestamps), [b"v" * size] * len(timestamps))
    data = kernel.encode(rows, Encoding(base_offset=base_offset, leader_epoch=leader_epoch))
    return Made(data, kernel.walk(data).headers[0])


def memory() -> CrashFiles:
    files = CrashFiles()
    files.make_folder(FOLDER)
    return files


def new_segment(files: CrashFiles, base_offset: int = 0, settings: SegmentSettings | None = None) -> Segment:
    return Segment.create(Handles(files, 16), FOLDER, base_offset, settings or SegmentSettings())


def old_segment(files: CrashFiles, base_offset: int = 0, settings: SegmentSettings | None = None) -> Segment:
    return Segment.open(Handles(files, 16), FOLDER, base_offset, settings or SegmentSettings())


def append(segment: Segment, batch: Made) -> int:
    return segment.append(batch.data, batch.header.last_offset, batch.header.max_timestamp)


def fill(segment: Segment, count: int, *, records: int = 3, size: int = 10, first_timestamp: int = 1000) -> list[Made]:
    """Batches one after the other, their timestamps rising by one a record."""
    made = []
    offset, timestamp = segment.next_offset(), first_timestamp
    for _ in range(count):
        batch = made_batch(offset, list(range(timestamp, timestamp + records)), size=size)
        append(segment, batch)
        made.append(batch)
        offset, timestamp = offset + records, timestamp + records
    return made
