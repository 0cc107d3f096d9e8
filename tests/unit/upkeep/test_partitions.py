"""Topics of our own, topics that Kafka knows, and logs that nobody knows: with the real store, so on a real disk."""

from pathlib import Path

import pytest

from esker.base.config import LogConfig
from esker.base.errors import InvalidConfig, Rejected
from esker.base.types import TopicPartition
from esker.metadata.image import ClusterMetadata, KafkaTopic
from esker.metadata.store import TopicExists, UnknownTopic
from esker.upkeep.directories import LogDirectories
from esker.upkeep.partitions import (
    InvalidTopic,
    NewLog,
    adopt_topic,
    alter_topic,
    create_logs,
    create_topic,
    delete_topic,
)
from esker.upkeep.settings import DirectorySettings
from esker.upkeep.topics import KnownTopics
from unit.upkeep.homes import TOPIC_ID, append

T0 = TopicPartition("t", 0)


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, ...]:
    return (str(tmp_path / "a"), str(tmp_path / "b"))


def loaded(paths: tuple[str, ...]) -> LogDirectories:
    directories = LogDirectories(DirectorySettings(paths, reserve_bytes=0))
    directories.load()
    return directories


def test_a_topic_and_its_settings_are_there_after_a_restart(paths: tuple[str, ...]) -> None:
    directories = loaded(paths)
    topic = create_topic(directories, "t", 3, {"cleanup.policy": "compact"})
    directories.close()
    again = loaded(paths)
    assert {each.partition for each in again.logs} == {0, 1, 2}
    for hosted in again.logs.values():
        assert hosted.topic_id == topic.id
        assert hosted.log.config.cleanup_compact
        assert not hosted.held
    again.close()


def test_settings_change_at_run_time_and_stay(paths: tuple[str, ...]) -> None:
    directories = loaded(paths)
    create_topic(directories, "t", 1, {"retention.ms": "7"})
    alter_topic(directories, "t", {"retention.ms": None, "segment.ms": "9"})
    directories.close()
    again = loaded(paths)
    config = again.logs[T0].log.config
    assert (config.retention_ms, config.segment_ms) == (LogConfig().retention_ms, 9)
    with pytest.raises(InvalidConfig, match=r"segment\.ms"):
        alter_topic(again, "t", {"segment.ms": "soon"})
    with pytest.raises(UnknownTopic):
        alter_topic(again, "u", {"segment.ms": "9"})
    again.close()


def test_names_are_taken_once(paths: tuple[str, ...]) -> None:
    directories = loaded(paths)
    create_topic(directories, "t", 1, {})
    with pytest.raises(TopicExists):
        create_topic(directories, "t", 1, {})
    with pytest.raises(InvalidTopic):
        create_topic(directories, "a/b", 1, {})
    directories.close()


def test_a_deleted_topic_is_forgotten_and_its_name_free(paths: tuple[str, ...]) -> None:
    directories = loaded(paths)
    create_topic(directories, "t", 2, {})
    append(directories.logs[T0].log)
    delete_topic(directories, "t")
    assert directories.logs == {}
    create_topic(directories, "t", 1, {})
    directories.close()
    again = loaded(paths)
    assert set(again.logs) == {T0}
    assert again.logs[T0].log.cursors.log_end.offset == 0
    assert len(again.removals) == 2
    again.close()


def test_a_log_that_nobody_knows_is_held_until_it_is_adopted(paths: tuple[str, ...]) -> None:
    directories = loaded(paths)
    create_logs(directories, [NewLog(T0, TOPIC_ID, LogConfig())])
    append(directories.logs[T0].log)
    directories.close()
    again = loaded(paths)
    assert again.logs[T0].held == "nobody knows its settings"
    assert not again.logs[T0].log.config.cleanup_delete
    adopt_topic(again, "t", {"retention.ms": "5"})
    assert again.logs[T0].held == ""
    assert again.logs[T0].log.config.retention_ms == 5
    again.close()
    third = loaded(paths)
    assert (third.logs[T0].held, third.logs[T0].topic_id) == ("", TOPIC_ID)
    with pytest.raises(InvalidTopic, match="no such log"):
        adopt_topic(third, "u", {})
    third.close()


def test_a_folder_of_ours_that_lost_its_id_gets_it_back(paths: tuple[str, ...]) -> None:
    directories = loaded(paths)
    topic = create_topic(directories, "t", 1, {})
    directories.close()
    (metadata,) = [each for path in paths for each in Path(path).glob("t-0/partition.metadata")]
    metadata.unlink()
    again = loaded(paths)
    assert again.logs[T0].topic_id == topic.id
    assert metadata.exists()
    again.close()


def test_a_folder_of_another_topic_of_the_name_is_held(paths: tuple[str, ...]) -> None:
    directories = loaded(paths)
    create_topic(directories, "t", 1, {})
    directories.close()
    (metadata,) = [each for path in paths for each in Path(path).glob("t-0/partition.metadata")]
    metadata.write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    again = loaded(paths)
    assert again.logs[T0].held == "another topic of this name is known, with another id"
    again.close()


def test_without_the_first_dir_no_topic_is_made(paths: tuple[str, ...]) -> None:
    directories = loaded(paths)
    directories.fail(directories.dirs[0], OSError(5, "no disk"))
    with pytest.raises(Rejected, match="where topics are kept, is offline"):
        create_topic(directories, "t", 1, {})
    directories.close()


def kafka(settings: dict[str, str], brokers: dict[str, dict[str, str]] | None = None) -> KnownTopics:
    topics = KnownTopics(LogConfig())
    found = {"t": KafkaTopic("t", TOPIC_ID, {}, settings)}
    topics.take_kafka(ClusterMetadata(found, brokers or {}, {}, 1, {}), 1)
    return topics


def test_kafkas_dynamic_defaults_stand_behind_its_topics_settings() -> None:
    brokers = {"": {"log.retention.ms": "7", "log.segment.bytes": "2000000"}, "1": {"log.retention.ms": "8"}}
    config = kafka({"segment.bytes": "3000000"}, brokers).known("t", TOPIC_ID).config
    assert (config.retention_ms, config.segment_bytes) == (8, 3_000_000)


def test_settings_of_older_kafkas_hold_nothing() -> None:
    known = kafka({"message.format.version": "2.0", "segment.bytes": "1000"}).known("t", TOPIC_ID)
    assert (known.held, known.config.segment_bytes) == ("", 1000)


@pytest.mark.parametrize(
    "topics",
    [
        kafka({"retention.ms": "a week"}),
        kafka({"retention.of.a.later.release": "1"}),
        kafka({}, {"": {"log.retention.ms": "a week"}}),
    ],
)
def test_settings_that_cannot_be_read_hold_the_log(topics: KnownTopics) -> None:
    known = topics.known("t", TOPIC_ID)
    assert "cannot be read" in known.held
    assert not known.config.cleanup_delete


def test_another_id_of_kafkas_holds_the_log() -> None:
    assert "another id" in kafka({}).known("t", bytes(16)).held
    assert kafka({}).known("t", None).held == ""
