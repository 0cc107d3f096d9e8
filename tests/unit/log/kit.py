"""What the tests of a log share: a disk in memory, batches as clients make them, and the check of a whole log that
every test of one ends with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from esker import kernel
from esker.base.config import LogConfig
from esker.base.types import TopicPartition
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Attribute
from esker.log.opening import Opened, create, open_log
from esker.log.reading import Wanted, read
from esker.log.replay import aborted, take_over
from esker.log.segments import Place
from esker.ports.chance import RealChance
from esker.records import batch
from esker.records.control import ControlType, EndMarker
from esker.rules import cursors
from esker.rules.cursors import Checkpoints
from esker.rules.layout import FileKind, Suffix, parse_segment_file
from esker.rules.producers import Producers, Verification
from esker.rules.read import Isolation
from esker.storage.handles import Handles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from esker.kernel.contract import BatchHeader
    from esker.log.log import Log
    from esker.ports.files import Files
    from esker.records.record import LogRecord
    from esker.storage.segment import Segment
    from esker.storage.txn_index import AbortedTransaction

FOLDER = "/logs/t-0"
NOW = 1_700_000_000_000
CONFIG = LogConfig()
VERIFIED = Verification()


def config(**fields: Any) -> LogConfig:
    return replace(CONFIG, **fields)


def place(files: Files, limit: int = 50) -> Place:
    files.make_folder(FOLDER)
    return Place(TopicPartition("t", 0), FOLDER, Handles(files, limit), RealChance(1))


def new_log(files: Files, chosen: LogConfig = CONFIG, start_offset: int = 0) -> Log:
    return create(place(files), chosen, start_offset)


def reopened(
    files: Files, chosen: LogConfig = CONFIG, saved: Checkpoints | None = None, *, clean: bool = False
) -> Opened:
    return open_log(place(files), chosen, saved or Checkpoints(), clean=clean)


class Sender(NamedTuple):
    """A producer, as it stands in a batch."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1
    transactional: bool = False


NOBODY = Sender()


def client_batch(
    values: Sequence[bytes | None] = (b"v",), sender: Sender = NOBODY, *, timestamp: int = NOW, **encoding: Any
) -> bytearray:
    """As a client sends it: from offset 0, each record with its value, the timestamps rising by 1."""
    rows = Rows([timestamp + at for at in range(len(values))], [b"k"] * len(values), values)
    attributes = int(Attribute.TRANSACTIONAL) if sender.transactional else 0
    fields: dict[str, Any] = {
        "attributes": attributes,
        "producer_id": sender.producer_id,
        "producer_epoch": sender.epoch,
        "base_sequence": sender.sequence,
        **encoding,
    }
    return bytearray(kernel.encode(rows, Encoding(**fields)))


def leader_batch(offset: int, values: Sequence[bytes | None] = (b"v",), epoch: int = 0, **more: Any) -> bytearray:
    """The same as it stands in a leader's log."""
    made = client_batch(values, **more)
    kernel.stamp(made, offset, epoch)
    return made


def marker(producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0) -> EndMarker:
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    return EndMarker(kind, producer_id, epoch, coordinator_epoch, NOW)


def append(log: Log, count: int = 1, *, timestamp: int = NOW, size: int = 10) -> None:
    log.append_as_leader(client_batch([b"x" * size] * count, timestamp=timestamp), 0, NOW)


def all_records(log: Log, isolation: Isolation = Isolation.LOG_END, start: int | None = None) -> list[LogRecord]:
    """As a consumer collects them, read by read; control batches left out."""
    offset = log.cursors.log_start if start is None else start
    found: list[LogRecord] = []
    while True:
        answer = read(log, Wanted(offset, 1 << 20, isolation))
        if answer.slice is None:
            return found
        last = offset
        for each in batch.batches(answer.slice.read()):
            last = each.header.last_offset + 1
            if not each.header.control:
                found += [record for record in each.records() if record.offset >= offset]
        assert last > offset, f"no progress at {offset}"
        offset = last


def values(log: Log, isolation: Isolation = Isolation.LOG_END) -> list[bytes | None]:
    return [record.value for record in all_records(log, isolation)]


# The check of a whole log.


def check_log(log: Log) -> None:
    """Every byte and every entry: batches rise, indexes say what the batches say, cursors stand where they must."""
    at = cursors.check(log.cursors)
    producers, next_offset = Producers(), 0
    for segment in log.segments:
        headers, data = check_batches(segment, next_offset)
        next_offset = headers[-1].last_offset + 1 if headers else max(next_offset, segment.base_offset)
        following = log.segments.base_after(segment)
        assert following is None or next_offset <= following
        check_offset_index(segment, headers)
        check_time_index(segment, headers, is_active=following is None)
        shown = [header for header in headers if header.last_offset >= at.log_start]
        told = aborted(take_over(producers, memoryview(data), shown))
        check_txn_index(segment, headers, told)
    check_ends(log, next_offset)
    check_names(log)
    starts = [start for _, start in log.epochs.entries]
    assert all(start <= at.log_end.offset for start in starts), log.epochs


def check_batches(segment: Segment, next_offset: int) -> tuple[list[BatchHeader], bytes]:
    data = segment.file.read(segment.size, 0)
    assert len(data) == segment.size
    found = batch.check(data, next_offset=max(next_offset, segment.base_offset))
    assert found.finding is None, (segment.path(FileKind.LOG), found)
    assert found.end == segment.size
    return kernel.walk(data).headers, data


def check_offset_index(segment: Segment, headers: Sequence[BatchHeader]) -> None:
    there = {(header.last_offset, header.position) for header in headers}
    entries = [tuple(entry) for entry in segment.offset_index.all()]
    assert set(entries) <= there
    assert entries == sorted(set(entries))


def check_time_index(segment: Segment, headers: Sequence[BatchHeader], *, is_active: bool) -> None:
    rises, largest = {}, -1
    for header in headers:
        largest = max(largest, header.max_timestamp)
        rises[header.last_offset] = largest
    entries = [tuple(entry) for entry in segment.time_index.all()]
    assert entries == sorted(set(entries))
    for timestamp, offset in entries:
        assert rises[offset] == timestamp
    assert segment.largest.timestamp == largest
    if not is_active and largest >= 0 and not segment.time_index.entries >= segment.time_index.capacity:
        assert entries[-1][0] == largest


def check_txn_index(segment: Segment, headers: Iterable[BatchHeader], told: Sequence[AbortedTransaction]) -> None:
    """Of transactions whose beginning went with older segments the batches cannot tell."""
    entries = segment.txn_index.entries()
    ends = {(each.producer_id, each.last_offset) for each in entries}
    assert {(each.producer_id, each.last_offset) for each in told} <= ends
    markers = {(header.producer_id, header.base_offset) for header in headers if header.control}
    assert ends <= markers


def check_ends(log: Log, next_offset: int) -> None:
    at, active = log.cursors, log.segments.active
    assert at.log_end.offset == (next_offset if active.size else at.log_end.offset)
    assert (at.log_end.segment_base, at.log_end.position) == (active.base_offset, active.size)
    assert at.log_start >= log.segments.first_base
    for known in (at.high_watermark, at.last_stable):
        if known.is_known:
            assert known.position is not None
            (holder,) = [each for each in log.segments if each.base_offset == known.segment_base]
            first = next(holder.headers(known.position), None)
            assert first is None or first.last_offset >= known.offset


def check_names(log: Log) -> None:
    """What stands in the folder, under names that a load believes, is the log's and nothing else."""
    files = log.place.handles.files
    found = [parse_segment_file(name) for name in files.names(log.place.folder)]
    in_place = [file for file in found if file and file.suffix is Suffix.IN_PLACE]
    logs = {file.base_offset for file in in_place if file.kind is FileKind.LOG}
    assert logs == {segment.base_offset for segment in log.segments}
    for kind in (FileKind.INDEX, FileKind.TIME_INDEX):
        assert {file.base_offset for file in in_place if file.kind is kind} == logs
    assert {file.base_offset for file in in_place if file.kind is FileKind.TXN_INDEX} <= logs
    snapshots = {file.base_offset for file in in_place if file.kind is FileKind.SNAPSHOT}
    assert snapshots == set(log.segments.snapshots)
    assert all(offset <= log.cursors.log_end.offset or offset in logs for offset in snapshots)


def folder(files: Files) -> dict[str, bytes]:
    """All files, byte for byte."""
    return {name: files.read(f"{FOLDER}/{name}") for name in sorted(files.names(FOLDER))}


def names(files: Files, ending: str) -> list[str]:
    return sorted(name for name in files.names(FOLDER) if name.endswith(ending))
