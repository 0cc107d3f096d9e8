"""`esker log check`, `repair`, `stats`, `explain-retention`: words in, lines and an exit code out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from esker.cli import main
from esker.cli.log.output import Progress
from esker.ports.files import RealFiles
from esker.storage.lock import FolderLock
from unit.storage.made_log import OFFSETS_A_ROUND, RECORDS, ROUNDS, START_MS, MadeLog

Capsys = pytest.CaptureFixture[str]
A_SEGMENT = ROUNDS * OFFSETS_A_ROUND
COMMANDS = ["dump", "check", "repair", "stats", "explain-retention"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    MadeLog(RealFiles(), str(tmp_path / "t-0"))
    return tmp_path / "t-0"


def damage(folder: Path, position: int = 300) -> Path:
    log = folder / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    data[position] ^= 1
    log.write_bytes(data)
    return log


def run(capsys: Capsys, *words: str) -> tuple[int, list[str]]:
    code = main(["log", *words])
    return code, capsys.readouterr().out.splitlines()


def objects(capsys: Capsys, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(capsys, *words, "--json")[1]]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command: str, capsys: Capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["log", command, "--help"])
    assert ended.value.code == 0
    assert f"examples:\n  esker log {command} " in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_path_that_is_not_there_is_one_sentence(command: str, tmp_path: Path, capsys: Capsys) -> None:
    assert main(["log", command, str(tmp_path / "nothing")]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert str(tmp_path / "nothing") in shown.err


def test_check_of_a_good_log_says_nothing(folder: Path, capsys: Capsys) -> None:
    assert run(capsys, "check", str(folder)) == (0, [])
    assert run(capsys, "check", str(folder.parent), str(folder)) == (0, [])


def test_check_says_file_bytes_offsets_and_cause(folder: Path, capsys: Capsys) -> None:
    log = damage(folder)
    code, (line,) = run(capsys, "check", str(folder))
    assert code == 1
    assert line.startswith(f"error {log} bytes 0-420 offsets 0-4 crc: the checksum does not match the bytes (expected ")


def test_check_says_it_to_programs(folder: Path, capsys: Capsys) -> None:
    log = damage(folder)
    (finding,) = objects(capsys, "check", str(folder))
    assert finding.pop("cause").startswith("the checksum does not match")
    assert finding == {
        "path": str(log),
        "kind": "crc",
        "severity": "error",
        "position": 0,
        "size": 421,
        "baseOffset": 0,
        "lastOffset": 4,
    }


def test_what_is_only_worth_knowing_is_no_finding(folder: Path, capsys: Capsys) -> None:
    (folder / f"{0:020d}.log.deleted").write_bytes(b"")
    code, (line,) = run(capsys, "check", str(folder))
    assert (code, line.split()[0]) == (0, "info")
    assert run(capsys, "check", "--quiet", str(folder)) == (0, [])


def test_check_that_could_not_look_ends_with_two(folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: RealFiles, path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(RealFiles, "read", refused)
    code, lines = run(capsys, "check", str(folder))
    assert code == 2
    assert "unreadable: Permission denied" in lines[0]


def test_every_single_file_can_be_checked(folder: Path, capsys: Capsys) -> None:
    for path in sorted(folder.iterdir()):
        assert run(capsys, "check", str(path)) == (0, []), path


def test_damage_of_a_single_file_is_found(folder: Path, capsys: Capsys) -> None:
    damaged = []
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2 - 1])
        damaged.append((path.name, run(capsys, "check", str(path))[0]))
        path.write_bytes(data)
    assert {name for name, code in damaged if code == 0} == set()


def test_repair_says_what_it_would_do_and_does_it_when_told(folder: Path, capsys: Capsys) -> None:
    log = damage(folder)
    before = log.read_bytes()
    code, lines = run(capsys, "repair", str(folder))
    assert (code, log.read_bytes()) == (1, before)
    assert lines[0].startswith(f"would cut bytes 0-420 out of {log} (the checksum does not match")
    assert lines[-1] == "nothing was changed; --yes does it"
    code, lines = run(capsys, "repair", "--yes", str(folder))
    assert code == 0
    assert lines[0].startswith(f"done: cut bytes 0-420 out of {log}")
    assert run(capsys, "check", "--quiet", str(folder)) == (0, [])
    assert run(capsys, "repair", str(folder)) == (0, ["nothing is to be repaired"])


def test_what_was_cut_out_is_dumped(folder: Path, capsys: Capsys) -> None:
    damage(folder, position=12)  # the leader epoch alone
    log = damage(folder)
    assert main(["log", "repair", "--yes", str(folder)]) == 0
    capsys.readouterr()
    assert main(["log", "dump", f"{log}.0-421.cut"]) == 1
    assert "position 0: the checksum does not match" in capsys.readouterr().err


def test_repair_keeps_out_of_a_log_dir_in_use(folder: Path, capsys: Capsys) -> None:
    log = damage(folder)
    before = log.read_bytes()
    lock = FolderLock(RealFiles(), str(folder.parent))
    program = [sys.executable, "-m", "esker", "log", "repair", str(folder)]
    dry = subprocess.run(program, check=False, capture_output=True, text=True)
    done = subprocess.run([*program, "--yes"], check=False, capture_output=True, text=True)
    lock.release()
    assert (dry.returncode, done.returncode, log.read_bytes()) == (1, 2, before)
    assert "is in use: stop the broker first" in dry.stdout
    assert f"esker: {folder.parent} is in use by process" in done.stderr


def test_repair_of_a_single_file_says_that_it_needs_the_folder(folder: Path, capsys: Capsys) -> None:
    log = damage(folder)
    assert main(["log", "repair", str(log)]) == 2
    assert f"{log}: a repair is of a whole log: name its folder" in capsys.readouterr().err


def test_what_cannot_be_repaired_is_told(folder: Path, capsys: Capsys) -> None:
    (folder / "partition.metadata").write_text("nonsense")
    assert main(["log", "repair", "--yes", str(folder)]) == 1
    assert "cannot be repaired here: error" in capsys.readouterr().err


def test_stats_count(folder: Path, capsys: Capsys) -> None:
    (counted,) = objects(capsys, "stats", str(folder))
    records = 3 * ROUNDS * OFFSETS_A_ROUND
    expected = {
        "topic": "t",
        "partition": 0,
        "bytes": sum(log.stat().st_size for log in folder.glob("*.log")),
        "segments": 3,
        "batches": 3 * ROUNDS * 3,
        "records": records,
        "firstOffset": 0,
        "nextOffset": 3 * A_SEGMENT,
        "firstTimestamp": START_MS,
        "lastTimestamp": START_MS + 3 * A_SEGMENT - 1,
        "compressionRatio": 1.0,
        "codecs": {"none": 3 * ROUNDS * 3},
        "magics": {"2": 3 * ROUNDS * 3},
        "tombstones": 0,
        "keyless": 0,
        "transactionalBatches": 3 * ROUNDS * 2,
        "controlBatches": 3 * ROUNDS,
        "damagedBytes": 0,
    }
    assert counted.pop("averageBatchBytes") == round(expected["bytes"] / expected["batches"])  # type: ignore[operator]
    assert counted == expected


def test_stats_of_a_topic_end_with_its_sum(folder: Path, capsys: Capsys) -> None:
    MadeLog(RealFiles(), str(folder.parent / "t-1"), segments=1)
    first, second, total = objects(capsys, "stats", str(folder.parent / "t"))
    assert total["partition"] is None
    for name in ("bytes", "segments", "batches", "records", "controlBatches"):
        assert total[name] == first[name] + second[name] > first[name] > second[name] > 0


def test_stats_count_damaged_bytes_as_such(folder: Path, capsys: Capsys) -> None:
    damage(folder)
    (counted,) = objects(capsys, "stats", str(folder))
    assert (counted["damagedBytes"], counted["records"]) == (421, 3 * A_SEGMENT - RECORDS)
    assert "421 bytes are damaged" in "\n".join(run(capsys, "stats", str(folder))[1])


RETENTION = [
    pytest.param([], 3, ["goes by time"] * 3, id="a week"),
    pytest.param(["retention.ms=-1"], 3, ["stays, within retention.bytes and retention.ms"] * 3, id="no limit"),
    pytest.param(["retention.ms=-1", "retention.bytes=30000"], 3, ["goes by size", "stays", "stays"], id="by size"),
    pytest.param(["cleanup.policy=compact"], 3, ["stays, cleanup.policy has no delete; the cleaner"] * 3, id="compact"),
]


@pytest.mark.parametrize(("settings", "count", "verdicts"), RETENTION)
def test_retention_is_explained(
    folder: Path, capsys: Capsys, settings: list[str], count: int, verdicts: list[str]
) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    code, lines = run(capsys, "explain-retention", str(folder), *words)
    assert (code, len(lines)) == (0, 2 + count)
    assert [verdict in line for verdict, line in zip(verdicts, lines[2:], strict=True)] == [True] * count


def test_retention_says_until_when(folder: Path, capsys: Capsys) -> None:
    at = "2023-11-15T00:00"  # some hours after the records
    first = objects(capsys, "explain-retention", str(folder), "--at", at)[0]
    assert first == {
        "topic": "t",
        "partition": 0,
        "baseOffset": 0,
        "size": (folder / f"{0:020d}.log").stat().st_size,
        "largestTimestamp": START_MS + A_SEGMENT - 1,
        "goes": False,
        "reason": "within retention.bytes and retention.ms",
        "untilMs": START_MS + A_SEGMENT + 7 * 86_400_000,
    }
    assert "(in 6d22h)" in run(capsys, "explain-retention", str(folder), "--at", at)[1][2]


def test_high_watermark_holds_segments_back(folder: Path, capsys: Capsys) -> None:
    (folder.parent / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {A_SEGMENT + 1}\n")
    lines = run(capsys, "explain-retention", str(folder))[1]
    assert ["goes by time" in line for line in lines[2:]] == [True, False, False]
    assert "not wholly below the high watermark" in lines[3]


@pytest.mark.parametrize("words", [["--set", "retention.ms"], ["--set", "retention.mss=1"], ["--at", "soon"]])
def test_settings_that_make_no_sense_are_one_sentence(folder: Path, capsys: Capsys, words: list[str]) -> None:
    assert main(["log", "explain-retention", str(folder), *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_progress_shows_on_a_terminal_alone(capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esker.cli.log.output.REDRAW_S", 0)
    Progress("checked", 100 << 20).add(50 << 20)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = Progress("checked", 100 << 20)
    progress.add(50 << 20)
    progress.clear()
    assert "\r\x1b[Kchecked: 50 of 100 MiB, " in capsys.readouterr().err
