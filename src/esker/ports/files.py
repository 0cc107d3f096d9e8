"""The door to the file system.

Positions are explicit in every call, so a `File` has no cursor and one may be shared by readers. Paths are plain
strings. What fails raises OSError with `filename` set, whatever the call.

The surprises: a `File` lives as long as somebody holds it, so a reader keeps its bytes though the file is renamed,
removed or dropped from a pool meanwhile. And nothing is durable before it is told to be: a file's bytes by `sync`,
its name (new, changed or gone) by `sync_folder` of the folder that it stands in.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import shutil
import struct
import sys
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

NANOS_PER_MS = 1_000_000
# What the system answers when there is no room, or no more for this user.
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
# What the system answers where a file may be read but not written.
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


class File(Protocol):
    """An open file. It closes itself when nobody holds it any more."""

    @property
    def path(self) -> str:
        """The name that it was opened by."""

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes; fewer only where the file ends."""

    def read_into(self, buffer: WriteableBuffer, position: int) -> int:
        """Fill the buffer; answers how many bytes there were, fewer only where the file ends."""

    def write(self, data: ReadableBuffer, position: int) -> None:
        """All of it, or OSError: then any part of it may have been written."""

    def size(self) -> int: ...

    def truncate(self, size: int) -> None:
        """Cut it, or let it grow by zeros."""

    def sync(self) -> None:
        """Bytes and size are durable when this returns. After an error nothing is known of what was written before."""

    def map(self) -> memoryview:
        """The bytes as of now, read only, not copied. The file must not be cut while somebody looks at them."""

    def lock(self) -> int:
        """Take the lock of the file for this process: 0 when it was taken, otherwise the process that has it (-1
        where the system does not say). It goes when this process closes *any* handle of the file, or ends."""

    def is_named(self) -> bool:
        """Does its path still lead to this very file?"""

    def fileno(self) -> int: ...

    def close(self) -> None: ...


class Files(Protocol):
    """A file system."""

    def open(self, path: str, *, create: bool = False) -> File:
        """To read and write; `create` makes it if need be. What may only be read is opened so, and refuses writes."""

    def read(self, path: str) -> bytes:
        """The whole file."""

    def write_new(self, path: str, data: ReadableBuffer) -> None:
        """The file holds this and nothing else; not durable, not atomic."""

    def replace(self, source: str, target: str) -> None:
        """Rename, in one step; what stood at `target` is gone."""

    def remove(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None:
        """The folder and all in it."""

    def make_folder(self, path: str) -> None:
        """It is there afterwards, its parents too; one that was there stays as it is."""

    def names(self, folder: str) -> list[str]:
        """What is in it, in no order."""

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int: ...

    def set_modified_ms(self, path: str, ms: int) -> None: ...

    def sync_folder(self, path: str) -> None:
        """The names in it are durable when this returns."""

    def free_bytes(self, path: str) -> int:
        """How much this process may still write to the disk that holds `path`."""


if sys.platform == "darwin":

    def sync_data(fd: int) -> None:
        """fsync leaves the bytes in the drive's cache here; F_FULLFSYNC does not, but not every file system has it."""
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                raise
            os.fsync(fd)

    def lock_holder(fd: int) -> int:
        asked = struct.pack("qqihh", 0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
        pid: int = struct.unpack("qqihh", fcntl.fcntl(fd, fcntl.F_GETLK, asked))[2]
        return pid

else:

    def sync_data(fd: int) -> None:
        os.fdatasync(fd)

    def lock_holder(fd: int) -> int:
        """The process that has a lock on the file, 0 when none has. The fields are those of `struct flock`."""
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        pid: int = struct.unpack("hhqqi", fcntl.fcntl(fd, fcntl.F_GETLK, asked))[4]
        return pid


def is_full_disk(error: OSError) -> bool:
    """Did it fail only because there is no room?"""
    return error.errno in FULL_DISK


class RealFile:
    """A file of the operating system."""

    __slots__ = ("__weakref__", "_fd", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def __del__(self) -> None:
        if self._fd >= 0:
            self.close()

    def read(self, size: int, position: int) -> bytes:
        try:
            data = os.pread(self._fd, size, position)
            if len(data) == size or not data:
                return data
            return self._read_on(data, size, position)
        except OSError as error:
            error.filename = self.path
            raise

    def _read_on(self, data: bytes, size: int, position: int) -> bytes:
        """The system answers less than it was asked for at the file's end, and beyond 2 GiB."""
        pieces = [data]
        done = len(data)
        while done < size and (data := os.pread(self._fd, size - done, position + done)):
            pieces.append(data)
            done += len(data)
        return b"".join(pieces)

    def read_into(self, buffer: WriteableBuffer, position: int) -> int:
        view = memoryview(buffer).cast("B")
        done = 0
        try:
            while done < len(view) and (count := os.preadv(self._fd, [view[done:]], position + done)):
                done += count
        except OSError as error:
            error.filename = self.path
            raise
        return done

    def write(self, data: ReadableBuffer, position: int) -> None:
        try:
            done = os.pwrite(self._fd, data, position)
            view = memoryview(data)
            if done != view.nbytes:
                self._write_on(view.cast("B"), done, position)
        except OSError as error:
            error.filename = self.path
            raise

    def _write_on(self, view: memoryview, done: int, position: int) -> None:
        """A full disk takes what still fits, and says that it is full when asked again."""
        while done < len(view):
            done += os.pwrite(self._fd, view[done:], position + done)

    def size(self) -> int:
        try:
            return os.fstat(self._fd).st_size
        except OSError as error:
            error.filename = self.path
            raise

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            error.filename = self.path
            raise

    def sync(self) -> None:
        try:
            sync_data(self._fd)
        except OSError as error:
            error.filename = self.path
            raise

    def map(self) -> memoryview:
        """The map has a handle of its own (Python's mmap duplicates it): it outlives this object."""
        if not self.size():
            return memoryview(b"")
        try:
            return memoryview(mmap.mmap(self._fd, 0, access=mmap.ACCESS_READ))
        except OSError as error:
            error.filename = self.path
            raise

    def lock(self) -> int:
        """A POSIX record lock, as Java's are; one made by `flock` would not be seen by Kafka."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                error.filename = self.path
                raise
            return lock_holder(self._fd) or -1
        return 0

    def is_named(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._fd))
        except FileNotFoundError:
            return False

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class RealFiles:
    """The file system of the machine. There is one: all of these are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RealFiles)

    def __hash__(self) -> int:
        return hash(RealFiles)

    def open(self, path: str, *, create: bool = False) -> RealFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        try:
            return RealFile(path, os.open(path, flags, 0o644))
        except OSError as error:
            if create or error.errno not in READ_ONLY:
                raise
        return RealFile(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def write_new(self, path: str, data: ReadableBuffer) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        RealFile(path, os.open(path, flags, 0o644)).write(data, 0)

    def replace(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)

    def make_folder(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def names(self, folder: str) -> list[str]:
        return os.listdir(folder)

    def exists(self, path: str) -> bool:
        """Not `os.path.exists`: that takes a disk that fails for a file that is not there."""
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // NANOS_PER_MS

    def set_modified_ms(self, path: str, ms: int) -> None:
        os.utime(path, ns=(ms * NANOS_PER_MS, ms * NANOS_PER_MS))

    def sync_folder(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        except OSError as error:
            error.filename = path
            raise
        finally:
            os.close(fd)

    def free_bytes(self, path: str) -> int:
        found = os.statvfs(path)
        return found.f_bavail * found.f_frsize
