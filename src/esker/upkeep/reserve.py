"""A file of a few megabytes in each log dir that is removed when the disk is full, so that deletes, checkpoints and a
clean close still find room; made again once there is some.

It is written and not only grown: a hole takes no room. A Kafka that starts on the dir passes over it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from esker.ports.files import is_full_disk

if TYPE_CHECKING:
    from esker.ports.files import Files

NAME = ".esker-reserve"
PIECE = 1 << 20
ROOM_FACTOR = 4  # so many times its size must be free before it is made again

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Reserve:
    """The one of one log dir."""

    __slots__ = ("_files", "_folder", "path", "size")

    def __init__(self, files: Files, folder: str, size: int) -> None:
        self._files = files
        self._folder = folder
        self.path = f"{folder}/{NAME}"
        self.size = size

    @property
    def is_there(self) -> bool:
        return self._files.exists(self.path) and self._files.size(self.path) >= self.size

    def fill(self) -> bool:
        """Make it where there is room to spare; is it there?"""
        if not self.size or self.is_there:
            return self.size > 0
        if self._files.free_bytes(self._folder) < ROOM_FACTOR * self.size:
            return False
        try:
            self._write()
        except OSError as error:
            if not is_full_disk(error):
                raise
            self.release()
            return False
        return True

    def _write(self) -> None:
        """Bytes that no file system packs away would be better still; zeros do on those that Kafka is run on."""
        file = self._files.open(self.path, create=True)
        for position in range(0, self.size, PIECE):
            file.write(bytes(min(PIECE, self.size - position)), position)
        file.sync()
        self._files.sync_folder(self._folder)

    def release(self) -> bool:
        """Give the room back; was there any?"""
        if not self._files.exists(self.path):
            return False
        self._files.remove(self.path)
        self._files.sync_folder(self._folder)
        logger.warning("released path=%s bytes=%d why='the disk is full'", self.path, self.size)
        return True

    def used_for(self, action: Callable[[], T]) -> T:
        """Do this; when the disk is full, once more with the room of the reserve."""
        try:
            return action()
        except OSError as error:
            if not is_full_disk(error) or not self.release():
                raise
        return action()
