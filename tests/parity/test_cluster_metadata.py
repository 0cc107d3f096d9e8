"""The metadata log of a real Kafka, running, stopped and killed: what we read there is what its own tools say."""

import base64
from pathlib import Path

import pytest

from esker.metadata.image import ClusterMetadata, KafkaTopic
from esker.metadata.kraft import read_cluster_metadata
from esker.ports.files import RealFiles
from parity.broker import Broker, await_true
from parity.jars import KAFKA, missing
from parity.tools import run_tool

pytestmark = pytest.mark.xdist_group("kafka")
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
# A snapshot after some kilobytes, and small segments, so that a short test meets them.
EAGER = {"metadata.log.max.record.bytes.between.snapshots": "1000", "metadata.log.segment.bytes": "8388608"}


def run(broker: Broker, main: str, *args: str) -> str:
    return run_tool(main, "--bootstrap-server", broker.bootstrap, *args, version=broker.version)


def read(broker: Broker) -> ClusterMetadata:
    return read_cluster_metadata(RealFiles(), str(broker.data / "__cluster_metadata-0"))


def own_id(broker: Broker, folder: str) -> bytes:
    """What the broker wrote into the partition's folder."""
    text = (broker.data / folder / "partition.metadata").read_text().rpartition("topic_id: ")[2]
    return base64.urlsafe_b64decode(text.strip() + "==")


def change_topics(broker: Broker) -> None:
    settings = ("--config", "cleanup.policy=compact", "--config", "segment.ms=600000")
    run(broker, TOPICS, "--create", "--topic", "kept", "--partitions", "3", *settings)
    run(broker, TOPICS, "--create", "--topic", "gone", "--config", "retention.ms=5")
    run(broker, TOPICS, "--alter", "--topic", "kept", "--partitions", "5")
    altered = ("--add-config", "retention.ms=77,min.insync.replicas=1", "--delete-config", "segment.ms")
    run(broker, CONFIGS, "--alter", "--entity-type", "topics", "--entity-name", "kept", *altered)
    everywhere = ("--entity-type", "brokers", "--entity-default", "--add-config", "log.retention.ms=99")
    run(broker, CONFIGS, "--alter", *everywhere)
    run(broker, TOPICS, "--delete", "--topic", "gone")


def check(broker: Broker, metadata: ClusterMetadata) -> None:
    assert set(metadata.topics) == {"kept"}
    kept: KafkaTopic = metadata.topics["kept"]
    assert kept.settings == {"cleanup.policy": "compact", "retention.ms": "77", "min.insync.replicas": "1"}
    assert set(kept.partitions) == {0, 1, 2, 3, 4}
    assert all(partition.replicas == (1,) for partition in kept.partitions.values())
    assert kept.id == own_id(broker, "kept-4")
    assert metadata.broker_settings[""]["log.retention.ms"] == "99"
    assert metadata.features["metadata.version"] > 0


@pytest.mark.parametrize("version", [KAFKA, "3.9.2"])
def test_topics_settings_and_features_of_a_real_kafka(tmp_path: Path, version: str) -> None:
    if lack := missing(version):
        pytest.skip(lack)
    with Broker(tmp_path / "kafka", EAGER, version) as broker:
        change_topics(broker)
        await_true(lambda: set(read(broker).topics) == {"kept"}, 30, "the deletion is in the log")
        check(broker, read(broker))  # beside the running broker
        broker.kill()
        check(broker, read(broker))
        broker.start()
        await_true(lambda: read(broker).topics["kept"].partitions[0].leader == 1, 60, "the broker leads again")
        broker.stop()
        check(broker, read(broker))
        assert len(list((broker.data / "__cluster_metadata-0").glob("*.checkpoint"))) > 1, "no snapshot was met"
