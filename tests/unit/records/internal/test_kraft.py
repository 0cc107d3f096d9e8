"""Records of the metadata log: the frame around them, and what is not known."""

from typing import Any

import pytest

from esker.records.internal.kraft import Unknown, read, write
from esker.records.internal.kraft_tables import (
    LIBRARY,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from esker.schema import BadMessage

ID = bytes(range(16))
HEX = ID.hex()

#   record                                             version  bytes: frame, type, version, message
PICTURES = [
    (TopicRecord("ab", ID),                               0, "01 02 00  03 6162" + HEX + "00"),
    (RemoveTopicRecord(ID),                               0, "01 09 00" + HEX + "00"),
    (ConfigRecord(2, "ab", "c", "d"),                     0, "01 04 00  02 03 6162 02 63 02 64 00"),
    (ConfigRecord(4, "", "c", None),                      0, "01 04 00  04 01 02 63 00 00"),
    (FeatureLevelRecord("f", 30),                         0, "01 0c 00  02 66 001e 00"),
    (PartitionRecord(1, ID, (2,), (2,), (), (), 2, 0, 3, 4, (ID,)), 1,
     "01 03 01 00000001" + HEX + "02 00000002 02 00000002 01 01 00000002 00000003 00000004 02" + HEX + "00"),
    (PartitionChangeRecord(1, ID, leader=-1),             0, "01 05 00 00000001" + HEX + "01 01 04 ffffffff"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "version", "data"), PICTURES)
def test_pictures(record: Any, version: int, data: str) -> None:
    assert write(record, version) == bytes.fromhex(data)
    found = read(bytes.fromhex(data))
    assert (type(found), found) == (type(record), record)


#   bytes                     type  version
UNKNOWN = [
    ("01 1b 00 ffff",          27,    0),  # a type that is not needed here
    ("01 02 01 ffff",           2,    1),  # a topic in a version to come
    ("01 ac02 8001",          300,  128),
    ("02 02 00",               -1,   -1),  # a frame to come
]  # fmt: skip


@pytest.mark.parametrize(("data", "type_", "version"), UNKNOWN)
def test_what_is_not_known_keeps_its_bytes(data: str, type_: int, version: int) -> None:
    assert read(bytes.fromhex(data)) == Unknown(type_, version, bytes.fromhex(data))


@pytest.mark.parametrize("cut", range(len(bytes.fromhex(PICTURES[0][2]))))
def test_every_cut_is_refused(cut: int) -> None:
    with pytest.raises(BadMessage):
        read(bytes.fromhex(PICTURES[0][2])[:cut])


def test_bytes_left_over_are_refused() -> None:
    with pytest.raises(BadMessage, match="TopicRecord v0, position 23: 2 bytes are left over"):
        read(bytes.fromhex(PICTURES[0][2] + "0000"))


def test_every_table_has_its_key() -> None:
    assert {schema.message.name for schema in LIBRARY.by_key.values()} == set(LIBRARY)
