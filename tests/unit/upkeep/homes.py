"""Log dirs in memory, and a clock that goes as it is told."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from esker import kernel
from esker.base.config import LogConfig
from esker.base.types import TopicPartition
from esker.kernel.contract import Encoding, Rows
from esker.log.log import Log
from esker.log.values import Appended
from esker.metadata.store import Store
from esker.ports.chance import RealChance
from esker.ports.files import Files
from esker.testing.files import CrashFiles
from esker.upkeep.directories import LogDirectories
from esker.upkeep.partitions import NewLog, create_logs
from esker.upkeep.settings import DirectorySettings, World

START_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
PATHS = ("/a", "/b")
seeds = count(1)


class Clock:
    def __init__(self) -> None:
        self.ms = START_MS
        self.seconds = 0.0

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        self.seconds += 0.001
        return self.seconds


def no_store(path: str) -> Store:
    raise AssertionError(f"{path}: SQLite reads and writes by itself, not through our files")


def unloaded(files: Files, clock: Clock | None = None, paths: Sequence[str] = PATHS, **more: Any) -> LogDirectories:
    settings = DirectorySettings(tuple(paths), **{"reserve_bytes": 0, **more})
    return LogDirectories(settings, World(files, clock or Clock(), RealChance(next(seeds)), no_store))


def loaded(files: Files, clock: Clock | None = None, paths: Sequence[str] = PATHS, **more: Any) -> LogDirectories:
    directories = unloaded(files, clock, paths, **more)
    directories.load()
    return directories


def restarted(directories: LogDirectories, files: CrashFiles, **more: Any) -> LogDirectories:
    """As after a kill: nothing was closed, the locks went with the process."""
    for log_dir in directories.dirs:
        log_dir.release()
    return loaded(files, **more)


def made(directories: LogDirectories, name: str, config: LogConfig | None = None, **more: Any) -> Log:
    (log,) = create_logs(directories, [NewLog(TopicPartition(name, 0), TOPIC_ID, config or LogConfig(), **more)])
    return log


def append(log: Log, records: int = 3, stamp: int = START_MS, encoding: Encoding | None = None) -> Appended:
    rows = Rows([stamp] * records, [b"key"] * records, [b"value"] * records)
    appended = log.append_as_leader(kernel.encode(rows, encoding or Encoding()), 0, stamp)
    log.increment_high_watermark(log.cursors.log_end.offset)
    return appended
