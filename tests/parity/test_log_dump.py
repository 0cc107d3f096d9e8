"""`esker log dump` says of the corpus what Kafka's own DumpLogSegments says, fact by fact."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from esker.cli import main
from golden.corpus import cases
from parity.dump import Dump, Row, dump

pytestmark = pytest.mark.xdist_group("kafka")
Capsys = pytest.CaptureFixture[str]
LOGS = [log for case in cases() for log in (*case.logs, *case.folder.glob("*.checkpoint"))]
BESIDE = [
    path
    for case in cases()
    for suffix in (".index", ".timeindex", ".txnindex", ".snapshot")
    for path in sorted(case.folder.glob(f"*{suffix}"))
]


@pytest.fixture(scope="module")
def kafka_says(kafka_jars: Path) -> dict[Path, Dump]:
    """One JVM for all files."""
    return dump(*LOGS, *BESIDE)


def objects(capsys: Capsys, path: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["log", "dump", "--json", *words, str(path)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_corpus_has_every_kind_of_file() -> None:
    assert {path.suffix for path in (*LOGS, *BESIDE)} == {
        *(".log", ".checkpoint", ".index", ".timeindex", ".txnindex", ".snapshot")
    }


def test_every_batch_has_the_same_facts(kafka_says: dict[Path, Dump], capsys: Capsys) -> None:
    for log in LOGS:
        ours = objects(capsys, log, "--batches")
        theirs = kafka_says[log].batches
        assert [facts(row, theirs[at]) for at, row in enumerate(ours)] == [said(row) for row in theirs], log
        assert len(ours) == len(theirs)


def said(row: Row) -> Row:
    return {key: value.lower() if key == "compresscodec" else value for key, value in row.items() if key != "records"}


def facts(ours: dict[str, Any], theirs: Row) -> Row:
    """Those that Kafka prints of such a batch. Of old messages it knows fewer."""
    return {key: ours[key] for key in said(theirs)}


def test_every_record_has_the_same_facts(kafka_says: dict[Path, Dump], capsys: Capsys) -> None:
    for log in LOGS:
        ours = [record_facts(row) for row in objects(capsys, log, "--decode", "none")]
        theirs = [their_facts(row) for row in kafka_says[log].records]
        assert ours == theirs, log


def record_facts(row: dict[str, Any]) -> Row:
    return {
        "offset": row["offset"],
        "timestampType": row["timestampType"],
        "timestamp": row["timestamp"],
        "keySize": size(row["keyB64"]),
        "valueSize": size(row["valueB64"]),
        # The tool prints no header and one empty key alike, and parts keys by commas.
        "headerKeys": ",".join(header["key"] for header in row["headers"]),
    }


def size(content: str | None) -> int:
    return -1 if content is None else len(b64decode(content))


def their_facts(row: Row) -> Row:
    keys = ",".join(row.get("headerKeys", []))
    return {name: row[name] for name in record_facts_names() if name != "headerKeys"} | {"headerKeys": keys}


def record_facts_names() -> list[str]:
    return ["offset", "timestampType", "timestamp", "keySize", "valueSize", "headerKeys"]


def test_every_text_value_is_the_same(kafka_says: dict[Path, Dump], capsys: Capsys) -> None:
    compared = 0
    for log in LOGS:
        for ours, theirs in zip(objects(capsys, log, "--decode", "none"), kafka_says[log].records, strict=True):
            if "payload" in theirs and "\ufffd" not in theirs["payload"]:
                assert b64decode(ours["valueB64"]).decode() == theirs["payload"], (log, ours["offset"])
                compared += 1
    assert compared > 100


def test_every_entry_beside_a_log_is_the_same(kafka_says: dict[Path, Dump], capsys: Capsys) -> None:
    for path in BESIDE:
        ours = [entry(row) for row in objects(capsys, path)]
        assert ours == [entry(row) for row in kafka_says[path].entries], path
        # A time index of messages that have no time: Kafka's tool finds fault with what Kafka wrote.
        assert not kafka_says[path].faults or path.parent.name.startswith("magic0")


def entry(row: dict[str, Any]) -> Row:
    """A snapshot's row has some facts that only one of the two prints, and nothing where the other says none."""
    names = {"currentTransactionFirstOffset": "currentTxnFirstOffset"}
    left_out = ("file", "offsetDelta")
    known = {names.get(key, key): value for key, value in row.items() if key not in left_out}
    return {key: value for key, value in known.items() if value is not None and value != "None"}
