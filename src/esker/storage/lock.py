"""One process alone works in a log dir: the file `.lock`, held by a POSIX record lock, as Kafka's own is.

Such a lock is the process's and not the handle's. So a second one in the same process would be granted, and closing
any handle of the file would end the first: the folders held by this process are known here, and no second handle is
opened. It ends with the process, however that ends, and does not pass to a forked child.

The file is removed on release. Whoever opened it before and got the lock after holds a file that has no name any more,
and has to begin again.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING

from esker.base.errors import EskerError
from esker.rules.layout import LOCK

if TYPE_CHECKING:
    from esker.ports.files import File, Files

# By file system and real path: the process that holds it, which in a forked child is the parent.
_held: dict[tuple[Files, str], int] = {}
_guard = Lock()


class Locked(EskerError):
    """Another log of this folder is open, in this process or another."""

    def __init__(self, folder: str, pid: int) -> None:
        by = "this process" if pid == os.getpid() else f"process {pid}" if pid > 0 else "another process"
        super().__init__(f"{folder} is in use by {by}: only one may work in a log dir at a time")
        self.folder = folder
        self.pid = pid

    def __reduce__(self) -> tuple[type[Locked], tuple[str, int]]:
        return type(self), (self.folder, self.pid)


class FolderLock:
    """Held from the moment that it is made until `release`. Raises Locked."""

    def __init__(self, files: Files, folder: str) -> None:
        self.folder = folder
        self._files = files
        self._key = (files, os.path.realpath(folder))
        with _guard:
            if _held.get(self._key) == os.getpid():
                raise Locked(folder, os.getpid())
            self._file: File | None = self._taken()
            _held[self._key] = os.getpid()

    def _taken(self) -> File:
        while True:
            file = self._files.open(f"{self.folder}/{LOCK}", create=True)
            holder = file.lock()
            if holder:
                raise Locked(self.folder, holder)
            if file.is_named():
                return file

    def release(self) -> None:
        """The second time nothing happens."""
        with _guard:
            if self._file is None:
                return
            file, self._file = self._file, None
            _held.pop(self._key, None)
            try:
                if file.is_named():
                    self._files.remove(file.path)
            finally:
                file.close()
