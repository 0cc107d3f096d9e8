"""Every name of a file or folder in a log dir, made and read: `formats.md`, "Segment files" and "Files at the root".

A name is read strictly: only what `name` would write again letter by letter is one of ours. All else, however
hostile, is None: such a file or folder is nobody's, and is left alone. Kafka reads more (`5.log`, `t-007`,
`t-0.x-delete`) and then looks for the file under the name that it would have written itself.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from esker.base.types import TopicPartition

OFFSET_MAX = 2**63 - 1
PARTITION_MAX = 2**31 - 1
NAME_BYTES = 255  # that a file system allows; ours are all ASCII
TOPIC_CHARACTERS = 249  # with which `topic-partition` fits

# In a partition's folder, beside its segments.
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

# At the root of a log dir.
META_PROPERTIES = "meta.properties"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
STORE = "esker.metadata"
KRAFT_LOG = "__cluster_metadata-0"
KRAFT_BOOTSTRAP = "bootstrap.checkpoint"
TIERING_CACHE = "remote-log-index-cache"

WRITING = ".tmp"  # behind the name of a checkpoint until it is whole and synced

GROUP_OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_GROUPS_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset({GROUP_OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_GROUPS_TOPIC})
KRAFT_TOPIC = "__cluster_metadata"

TOPIC = re.compile(rf"(?!\.\.?\Z)[a-zA-Z0-9._-]{{1,{TOPIC_CHARACTERS}}}")
SEGMENT_FILE = re.compile(r"([0-9]{20})(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)(\.deleted|\.cleaned|\.swap|)")
FOLDER = re.compile(r"([a-zA-Z0-9._-]+)-(0|[1-9][0-9]{0,9})(?:\.([0-9a-f]{32})(-delete|-future|-stray))?")


class FileKind(StrEnum):
    """What a file of a segment holds; the value is how its name goes on after the offset."""

    LOG = ".log"
    INDEX = ".index"
    TIME_INDEX = ".timeindex"
    TXN_INDEX = ".txnindex"
    SNAPSHOT = ".snapshot"


class Suffix(StrEnum):
    """The state of a file. A rewrite is CLEANED while it is written, SWAP when whole, then in place."""

    IN_PLACE = ""
    DELETED = ".deleted"
    CLEANED = ".cleaned"
    SWAP = ".swap"


class SegmentFile(NamedTuple):
    """A file of a segment, or a snapshot, whose offset is the first that it knows nothing of."""

    base_offset: int
    kind: FileKind
    suffix: Suffix = Suffix.IN_PLACE

    @property
    def name(self) -> str:
        assert 0 <= self.base_offset <= OFFSET_MAX, self
        return f"{self.base_offset:020d}{self.kind}{self.suffix}"


def log_name(base_offset: int, suffix: Suffix = Suffix.IN_PLACE) -> str:
    return SegmentFile(base_offset, FileKind.LOG, suffix).name


def index_name(base_offset: int, suffix: Suffix = Suffix.IN_PLACE) -> str:
    return SegmentFile(base_offset, FileKind.INDEX, suffix).name


def time_index_name(base_offset: int, suffix: Suffix = Suffix.IN_PLACE) -> str:
    return SegmentFile(base_offset, FileKind.TIME_INDEX, suffix).name


def txn_index_name(base_offset: int, suffix: Suffix = Suffix.IN_PLACE) -> str:
    return SegmentFile(base_offset, FileKind.TXN_INDEX, suffix).name


def snapshot_name(offset: int, suffix: Suffix = Suffix.IN_PLACE) -> str:
    return SegmentFile(offset, FileKind.SNAPSHOT, suffix).name


def parse_segment_file(name: str) -> SegmentFile | None:
    found = SEGMENT_FILE.fullmatch(name)
    if found is None or int(found[1]) > OFFSET_MAX:
        return None
    return SegmentFile(int(found[1]), FileKind(found[2]), Suffix(found[3]))


class FolderKind(StrEnum):
    """What becomes of a partition's folder; the value is how its name ends."""

    LOG = ""
    DELETED = "-delete"
    FUTURE = "-future"
    STRAY = "-stray"


# Nobody needs to read these folders' topics again, so they may be cut to fit.
CUT_TO_FIT = (FolderKind.DELETED, FolderKind.STRAY)


class Folder(NamedTuple):
    """A partition's folder. `uuid` is 32 hex digits, and empty for a log in its place.

    Of a DELETED or STRAY one that fills all 255 bytes the topic may be a beginning only: `topic_is_whole`.
    """

    topic_partition: TopicPartition
    kind: FolderKind = FolderKind.LOG
    uuid: str = ""

    @property
    def name(self) -> str:
        """A FUTURE folder of a long topic comes out longer than a file system takes, as in Kafka."""
        topic, partition = self.topic_partition
        assert TOPIC.fullmatch(topic), topic
        assert (self.kind is FolderKind.LOG) == (not self.uuid), self
        end = f"-{partition}" + (f".{self.uuid}{self.kind}" if self.uuid else "")
        return (topic[: NAME_BYTES - len(end)] if self.kind in CUT_TO_FIT else topic) + end

    @property
    def topic_is_whole(self) -> bool:
        return self.kind not in CUT_TO_FIT or len(self.name) < NAME_BYTES


def parse_folder(name: str) -> Folder | None:
    """The folder of a log that may be loaded, or that waits aside; None for all else, KRaft's own log too."""
    found = FOLDER.fullmatch(name)
    if found is None or int(found[2]) > PARTITION_MAX or not TOPIC.fullmatch(found[1]) or found[1] == KRAFT_TOPIC:
        return None
    return Folder(TopicPartition(found[1], int(found[2])), FolderKind(found[4] or ""), found[3] or "")


def belongs_to_kafka(name: str) -> bool:
    """Folders at the root that are KRaft's or tiering's own: no log of ours, and nothing to warn of."""
    found = FOLDER.fullmatch(name)
    return name == TIERING_CACHE or (found is not None and found[1] == KRAFT_TOPIC)


def is_topic_name(name: str) -> bool:
    """May a topic be called so?"""
    return TOPIC.fullmatch(name) is not None


def is_internal(topic: str) -> bool:
    """Written by coordinators alone: clients may not produce to it."""
    return topic in INTERNAL_TOPICS
