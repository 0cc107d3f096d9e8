"""The log's rows: a whole append beside a bare write of the same bytes and their checksum, and a plan of a read.

A leader's append validates every record, judges the producer, stamps, rolls, writes, indexes and moves the cursors; the
file it writes to is on the disk that holds `build/`, and nothing is synced on either side."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.row import Contest, Row, seconds, speed
from esker import kernel
from esker.base.config import LogConfig
from esker.base.types import TopicPartition
from esker.kernel.contract import Encoding, Rows
from esker.log.log import Log
from esker.log.opening import create
from esker.log.reading import Wanted, read
from esker.log.segments import Place
from esker.ports.chance import RealChance
from esker.ports.files import RealFiles
from esker.rules.read import Isolation
from esker.storage.handles import Handles

NOW = 1_700_000_000_000
VALUE_BYTES = 100
APPENDS = 3_000
LARGE_APPENDS = 100
PLANS = 2_000
READ_BYTES = 1 << 20
FOLDER = Path("build") / "bench" / "logs"
MB = 1e6


class Bare(NamedTuple):
    """The peer: a file that is written to, and no more."""

    path: str

    def write(self, batches: list[bytearray], *, checksum: bool) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        fd = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
        try:
            for batch in batches:
                if checksum:
                    kernel.crc32c(batch)
                os.write(fd, batch)
        finally:
            os.close(fd)


def new_log() -> Log:
    """An empty log in a folder of its own."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(dir=FOLDER)
    place = Place(TopicPartition("bench", 0), folder, Handles(RealFiles(), 64), RealChance(1))
    return create(place, LogConfig(max_message_bytes=2 << 20))


def drop(log: Log) -> None:
    log.place.handles.clear()
    with suppress(FileNotFoundError):
        shutil.rmtree(log.place.folder)


def batch_of(size: int) -> bytes:
    """Records of 100 bytes, as many as fit."""
    count = size // (VALUE_BYTES + 10)
    values: list[bytes | None] = [b"%0*d" % (VALUE_BYTES, number) for number in range(count)]
    return kernel.encode(Rows([NOW] * count, [None] * count, values), Encoding(batch_bytes=size + size // 10))


def append_all(log: Log, batches: list[bytearray]) -> None:
    append = log.append_as_leader
    for batch in batches:
        append(batch, 0, NOW)


def copies(batch: bytes, count: int) -> list[bytearray]:
    """A buffer each: an append stamps the bytes that it is given."""
    return [bytearray(batch) for _ in range(count)]


def append_16k() -> Contest:
    """In µs an append."""
    batch = batch_of(16 << 10)
    bare = Bare(str(FOLDER / "bare"))

    def esker() -> float:
        log, batches = new_log(), copies(batch, APPENDS)
        took = seconds(lambda: append_all(log, batches))
        drop(log)
        return took / APPENDS * 1e6

    def written(*, checksum: bool) -> float:
        batches = copies(batch, APPENDS)
        return seconds(lambda: bare.write(batches, checksum=checksum)) / APPENDS * 1e6

    return Contest(
        esker,
        lambda: written(checksum=True),
        lambda: written(checksum=False),
        {},
        {"batch_bytes": len(batch), "appends": APPENDS, "peer": "os.write and CRC-32C", "limit": "os.write"},
    )


def append_1m() -> Contest:
    """In MB of batches a second."""
    batch = batch_of(1 << 20)
    bare = Bare(str(FOLDER / "bare"))
    amount = len(batch) * LARGE_APPENDS / MB

    def esker() -> float:
        log, batches = new_log(), copies(batch, LARGE_APPENDS)
        took = seconds(lambda: append_all(log, batches))
        drop(log)
        return amount / took

    def written(*, checksum: bool) -> float:
        batches = copies(batch, LARGE_APPENDS)
        return amount / seconds(lambda: bare.write(batches, checksum=checksum))

    return Contest(
        esker,
        lambda: written(checksum=True),
        lambda: written(checksum=False),
        {},
        {"batch_bytes": len(batch), "appends": LARGE_APPENDS, "peer": "os.write and CRC-32C", "limit": "os.write"},
    )


def read_plan() -> Contest:
    """In plans a second: from an offset at random to a slice of up to 1 MiB."""
    log = new_log()
    append_all(log, copies(batch_of(16 << 10), APPENDS))
    end = log.cursors.log_end.offset
    log.increment_high_watermark(end)
    chance = random.Random(1)
    offsets = [chance.randrange(end) for _ in range(PLANS)]

    def plan() -> None:
        for offset in offsets:
            assert read(log, Wanted(offset, READ_BYTES, Isolation.HIGH_WATERMARK)).slice is not None

    file = log.segments.active.file

    def header() -> None:
        for offset in offsets:
            file.read(61, offset)

    about: dict[str, object] = {"plans": PLANS, "peer": "one read of a header's bytes", "limit": "the same"}
    side = speed(PLANS, header)
    return Contest(speed(PLANS, plan), side, side, {}, about)


ROWS = [
    Row(
        "append-16k",
        "us",
        "a whole append of a 16 KiB batch of 100-byte records as leader; the peer writes the bytes and their CRC-32C; "
        "microseconds an append",
        append_16k,
        larger_is_better=False,
    ),
    Row(
        "append-1m",
        "MB/s",
        "the same with batches of 1 MiB; MB of batches a second",
        append_1m,
    ),
    Row(
        "read-plan",
        "plans/s",
        "from an offset at random to a slice of the file; the peer reads one header's bytes",
        read_plan,
    ),
]
