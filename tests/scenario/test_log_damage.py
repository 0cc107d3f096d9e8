"""Transcripts: what is damaged, what is asked, what is answered. `log_damage.txt` says how to read one.

A scenario begins at `== words`, each with the same log, made anew. To write one, run it and look at what differs.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from esker.cli import main
from esker.ports.files import RealFiles
from unit.storage.made_log import MadeLog

TRANSCRIPT = Path(__file__).with_name("log_damage.txt")


class Scenario(NamedTuple):
    name: str
    lines: list[str]


def scenarios() -> list[Scenario]:
    found: list[Scenario] = []
    for line in TRANSCRIPT.read_text().splitlines():
        if line.startswith("== "):
            found.append(Scenario(line[3:], []))
        elif line and found:
            found[-1].lines.append(line)
    return found


def damage(words: list[str]) -> None:
    name, position, how, *more = words
    path = Path(name)
    data = bytearray(path.read_bytes())
    at = int(position)
    if how == "flip":
        data[at] ^= 1 << int(more[0])
    elif how == "write":
        content = bytes.fromhex(more[0])
        data[at : at + len(content)] = content
    else:
        assert how == "cut", how
        del data[at:]
    path.write_bytes(data)


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert words[0] == "esker"
    code = main(words[1:])
    shown = capsys.readouterr()
    return [*shown.out.splitlines(), *(f"! {line}" for line in shown.err.splitlines()), f"exit {code}"]


def played(lines: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The transcript as it comes out: commands and damage as they are, answers as they are given."""
    found: list[str] = []
    for line in lines:
        verb, _, rest = line.partition(" ")
        if verb == "damage":
            damage(shlex.split(rest))
        elif verb == "remove":
            Path(rest).unlink()
        elif verb == "write":
            name, _, text = rest.partition(" ")
            Path(name).write_text(text.encode().decode("unicode_escape"))
        elif verb != "$":
            continue
        found.append(line)
        if verb == "$":
            found += answer(shlex.split(rest), capsys)
    return found


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_transcript_comes_out_as_it_is_written(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    MadeLog(RealFiles(), str(tmp_path / "t-0"), segments=2)
    (tmp_path / ".kafka_cleanshutdown").write_text("")
    monkeypatch.chdir(tmp_path)
    assert "\n".join(played(scenario.lines, capsys)) == "\n".join(scenario.lines)
