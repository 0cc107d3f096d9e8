"""What is known of topics, from Esker's own store and from Kafka's metadata log, and what a log without any of it is:
held.

A log is known by its topic's name and the id in its folder together. Of a name that is known with another id the
settings are somebody else's. The store's word goes before Kafka's.

What would surprise: the metadata log does not have what stood in Kafka's `server.properties`. Whoever opens such a
directory says it in the defaults; otherwise a topic without settings of its own goes by Kafka's defaults here, and
`retention.ms` of seven days deletes.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from esker.base.config import GONE, SEGMENT_BYTES_MIN, LogConfig, from_broker_settings, from_foreign_settings
from esker.base.errors import BadFile, InvalidConfig
from esker.metadata.kraft import read_cluster_metadata
from esker.rules.layout import KRAFT_LOG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from esker.metadata.image import ClusterMetadata, KafkaTopic
    from esker.metadata.store import Topic
    from esker.ports.files import Files

ALL_BROKERS = ""

logger = logging.getLogger(__name__)


class Known(NamedTuple):
    """What a log goes by. `held` says why it is left alone by retention and cleaning; empty when it is not. `own_id` is
    the id of a topic of ours."""

    config: LogConfig
    held: str = ""
    own_id: bytes | None = None


class KnownTopics:
    """What was read when the log dirs were opened, and what has changed here since."""

    def __init__(self, defaults: LogConfig) -> None:
        self.defaults = defaults
        self.own: dict[str, Topic] = {}
        self.kafka: Mapping[str, KafkaTopic] = {}
        self.kafka_defaults = defaults
        self._refused = ""

    def take_kafka(self, metadata: ClusterMetadata, node_id: int | None) -> None:
        """Kafka's topics, and the dynamic defaults of its brokers behind their settings."""
        self.kafka = metadata.topics
        brokers = metadata.broker_settings
        dynamic = {**brokers.get(ALL_BROKERS, {}), **brokers.get(str(node_id), {})}
        try:
            self.kafka_defaults = from_broker_settings(dynamic, self.defaults)
        except InvalidConfig as error:
            self._refused = f"a default of the brokers cannot be read: {error}"

    def known(self, topic: str, topic_id: bytes | None) -> Known:
        """What a log of this topic goes by whose folder has this id; None: it has none."""
        own = self.own.get(topic)
        if own is not None and topic_id in (None, own.id):
            return self._of(own.settings, self.defaults)._replace(own_id=own.id)
        kafkas = self.kafka.get(topic)
        if kafkas is not None and topic_id in (None, kafkas.id):
            known = self._of(_as_of_now(kafkas.settings), self.kafka_defaults)
            return self._held(self._refused) if self._refused else known
        if own is not None or kafkas is not None:
            return self._held("another topic of this name is known, with another id")
        return self._held("nobody knows its settings")

    def _of(self, settings: Mapping[str, str], defaults: LogConfig) -> Known:
        config, refused = from_foreign_settings(settings, defaults)
        if refused:
            return Known(_untouched(config), f"a setting cannot be read: {refused[0]}")
        return Known(config)

    def _held(self, why: str) -> Known:
        return Known(_untouched(self.defaults), why)


def _as_of_now(settings: Mapping[str, str]) -> dict[str, str]:
    """Up to 3.9 a segment may be as small as one likes, and there were settings that nothing here depends on."""
    kept = {name: value for name, value in settings.items() if name not in GONE}
    size = kept.get("segment.bytes", "")
    if size.isdecimal() and int(size) < SEGMENT_BYTES_MIN:
        del kept["segment.bytes"]
        kept.setdefault("internal.segment.bytes", size)
    return kept


def _untouched(config: LogConfig) -> LogConfig:
    return replace(config, cleanup_delete=False, cleanup_compact=False)


def kafka_metadata(files: Files, paths: Iterable[str], elsewhere: str | None) -> ClusterMetadata | None:
    """Kafka's metadata log, from the first place that has it. One that cannot be read is told and passed over."""
    places = [*(f"{path}/{KRAFT_LOG}" for path in paths), *([elsewhere] if elsewhere else [])]
    for place in places:
        if not files.exists(place):
            continue
        try:
            found = read_cluster_metadata(files, place)
        except (BadFile, OSError) as error:
            logger.warning("unreadable metadata=%s cause=%r", place, str(error))
            continue
        logger.info("read metadata=%s topics=%d next_offset=%d", place, len(found.topics), found.next_offset)
        return found
    return None
