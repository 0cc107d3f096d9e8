"""Index files that real Kafkas wrote: read, found plausible, used, and written again letter by letter."""

from pathlib import Path

import pytest

from esker.kernel.contract import BatchHeader
from esker.kernel.layout import INT64_MAX
from esker.ports.files import RealFiles
from esker.rules.layout import FileKind
from esker.storage.handles import Handles
from esker.storage.segment import KINDS, Segment, SegmentSettings
from esker.storage.txn_index import format_entry, parse_entries
from esker.testing.files import CrashFiles
from golden.corpus import Case, case, cases

FOLDER = "/log"
INDEXES = (FileKind.INDEX, FileKind.TIME_INDEX)
SEGMENTS = [(one, log) for one in cases() for log in one.logs if log.with_suffix(".index").exists()]
# Kafka 0.10.2.2 put timestamps into the index that its own log, of magic 0, does not hold, or not with that offset.
UNKNOWN_TO_THE_LOG = {"magic0-none", "magic0-then-1"}
FROM_THE_LOG = [(one, log) for one, log in SEGMENTS if one.name not in UNKNOWN_TO_THE_LOG]

on_each_segment = pytest.mark.parametrize(("one", "log"), SEGMENTS, ids=lambda each: getattr(each, "name", each))


def opened(log: Path) -> Segment:
    return Segment.open(Handles(RealFiles(), 16), str(log.parent), int(log.stem), SegmentSettings())


def files_of(log: Path) -> dict[FileKind, bytes]:
    """What Kafka wrote for this segment."""
    found = {kind: log.with_suffix(kind) for kind in KINDS}
    return {kind: path.read_bytes() for kind, path in found.items() if path.exists()}


def written_again(log: Path) -> CrashFiles:
    """The batches of the log appended one by one; the broker was stopped and started where the leader epoch rose."""
    files = CrashFiles()
    files.make_folder(FOLDER)
    handles = Handles(files, 16)
    segment = Segment.create(handles, FOLDER, int(log.stem), SegmentSettings())
    before: BatchHeader | None = None
    source = opened(log)
    for header in source.headers():
        if before is not None and header.leader_epoch > before.leader_epoch:
            segment.close()
            segment = Segment.open(handles, FOLDER, int(log.stem), SegmentSettings())
        data = source.slice(header.position, header.size).read()
        segment.append(data, header.last_offset, header.max_timestamp)
        before = header
    segment.close()
    return files


def test_corpus_has_indexes_with_entries_of_every_kind() -> None:
    sizes = {kind: sum(len(files_of(log).get(kind, b"")) for _, log in SEGMENTS) for kind in KINDS}
    assert all(sizes[kind] > 100 for kind in KINDS)


@pytest.mark.parametrize(("one", "log"), FROM_THE_LOG, ids=lambda each: getattr(each, "name", each))
def test_index_files_come_out_as_kafka_wrote_them(one: Case, log: Path) -> None:
    files = written_again(log)
    expected = files_of(log)
    assert {kind: files.read(f"{FOLDER}/{log.stem}{kind}") for kind in INDEXES} == {
        kind: expected[kind] for kind in INDEXES
    }


@on_each_segment
def test_nothing_is_implausible(one: Case, log: Path) -> None:
    later = [int(other.stem) for other in one.logs if other > log]
    assert opened(log).fault(min(later, default=None)) is None


@on_each_segment
def test_each_record_is_found_by_its_offset(one: Case, log: Path) -> None:
    segment = opened(log)
    for record in one.expected[log]:
        header = segment.find(record.offset)
        assert header is not None
        assert record.offset in [found.offset for found in segment.read_batch(header).records()]


@on_each_segment
def test_records_are_found_by_their_timestamp(one: Case, log: Path) -> None:
    segment = opened(log)
    records = [record for header in segment.headers() for record in segment.read_batch(header).records()]
    for wanted in {record.timestamp for record in records}:
        first = next(record for record in records if record.timestamp >= wanted)
        found = segment.find_timestamp(wanted, segment.base_offset)
        assert found is not None
        assert (found.offset, found.timestamp) == (first.offset, first.timestamp)
    younger = max(record.timestamp for record in records) + 1
    assert younger > INT64_MAX or segment.find_timestamp(younger, segment.base_offset) is None


@pytest.mark.parametrize(("one", "log"), FROM_THE_LOG, ids=lambda each: getattr(each, "name", each))
def test_the_last_time_entry_is_the_largest_timestamp(one: Case, log: Path) -> None:
    segment = opened(log)
    assert segment.largest.timestamp == max(-1, *(header.max_timestamp for header in segment.headers()))


@on_each_segment
def test_the_next_offset_is_that_after_the_last_batch(one: Case, log: Path) -> None:
    segment = opened(log)
    assert segment.next_offset() == [header.last_offset for header in segment.headers()][-1] + 1


@pytest.mark.parametrize("name", ["transactional", "transactional-lz4", "internal-offsets"])
def test_transaction_index_names_the_aborted_transactions(name: str) -> None:
    one = case(name)
    (log,) = one.logs
    data = files_of(log)[FileKind.TXN_INDEX]
    entries = parse_entries(data, str(log))
    assert b"".join(map(format_entry, entries)) == data
    aborted = {record.offset for record in one.expected[log] if record.is_aborted}
    segment = opened(log)
    for entry in entries:
        first, marker = segment.find(entry.first_offset), segment.find(entry.last_offset)
        assert first is not None
        assert marker is not None
        assert first.producer_id == marker.producer_id == entry.producer_id
        assert marker.control
        assert not aborted or entry.first_offset in aborted
