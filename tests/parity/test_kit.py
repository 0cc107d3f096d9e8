"""The kit itself: brokers start and end, and Kafka's dump is understood."""

import os
from pathlib import Path

import pytest

from parity.broker import Broker, await_true
from parity.dump import dump, parse_dump
from parity.jars import missing
from parity.probe import serves
from parity.tools import run_tool

pytestmark = pytest.mark.xdist_group("kafka")  # one worker, one broker at a time
GOLDEN = Path(__file__).resolve().parent.parent / "golden"
TOPICS = "org.apache.kafka.tools.TopicCommand"


def test_broker_serves_topics(kafka_broker: Broker) -> None:
    where = ("--bootstrap-server", kafka_broker.bootstrap)
    run_tool(TOPICS, *where, "--create", "--topic", "kit", "--partitions", "2")
    assert "kit" in run_tool(TOPICS, *where, "--list").split()
    assert (kafka_broker.data / "kit-1").is_dir()


@pytest.mark.usefixtures("kafka_jars")
def test_broker_goes_on_after_stop_and_kill(tmp_path: Path) -> None:
    with Broker(tmp_path / "kafka", {"num.partitions": "3"}) as broker:
        broker.restart({"num.partitions": "4"})
        assert "num.partitions=4" in broker.config.read_text()
        broker.kill()
        assert not serves(broker.port)
        broker.start()
        assert serves(broker.port)
    assert not serves(broker.port)
    assert (broker.data / ".kafka_cleanshutdown").exists()


@pytest.mark.usefixtures("kafka_jars")
def test_broker_that_cannot_start_tells_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"log\.retention\.ms"):
        Broker(tmp_path / "kafka", {"log.retention.ms": "a while"}).start()


@pytest.mark.usefixtures("kafka_jars")
def test_dump_of_golden_files_is_understood() -> None:
    log = GOLDEN / "gzip" / f"{0:020d}.log"
    index = log.with_suffix(".timeindex")
    found = dump(log, index)
    assert [batch["count"] for batch in found[log].batches] == [7, 4, 1, 12, 7]
    assert found[log].batches[1]["compresscodec"] == "gzip"
    assert found[log].records[0] | {"key": None} == found[log].records[0] | {"payload": "no key", "key": None}
    assert found[log].records[2]["headerKeys"] == ["null value"]
    assert [entry["offset"] for entry in found[index].entries] == [11, 30]


@pytest.mark.parametrize("line", ["", "baseOffset: 0", "| offset: 1", "surprise"])
def test_dump_that_is_not_understood_raises(line: str) -> None:
    head = "Dumping /t-0/00000000000000000000.log\nLog starting offset: 0\n"
    if line == "":
        assert parse_dump(head + line)["/t-0/00000000000000000000.log"].batches == []
    else:
        with pytest.raises(ValueError, match="not understood"):
            parse_dump(head + line)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("JAVA_HOME", "ESKER_KAFKA_JARS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing() == "needs a real Kafka: no java on the path (install OpenJDK 17 or newer)"
    (tmp_path / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    os.chmod(tmp_path / "java", 0o755)
    assert missing() == "needs a real Kafka: java is version 11 (install OpenJDK 17 or newer)"


def test_what_never_comes_is_named() -> None:
    with pytest.raises(TimeoutError, match="the moon"):
        await_true(lambda: False, 0.05, "the moon", poll_s=0.01)
