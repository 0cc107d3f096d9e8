"""The pool of handles: ten thousand logs live with the few hundred files that a process may have open.

A file is opened when it is needed and dropped when others were needed since. Dropping lets go of the reference only:
whoever still holds the File, a reader with a slice of a removed segment say, goes on with it, and it closes when the
last one lets go. Maps are kept beside the files, since each has a handle of its own.

The surprise: an error of writing back that the system meets after a file was dropped is told to the next one who
syncs it, but only while the system itself keeps the file in memory. Linux does so as long as unwritten bytes remain.
"""

from __future__ import annotations

import errno
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from esker.ports.files import File, Files

OUT_OF_HANDLES = (errno.EMFILE, errno.ENFILE)


class Held(NamedTuple):
    """What the pool has open now: handles in use."""

    files: int
    maps: int


class Handles:
    """Least recently used goes first. May be called from several threads."""

    __slots__ = ("_files_limit", "_lock", "_maps", "_maps_limit", "_open", "files")

    def __init__(self, files: Files, limit: int) -> None:
        self.files = files
        self._maps_limit = max(1, limit // 4)
        self._files_limit = max(1, limit - self._maps_limit)
        self._open: OrderedDict[str, File] = OrderedDict()
        self._maps: OrderedDict[str, memoryview] = OrderedDict()
        self._lock = Lock()

    @property
    def held(self) -> Held:
        return Held(len(self._open), len(self._maps))

    def get(self, path: str, *, create: bool = False) -> File:
        with self._lock:
            file = self._open.get(path)
            if file is None:
                file = self._open[path] = self._opened(path, create=create)
                if len(self._open) > self._files_limit:
                    self._open.popitem(last=False)
            else:
                self._open.move_to_end(path)
            return file

    def map(self, path: str, size: int) -> memoryview:
        """The file's bytes, read only, `size` of them at least; no longer than until `forget`."""
        with self._lock:
            view = self._maps.get(path)
            if view is None or len(view) < size:
                view = self._maps[path] = self._opened(path).map()
                if len(self._maps) > self._maps_limit:
                    self._maps.popitem(last=False)
            self._maps.move_to_end(path)
            return view

    def forget(self, path: str) -> None:
        """The name will mean something else: the file was renamed, removed or cut."""
        with self._lock:
            self._open.pop(path, None)
            self._maps.pop(path, None)

    def clear(self) -> None:
        with self._lock:
            self._open.clear()
            self._maps.clear()

    def _opened(self, path: str, *, create: bool = False) -> File:
        """When the process has no handle left, half of ours go first: sockets and others need them too."""
        try:
            return self.files.open(path, create=create)
        except OSError as error:
            if error.errno not in OUT_OF_HANDLES or not (self._open or self._maps):
                raise
        for pool in (self._open, self._maps):
            for _ in range((len(pool) + 1) // 2):
                pool.popitem(last=False)
        return self.files.open(path, create=create)
