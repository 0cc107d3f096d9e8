"""The small text files: topic ids, and what stands at the root of a log dir."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile
from esker.rules import layout
from esker.storage.checkpoints import parse_offsets, parse_topic_id, uuid_text
from esker.storage.findings import Finding, Place, error, warning
from esker.storage.meta_properties import parse_meta_properties

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from esker.base.types import TopicPartition


class Range(NamedTuple):
    """The offsets of a partition's log, as far as its segments tell. The end is exclusive."""

    start: int
    end: int


def bad(file: BadFile, size: int, kind: str) -> Finding:
    cause = f"{file.place}: expected {file.expected}, found {file.found}"
    return error(file.path, kind, Place(0, size), cause)


def check_topic_id(path: str, data: bytes) -> Iterator[Finding]:
    try:
        parse_topic_id(data, path)
    except BadFile as wrong:
        yield bad(wrong, len(data), "topic-id")


def check_same_ids(ids: Mapping[str, tuple[str, bytes]]) -> Iterator[Finding]:
    """By path, a partition's topic and its id: a topic has one. What most partitions say is believed."""
    by_topic: dict[str, Counter[bytes]] = {}
    for topic, topic_id in ids.values():
        by_topic.setdefault(topic, Counter())[topic_id] += 1
    for path, (topic, topic_id) in ids.items():
        believed, count = by_topic[topic].most_common(1)[0]
        if topic_id != believed:
            cause = f"{uuid_text(topic_id)}, where {count} other partitions of {topic} have {uuid_text(believed)}"
            yield error(path, "topic-id", Place(), cause)


def check_meta_properties(path: str, data: bytes) -> Iterator[Finding]:
    try:
        parse_meta_properties(data, path)
    except BadFile as wrong:
        yield bad(wrong, len(data), "meta-properties")


def check_offsets(path: str, data: bytes, logs: Mapping[TopicPartition, Range]) -> Iterator[Finding]:
    """A checkpoint at the root; `logs` are those of the log dir that were looked at whole."""
    try:
        offsets = parse_offsets(data, path)
    except BadFile as wrong:
        yield bad(wrong, len(data), "checkpoint")
        return
    name = path.rpartition("/")[2]
    for topic_partition, offset in offsets.items():
        log = logs.get(topic_partition)
        if log is None:
            cause = f"{topic_partition} has no folder in this log dir"
            yield warning(path, "checkpoint-entry", Place(-1, -1, offset, offset), cause)
        elif offset > log.end and (name != layout.LOG_STARTS or log.end > log.start):
            cause = f"{topic_partition} at {offset}, past the end of its log, {log.end}"
            yield error(path, "checkpoint-entry", Place(-1, -1, log.end, offset), cause)
