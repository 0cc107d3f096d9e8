"""The small text files: what stands in them, and what is said of files that hold something else."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from esker.base.errors import BadFile
from esker.base.types import TopicPartition
from esker.ports.files import RealFiles
from esker.rules.epochs import Epochs
from esker.storage.checkpoints import (
    CleanShutdown,
    format_clean_shutdown,
    format_epochs,
    format_offsets,
    format_topic_id,
    parse_clean_shutdown,
    parse_epochs,
    parse_offsets,
    parse_topic_id,
    read_clean_shutdown,
    read_epochs,
    read_offsets,
    read_topic_id,
    write_clean_shutdown,
    write_epochs,
    write_offsets,
    write_safely,
    write_topic_id,
)
from esker.storage.meta_properties import (
    MetaProperties,
    format_meta_properties,
    parse_meta_properties,
    read_meta_properties,
    write_meta_properties,
)

OFFSETS = {TopicPartition("orders", 0): 12, TopicPartition("a.b_c-1", 11): 0}
TOPIC_ID = bytes(range(16))


class TestOffsets:
    def test_a_line_for_each_partition_behind_version_and_count(self) -> None:
        assert format_offsets(OFFSETS) == b"0\n2\norders 0 12\na.b_c-1 11 0\n"

    def test_they_come_back(self) -> None:
        assert parse_offsets(format_offsets(OFFSETS), "c") == OFFSETS

    @pytest.mark.parametrize("data", [b"", b"0\n", b"0\n0\n"])
    def test_a_file_without_entries_has_none(self, data: bytes) -> None:
        assert parse_offsets(data, "c") == {}

    @pytest.mark.parametrize("data", [b"0\r\n1\r\nt 0 5\r\n", b"0\n1\nt  0\t5 \n", b"0\n1\nt 0 5"])
    def test_blanks_and_line_ends_are_javas(self, data: bytes) -> None:
        assert parse_offsets(data, "c") == {TopicPartition("t", 0): 5}

    def test_of_two_lines_for_a_partition_the_later_counts(self) -> None:
        assert parse_offsets(b"0\n2\nt 0 5\nt 0 7\n", "c") == {TopicPartition("t", 0): 7}

    @pytest.mark.parametrize(
        ("data", "place", "expected", "found"),
        [
            (b"1\n0\n", "line 1", "version 0", "version 1"),
            (b"\n0\n", "line 1", "a version", "b''"),
            (b"zero\n0\n", "line 1", "a version", "b'zero'"),
            (b"0\n-1\n", "line 2", "a count", "b'-1'"),
            (b"0\n2\nt 0 5\n", "line 2", "1, as many as there are rows", "2"),
            (b"0\n0\nt 0 5\n", "line 2", "1, as many as there are rows", "0"),
            (b"0\n1\nt 0\n", "line 3", "3 fields", "b't 0'"),
            (b"0\n2\nt 0 5\n\n", "line 4", "3 fields", "b''"),
            (b"0\n1\nt x 5\n", "line 3", "a partition", "b'x'"),
            (b"0\n1\nt 2147483648 5\n", "line 3", "a partition", "b'2147483648'"),
            (b"0\n1\nt 0 -5\n", "line 3", "an offset", "b'-5'"),
            (b"0\n1\nt 0 9223372036854775808\n", "line 3", "an offset", "b'9223372036854775808'"),
            (b"0\n1\nt 0 1_000\n", "line 3", "an offset", "b'1_000'"),
            (b"0\n1\n\xff 0 5\n", "line 3", "a topic's name", "b'\\xff'"),
            (b"\0" * 4096, "line 1", "a version", repr(b"\0" * 40)),  # what a crash may leave
        ],
    )
    def test_a_bad_file_is_named_with_line_and_reason(self, data: bytes, place: str, expected: str, found: str) -> None:
        assert told(parse_offsets, data) == ("/logs/c", place, expected, found)

    def test_all_digits_are_read(self) -> None:
        data = b"0\n1\nt 2147483647 9223372036854775807\n"
        assert parse_offsets(data, "c") == {TopicPartition("t", 2**31 - 1): 2**63 - 1}


class TestLeaderEpochs:
    LIST = Epochs.of([(0, 0), (4, 22)])

    def test_a_line_for_each_epoch(self) -> None:
        assert format_epochs(self.LIST) == b"0\n2\n0 0\n4 22\n"
        assert parse_epochs(b"0\n2\n0 0\n4 22\n", "e") == self.LIST

    def test_an_entry_that_goes_back_takes_away_what_it_contradicts(self) -> None:
        assert parse_epochs(b"0\n3\n0 0\n4 22\n4 20\n", "e") == Epochs.of([(0, 0), (4, 20)])

    @pytest.mark.parametrize(
        ("data", "place", "expected", "found"),
        [
            (b"0\n1\n-1 0\n", "line 3", "an epoch", "b'-1'"),
            (b"0\n1\n2147483648 0\n", "line 3", "an epoch", "b'2147483648'"),
            (b"0\n1\n1 -1\n", "line 3", "an offset", "b'-1'"),
            (b"0\n1\nt 1 1\n", "line 3", "2 fields", "b't 1 1'"),
        ],
    )
    def test_a_bad_file_is_named_with_line_and_reason(self, data: bytes, place: str, expected: str, found: str) -> None:
        assert told(parse_epochs, data) == ("/logs/c", place, expected, found)


class TestTopicId:
    TEXT = b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"

    def test_it_has_two_lines_and_no_line_end(self) -> None:
        assert format_topic_id(TOPIC_ID) == self.TEXT
        assert parse_topic_id(self.TEXT, "p") == TOPIC_ID

    @pytest.mark.parametrize("data", [TEXT + b"\n", TEXT.replace(b": 0", b": 3") + b"\nmore: 1\n"])
    def test_later_versions_may_add_lines(self, data: bytes) -> None:
        assert parse_topic_id(data, "p") == TOPIC_ID

    @pytest.mark.parametrize(
        ("data", "place", "expected", "found"),
        [
            (b"", "line 1", "'version: …'", "b''"),
            (b"version: x\ntopic_id: AAECAwQFBgcICQoLDA0ODw", "line 1", "a version", "b'x'"),
            (b"version: 0\n", "line 2", "'topic_id: …'", "b''"),
            (b"version: 0\nid: AAECAwQFBgcICQoLDA0ODw", "line 2", "'topic_id: …'", "b'id: AAECAwQFBgcICQoLDA0ODw'"),
            (b"version: 0\ntopic_id: AAEC", "line 2", "an id of 22 characters", "b'AAEC'"),
            (
                b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0OD+",
                "line 2",
                "an id of 22 characters",
                "b'AAECAwQFBgcICQoLDA0OD+'",
            ),
            (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "line 2", "a topic's id", "zeros"),
        ],
    )
    def test_a_bad_file_is_named_with_line_and_reason(self, data: bytes, place: str, expected: str, found: str) -> None:
        assert told(parse_topic_id, data) == ("/logs/c", place, expected, found)


class TestCleanShutdown:
    def test_it_is_what_kafka_writes(self) -> None:
        assert format_clean_shutdown(CleanShutdown(12)) == b'{"version":0,"brokerEpoch":12}'

    @pytest.mark.parametrize(
        ("data", "epoch"),
        [
            (b'{"version":0,"brokerEpoch":12}', 12),
            (b'{"version":0,"brokerEpoch":"12"}', -1),
            (b'{"version":0,"brokerEpoch":true}', -1),
            (b"[12]", -1),
            (b"", -1),
            (b"\xff\0", -1),
            (b"[" * 100_000, -1),
        ],
    )
    def test_any_content_counts(self, data: bytes, epoch: int) -> None:
        assert parse_clean_shutdown(data) == CleanShutdown(epoch)


class TestMetaProperties:
    KAFKAS = (
        b"#\n#Thu Nov 19 22:26:41 UTC 2026\ncluster.id=4L6g3nShT-eMCtK--X86sw\n"
        b"directory.id=AAECAwQFBgcICQoLDA0ODw\nnode.id=3\nversion=1\n"
    )
    META = MetaProperties(1, "4L6g3nShT-eMCtK--X86sw", 3, TOPIC_ID)

    def test_it_is_written_as_kafka_does(self) -> None:
        assert format_meta_properties(self.META, 1_795_127_201_000) == self.KAFKAS

    @pytest.mark.parametrize(
        ("data", "meta"),
        [
            (KAFKAS, META),
            (b"version=1\ncluster.id=c\nnode.id=0\n", MetaProperties(1, "c", 0)),
            (b"version=0\nbroker.id=5\n", MetaProperties(0, None, 5)),
            (b"broker.id=5\ncluster.id=c", MetaProperties(0, "c", 5)),
            (b"", MetaProperties(0)),
            # Java's own freedoms: blanks, a colon, comments, escapes, a line that goes on in the next one.
            (b" version : 1\r\n! no\r\n\tnode\\.id 3\rcluster.id = \\u0061\\:\\\n   b", MetaProperties(1, "a:b", 3)),
        ],
    )
    def test_it_is_read_as_java_reads_it(self, data: bytes, meta: MetaProperties) -> None:
        assert parse_meta_properties(data, "m") == meta

    def test_odd_characters_come_back(self) -> None:
        odd = self.META._replace(cluster_id="a=b:c\\d#e!ü…")
        assert parse_meta_properties(format_meta_properties(odd, 0), "m") == odd

    @pytest.mark.parametrize(
        ("data", "place", "expected", "found"),
        [
            (b"version=2\n", "version", "0 or 1", "2"),
            (b"version=one\n", "version", "a number", "'one'"),
            (b"version=1\nnode.id=1\n", "cluster.id", "a value", "nothing"),
            (b"version=1\ncluster.id=c\nbroker.id=1\n", "node.id", "a value", "nothing"),
            (b"version=1\ncluster.id=c\nnode.id=-1\n", "node.id", "a number", "'-1'"),
            (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n", "directory.id", "an id of 22 characters", "b'x'"),
        ],
    )
    def test_a_bad_file_is_named_with_the_property(self, data: bytes, place: str, expected: str, found: str) -> None:
        assert told(parse_meta_properties, data) == ("/logs/c", place, expected, found)


def told(parse: Callable[[bytes, str], object], data: bytes) -> tuple[str, str, str, str]:
    with pytest.raises(BadFile) as caught:
        parse(data, "/logs/c")
    error = caught.value
    return error.path, error.place, error.expected, error.found


def test_an_error_says_all_in_one_line_and_survives_pickling() -> None:
    error = BadFile("/logs/c", "line 3", "3 fields", "b't 0'")
    assert str(error) == "/logs/c, line 3: expected 3 fields, found b't 0'"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


class Noting(RealFiles):
    """Notes in which order the disk is told what."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def replace(self, source: str, target: str) -> None:
        with open(source, "rb") as file:
            self.calls.append(f"replace {Path(source).name} {Path(target).name} {len(file.read())}")
        super().replace(source, target)

    def sync_folder(self, path: str) -> None:
        self.calls.append(f"sync {Path(path).name}")
        super().sync_folder(path)


class TestFiles:
    def test_bytes_are_whole_before_they_get_the_name(self, tmp_path: Path) -> None:
        files = Noting()
        write_safely(files, str(tmp_path / "c"), b"new")
        assert files.calls == ["replace c.tmp c 3", f"sync {tmp_path.name}"]
        assert [each.name for each in tmp_path.iterdir()] == ["c"]

    def test_a_torn_scratch_file_of_before_does_no_harm(self, tmp_path: Path) -> None:
        (tmp_path / "c.tmp").write_bytes(b"much longer than what follows")
        write_safely(RealFiles(), str(tmp_path / "c"), b"new")
        assert (tmp_path / "c").read_bytes() == b"new"

    def test_what_was_written_is_read(self, tmp_path: Path) -> None:
        files, path = RealFiles(), str(tmp_path / "file")
        write_offsets(files, path, OFFSETS)
        assert read_offsets(files, path) == OFFSETS
        write_epochs(files, path, TestLeaderEpochs.LIST)
        assert read_epochs(files, path) == TestLeaderEpochs.LIST
        write_topic_id(files, path, TOPIC_ID)
        assert read_topic_id(files, path) == TOPIC_ID
        write_clean_shutdown(files, path, CleanShutdown(12))
        assert read_clean_shutdown(files, path) == CleanShutdown(12)
        write_meta_properties(files, path, TestMetaProperties.META, now_ms=0)
        assert read_meta_properties(files, path) == TestMetaProperties.META

    def test_a_file_that_is_not_there_says_nothing(self, tmp_path: Path) -> None:
        files, path = RealFiles(), str(tmp_path / "file")
        assert read_offsets(files, path) == {}
        assert read_epochs(files, path) == Epochs()
        assert read_topic_id(files, path) is None
        assert read_clean_shutdown(files, path) is None
        assert read_meta_properties(files, path) is None
