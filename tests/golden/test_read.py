"""What a real Kafka wrote is read as what its producers sent and its consumers got."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import pytest

from esker.kernel.contract import Aborted, Column, Kernel, Selection
from esker.records import control, legacy
from esker.records.batch import Batch, batches, check, tail
from esker.records.control import ControlType
from esker.records.lz4_header import repaired
from esker.records.record import LogRecord
from esker.records.text import TIME_NAMES, lines

from .corpus import Case, Expected, case, cases, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from _typeshed import ReadableBuffer

ABORTED = Struct(">hqqqq")  # an entry of the txnindex: version, producer id, first, last and last stable offset
LZ4_FRAME = bytes.fromhex("04224d18")
KNOWN = [one for one in cases() if one.is_known]


def by_name(values: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("one", values, ids=lambda one: one.name)


def logs(one: Case) -> Iterator[tuple[bytes, list[Expected]]]:
    for log, expected in one.expected.items():
        yield log.read_bytes(), expected


def facts(record: Expected) -> tuple[object, ...]:
    """What can be compared at once; keys and values may be noted by digest alone."""
    headers = tuple((name.encode(), content) for name, content in record.headers)
    return record.offset, record.timestamp, record.timestamp_type, headers


def facts_read(record: LogRecord) -> tuple[object, ...]:
    return record.offset, record.timestamp, TIME_NAMES[record.timestamp_type], record.headers


def client_records(data: bytes) -> list[tuple[Batch, LogRecord]]:
    return [(batch, record) for batch in batches(data) if not is_control(batch) for record in batch.records()]


def is_control(batch: Batch) -> bool:
    return batch.header.magic == 2 and batch.header.control


@by_name(KNOWN)
def test_every_record_is_what_the_note_says(kernel: Kernel, one: Case) -> None:
    for data, expected in logs(one):
        found = client_records(data)
        assert [facts_read(record) for _, record in found] == [facts(record) for record in expected]
        for (batch, record), known in zip(found, expected, strict=True):
            assert matches(known.key, record.key)
            assert matches(known.value, record.value)
            if one.note["known_from"] == "the producer":
                assert (batch.header.magic == 2 and batch.header.transactional) == known.is_transactional


@by_name(cases())
def test_every_byte_is_a_good_batch(kernel: Kernel, one: Case) -> None:
    for data, _ in logs(one):
        checked = check(data)
        assert (checked.finding, checked.end, tail(data)) == (None, len(data), None)
        found = list(batches(data))
        assert checked.batches == len(found)
        assert checked.records == sum(len(batch.records()) for batch in found)
        for batch in found:
            batch.verify()


@by_name(cases())
def test_kernel_checks_all_of_magic_2_and_stops_at_a_legacy_message(kernel: Kernel, one: Case) -> None:
    for data, _ in logs(one):
        old = [batch.header.position for batch in batches(data) if batch.header.magic < 2]
        checked = kernel.check(data)
        assert checked.end == (old[0] if old else len(data))
        assert (checked.finding is None) == (not old)


@by_name(KNOWN)
def test_columns_hold_the_same_records(kernel: Kernel, one: Case) -> None:
    for data, expected in logs(one):
        columns = kernel.decode(legacy.to_batches(data), selection=Selection(columns=Column.OFFSET | Column.TIMESTAMP))
        assert columns.record_count == len(expected)
        assert numbers(columns.offset) == [record.offset for record in expected]
        assert numbers(columns.timestamp) == [record.timestamp for record in expected]


def numbers(column: ReadableBuffer | None) -> list[int]:
    assert column is not None
    return memoryview(column).cast("B").cast("q").tolist()


@by_name([case("transactional"), case("transactional-lz4")])
def test_aborted_transactions_of_the_index_are_left_out(kernel: Kernel, one: Case) -> None:
    (log,) = one.logs
    selection = Selection(columns=Column.OFFSET, aborted=aborted_transactions(log.with_suffix(".txnindex")))
    columns = kernel.decode(log.read_bytes(), selection=selection)
    assert numbers(columns.offset) == [record.offset for record in one.expected[log] if not record.is_aborted]


def aborted_transactions(index: Path) -> list[Aborted]:
    return [Aborted(*entry[1:4]) for entry in ABORTED.iter_unpack(index.read_bytes())]


@by_name([case("transactional"), case("transactional-lz4")])
def test_markers_stand_where_the_records_have_gaps(kernel: Kernel, one: Case) -> None:
    (log,) = one.logs
    markers = {batch.header.base_offset: control.read_end_marker(batch) for batch in batches(log.read_bytes())}
    kinds = {offset: marker.type for offset, marker in markers.items() if marker is not None}
    abort, commit = ControlType.ABORT, ControlType.COMMIT
    assert kinds == {10: abort, 12: commit, 16: abort, 20: commit}


def test_every_kind_of_control_record_is_named(kernel: Kernel) -> None:
    one = case("internal-metadata")
    found = [*one.logs, *one.folder.glob("*.checkpoint")]
    keys = [
        control.read_key(record.key).type
        for file in found
        for batch in batches(file.read_bytes())
        if is_control(batch)
        for record in batch.records()
    ]
    kraft = set(ControlType) - set(control.ENDS_TRANSACTION)
    assert set(keys) == kraft


@pytest.mark.parametrize("name", ["magic0-lz4", "magic0-lz4-2.0.1"])
def test_magic_0_lz4_has_the_wrong_header_checksum_and_is_read(kernel: Kernel, name: str) -> None:
    (log,) = case(name).logs
    data = log.read_bytes()
    frame = data[data.index(LZ4_FRAME) :]
    assert frame != repaired(frame)
    assert client_records(data)


@pytest.mark.parametrize("name", ["magic1-lz4", "magic1-lz4-2.0.1", "lz4", "levels-lz4"])
def test_later_lz4_has_the_right_header_checksum(name: str) -> None:
    (log,) = case(name).logs
    data = log.read_bytes()
    frame = data[data.index(LZ4_FRAME) :]
    assert frame == repaired(frame)


@by_name(cases())
def test_every_batch_has_its_lines_of_printable_text(kernel: Kernel, one: Case) -> None:
    for data, _ in logs(one):
        for batch in batches(data):
            shown = list(lines(batch))
            assert len(shown) == 1 + len(batch.records())
            assert all(line.isprintable() for line in shown)
            assert "(ok)" in shown[0]
