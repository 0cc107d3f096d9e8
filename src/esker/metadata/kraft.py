"""Kafka's metadata log, read from its files: the newest snapshot, then the segments from there on. Nothing is written.

A snapshot `%020d-%010d.checkpoint` is named for the first offset that it does not have, and for the epoch; it has its
own offsets inside. A log ends quietly where it may while it is written: at a part of a batch, at zeros, or at a last
batch whose checksum fails, which is what a kill or a power cut leaves of it. Anything else that does not fit is told:
half of the settings would be taken for all of them.

What is not known here: how far the log is committed. With one controller all of it is; with several the last records
of a controller that was killed may be ones that the others never had.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile, Corrupt
from esker.metadata.image import ClusterMetadata, Image
from esker.records import batch as record_batch
from esker.records.internal import kraft
from esker.schema import BadMessage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import File, Files
    from esker.records.batch import Batch

SNAPSHOT = re.compile(r"\d{20}-\d{10}\.checkpoint")
SEGMENT = re.compile(r"\d{20}\.log")
# How much of a file is looked at in one go. A batch of metadata is far smaller, but must fit whatever its size is.
WINDOW_BYTES = 1 << 23


class _Placed(NamedTuple):
    """A batch and its position in its file."""

    batch: Batch
    position: int
    is_last: bool


def read_cluster_metadata(files: Files, folder: str) -> ClusterMetadata:
    """What `folder`, a `__cluster_metadata-0`, says. Raises BadFile; OSError where there is no such folder."""
    names = files.names(folder)
    image, next_offset = Image(), 0
    for name in sorted(filter(SNAPSHOT.fullmatch, names))[-1:]:
        next_offset = int(name[:20])
        for found in _batches(files, f"{folder}/{name}", cut=False):
            _apply(image, found, f"{folder}/{name}", 0)
    segments = sorted(filter(SEGMENT.fullmatch, names))
    for name in segments:
        for found in _batches(files, f"{folder}/{name}", cut=name == segments[-1]):
            next_offset = _follow(image, found, f"{folder}/{name}", next_offset)
    return image.result(next_offset)


def _follow(image: Image, found: _Placed, path: str, next_offset: int) -> int:
    """Answers the offset after the batch. Segments begin before the snapshot's end, so some of it may be known."""
    header = found.batch.header
    if header.base_offset > next_offset:
        place, missing = f"position {found.position}", f"offset {header.base_offset}: records are missing"
        raise BadFile(path, place, f"offset {next_offset}", missing)
    if header.last_offset >= next_offset:
        _apply(image, found, path, next_offset)
    return max(next_offset, header.last_offset + 1)


def _apply(image: Image, found: _Placed, path: str, first_offset: int) -> None:
    """The batch's records from that offset on. Control records are KRaft's own affairs."""
    if found.batch.header.control:
        return
    for record in found.batch.records():
        if record.offset < first_offset:
            continue
        try:
            image.add(kraft.read(record.value or b""))
        except BadMessage as error:
            raise BadFile(path, f"offset {record.offset}", "a record of Kafka's", str(error)) from error


def _batches(files: Files, path: str, *, cut: bool) -> Iterator[_Placed]:
    """Each good batch of the file. With `cut` the last one may be damaged, or only a part; it is left out."""
    file = files.open(path)
    size, position = file.size(), 0
    while position < size:
        data = _window(file, position, size)
        end = position
        for batch in _walk(data, path, position):
            found = _Placed(batch, position + batch.header.position, position + batch.header.end == size)
            if not _is_good(found, path, cut=cut):
                return
            yield found
            end = position + batch.header.end
        if end == position:
            _require_quiet_end(data, path, position, cut=cut)
            return
        position = end


def _window(file: File, position: int, size: int) -> bytes:
    """The next part of the file; all that is left, where the first batch is larger than a part."""
    data = file.read(WINDOW_BYTES, position)
    tail = record_batch.tail(data)
    is_whole = tail is None or tail.position > 0 or position + len(data) == size
    return data if is_whole else file.read(size - position, position)


def _walk(data: bytes, path: str, position: int) -> Iterator[Batch]:
    try:
        yield from record_batch.batches(data)
    except Corrupt as error:
        raise _bad_batch(path, position + error.finding.position, error.finding.fault.said) from error


def _bad_batch(path: str, position: int, found: str) -> BadFile:
    return BadFile(path, f"position {position}", "a good batch", found)


def _is_good(found: _Placed, path: str, *, cut: bool) -> bool:
    try:
        found.batch.verify()
    except Corrupt as error:
        if cut and found.is_last:
            return False
        raise _bad_batch(path, found.position, error.finding.fault.said) from error
    return True


def _require_quiet_end(data: bytes, path: str, position: int, *, cut: bool) -> None:
    """Part of a batch, or zeros: `_walk` has refused everything else."""
    tail = record_batch.tail(data)
    if not cut and tail is not None:
        raise _bad_batch(path, position, tail.fault.said)
