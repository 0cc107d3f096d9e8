"""What a real broker wrote into its own topics is understood, and written again byte for byte."""

import base64
from collections import Counter
from pathlib import Path

import pytest

from esker.metadata.kraft import read_cluster_metadata
from esker.ports.files import RealFiles
from esker.records.batch import batches
from esker.records.internal import coordinator, kraft
from esker.records.internal.coordinator import Entry
from esker.records.record import LogRecord

HERE = Path(__file__).resolve().parent
TOPICS = [("__consumer_offsets", "internal-offsets"), ("__transaction_state", "internal-transactions")]


def records(name: str, pattern: str = "*.log") -> list[LogRecord]:
    """All but control records."""
    files = sorted((HERE / name).glob(pattern))
    found = [batch for file in files for batch in batches(file.read_bytes())]
    return [record for batch in found if not batch.header.control for record in batch.records()]


@pytest.mark.parametrize(("topic", "name"), TOPICS)
def test_every_record_of_the_coordinators_is_written_again(topic: str, name: str) -> None:
    found = records(name)
    assert len(found) > 20
    for record in found:
        entry = coordinator.read(topic, record.key, record.value)
        assert isinstance(entry, Entry), record
        assert coordinator.write(entry) == (record.key, record.value)


def test_versions_are_the_ones_that_a_broker_was_seen_to_write() -> None:
    """facts: offsets in version 4, transactions in 1, classic groups in 3, the rest in 0."""
    seen = {
        (type(entry.value).__name__, entry.version)
        for topic, name in TOPICS
        for record in records(name)
        if record.value is not None and isinstance(entry := coordinator.read(topic, record.key, record.value), Entry)
    }
    newest = {"OffsetCommitValue": 4, "TransactionLogValue": 1, "GroupMetadataValue": 3}
    assert seen == {(name, newest.get(name, 0)) for name, _ in seen}
    assert {"OffsetCommitValue", "TransactionLogValue"} <= {name for name, _ in seen}


def test_every_metadata_record_that_is_known_is_written_again() -> None:
    found = records("internal-metadata") + records("internal-metadata", "*.checkpoint")
    known = Counter[str]()
    for record in found:
        assert record.value is not None
        read = kraft.read(record.value)
        if not isinstance(read, kraft.Unknown):
            known[type(read).__name__] += 1
            assert kraft.write(read, record.value[2]) == record.value  # version: the third byte of the frame
    assert known["TopicRecord"] > 20
    assert {"PartitionRecord", "PartitionChangeRecord", "ConfigRecord", "FeatureLevelRecord"} <= set(known)


def test_topics_have_the_ids_of_their_folders() -> None:
    """Each folder's `partition.metadata` and epochs were written by the same broker."""
    topics = read_cluster_metadata(RealFiles(), str(HERE / "internal-metadata")).topics
    met = 0
    for name, topic in topics.items():
        file = HERE / name / "partition.metadata"
        if file.is_file():
            text = file.read_text().rpartition("topic_id: ")[2]
            met += 1
            assert base64.urlsafe_b64encode(topic.id).decode().rstrip("=") == text
            assert set(topic.partitions) == {0}
    assert met > 15


def test_settings_and_epochs_are_those_of_the_notes() -> None:
    metadata = read_cluster_metadata(RealFiles(), str(HERE / "internal-metadata"))
    assert metadata.topics["recompressed-zstd"].settings == {"compression.type": "zstd"}
    assert metadata.topics["append-time-lz4"].settings == {"message.timestamp.type": "LogAppendTime"}
    assert metadata.topics["compacted-zstd"].settings["cleanup.policy"] == "compact"
    epochs = (HERE / "epochs" / "leader-epoch-checkpoint").read_text().split("\n")
    last_written = max(int(line.split()[0]) for line in epochs[2:] if line)
    assert metadata.topics["epochs"].partitions[0].leader_epoch >= last_written > 0
    assert metadata.features["metadata.version"] > 0
