"""What is to be removed from disk, and when: segments that retention let go, folders of deleted topics.

Readers that hold a slice keep their bytes whatever is removed; the delay is for those who are about to open a file by
the name that it had. What a crash leaves behind is found by its suffix at the next start.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

from esker.upkeep.log_dir import LogDir


class Removal(NamedTuple):
    """`number` keeps the order of those that are due at once. `run` may block; what is gone already is no error."""

    due_ms: int
    number: int
    log_dir: LogDir
    folder: str  # the partition's, as a path
    what: str
    run: Callable[[], None]


class Removals:
    """By time."""

    def __init__(self) -> None:
        self._heap: list[Removal] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, due_ms: int, log_dir: LogDir, path: str, run: Callable[[], None]) -> None:
        """`path` is a partition's folder, or `folder/what is in it`."""
        folder = "/".join(path.split("/")[: log_dir.path.count("/") + 2])
        self._count += 1
        heapq.heappush(self._heap, Removal(due_ms, self._count, log_dir, folder, path, run))

    def due(self, now_ms: int) -> list[Removal]:
        """Those whose time has come; they are not kept here any longer."""
        found = []
        while self._heap and self._heap[0].due_ms <= now_ms:
            found.append(heapq.heappop(self._heap))
        return found

    def forget(self, folder: str) -> None:
        """The folder has another name now, and goes as a whole."""
        self._heap = [each for each in self._heap if each.folder != folder]
        heapq.heapify(self._heap)
