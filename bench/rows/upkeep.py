"""The row of many logs: 10,000 of them, closed cleanly, opened by one process that may have 1,024 files open.

The peer lists each folder and reads its files whole, which is the least that anybody does who looks at all of them;
the limit only lists the folders.
"""

from __future__ import annotations

import os
import resource
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.row import Contest, Row, seconds
from esker import kernel
from esker.kernel.contract import Encoding, Rows
from esker.ports.files import RealFile, RealFiles
from esker.upkeep.directories import LogDirectories
from esker.upkeep.partitions import create_topic
from esker.upkeep.settings import DirectorySettings, World

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path("build") / "bench" / "open-10k-logs"
LOGS = 10_000
HANDLES = 1_024
FIRST_TIME = 1_700_000_000_000


class UnsyncedFile(RealFile):
    __slots__ = ()

    def sync(self) -> None:
        """Setting up need not survive a power cut."""


class UnsyncedFiles(RealFiles):
    def open(self, path: str, *, create: bool = False) -> RealFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return UnsyncedFile(path, os.open(path, flags, 0o644))

    def sync_folder(self, path: str) -> None:
        """As above."""


def make(folder: Path, count: int) -> None:
    """So many logs of one topic, three records in each, closed cleanly."""
    shutil.rmtree(folder, ignore_errors=True)
    directories = LogDirectories(settings(folder), World(UnsyncedFiles()))
    directories.load()
    create_topic(directories, "t", count, {})
    batch = kernel.encode(Rows([FIRST_TIME] * 3, [b"key"] * 3, [b"value"] * 3), Encoding())
    for hosted in directories.hosted():
        hosted.log.append_as_leader(batch, 0, FIRST_TIME)
    directories.close()


def settings(folder: Path) -> DirectorySettings:
    return DirectorySettings((str(folder),), reserve_bytes=0)


@contextmanager
def few_handles() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(HANDLES, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def contest() -> Contest:
    make(FOLDER, LOGS)
    marker = FOLDER / ".kafka_cleanshutdown"

    def opened() -> float:
        directories = LogDirectories(settings(FOLDER))
        with few_handles():
            took = seconds(directories.load)
        assert len(directories.logs) == LOGS
        directories._let_go()
        marker.touch()
        return took

    def read_all() -> None:
        for folder in folders():
            for file in folder.iterdir():
                file.read_bytes()

    def list_all() -> None:
        for folder in folders():
            os.listdir(folder)

    about = {"logs": LOGS, "handles": HANDLES, "peer": "every file of every log read", "limit": "every folder listed"}
    return Contest(opened, lambda: seconds(read_all), lambda: seconds(list_all), {}, about)


def folders() -> Iterator[Path]:
    return (each for each in FOLDER.iterdir() if each.is_dir())


ROWS = [
    Row(
        "open-10k-logs",
        "s",
        f"Esker opens {LOGS} logs that were closed cleanly, at a soft limit of {HANDLES} handles; the peer reads every "
        "file of them whole, the limit lists their folders",
        contest,
        larger_is_better=False,
    )
]
