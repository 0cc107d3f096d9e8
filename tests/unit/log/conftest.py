"""Every log that a test of this folder made is checked when the test is over, unless it broke or was closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from esker.testing.faults import FaultyFiles
from esker.testing.files import CrashFiles
from unit.log.kit import CONFIG, FOLDER, check_log, new_log, reopened

if TYPE_CHECKING:
    from esker.base.config import LogConfig
    from esker.log.log import Log
    from esker.rules.cursors import Checkpoints

Make = Callable[..., "Log"]


@pytest.fixture
def disk() -> CrashFiles:
    files = CrashFiles()
    files.now_ms = 1_700_000_000_000
    return files


@pytest.fixture
def faulty(disk: CrashFiles) -> FaultyFiles:
    return FaultyFiles(disk)


@pytest.fixture
def logs(faulty: FaultyFiles) -> Iterator[list[Log]]:
    made: list[Log] = []
    yield made
    faulty.failures.clear()
    for log in made:
        if log.out_of_service is None:
            check_log(log)


@pytest.fixture
def make(faulty: FaultyFiles, logs: list[Log]) -> Make:
    """A new log; one before it is gone."""

    def made(config: LogConfig = CONFIG, start_offset: int = 0) -> Log:
        if logs:
            check_log(logs[0])
            faulty.remove_tree(FOLDER)
        logs[:] = [new_log(faulty, config, start_offset)]
        return logs[0]

    return made


@pytest.fixture
def reopen(faulty: FaultyFiles, logs: list[Log]) -> Make:
    """The log of the disk again."""

    def again(config: LogConfig = CONFIG, saved: Checkpoints | None = None, *, clean: bool = False) -> Log:
        logs[:] = [reopened(faulty, config, saved, clean=clean).log]
        return logs[0]

    return again
