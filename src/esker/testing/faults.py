"""Files whose calls fail when told to: a full disk, a broken one, a sync that does not.

    files = FaultyFiles(RealFiles(), [Failure("write", errno.ENOSPC, at=3, part=100)])

The fourth write puts 100 bytes and then says that the disk is full; all else is done by the file system behind.
`seen` counts the calls, so that a test can first run without failures and then fail each call in turn.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import ReadableBuffer, WriteableBuffer

    from esker.ports.files import File, Files

FOREVER = 1 << 60


class Failure(NamedTuple):
    """The `at`-th call of `operation` (a method of File or Files) on a path that contains `path` fails, counted from 0
    among such calls, and the `times` - 1 ones after it. A write has put its first `part` bytes by then."""

    operation: str
    error: int
    at: int = 0
    times: int = 1
    part: int = 0
    path: str = ""


class FaultyFile:
    def __init__(self, files: FaultyFiles, file: File) -> None:
        self._files = files
        self._file = file
        self.path = file.path

    def read(self, size: int, position: int) -> bytes:
        self._files.meet("read", self.path)
        return self._file.read(size, position)

    def read_into(self, buffer: WriteableBuffer, position: int) -> int:
        self._files.meet("read", self.path)
        return self._file.read_into(buffer, position)

    def write(self, data: ReadableBuffer, position: int) -> None:
        failure = self._files.failure("write", self.path)
        if failure is None:
            self._file.write(data, position)
            return
        self._file.write(bytes(memoryview(data).cast("B")[: failure.part]), position)
        raise OSError(failure.error, os.strerror(failure.error), self.path)

    def size(self) -> int:
        return self._file.size()

    def truncate(self, size: int) -> None:
        self._files.meet("truncate", self.path)
        self._file.truncate(size)

    def sync(self) -> None:
        self._files.meet("sync", self.path)
        self._file.sync()

    def map(self) -> memoryview:
        self._files.meet("map", self.path)
        return self._file.map()

    def lock(self) -> int:
        return self._file.lock()

    def is_named(self) -> bool:
        return self._file.is_named()

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()


class FaultyFiles:
    """`failures` may be changed while it is in use."""

    def __init__(self, files: Files, failures: Sequence[Failure] = ()) -> None:
        self.behind = files
        self.failures = list(failures)
        self.seen: Counter[str] = Counter()
        self._met: Counter[Failure] = Counter()

    def failure(self, operation: str, path: str) -> Failure | None:
        """Count the call; the failure that it meets."""
        self.seen[operation] += 1
        due = None
        for failure in self.failures:
            if failure.operation == operation and failure.path in path:
                if failure.at <= self._met[failure] < failure.at + failure.times:
                    due = failure
                self._met[failure] += 1
        return due

    def meet(self, operation: str, path: str) -> None:
        failure = self.failure(operation, path)
        if failure is not None:
            raise OSError(failure.error, os.strerror(failure.error), path)

    def open(self, path: str, *, create: bool = False) -> FaultyFile:
        self.meet("open", path)
        return FaultyFile(self, self.behind.open(path, create=create))

    def read(self, path: str) -> bytes:
        self.meet("read", path)
        return self.behind.read(path)

    def write_new(self, path: str, data: ReadableBuffer) -> None:
        failure = self.failure("write", path)
        if failure is None:
            self.behind.write_new(path, data)
            return
        self.behind.write_new(path, bytes(memoryview(data).cast("B")[: failure.part]))
        raise OSError(failure.error, os.strerror(failure.error), path)

    def replace(self, source: str, target: str) -> None:
        self.meet("replace", source)
        self.behind.replace(source, target)

    def remove(self, path: str) -> None:
        self.meet("remove", path)
        self.behind.remove(path)

    def remove_tree(self, path: str) -> None:
        self.meet("remove_tree", path)
        self.behind.remove_tree(path)

    def make_folder(self, path: str) -> None:
        self.meet("make_folder", path)
        self.behind.make_folder(path)

    def names(self, folder: str) -> list[str]:
        self.meet("names", folder)
        return self.behind.names(folder)

    def exists(self, path: str) -> bool:
        self.meet("exists", path)
        return self.behind.exists(path)

    def size(self, path: str) -> int:
        self.meet("size", path)
        return self.behind.size(path)

    def modified_ms(self, path: str) -> int:
        return self.behind.modified_ms(path)

    def set_modified_ms(self, path: str, ms: int) -> None:
        self.meet("set_modified_ms", path)
        self.behind.set_modified_ms(path, ms)

    def sync_folder(self, path: str) -> None:
        self.meet("sync_folder", path)
        self.behind.sync_folder(path)

    def free_bytes(self, path: str) -> int:
        return self.behind.free_bytes(path)
