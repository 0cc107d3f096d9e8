"""A file system in memory that can crash: `esker.ports.files` for tests.

    files = CrashFiles()
    ... work with files ...
    for at in range(len(files.operations) + 1):
        for seed in range(20):
            after = files.crash(at, seed)      # another CrashFiles: what a restart would find
            ... open it, check it ...

Every call that changes something is one operation, numbered from 0 and kept in `operations` with the words that
describe it. `crash(at, keep)` answers the file system as it may be when the power goes after the first `at`
operations. `keep` says what of the unsynced things is left:

- `KILLED`: everything; the process died, the system did not.
- `SYNCED`: nothing but what was synced, the worst that a power cut can do in plain terms.
- a number: a seed, by which some is left: writes lost, torn or reordered, renames lost. What may happen exactly is on
  the first page of `esker.testing.disk`; `ordered=False` takes the order of renames away too.

Reading never fails here and `crash` changes nothing: the same number gives the same again. Files that are held go on
working on the file system that they were opened in, renamed and removed ones as well. The clock is `now_ms`, which
the test sets. `capacity` makes a disk that gets full. Calls that should fail: `esker.testing.faults`.
"""

from __future__ import annotations

import errno
import io
import os
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from esker.testing.disk import ROOT, Disk, FileNode, FolderNode, NameChange, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer, WriteableBuffer

KILLED = "killed"
SYNCED = "synced"
UNLIMITED = 1 << 60


class Operation(NamedTuple):
    """One change, made again for each crash. `target` is the path that it was asked for."""

    name: str
    target: str
    apply: Callable[[Disk], object]

    def __str__(self) -> str:
        return f"{self.name} {self.target}"


def missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class CrashFile:
    """A file of CrashFiles."""

    def __init__(self, files: CrashFiles, path: str, number: int) -> None:
        self._files = files
        self._number = number
        self.path = path

    @property
    def _node(self) -> FileNode:
        return self._files.disk.file(self._number)

    def read(self, size: int, position: int) -> bytes:
        return bytes(self._node.data[position : position + size])

    def read_into(self, buffer: WriteableBuffer, position: int) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view), position)
        view[: len(data)] = data
        return len(data)

    def write(self, data: ReadableBuffer, position: int) -> None:
        wanted = bytes(memoryview(data).cast("B"))
        room = len(self._node.data) + self._files.free_bytes(self.path) - position
        self._change("write", lambda node: node.write(position, wanted[: max(0, room)]))
        if room < len(wanted):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def size(self) -> int:
        return len(self._node.data)

    def truncate(self, size: int) -> None:
        self._change("truncate", lambda node: node.resize(size))

    def sync(self) -> None:
        number = self._number
        self._files.do("sync", self.path, lambda disk: disk.file(number).sync())

    def map(self) -> memoryview:
        return memoryview(bytes(self._node.data))

    def lock(self) -> int:
        return 0

    def is_named(self) -> bool:
        return self._files.number_of(self.path) == self._number

    def fileno(self) -> int:
        raise io.UnsupportedOperation("a file in memory has no number")

    def close(self) -> None:
        """There is nothing to let go of."""

    def _change(self, name: str, change: Callable[[FileNode], None]) -> None:
        number, now_ms = self._number, self._files.now_ms

        def apply(disk: Disk) -> None:
            node = disk.file(number)
            change(node)
            node.modified_ms = now_ms

        self._files.do(name, self.path, apply)


class CrashFiles:
    """See the head of this module. Paths begin with `/`."""

    def __init__(self, *, ordered: bool = True, capacity: int = UNLIMITED, disk: Disk | None = None) -> None:
        self.disk = disk or Disk(ordered=ordered)
        self.capacity = capacity
        self.now_ms = 0
        self.operations: list[Operation] = []
        self._first = self.disk.after_kill()

    def do(self, name: str, target: str, apply: Callable[[Disk], object]) -> None:
        apply(self.disk)
        self.operations.append(Operation(name, target, apply))

    def crash(self, at: int | None = None, keep: str | int = SYNCED) -> CrashFiles:
        """The file system after the first `at` operations (None: all) and a crash."""
        disk = self._first.after_kill()
        for operation in self.operations[:at]:
            operation.apply(disk)
        chance = None if keep in (KILLED, SYNCED) else Random(keep)
        left = disk.after_kill() if keep == KILLED else disk.after_power_cut(chance)
        return CrashFiles(capacity=self.capacity, disk=left)

    # esker.ports.files.Files

    def open(self, path: str, *, create: bool = False) -> CrashFile:
        if create and not self.exists(path):
            self._add("create", path, FileNode)
        return CrashFile(self, path, self._file(path))

    def read(self, path: str) -> bytes:
        return bytes(self.disk.file(self._file(path)).data)

    def write_new(self, path: str, data: ReadableBuffer) -> None:
        file = self.open(path, create=True)
        file.truncate(0)
        file.write(data, 0)

    def replace(self, source: str, target: str) -> None:
        node = self.number_of(source)
        if node is None:
            raise missing(source)
        if source != target:
            change = NameChange({self._place(source): None, self._place(target): node}, node)
            self.do("replace", f"{source} -> {target}", lambda disk: disk.change(change))

    def remove(self, path: str) -> None:
        self._unlink(path, self._file(path))

    def remove_tree(self, path: str) -> None:
        number = self._folder(path)
        for name in sorted(self.disk.folder(number).names):
            inside = f"{path}/{name}"
            if isinstance(self.disk.nodes[self._number(inside)], FolderNode):
                self.remove_tree(inside)
            else:
                self.remove(inside)
        self._unlink(path, number)

    def make_folder(self, path: str) -> None:
        parent = os.path.dirname(path)
        if parent != path and not self.exists(parent):
            self.make_folder(parent)
        if not self.exists(path):
            self._add("make_folder", path, FolderNode)
        self._folder(path)

    def names(self, folder: str) -> list[str]:
        return list(self.disk.folder(self._folder(folder)).names)

    def exists(self, path: str) -> bool:
        return self.number_of(path) is not None

    def size(self, path: str) -> int:
        return len(self.disk.file(self._file(path)).data)

    def modified_ms(self, path: str) -> int:
        return self.disk.file(self._file(path)).modified_ms

    def set_modified_ms(self, path: str, ms: int) -> None:
        number = self._file(path)
        self.do("set_modified_ms", path, lambda disk: setattr(disk.file(number), "modified_ms", ms))

    def sync_folder(self, path: str) -> None:
        number = self._folder(path)
        self.do("sync_folder", path, lambda disk: disk.sync_folder(number))

    def free_bytes(self, path: str) -> int:
        """The disk is one, whatever the path. Files that have lost their names take no room."""
        if self.capacity == UNLIMITED:
            return UNLIMITED
        self._number(path)
        return max(0, self.capacity - self.disk.used())

    # Paths.

    def number_of(self, path: str) -> int | None:
        """The node that the path leads to now."""
        number = ROOT
        for name in path.strip("/").split("/"):
            node = self.disk.nodes[number]
            if name and (not isinstance(node, FolderNode) or name not in node.names):
                return None
            number = node.names[name] if name and isinstance(node, FolderNode) else number
        return number

    def _number(self, path: str) -> int:
        number = self.number_of(path)
        if number is None:
            raise missing(path)
        return number

    def _file(self, path: str) -> int:
        number = self._number(path)
        if isinstance(self.disk.nodes[number], FolderNode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return number

    def _folder(self, path: str) -> int:
        number = self._number(path)
        if isinstance(self.disk.nodes[number], FileNode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return number

    def _place(self, path: str) -> Place:
        folder, name = os.path.split(path)
        return Place(self._folder(folder), name)

    def _add(self, operation: str, path: str, kind: type[FileNode | FolderNode]) -> None:
        place, now_ms = self._place(path), self.now_ms

        def apply(disk: Disk) -> None:
            node = kind()
            if isinstance(node, FileNode):
                node.modified_ms = now_ms
            number = disk.add(node)
            disk.change(NameChange({place: number}, number))

        self.do(operation, path, apply)

    def _unlink(self, path: str, number: int) -> None:
        change = NameChange({self._place(path): None}, number)
        self.do("remove", path, lambda disk: disk.change(change))
