"""`esker log check` and `dump` beside a real broker: while it writes, after a kill, after a clean stop."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from esker.cli import main
from esker.ports.files import RealFiles
from esker.storage.listing import is_live
from parity.broker import Broker
from parity.tools import run_tool

pytestmark = pytest.mark.xdist_group("kafka")
TOPIC = "live"
RECORDS = 120_000


def produce(broker: Broker, count: int) -> None:
    run_tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", TOPIC, "--num-records", str(count), "--record-size", "100", "--throughput", "-1"),
        *("--producer-props", f"bootstrap.servers={broker.bootstrap}", "linger.ms=0", "batch.size=2000"),
    )


def checked(path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The findings that count."""
    code = main(["log", "check", "--quiet", str(path)])
    found = capsys.readouterr().out.splitlines()
    assert code == (1 if found else 0)
    return found


@pytest.mark.usefixtures("kafka_jars")
def test_directory_of_a_real_broker_is_clean_at_all_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"log.segment.bytes": "1048576", "num.partitions": "2", "log.index.interval.bytes": "4096"}
    with Broker(tmp_path / "kafka", settings) as broker:
        producing = threading.Thread(target=produce, args=(broker, RECORDS))
        producing.start()
        looks = 0
        while producing.is_alive() or not looks:
            assert checked(broker.data, capsys) == []
            looks += 1
        producing.join()
        assert looks > 3
        assert is_live(RealFiles(), str(broker.data))
        assert main(["log", "stats", str(broker.data / TOPIC)]) == 0
        assert f"{RECORDS:,} records" in capsys.readouterr().out
        broker.kill()
        assert not is_live(RealFiles(), str(broker.data))
        assert checked(broker.data, capsys) == []
        broker.start()
        produce(broker, 1000)
    assert checked(broker.data, capsys) == []
    assert main(["log", "repair", str(broker.data)]) == 0
