"""The metadata log of Kafka, read from segments and snapshots: what it says, how it may end, what is refused."""

from typing import Any, cast

import pytest

from esker.base.errors import BadFile
from esker.kernel.layout import Codec
from esker.metadata import kraft as module
from esker.metadata.image import ClusterMetadata, KafkaTopic, Partition
from esker.metadata.kraft import read_cluster_metadata
from esker.ports.files import Files
from esker.records.internal.kraft_tables import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from unit.metadata.kraft_files import ID, OTHER_ID, MemoryFiles, batch, control

TOPIC, BROKER = 2, 4
T = TopicRecord("t", ID)
P = PartitionRecord(0, ID, (1,), (1,), leader=1, leader_epoch=0)


def log(base: int) -> str:
    return f"{base:020d}.log"


def snapshot(end: int, epoch: int = 1) -> str:
    return f"{end:020d}-{epoch:010d}.checkpoint"


def read(files: dict[str, bytes]) -> ClusterMetadata:
    return read_cluster_metadata(cast("Files", MemoryFiles(files)), "log")


def said_by(*records: Any) -> ClusterMetadata:
    return read({log(0): batch(0, *records)})


def names(metadata: ClusterMetadata) -> list[str]:
    return sorted(metadata.topics)


def test_topic_has_its_id_partitions_and_settings() -> None:
    second = P._replace(partition_id=1, replicas=(2, 1), leader=2, leader_epoch=5)
    metadata = said_by(T, P, second, ConfigRecord(TOPIC, "t", "cleanup.policy", "compact"))
    partitions = {0: Partition((1,), 1, 0, ()), 1: Partition((2, 1), 2, 5, ())}
    assert metadata.topics == {"t": KafkaTopic("t", ID, partitions, {"cleanup.policy": "compact"})}
    assert metadata.next_offset == 4


def test_removed_topic_is_gone_with_its_settings() -> None:
    setting = ConfigRecord(TOPIC, "t", "a", "1")
    assert not said_by(T, P, setting, RemoveTopicRecord(ID)).topics
    again = said_by(T, P, setting, RemoveTopicRecord(ID), TopicRecord("t", OTHER_ID))
    assert again.topics == {"t": KafkaTopic("t", OTHER_ID, {}, {})}


def test_settings_of_brokers_and_all_brokers_stand_apart() -> None:
    metadata = said_by(
        ConfigRecord(BROKER, "1", "log.retention.ms", "5"),
        ConfigRecord(BROKER, "", "log.retention.ms", "6"),
        ConfigRecord(BROKER, "2", "gone", "7"),
        ConfigRecord(BROKER, "2", "gone", None),
        ConfigRecord(16, "metrics", "a", "b"),
    )
    assert metadata.broker_settings == {"1": {"log.retention.ms": "5"}, "": {"log.retention.ms": "6"}}


def test_setting_is_changed_and_taken_away() -> None:
    settings = [("a", "1"), ("b", "2"), ("a", "3"), ("b", None), ("c", None)]
    metadata = said_by(T, *(ConfigRecord(TOPIC, "t", name, value) for name, value in settings))
    assert metadata.topics["t"].settings == {"a": "3"}


def test_features_rise_and_go() -> None:
    levels = [("metadata.version", 20), ("group.version", 1), ("metadata.version", 30), ("group.version", 0)]
    assert said_by(*(FeatureLevelRecord(*level) for level in levels)).features == {"metadata.version": 30}


#   change                                                    what becomes of the partition
CHANGES = [
    (PartitionChangeRecord(0, ID, isr=(1,)),                  Partition((1,), 1, 0, ())),
    (PartitionChangeRecord(0, ID, leader=2),                  Partition((1,), 2, 1, ())),
    (PartitionChangeRecord(0, ID, leader=1),                  Partition((1,), 1, 1, ())),
    (PartitionChangeRecord(0, ID, leader=-1),                 Partition((1,), -1, 1, ())),
    (PartitionChangeRecord(0, ID, replicas=(3, 4)),           Partition((3, 4), 1, 0, ())),
    (PartitionChangeRecord(7, ID, leader=2),                  Partition((1,), 1, 0, ())),
    (PartitionChangeRecord(0, OTHER_ID, leader=2),            Partition((1,), 1, 0, ())),
]  # fmt: skip


@pytest.mark.parametrize(("change", "partition"), CHANGES)
def test_partition_changes(change: Any, partition: Partition) -> None:
    assert said_by(T, P, change).topics["t"].partitions == {0: partition}


def test_unknown_records_are_counted_and_say_nothing() -> None:
    newer_topic = b"\1\2\7anything"
    metadata = said_by(T, b"\1\x1b\0what", b"\1\x1b\0ever", newer_topic, P)
    assert names(metadata) == ["t"]
    assert metadata.unknown == {(27, 0): 2, (2, 7): 1}


def test_transaction_says_something_only_when_it_ends() -> None:
    begin, end, abort = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()
    other = TopicRecord("other", OTHER_ID)
    assert names(said_by(T, begin, other, end)) == ["other", "t"]
    assert names(said_by(T, begin, other, abort)) == ["t"]
    assert names(said_by(T, begin, other)) == ["t"]
    assert names(said_by(begin, T, abort, begin, other, end)) == ["other"]


# Files.


def test_log_goes_on_from_the_newest_snapshot() -> None:
    files = {
        snapshot(2): batch(0, T),
        snapshot(10): control(0) + batch(1, TopicRecord("new", OTHER_ID)) + control(2),
        log(0): batch(0, T, P) + batch(2, *[P] * 8) + batch(10, ConfigRecord(TOPIC, "new", "a", "1")),
        "leader-epoch-checkpoint": b"0\n0\n",
        f"{snapshot(20)}.part": b"half",
        f"{log(0)}.deleted": b"old",
    }
    metadata = read(files)
    assert names(metadata) == ["new"]
    assert (metadata.topics["new"].settings, metadata.next_offset) == ({"a": "1"}, 11)


def test_batch_across_the_end_of_the_snapshot_is_read_from_there_on() -> None:
    across = batch(0, RemoveTopicRecord(ID), T, ConfigRecord(TOPIC, "t", "a", "1"))
    topic = read({snapshot(2): batch(0, T, P), log(0): across}).topics["t"]
    assert (set(topic.partitions), topic.settings) == ({0}, {"a": "1"})
    assert names(read({snapshot(1): batch(0, T), log(0): batch(0, RemoveTopicRecord(ID))})) == ["t"]


def test_segments_follow_each_other() -> None:
    metadata = read({log(2): batch(2, TopicRecord("u", OTHER_ID)), log(0): batch(0, T, P)})
    assert (names(metadata), metadata.next_offset) == (["t", "u"], 3)


def test_folder_without_a_record_says_nothing() -> None:
    assert read({}) == read({log(0): b""}) == ClusterMetadata({}, {}, {}, 0, {})


@pytest.mark.parametrize("codec", Codec)
def test_compressed_batches_are_read(codec: Codec) -> None:
    assert names(read({log(0): batch(0, T, P, codec=codec)})) == ["t"]


GOOD = batch(0, T)
NEXT = batch(1, TopicRecord("u", OTHER_ID))


@pytest.mark.parametrize("size", range(len(NEXT)))
def test_every_cut_of_the_last_batch_leaves_those_before_it(size: int) -> None:
    assert names(read({log(0): GOOD + NEXT[:size]})) == ["t"]


@pytest.mark.parametrize("tail", [bytes(5), bytes(100), NEXT[:-1] + b"\xff"])
def test_tail_of_zeros_or_a_last_batch_that_fails_its_check_is_left_out(tail: bytes) -> None:
    assert names(read({log(0): GOOD + tail})) == ["t"]


DAMAGED = GOOD[:-1] + bytes([GOOD[-1] ^ 1])

#   files                                             the file, and what is said of it
REFUSED = [
    ({log(0): DAMAGED + NEXT},                        f"log/{log(0)}, position 0: expected a good batch, found the ch"),
    ({log(0): GOOD + b"\xee" * 100},                  f"log/{log(0)}, position {len(GOOD)}: expected a good batch"),
    ({log(0): GOOD[:-1], log(1): NEXT},               f"log/{log(0)}, position 0: expected a good batch, found the by"),
    ({log(0): GOOD + bytes(9), log(1): NEXT},         f"log/{log(0)}, position {len(GOOD)}: expected a good batch"),
    ({snapshot(1): GOOD[:-1]},                        f"log/{snapshot(1)}, position 0: expected a good batch, found"),
    ({snapshot(1): DAMAGED},                          f"log/{snapshot(1)}, position 0: expected a good batch, found"),
    ({snapshot(1): GOOD, log(3): batch(3, P)},        f"log/{log(3)}, position 0: expected offset 1, found offset 3"),
    ({log(1): NEXT},                                  f"log/{log(1)}, position 0: expected offset 0, found offset 1"),
    ({log(0): batch(0, b"\1\2\0\3a")},                f"log/{log(0)}, offset 0: expected a record of Kafka's, found T"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "said"), REFUSED)
def test_what_could_hide_settings_is_refused(files: dict[str, bytes], said: str) -> None:
    with pytest.raises(BadFile) as raised:
        read(files)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize("window", [1, 60, 61, len(GOOD), len(GOOD) + 1, 1000])
def test_size_of_the_window_changes_nothing(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {log(0): GOOD + NEXT + batch(2, ConfigRecord(TOPIC, "t", "a", "1"), P) + NEXT[:30]}
    whole = read(files)
    monkeypatch.setattr(module, "WINDOW_BYTES", window)
    assert read(files) == whole
    assert whole.next_offset == 4
