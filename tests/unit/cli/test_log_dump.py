"""`esker log dump`: what it prints, of which records, and that nothing in them can do harm."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker import kernel
from esker.cli import main
from esker.cli.log.jsonl import JsonLines
from esker.cli.log.text import WHOLE, fast_lines, record_lines
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Attribute, Codec
from esker.ports.files import RealFiles
from esker.records.batch import Batch, batches
from golden.corpus import cases
from unit.storage.made_log import OFFSETS_A_ROUND, ROUNDS, START_MS, MadeLog

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
A_SEGMENT = ROUNDS * OFFSETS_A_ROUND
Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition of three segments; a third of the offsets are markers'."""
    MadeLog(RealFiles(), str(tmp_path / "t-0"))
    return tmp_path / "t-0"


def printed(capsys: Capsys, *words: str) -> list[str]:
    assert main(["log", "dump", *words]) == 0
    return capsys.readouterr().out.splitlines()


def objects(capsys: Capsys, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed(capsys, *words, "--json")]


def one_batch(values: list[bytes | None], encoding: Encoding | None = None, **more: Any) -> Batch:
    rows = Rows([START_MS] * len(values), more.get("keys", values), values, more.get("headers"))
    (batch,) = batches(kernel.encode(rows, encoding or Encoding()))
    return batch


def write_log(path: Path, data: bytes) -> Path:
    (path / "t-0").mkdir()
    log = path / "t-0" / f"{0:020d}.log"
    log.write_bytes(data)
    return log


CONTENT = st.one_of(
    st.none(), st.binary(max_size=20), st.text(max_size=20).map(str.encode), st.just(b"plain text %d %s")
)
PLAIN = st.text("abc %{}:\\\"'\t", max_size=20).map(str.encode)


@given(
    values=st.lists(CONTENT | PLAIN, min_size=1, max_size=5),
    codec=st.sampled_from([Codec.NONE, Codec.LZ4]),
    stamped=st.booleans(),
    cut=st.sampled_from([4, 64, WHOLE]),
)
def test_fast_lines_are_those_of_the_slow_way(
    values: list[bytes | None], codec: Codec, stamped: bool, cut: int
) -> None:
    attributes = int(Attribute.LOG_APPEND_TIME) if stamped else 0
    batch = one_batch(values, Encoding(codec=codec, attributes=attributes, base_offset=7))
    fast = fast_lines(batch, cut)
    assert fast in (None, record_lines(batch, batch.records(), cut))
    as_json = JsonLines('a "topic" %', 3)
    assert as_json.fast(batch) in (None, as_json.records(batch, batch.records(), lambda _: None))


def test_what_most_logs_hold_goes_the_fast_way() -> None:
    batch = one_batch([b"a value", b"another %d one"], keys=[None, None])
    assert fast_lines(batch, WHOLE) is not None
    assert JsonLines("t", 0).fast(batch) is not None


@pytest.mark.parametrize("one", cases(), ids=lambda one: one.name)
def test_golden_records_look_alike_both_ways(one: Any) -> None:
    as_json = JsonLines(one.name, 0)
    for log in one.logs:
        for batch in batches(log.read_bytes()):
            slow = record_lines(batch, batch.records(), WHOLE)
            assert fast_lines(batch, WHOLE) in (None, slow)
            assert as_json.fast(batch) in (None, as_json.records(batch, batch.records(), lambda _: None))


def test_nothing_in_a_record_reaches_the_terminal_as_it_is(tmp_path: Path, capsys: Capsys) -> None:
    hostile = [b"\x1b[2J\x1b]0;title\x07", "a\u202eb\x9b".encode(), b"\r\n# /etc/passwd", b"\xff\x1b[1m"]
    rows = Rows([0] * 4, hostile, hostile, [[(each, each)] for each in hostile])
    write_log(tmp_path, kernel.encode(rows))
    for words in ([], ["--json"], ["--batches"]):
        out = "\n".join(printed(capsys, *words, str(tmp_path / "t-0")))
        assert all(character.isprintable() or character == "\n" for character in out)
        assert "\n# /etc" not in out


def test_null_is_not_empty(tmp_path: Path, capsys: Capsys) -> None:
    rows = Rows([5, 6], [None, b""], [b"", None], [[(b"h", None)], [(b"h", b"")]])
    log = write_log(tmp_path, kernel.encode(rows))
    first, second = objects(capsys, str(log))
    assert first == {
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp": 5,
        "timestampType": "CreateTime",
        "keyB64": None,
        "valueB64": "",
        "headers": [{"key": "h", "valueB64": None}],
        "batch": 0,
    }
    assert (second["keyB64"], second["valueB64"], second["headers"]) == ("", None, [{"key": "h", "valueB64": ""}])


def test_header_key_that_is_no_text_is_there_in_base64_as_well(tmp_path: Path, capsys: Capsys) -> None:
    log = write_log(tmp_path, kernel.encode(Rows([0], [None], [None], [[(b"\xffkey", b"v")]])))
    (record,) = objects(capsys, str(log))
    assert b64decode(record["headers"][0]["keyB64"]) == b"\xffkey"


def test_topic_is_found_in_its_log_dir(folder: Path, capsys: Capsys) -> None:
    MadeLog(RealFiles(), str(folder.parent / "t-1"), segments=1)
    MadeLog(RealFiles(), str(folder.parent / "other-0"), segments=1)
    found = objects(capsys, str(folder.parent / "t"), "--batches")
    assert {(each["topic"], each["partition"]) for each in found} == {("t", 0), ("t", 1)}


@pytest.mark.parametrize(
    ("asked", "offsets"),
    [
        ("100:105", range(100, 105)),
        (f"{A_SEGMENT - 2}:{A_SEGMENT + 3}", range(A_SEGMENT - 2, A_SEGMENT + 3)),
        (f"{3 * A_SEGMENT - 3}", range(3 * A_SEGMENT - 3, 3 * A_SEGMENT)),
        (":7", range(7)),
        ("5000:", range(0)),
        ("7:7", range(0)),
    ],
)
def test_records_by_offset(folder: Path, capsys: Capsys, asked: str, offsets: range) -> None:
    assert [each["offset"] for each in objects(capsys, str(folder), "--offset", asked)] == list(offsets)


@pytest.mark.parametrize("index", ["there", "missing", "damaged"])
def test_records_by_time(folder: Path, capsys: Capsys, index: str) -> None:
    for path in [*folder.glob("*.index"), *folder.glob("*.timeindex")]:
        if index == "missing":
            path.unlink()
        elif index == "damaged":
            path.write_bytes(bytes(reversed(path.read_bytes())))
    asked = f"{START_MS + 300}:{START_MS + 310}"
    assert [each["offset"] for each in objects(capsys, str(folder), "--time", asked)] == list(range(300, 310))


def test_time_may_be_said_as_how_long_ago(folder: Path, capsys: Capsys) -> None:
    for words in (["--time", "-10m"], ["--time=-10m"], ["--time", "-10 minutes"]):
        assert objects(capsys, str(folder), *words) == []
    assert len(objects(capsys, str(folder), "--time", "-9999w")) == 3 * A_SEGMENT


@pytest.mark.parametrize("words", [["--json"], []])
def test_count_is_the_most_that_is_shown(folder: Path, capsys: Capsys, words: list[str]) -> None:
    for count in (1, 4, 5, 6, 12):
        lines = printed(capsys, str(folder), "--count", str(count), *words)
        assert sum('"offset"' in line or " key=" in line for line in lines) == count


def test_control_records_say_what_they_are(folder: Path, capsys: Capsys) -> None:
    found = objects(capsys, str(folder), "--offset", "10:11")
    assert [(each["control"], each["coordinatorEpoch"]) for each in found] == [("abort", 0)]


def test_damage_is_named_and_what_is_behind_it_is_shown(folder: Path, capsys: Capsys) -> None:
    log = folder / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    data[300] ^= 1
    log.write_bytes(data)
    assert main(["log", "dump", "--json", str(folder), "--offset", ":20"]) == 1
    shown = capsys.readouterr()
    assert [json.loads(line)["offset"] for line in shown.out.splitlines()] == list(range(5, 20))
    assert f"{log}: position 0: the checksum" in shown.err


def test_every_file_of_a_partition_is_shown_when_asked(folder: Path, capsys: Capsys) -> None:
    found = objects(capsys, "--all", str(folder))
    files = {Path(each["file"]).name for each in found if "file" in each}
    assert files == {path.name for path in folder.iterdir() if path.suffix != ".log"}


def test_entries_of_files_beside_a_log(folder: Path, capsys: Capsys) -> None:
    path = folder / f"{0:020d}.txnindex"
    first = objects(capsys, str(path))[0]
    assert first == {
        "file": str(path),
        "version": 0,
        "producerId": 7,
        "firstOffset": 5,
        "lastOffset": 10,
        "lastStableOffset": 11,
    }
    assert printed(capsys, str(folder / "leader-epoch-checkpoint"))[1:] == [
        "epoch=0 startOffset=0",
        f"epoch=2 startOffset={A_SEGMENT}",
        f"epoch=4 startOffset={2 * A_SEGMENT}",
    ]


@pytest.mark.parametrize(
    ("case", "decode", "kind"),
    [
        ("internal-offsets", "offsets", "GroupMetadata"),
        ("internal-transactions", "transactions", "TransactionLog"),
        ("internal-metadata", "metadata", "TopicRecord"),
    ],
)
def test_records_of_kafkas_own_topics_are_spelled_out(capsys: Capsys, case: str, decode: str, kind: str) -> None:
    found = objects(capsys, str(GOLDEN / case), "--decode", decode)
    assert kind in {each["decoded"]["type"] for each in found if each.get("decoded")}
    assert all("decoded" not in each for each in objects(capsys, str(GOLDEN / case)))


def test_topic_of_kafkas_own_is_known_by_its_name(tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "__consumer_offsets-7").symlink_to(GOLDEN / "internal-offsets")
    assert "decoded={" in "\n".join(printed(capsys, str(tmp_path / "__consumer_offsets-7")))


def test_reader_that_has_seen_enough_ends_it_quietly(folder: Path) -> None:
    command = f"{sys.executable} -m esker log dump {folder} {folder} {folder} {folder} | head -1"
    done = subprocess.run(command, shell=True, check=True, capture_output=True, text=True)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.parametrize(
    "words",
    [
        ["/nowhere"],
        ["/"],
        ["{}", "--offset", "ten"],
        ["{}", "--time", "soon"],
        ["{}/origin.txt"],
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path: Path, capsys: Capsys, words: list[str]) -> None:
    write_log(tmp_path, b"")
    (tmp_path / "t-0" / "origin.txt").write_text("")
    assert main(["log", "dump", *(word.format(tmp_path / "t-0") for word in words)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("esker: ")
    assert shown.err.count("\n") == 1
