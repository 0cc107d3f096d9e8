"""The rows of `esker log`: check and dump of a folder of segments, beside Kafka's own dump tool on the same files.

Both are commands, so both pay for their start: an interpreter here, a JVM there. What they print goes nowhere. The
peer of a check is the tool's deep run, which looks at every record as ours does; its shallow run is in `more`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.row import Contest, Row, Side, Skipped, speed
from esker import kernel
from esker.kernel.contract import Encoding, Rows
from esker.ports.files import RealFiles
from esker.storage.handles import Handles
from esker.storage.segment import Segment, SegmentSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).resolve().parents[2] / "tests"
FOLDER = Path("build") / "bench" / "log-dump"
SEGMENT_BYTES = 64 << 20
SEGMENTS = 4
BATCH_BYTES = 16 << 10
FIRST_TIME = 1_700_000_000_000
PIECE_RECORDS = 20_000
READ = 1 << 20
MB = 1e6
DUMP_TOOL = "org.apache.kafka.tools.DumpLogSegments"


class Load(NamedTuple):
    """A partition's folder with four segments, no keys, values of printable text."""

    folder: Path
    value_bytes: int

    @property
    def logs(self) -> list[Path]:
        return sorted(self.folder.glob("*.log"))

    @property
    def amount(self) -> float:
        return sum(log.stat().st_size for log in self.logs) / MB


def make_load(value_bytes: int) -> Load:
    folder = FOLDER / f"t{value_bytes}-0"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    handles = Handles(RealFiles(), 16)
    offset = 0
    for _ in range(SEGMENTS):
        segment = Segment.create(handles, str(folder), offset, SegmentSettings())
        while segment.size < SEGMENT_BYTES:
            offset = append(segment, offset, value_bytes)
        segment.close()
    return Load(folder, value_bytes)


def append(segment: Segment, offset: int, value_bytes: int) -> int:
    offsets = range(offset, offset + PIECE_RECORDS)
    values = [b"%0*d" % (value_bytes, number) for number in offsets]
    rows = Rows([FIRST_TIME + number for number in offsets], [None] * len(values), values, offsets=offsets)
    data = kernel.encode(rows, Encoding(batch_bytes=BATCH_BYTES, leader_epoch=0))
    segment.append_all(data, kernel.walk(data).headers)
    return offsets.stop


def kafka_tool(load: Load, *flags: str) -> list[str]:
    """The peer's command line; the JVM is Kafka's default one."""
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    from parity.jars import KAFKA, jars, missing
    from parity.tools import java_command

    lack = missing()
    if lack is not None:
        raise Skipped(lack)
    jars()
    names = ",".join(map(str, load.logs))
    return [*java_command(KAFKA, "error"), DUMP_TOOL, "--files", names, *flags]


def esker_tool(command: str, load: Load) -> list[str]:
    return [sys.executable, "-m", "esker", "log", command, str(load.folder)]


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def read_through(load: Load) -> None:
    """The limit: the bytes read into one buffer, from the page cache, and nothing done with them."""
    room = bytearray(READ)
    for log in load.logs:
        with log.open("rb", buffering=0) as file:
            while file.readinto(room):
                pass


def contest(command: str, value_bytes: int, flags: tuple[str, ...], more: dict[str, tuple[str, ...]]) -> Contest:
    kafka_tool(Load(FOLDER, value_bytes))  # before the work of making a load
    load = make_load(value_bytes)
    sides = dict(_sides(load, {"peer": flags, **more}))
    return Contest(
        speed(load.amount, partial(run, esker_tool(command, load))),
        sides.pop("peer"),
        speed(load.amount, partial(read_through, load)),
        sides,
        {
            "kernel": kernel.NAME,
            "peer": f"Kafka's {DUMP_TOOL} {' '.join(flags)}",
            "limit": "reading the files into a buffer",
            "value_bytes": value_bytes,
            "batch_bytes": BATCH_BYTES,
            "megabytes": load.amount,
        },
    )


def _sides(load: Load, flags: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, Side]]:
    for name, words in flags.items():
        yield name, partial(_speed, load.amount, kafka_tool(load, *words))


def _speed(amount: float, command: list[str]) -> float:
    return speed(amount, partial(run, command))()


SHALLOW: dict[str, tuple[str, ...]] = {"shallow": ()}

ROWS = [
    Row(
        "log-check",
        "MB/s",
        "esker log check of 100-byte records, every record looked at, beside Kafka's dump tool, deep",
        partial(contest, "check", 100, ("--deep-iteration",), SHALLOW),
        needs_kafka=True,
    ),
    Row(
        "log-check-1k",
        "MB/s",
        "the same with 1,024-byte records",
        partial(contest, "check", 1024, ("--deep-iteration",), SHALLOW),
        needs_kafka=True,
    ),
    Row(
        "log-dump",
        "MB/s",
        "esker log dump of 100-byte records, values and all, beside Kafka's dump tool, deep with values printed",
        partial(contest, "dump", 100, ("--deep-iteration", "--print-data-log"), {}),
        needs_kafka=True,
    ),
]
