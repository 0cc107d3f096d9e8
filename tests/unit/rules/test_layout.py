"""Names of files and folders, both ways, and the names that are nobody's."""

import pytest

from esker.base.types import TopicPartition
from esker.rules import layout
from esker.rules.layout import FileKind, Folder, FolderKind, SegmentFile, Suffix

UUID = "0123456789abcdef" * 2
LAST = 2**63 - 1
ZERO = "0" * 20

#    file                                                      name
FILES = [
    (SegmentFile(0, FileKind.LOG),                             "00000000000000000000.log"),
    (SegmentFile(42, FileKind.INDEX),                          "00000000000000000042.index"),
    (SegmentFile(42, FileKind.TIME_INDEX),                     "00000000000000000042.timeindex"),
    (SegmentFile(42, FileKind.TXN_INDEX),                      "00000000000000000042.txnindex"),
    (SegmentFile(42, FileKind.SNAPSHOT),                       "00000000000000000042.snapshot"),
    (SegmentFile(LAST, FileKind.LOG),                          "09223372036854775807.log"),
    (SegmentFile(7, FileKind.LOG, Suffix.DELETED),             "00000000000000000007.log.deleted"),
    (SegmentFile(7, FileKind.SNAPSHOT, Suffix.DELETED),        "00000000000000000007.snapshot.deleted"),
    (SegmentFile(7, FileKind.TIME_INDEX, Suffix.CLEANED),      "00000000000000000007.timeindex.cleaned"),
    (SegmentFile(7, FileKind.TXN_INDEX, Suffix.SWAP),          "00000000000000000007.txnindex.swap"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "name"), FILES)
def test_a_file_of_a_segment_is_named_and_read_back(file: SegmentFile, name: str) -> None:
    assert file.name == name
    assert layout.parse_segment_file(name) == file


def test_each_kind_has_its_short_way() -> None:
    assert [
        layout.log_name(7),
        layout.index_name(7),
        layout.time_index_name(7),
        layout.txn_index_name(7),
        layout.snapshot_name(7),
    ] == [SegmentFile(7, kind).name for kind in FileKind]
    assert layout.log_name(7, Suffix.SWAP) == "00000000000000000007.log.swap"


FOREIGN_FILES = [
    "",
    ".log",
    "0.log",
    f"{ZERO}0.log",
    "09223372036854775808.log",
    "99999999999999999999.log",
    "-0000000000000000001.log",
    "٠" * 20 + ".log",
    f"{ZERO}",
    f"{ZERO}.LOG",
    f"{ZERO}.log\n",
    f" {ZERO}.log",
    f"{ZERO}.log.tmp",
    f"{ZERO}.log.deleted.deleted",
    f"{ZERO}.logs",
    f"{ZERO}.log/../x",
    f"{ZERO}.log\0",
    "leader-epoch-checkpoint",
    "partition.metadata",
]


@pytest.mark.parametrize("name", FOREIGN_FILES)
def test_any_other_file_is_nobodys(name: str) -> None:
    assert layout.parse_segment_file(name) is None


@pytest.mark.parametrize("offset", [-1, LAST + 1])
def test_no_file_is_named_for_an_offset_that_cannot_be(offset: int) -> None:
    with pytest.raises(AssertionError):
        layout.log_name(offset)


#    topic          partition   kind                  name
FOLDERS = [
    ("t",           0,          FolderKind.LOG,       "t-0"),
    ("a-b.c_d",     17,         FolderKind.LOG,       "a-b.c_d-17"),
    ("t-0",         0,          FolderKind.LOG,       "t-0-0"),
    ("-",           0,          FolderKind.LOG,       "--0"),
    ("t-",          1,          FolderKind.LOG,       "t--1"),
    ("...",         2**31 - 1,  FolderKind.LOG,       "...-2147483647"),
    ("t-delete",    1,          FolderKind.LOG,       "t-delete-1"),
    (f"t-1.{UUID}-delete", 1,   FolderKind.LOG,       f"t-1.{UUID}-delete-1"),
    ("t",           0,          FolderKind.DELETED,   f"t-0.{UUID}-delete"),
    ("a.b",         3,          FolderKind.FUTURE,    f"a.b-3.{UUID}-future"),
    ("a-1",         3,          FolderKind.STRAY,     f"a-1-3.{UUID}-stray"),
    ("__consumer_offsets", 49,  FolderKind.LOG,       "__consumer_offsets-49"),
]  # fmt: skip


@pytest.mark.parametrize(("topic", "partition", "kind", "name"), FOLDERS)
def test_a_folder_is_named_and_read_back(topic: str, partition: int, kind: FolderKind, name: str) -> None:
    folder = Folder(TopicPartition(topic, partition), kind, "" if kind is FolderKind.LOG else UUID)
    assert folder.name == name
    assert layout.parse_folder(name) == folder
    assert folder.topic_is_whole


FOREIGN_FOLDERS = [
    "",
    "t",
    "-0",
    "t-",
    "t-x",
    "t-00",
    "t-01",
    "t-+1",
    "t-2147483648",
    "t-99999999999999999999",
    "t-٣",
    ".-0",
    "..-0",
    "../t-0",
    "t-0/",
    "t-0\n",
    "t 1-0",
    "ü-0",
    "\udcff-0",
    "t\0-0",
    "lost+found",
    "lost+found-0",
    "a" * 250 + "-0",
    "t-0-delete",
    "t-0.x-delete",
    f"t-0.{UUID.upper()}-delete",
    f"t-0.{UUID}0-delete",
    f"t-0.{UUID[1:]}-delete",
    f"t-0.{UUID}-deleted",
    f"t.{UUID}-delete",
    f"-0.{UUID}-delete",
    "__cluster_metadata-0",
    "__cluster_metadata-7",
    f"__cluster_metadata-0.{UUID}-delete",
    "remote-log-index-cache",
    ".git",
    "meta.properties",
]


@pytest.mark.parametrize("name", FOREIGN_FOLDERS)
def test_any_other_folder_is_no_log(name: str) -> None:
    assert layout.parse_folder(name) is None


#    name                                     KRaft's or tiering's
KAFKAS = [
    ("__cluster_metadata-0",                  True),
    (f"__cluster_metadata-0.{UUID}-delete",   True),
    ("remote-log-index-cache",                True),
    ("__cluster_metadata",                    False),
    ("__consumer_offsets-0",                  False),
    ("remote-log-index-cache-0",              False),
    ("lost+found",                            False),
    ("t-0",                                   False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), KAFKAS)
def test_kafkas_own_folders_are_known_apart_from_strangers(name: str, *, expected: bool) -> None:
    assert layout.belongs_to_kafka(name) is expected


LONG_TOPIC = "x" * 249


@pytest.mark.parametrize("kind", [FolderKind.DELETED, FolderKind.STRAY])
def test_a_long_topic_is_cut_so_that_its_folder_can_be_renamed(kind: FolderKind) -> None:
    name = Folder(TopicPartition(LONG_TOPIC, 2**31 - 1), kind, UUID).name
    assert len(name) == 255
    assert name.endswith(f"x-2147483647.{UUID}{kind}")
    read = layout.parse_folder(name)
    assert read is not None
    assert (read.name, read.kind, read.topic_partition.partition) == (name, kind, 2**31 - 1)
    assert not read.topic_is_whole


def test_a_future_folder_is_never_cut_as_its_topic_is_read_again() -> None:
    name = Folder(TopicPartition(LONG_TOPIC, 0), FolderKind.FUTURE, UUID).name
    assert layout.parse_folder(name) == Folder(TopicPartition(LONG_TOPIC, 0), FolderKind.FUTURE, UUID)


def test_the_longest_topic_fits_with_its_partition() -> None:
    assert len(Folder(TopicPartition(LONG_TOPIC, 99999)).name) == 255


@pytest.mark.parametrize("topic", ["", ".", "..", "a/b", "../a", "a\n", "ä", "x" * 250])
def test_no_folder_is_named_for_a_topic_that_cannot_be(topic: str) -> None:
    assert not layout.is_topic_name(topic)
    with pytest.raises(AssertionError):
        _ = Folder(TopicPartition(topic, 0)).name


@pytest.mark.parametrize("topic", ["a", "...", "A.b_c-9", "-", LONG_TOPIC])
def test_other_topics_may_be_called_so(topic: str) -> None:
    assert layout.is_topic_name(topic)


@pytest.mark.parametrize(("kind", "uuid"), [(FolderKind.LOG, UUID), (FolderKind.DELETED, "")])
def test_a_log_in_its_place_has_no_uuid_and_any_other_has_one(kind: FolderKind, uuid: str) -> None:
    with pytest.raises(AssertionError):
        _ = Folder(TopicPartition("t", 0), kind, uuid).name


def test_coordinators_topics_are_internal() -> None:
    topics = ["__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "t"]
    assert [topic for topic in topics if layout.is_internal(topic)] == topics[:3]


def test_names_at_the_root_are_kafkas_and_no_folder_of_a_log() -> None:
    names = {
        layout.META_PROPERTIES: "meta.properties",
        layout.RECOVERY_POINTS: "recovery-point-offset-checkpoint",
        layout.LOG_STARTS: "log-start-offset-checkpoint",
        layout.HIGH_WATERMARKS: "replication-offset-checkpoint",
        layout.CLEANER_OFFSETS: "cleaner-offset-checkpoint",
        layout.CLEAN_SHUTDOWN: ".kafka_cleanshutdown",
        layout.LOCK: ".lock",
        layout.STORE: "esker.metadata",
        layout.KRAFT_LOG: "__cluster_metadata-0",
        layout.KRAFT_BOOTSTRAP: "bootstrap.checkpoint",
        layout.TIERING_CACHE: "remote-log-index-cache",
    }
    assert [name for name, kafkas in names.items() if name != kafkas or layout.parse_folder(name)] == []
