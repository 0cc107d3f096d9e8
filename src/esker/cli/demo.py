"""`esker demo`: the kernel, the record formats and a log at work, on segment files and on what is made here.

Of what it is shown it only reads: the damage is done to a copy in memory, and the log lives in a temporary folder.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from esker import kernel
from esker.base.errors import EskerError
from esker.cli import speed, story
from esker.records.batch import batches, check
from esker.records.text import codec_name, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHOWN_LINES = 12
LINE_WIDTH = 150


def run(paths: Sequence[str], command: Callable[[Sequence[str]], int]) -> None:
    """The whole tour. `command` is the `esker` command itself."""
    print(f"The kernel in use is the {kernel.NAME} one.")
    segments = [segment for path in paths for segment in _segments(Path(path))]
    if segments:
        _survey(segments)
        chosen = max(segments, key=_interest)
        _look(chosen)
        _damage(chosen)
    _title("a log written, killed, recovered, checked and shown")
    story.tell(command)
    speed.show()


def _segments(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(path.rglob("*.log")) if path.is_dir() else []
    if not found:
        raise EskerError(f"{path}: no segment file (.log) is there")
    return found


def _title(words: str) -> None:
    print(f"\n== {words}")


def _survey(segments: Sequence[Path]) -> None:
    _title(f"{len(segments)} segment files, every checksum and every record checked")
    width = max(len(_name(path)) for path in segments)
    print(f"{'segment':<{width}} {'bytes':>11} {'batches':>8} {'records':>8}  {'magic':<6}{'codec':<14} verdict")
    for path in segments:
        print(f"{_name(path):<{width}} {_survey_line(path.read_bytes())}")


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _survey_line(data: bytes) -> str:
    result = check(data)
    found = [batch.header for batch in batches(data[: result.end])]
    magics = "+".join(str(magic) for magic in sorted({header.magic for header in found}))
    codecs = "+".join(codec_name(codec) for codec in sorted({header.codec for header in found}))
    verdict = "good" if result.finding is None else str(result.finding)
    return f"{len(data):>11,} {result.batches:>8,} {result.records:>8,}  {magics:<6}{codecs:<14} {verdict}"


def _interest(path: Path) -> tuple[int, int]:
    """Many kinds of batches in few bytes are the most to look at."""
    data = path.read_bytes()
    kinds = {batch.header.attributes for batch in batches(data[: check(data).end])}
    return len(kinds), -len(data)


def _look(path: Path) -> None:
    _title(f"{_name(path)}, a line a batch and a line a record")
    shown = (line for batch in batches(path.read_bytes()) for line in lines(batch))
    for line in islice(shown, SHOWN_LINES):
        print(line if len(line) <= LINE_WIDTH else f"{line[: LINE_WIDTH - 1]}…")


def _damage(path: Path) -> None:
    _title("the same segment with one bit turned in the middle of a copy")
    copy = bytearray(path.read_bytes())
    copy[len(copy) // 2] ^= 0x10
    result = check(copy)
    print(f"good up to position {result.end:,}: {result.batches} batches, {result.records} records")
    print(f"found at {result.finding}")
