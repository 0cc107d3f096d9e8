"""Records of the coordinators' topics: keys by type, values by version, what is not known."""

from typing import Any

import pytest

from esker.records.internal.consumer_tables import ConsumerProtocolAssignmentTopicPartition as Given
from esker.records.internal.coordinator import TOPICS, Entry, Unknown, read, read_assignment, read_subscription, write
from esker.records.internal.offsets_tables import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupMetadataValueMemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from esker.records.internal.transaction_tables import TransactionLogKey, TransactionLogValue
from esker.records.internal.transaction_tables import TransactionLogValuePartitionsSchema as Touched
from esker.schema import BadMessage

OFFSETS, TRANSACTIONS = TOPICS
KEY = OffsetCommitKey("g", "t", 3)
MEMBER = GroupMetadataValueMemberMetadata("m", "i", "c", "h", 5, 6, b"s", b"a")

#   topic          entry                                                         key and value
PICTURES = [
    (OFFSETS,      Entry(KEY, None),
     "0001 000167 000174 00000003", None),
    (OFFSETS,      Entry(KEY, OffsetCommitValue(9, -1, "m", 7), 0),
     "0001 000167 000174 00000003", "0000 0000000000000009 00016d 0000000000000007"),
    (OFFSETS,      Entry(KEY, OffsetCommitValue(9, -1, "m", 7, 8), 1),
     "0001 000167 000174 00000003", "0001 0000000000000009 00016d 0000000000000007 0000000000000008"),
    (OFFSETS,      Entry(KEY, OffsetCommitValue(9, 2, "m", 7, -1, bytes(range(16))), 4),
     "0001 000167 000174 00000003",
     "0004 0000000000000009 00000002 026d 0000000000000007 01 00 10 000102030405060708090a0b0c0d0e0f"),
    (OFFSETS,      Entry(GroupMetadataKey("g"), GroupMetadataValue("consumer", 1, "range", "m", 4, (MEMBER,)), 3),
     "0002 000167", ("0003 0008636f6e73756d6572 00000001 000572616e6765 00016d 0000000000000004 00000001"
     "00016d 000169 000163 000168 00000005 00000006 00000001 73 00000001 61")),
    (OFFSETS,      Entry(ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(6, 1), 0),
     "0003 000167", "0000 00000006 01 00 08 0000000000000001"),
    (TRANSACTIONS, Entry(TransactionLogKey("x"), TransactionLogValue(5, producer_epoch=1), 0),
     "0000 000178", "0000 0000000000000005 0001 00000000 00 00000000 0000000000000000 0000000000000000"),
    (TRANSACTIONS, Entry(TransactionLogKey("x"), TransactionLogValue(
        5, 5, -1, 1, -1, 60000, 1, (Touched("t", (2,)),), 3, 4, 2), 1),
     "0000 000178", ("0001 0000000000000005 0001 0000ea60 01 02 0274 02 00000002 00"
     "0000000000000003 0000000000000004 02 00 08 0000000000000005 02 02 0002")),
]  # fmt: skip


@pytest.mark.parametrize(("topic", "entry", "key", "value"), PICTURES)
def test_pictures(topic: str, entry: Entry, key: str, value: str | None) -> None:
    data = bytes.fromhex(key), None if value is None else bytes.fromhex(value)
    assert write(entry) == data
    assert read(topic, *data) == entry


def test_legacy_commit_is_read_like_a_later_one() -> None:
    key, value = write(Entry(KEY, OffsetCommitValue(9, -1, "m", 7), 0))
    assert value is not None
    assert read(OFFSETS, b"\0\0" + key[2:], value) == read(OFFSETS, key, value)


#   key              value          type  version
UNKNOWN = [
    ("000b 000167",  "0000 ff",      11,   0),  # a share group's
    ("000b 000167",  None,           11,  -1),
    ("7fff",         "0000",      32767,   0),
    ("ffff",         "0000",         -1,   0),
    ("0002 000167",  "0005 ff",       2,   5),  # a value of a version to come
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "type_", "version"), UNKNOWN)
def test_what_is_not_known_keeps_its_bytes(key: str, value: str | None, type_: int, version: int) -> None:
    data = bytes.fromhex(key), None if value is None else bytes.fromhex(value)
    assert read(OFFSETS, *data) == Unknown(type_, version, *data)


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, b""), (b"", b""), (b"\0", None), (b"\0\1\0", None), (b"\0\2\0\1g", b"\0"), (b"\0\2\0\1g", b"\0\0")],
)
def test_what_is_cut_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(BadMessage):
        read(OFFSETS, key, value)


def test_later_field_of_a_value_is_left_alone() -> None:
    key, value = write(Entry(KEY, OffsetCommitValue(9, -1, "m", 7), 0))
    assert value is not None
    assert read(OFFSETS, key, value + b"more") == read(OFFSETS, key, value)


SUBSCRIPTION = "00000001 000174 00000001 75 00000001 000174 00000001 00000002 00000007 000172"


#   version  owned  generation  rack
GROWN = [
    (0,      0,     -1,         None),
    (1,      1,     -1,         None),
    (2,      1,      7,         None),
    (3,      1,      7,         "r"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "owned", "generation", "rack"), GROWN)
def test_subscription_grows_by_versions(version: int, owned: int, generation: int, rack: str | None) -> None:
    found = read_subscription(version.to_bytes(2) + bytes.fromhex(SUBSCRIPTION))
    assert (found.topics, found.user_data) == (("t",), b"u")
    assert (len(found.owned_partitions), found.generation_id, found.rack_id) == (owned, generation, rack)


@pytest.mark.parametrize("version", ["0003", "0004", "7fff"])
def test_later_version_begins_like_the_last_one_known(version: str) -> None:
    data = bytes.fromhex(version + SUBSCRIPTION) + b"later fields"
    assert read_subscription(data) == read_subscription(bytes.fromhex("0003" + SUBSCRIPTION))


def test_assignment_has_topics_and_partitions() -> None:
    found: Any = read_assignment(bytes.fromhex("0000 00000001 000174 00000002 00000001 00000002 ffffffff"))
    assert found == ((Given("t", (1, 2)),), None)


@pytest.mark.parametrize("data", ["", "00", "ffff 00000000 ffffffff", "0000 00000001"])
def test_bad_assignment_is_refused(data: str) -> None:
    with pytest.raises(BadMessage):
        read_assignment(bytes.fromhex(data))
