"""Control records: their kinds, and the markers that end transactions."""

import pytest

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Attribute
from esker.records.batch import Batch, batches
from esker.records.control import (
    ControlKey,
    ControlType,
    EndMarker,
    end_marker_batch,
    read_coordinator_epoch,
    read_end_marker,
    read_key,
)
from unit.records.samples import TIME, batch_of, message

MARKED = int(Attribute.TRANSACTIONAL | Attribute.CONTROL)
COMMIT = EndMarker(ControlType.COMMIT, producer_id=4000, producer_epoch=3, coordinator_epoch=7, timestamp=TIME)

#   key          version  type                        name               ends a transaction
KEYS = [
    ("00000000",    0,    ControlType.ABORT,            "abort",           True),
    ("00000001",    0,    ControlType.COMMIT,           "commit",          True),
    ("00000002",    0,    ControlType.LEADER_CHANGE,    "leader_change",   False),
    ("00000003",    0,    ControlType.SNAPSHOT_HEADER,  "snapshot_header", False),
    ("00000004",    0,    ControlType.SNAPSHOT_FOOTER,  "snapshot_footer", False),
    ("00000005",    0,    ControlType.KRAFT_VERSION,    "kraft_version",   False),
    ("00000006",    0,    ControlType.KRAFT_VOTERS,     "kraft_voters",    False),
    ("00000007",    0,    7,                            "type-7",          False),
    ("0000ffff",    0,   -1,                            "type--1",         False),
    ("00050001",    5,    ControlType.COMMIT,           "commit",          True),
    ("00000001ff",  0,    ControlType.COMMIT,           "commit",          True),
]  # fmt: skip


@pytest.mark.parametrize(("key", "version", "number", "name", "ends"), KEYS)
def test_keys(key: str, version: int, number: int, name: str, ends: bool) -> None:
    found = read_key(bytes.fromhex(key))
    assert found == ControlKey(version, number)
    assert (str(found), found.ends_transaction) == (name, ends)


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\1"])
def test_a_key_that_says_nothing_is_corrupt(key: bytes | None) -> None:
    with pytest.raises(Corrupt) as raised:
        read_key(key, position=9, record=2)
    assert raised.value.finding[:3] == (Fault.RECORD, 9, 2)


#   value           coordinator epoch
VALUES = [
    ("000000000007",        7),
    ("0000ffffffff",       -1),
    ("000300000007",        7),  # a later version begins as the first one does
    ("00000000000700ff",    7),
]  # fmt: skip


@pytest.mark.parametrize(("value", "epoch"), VALUES)
def test_values_of_markers(value: str, epoch: int) -> None:
    assert read_coordinator_epoch(bytes.fromhex(value)) == epoch


@pytest.mark.parametrize("value", [None, b"", bytes(5), b"\xff\xff\0\0\0\0"])
def test_a_value_that_says_nothing_is_corrupt(value: bytes | None) -> None:
    with pytest.raises(Corrupt) as raised:
        read_coordinator_epoch(value, position=9, record=2)
    assert raised.value.finding[:3] == (Fault.RECORD, 9, 2)


def the_batch(data: bytes) -> Batch:
    (batch,) = batches(data)
    batch.verify()
    return batch


@pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
def test_a_marker_is_read_as_it_was_built(kind: ControlType) -> None:
    marker = COMMIT._replace(type=kind)
    batch = the_batch(end_marker_batch(marker, offset=70, leader_epoch=2))
    assert read_end_marker(batch) == marker
    assert (batch.header.base_offset, batch.header.last_offset, batch.header.leader_epoch) == (70, 70, 2)
    assert batch.header.attributes == MARKED
    assert (batch.header.base_sequence, batch.header.record_count) == (-1, 1)
    assert batch.header.size == 78


def test_what_else_there_is_has_no_marker() -> None:
    rows = Rows([TIME], [b"\0\0\0\2"], [b"leader"])
    for data in (
        batch_of([b"plain"]),
        batch_of([b"transactional"], Encoding(attributes=int(Attribute.TRANSACTIONAL))),
        kernel.encode(rows, Encoding(attributes=int(Attribute.CONTROL))),
        kernel.encode(rows, Encoding(attributes=MARKED)),
        kernel.encode(Rows([], [], []), Encoding(attributes=MARKED, last_offset=0)),
        message(0, b"\0\0\0\1", bytes(6), attributes=MARKED),
    ):
        assert read_end_marker(the_batch(data)) is None


def test_a_marker_with_a_short_value_is_corrupt_at_its_batch() -> None:
    marker = kernel.encode(Rows([TIME], [b"\0\0\0\1"], [b"\0\0"]), Encoding(attributes=MARKED))
    before = batch_of([b"x"])
    _, batch = batches(before + marker)
    with pytest.raises(Corrupt) as raised:
        read_end_marker(batch)
    assert raised.value.finding == Finding(Fault.RECORD, len(before), 0, 6, 2)
