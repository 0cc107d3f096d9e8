"""The cases that old brokers write: message formats 0 and 1, and files that change format half way."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from golden.contents import START_MS, Record, large, mixed, plain
from golden.current import Save, files_of
from golden.headers import lz4_checksum
from golden.plan import NEVER_MS
from golden.script import Noted, Script
from parity.broker import OldBroker
from parity.tools import run_tool

VERSIONS = ("0.10.2.2", "2.0.1")
CODECS = ("none", "gzip", "snappy", "lz4")
PROPERTIES = {"log.retention.ms": "-1", "log.roll.ms": NEVER_MS, "auto.create.topics.enable": "false"}
FORMATS = {0: "0.9.0", 1: "0.10.0"}
NEWEST = {"0.10.2.2": (1, "0.10.2"), "2.0.1": (2, "2.0")}


@dataclass(frozen=True)
class Old:
    """A topic in an old format; `then` is the format it changes to half way."""

    version: str
    magic: int
    codec: str
    is_append_time: bool = False
    then: int | None = None

    @property
    def name(self) -> str:
        """The first broker's cases are the plain names; the second's end in its version."""
        time = "append-time-" if self.is_append_time else ""
        name = f"magic{self.magic}-{time}{self.codec}" if self.then is None else f"magic{self.magic}-then-{self.then}"
        return name if self.version == VERSIONS[0] else f"{name}-{self.version}"

    @property
    def settings(self) -> dict[str, str]:
        kind = {"message.timestamp.type": "LogAppendTime"} if self.is_append_time else {}
        return {"message.format.version": FORMATS[self.magic]} | kind


def old_cases(version: str) -> Iterator[Old]:
    for magic in FORMATS:
        for codec in CODECS:
            yield Old(version, magic, codec)
    for codec in ("none", "lz4"):
        yield Old(version, 1, codec, is_append_time=True)
    newest, _ = NEWEST[version]
    for magic in range(newest):
        if magic in FORMATS:
            yield Old(version, magic, "none and gzip", then=newest)


def make_old(home: Path, save: Save) -> None:
    for version in VERSIONS:
        _make(version, home / version, save)


def _make(version: str, home: Path, save: Save) -> None:
    cases = list(old_cases(version))
    changing = [case for case in cases if case.then is not None]
    with OldBroker(home, PROPERTIES, version) as broker:
        for case in cases:
            _create(broker, case)
        first = _run(broker, cases)
        for case in changing:
            _change_format(broker, case)
        # Settings reach a running broker some time later; a started one has read them.
        broker.restart()
        second = _run(broker, changing)
    for case in cases:
        records = [_as_stored(case.magic, record) for record in first[case.name]] + second.get(case.name, [])
        _save(case, broker.data / f"{case.name}-0", records, save)


def _create(broker: OldBroker, case: Old) -> None:
    args = ["--create", "--topic", case.name, "--partitions", "1", "--replication-factor", "1"]
    for key, value in case.settings.items():
        args += ["--config", f"{key}={value}"]
    run_tool("kafka.admin.TopicCommand", "--zookeeper", broker.zookeeper, *args, version=case.version)


def _change_format(broker: OldBroker, case: Old) -> None:
    _, name = NEWEST[case.version]
    args = ["--alter", "--entity-type", "topics", "--entity-name", case.name]
    args += ["--add-config", f"message.format.version={name}"]
    run_tool("kafka.admin.ConfigCommand", "--zookeeper", broker.zookeeper, *args, version=case.version)


def _run(broker: OldBroker, cases: list[Old]) -> dict[str, list[Noted]]:
    script = Script()
    for case in cases:
        if case.then is None:
            _write(script, case.name, case.codec, _everything(has_large=case.codec != "none"))
        else:
            for codec in ("none", "gzip"):
                _write(script, case.name, codec, [plain(START_MS, 3), mixed(START_MS + 60_000, headers=False)])
    return script.run(broker.bootstrap, "LegacyCorpus.java", broker.version).sent


def _write(script: Script, topic: str, codec: str, batches: list[list[Record]]) -> None:
    producer = f"{topic}/{codec}"
    script.producer(producer, {"compression.type": codec})
    for records in batches:
        script.batch(producer, topic, records)


def _everything(has_large: bool) -> list[list[Record]]:
    return [
        mixed(START_MS, headers=False),
        *([large(START_MS + 60_000)] if has_large else []),
        plain(START_MS + 120_000, 1),
        plain(START_MS + 180_000, 12, first=1),
        [Record(START_MS + 240_000, None, b""), Record(START_MS + 239_000, None, None)],
    ]


def _as_stored(magic: int, record: Noted) -> Noted:
    """Magic 0 has no room for the time that the producer sent."""
    return record if magic else record | {"timestamp": -1, "timestampType": "NoTimestampType"}


def _save(case: Old, folder: Path, records: list[Noted], save: Save) -> None:
    files = files_of(folder)
    note: dict[str, Any] = {
        "kafka": case.version,
        "client": f"Java {case.version}, a flush after each batch",
        "client_settings": {"compression.type": case.codec},
        "topic_settings": case.settings,
        "holds": _holds(case),
        "known_from": "the producer",
        "records": records,
    }
    checksums = {file.name: lz4_checksum(file) for file in files if file.suffix == ".log"}
    if case.codec == "lz4":
        note["lz4_header_checksums"] = {name: f"{value:02x}" for name, value in checksums.items() if value is not None}
    save(case.name, files, note)


def _holds(case: Old) -> str:
    if case.then is not None:
        return f"A file that begins in magic {case.magic} and goes on in magic {case.then}, each uncompressed and gzip."
    time = " under LogAppendTime, where a wrapper's time counts for what is in it" if case.is_append_time else ""
    how = "by the broker, from the client's magic 2" if case.version == VERSIONS[1] else _by_first_broker(case)
    large = "" if case.codec == "none" else ", one batch of 150 KB"
    return f"Magic {case.magic}, {case.codec}{time}: null, empty and binary keys and values{large}. Written {how}."


def _by_first_broker(case: Old) -> str:
    return "by the broker, from the client's magic 1" if case.magic == 0 else "by the client"
