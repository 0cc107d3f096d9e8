"""What a KRaft metadata log says, record by record: topics, settings, features. A fold without files.

The surprises: records may stand in transactions that are aborted or never ended, and then say nothing. A topic's
settings go with it. A partition's record does not name its topic but its id.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from esker.records.internal.kraft import Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from esker.records.internal.kraft_tables import (
        ConfigRecord,
        FeatureLevelRecord,
        PartitionChangeRecord,
        PartitionRecord,
        RemoveTopicRecord,
        TopicRecord,
    )

# Resource types of settings.
TOPIC = 2
BROKER = 4
# In a change record, what says "as it was".
SAME_LEADER = -2


class Partition(NamedTuple):
    """Where a partition is. `directories` are the ids of the replicas' log dirs, in the order of `replicas`."""

    replicas: tuple[int, ...]
    leader: int
    leader_epoch: int
    directories: tuple[bytes, ...]


class KafkaTopic(NamedTuple):
    """`settings` are the topic's own; those of the brokers and the defaults stand behind them."""

    name: str
    id: bytes
    partitions: Mapping[int, Partition]
    settings: Mapping[str, str]


class ClusterMetadata(NamedTuple):
    """A metadata log up to `next_offset`.

    `broker_settings` are dynamic ones by broker id, under "" those for all brokers: a topic's `retention.ms` is there
    as `log.retention.ms`. What stands in a `server.properties` is in no metadata log. `unknown` counts the records that
    say nothing to this version of Esker, by type and version.
    """

    topics: Mapping[str, KafkaTopic]
    broker_settings: Mapping[str, Mapping[str, str]]
    features: Mapping[str, int]
    next_offset: int
    unknown: Mapping[tuple[int, int], int]


class _Topic(NamedTuple):
    name: str
    partitions: dict[int, Partition]


class Image:
    """The state after the records that were applied so far."""

    def __init__(self) -> None:
        self.topics: dict[bytes, _Topic] = {}
        self.settings: defaultdict[tuple[int, str], dict[str, str]] = defaultdict(dict)
        self.features: dict[str, int] = {}
        self.unknown: Counter[tuple[int, int]] = Counter()
        self._transaction: list[Any] | None = None
        self._apply: dict[str, Callable[[Any], None]] = {
            "TopicRecord": self._topic,
            "PartitionRecord": self._partition,
            "PartitionChangeRecord": self._partition_change,
            "RemoveTopicRecord": self._remove_topic,
            "ConfigRecord": self._config,
            "FeatureLevelRecord": self._feature,
        }

    def add(self, record: Any) -> None:
        """The next record of the log."""
        kind = type(record).__name__
        if kind == "BeginTransactionRecord":
            self._transaction = []
        elif kind in ("EndTransactionRecord", "AbortTransactionRecord"):
            held, self._transaction = self._transaction or [], None
            if kind == "EndTransactionRecord":
                for each in held:
                    self.add(each)
        elif self._transaction is not None:
            self._transaction.append(record)
        elif isinstance(record, Unknown):
            self.unknown[record.type, record.version] += 1
        else:
            self._apply[kind](record)

    def result(self, next_offset: int) -> ClusterMetadata:
        """As it is now; a transaction that has no end yet says nothing."""
        topics = {}
        for id_, (name, partitions) in self.topics.items():
            settings = self.settings.get((TOPIC, name), {})
            topics[name] = KafkaTopic(name, id_, dict(partitions), dict(settings))
        brokers = {name: dict(found) for (kind, name), found in self.settings.items() if kind == BROKER and found}
        return ClusterMetadata(topics, brokers, dict(self.features), next_offset, dict(self.unknown))

    def _topic(self, record: TopicRecord) -> None:
        self.topics[record.topic_id] = _Topic(record.name, {})

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        gone = self.topics.pop(record.topic_id, None)
        if gone is not None:
            self.settings.pop((TOPIC, gone.name), None)

    def _partition(self, record: PartitionRecord) -> None:
        topic = self.topics.get(record.topic_id)
        if topic is not None:
            topic.partitions[record.partition_id] = Partition(
                record.replicas, record.leader, record.leader_epoch, record.directories
            )

    def _partition_change(self, record: PartitionChangeRecord) -> None:
        topic = self.topics.get(record.topic_id)
        if topic is None or record.partition_id not in topic.partitions:
            return
        was = topic.partitions[record.partition_id]
        if record.replicas is not None:
            was = was._replace(replicas=record.replicas)
        if record.directories is not None:
            was = was._replace(directories=record.directories)
        if record.leader != SAME_LEADER:
            # Kafka counts the epoch up with each record that names a leader, the same one included.
            was = was._replace(leader=record.leader, leader_epoch=was.leader_epoch + 1)
        topic.partitions[record.partition_id] = was

    def _config(self, record: ConfigRecord) -> None:
        settings = self.settings[record.resource_type, record.resource_name]
        if record.value is None:
            settings.pop(record.name, None)
        else:
            settings[record.name] = record.value

    def _feature(self, record: FeatureLevelRecord) -> None:
        if record.feature_level == 0:
            self.features.pop(record.name, None)
        else:
            self.features[record.name] = record.feature_level
