"""A log's life in a few lines: written, killed, recovered, checked, shown. All of it in a folder that goes afterwards.

The writer is a process of its own (`python -m esker.cli.story FOLDER`), so that it can be killed as a power switch or
the system's memory killer would: without a word.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from esker import kernel
from esker.base.types import TopicPartition
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Codec
from esker.upkeep.directories import LogDirectories
from esker.upkeep.partitions import create_topic
from esker.upkeep.settings import DirectorySettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOPIC = "orders"
BATCH_RECORDS = 20
FLUSHED_BATCHES = 200
TORN_BYTES = b"\x00\x00\x00 half of a batch that never got further"


def tell(run: Callable[[Sequence[str]], int]) -> None:
    """`run` is the `esker` command."""
    with TemporaryDirectory(prefix="esker-demo-") as folder:
        acknowledged = _write_and_kill(folder)
        print(f"written, flushed and acknowledged up to offset {acknowledged:,}, then killed with SIGKILL")
        _tear(folder)
        _recover(folder, acknowledged)
        for words in (["check", folder], ["stats", folder], ["dump", folder, "--offset", f"{acknowledged - 1}:"]):
            print(f"\n$ esker log {' '.join(words)}".replace(folder, "DATA"), flush=True)
            code = run(["log", *words])
            if words[0] == "check":
                print(f"exit code {code}: {'clean' if code == 0 else 'findings'}")


def _write_and_kill(folder: str) -> int:
    """The last offset that the writer said was safe."""
    command = [sys.executable, "-m", "esker.cli.story", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = -1
        for _ in range(FLUSHED_BATCHES):
            acknowledged = int(writer.stdout.readline())
        writer.kill()
        # What it still said before it died was acknowledged as well; a line without its end was not.
        for line in writer.stdout:
            acknowledged = int(line) if line.endswith("\n") else acknowledged
    return acknowledged


def _tear(folder: str) -> None:
    """What a power cut may leave besides: the beginning of a batch."""
    (log,) = Path(folder).glob(f"{TOPIC}-0/*.log")
    with log.open("ab") as file:
        file.write(TORN_BYTES)


def _recover(folder: str, acknowledged: int) -> None:
    logging.basicConfig(format="  %(name)s: %(message)s", level=logging.INFO, stream=sys.stdout)
    directories = LogDirectories(DirectorySettings((folder,)))
    directories.load()
    log = directories.log(TopicPartition(TOPIC, 0))
    assert log is not None
    end_offset = log.cursors.log_end.offset
    assert end_offset > acknowledged, f"{acknowledged} was acknowledged, and the log ends at {end_offset}"
    print(f"recovered: the log ends at offset {end_offset:,}, and nothing acknowledged is missing")
    directories.close()
    logging.getLogger().handlers.clear()


def write(folder: str) -> None:
    """Append, flush, say so, and never stop."""
    directories = LogDirectories(DirectorySettings((folder,)))
    directories.load()
    create_topic(directories, TOPIC, 1, {})
    log = directories.log(TopicPartition(TOPIC, 0))
    assert log is not None
    clock = directories.world.clock
    while True:
        first = log.cursors.log_end.offset
        keys: list[bytes | None] = [b"order-%d" % number for number in range(first, first + BATCH_RECORDS)]
        values: list[bytes | None] = [b'{"item": "tea", "count": %d}' % (number % 7) for number in range(BATCH_RECORDS)]
        rows = Rows([clock.now_ms()] * BATCH_RECORDS, keys, values)
        appended = log.append_as_leader(kernel.encode(rows, Encoding(codec=Codec.LZ4)), 0, clock.now_ms())
        log.flush()
        print(appended.last_offset, flush=True)


if __name__ == "__main__":
    write(sys.argv[1])
