"""Names both ways: what is made is read back, and what is read is made again."""

from hypothesis import given
from hypothesis import strategies as st

from esker.base.types import TopicPartition
from esker.rules.layout import FileKind, Folder, FolderKind, SegmentFile, Suffix, belongs_to_kafka
from esker.rules.layout import parse_folder as folder_of
from esker.rules.layout import parse_segment_file as file_of

OFFSETS = st.integers(0, 2**63 - 1)
FILES = st.builds(SegmentFile, OFFSETS, st.sampled_from(FileKind), st.sampled_from(Suffix))
TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True).filter(
    lambda topic: topic not in {".", "..", "__cluster_metadata"}
)
PARTITIONS = st.builds(TopicPartition, TOPICS, st.integers(0, 2**31 - 1))
UUIDS = st.text("0123456789abcdef", min_size=32, max_size=32)
FOLDERS = PARTITIONS.map(Folder) | st.tuples(
    PARTITIONS, st.sampled_from([FolderKind.DELETED, FolderKind.FUTURE, FolderKind.STRAY]), UUIDS
).map(Folder._make)
# Pieces of good names in any order reach further than text at random.
WORDS = ["__cluster_metadata", "0" * 20, "9" * 20, "ab" * 16, *"07t-.\n/\0\udc80٣", "00", ""]
PIECES = st.sampled_from([*WORDS, *FileKind, *Suffix, *FolderKind])
HOSTILE = st.lists(PIECES, max_size=9).map("".join) | st.text(st.characters(), max_size=300)


@given(FILES)
def test_a_file_is_read_back(file: SegmentFile) -> None:
    assert file_of(file.name) == file


@given(FOLDERS)
def test_a_folder_is_read_back_but_for_what_was_cut(folder: Folder) -> None:
    read = folder_of(folder.name)
    assert read is not None
    assert read[1:] == folder[1:]
    assert folder.topic_partition.topic.startswith(read.topic_partition.topic)
    assert read == folder or not folder.topic_is_whole


@given(FOLDERS)
def test_a_name_fits_unless_its_topic_is_needed_again(folder: Folder) -> None:
    assert len(folder.name) <= 255 or folder.kind in (FolderKind.FUTURE, FolderKind.LOG)


@given(HOSTILE)
def test_what_is_read_is_what_would_be_written(name: str) -> None:
    file, folder = file_of(name), folder_of(name)
    assert file is None or file.name == name
    assert folder is None or (folder.name == name and not belongs_to_kafka(name))
