"""What is cut from a log is kept in a file beside it, which neither Esker nor Kafka loads, until somebody removes it.

The name tells where it was: `<log file>.<position>-<end>.cut`. It holds the bytes as they were.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from esker.ports.files import is_full_disk

if TYPE_CHECKING:
    from esker.ports.files import Files

PIECE = 1 << 20
SUFFIX = ".cut"


def set_aside(files: Files, path: str, position: int, end: int) -> str | None:
    """Keep the bytes [position, end) of the file; the name of where, both durable when this returns. None: the disk is
    full, and nothing is kept: a log must come up there as well."""
    target = f"{path}.{position}-{end}{SUFFIX}"
    try:
        _copy(files, path, target, (position, end))
    except OSError as error:
        if not is_full_disk(error):
            raise
        if files.exists(target):
            files.remove(target)
        return None
    files.sync_folder(posixpath.dirname(path) or ".")
    return target


def _copy(files: Files, path: str, target: str, stretch: tuple[int, int]) -> None:
    position, end = stretch
    source, kept = files.open(path), files.open(target, create=True)
    kept.truncate(0)
    for at in range(position, end, PIECE):
        kept.write(source.read(min(PIECE, end - at), at), at - position)
    kept.sync()


def set_whole_aside(files: Files, path: str) -> str:
    """The same for all of a file that goes: it is renamed, which takes no room."""
    target = f"{path}.0-{files.size(path)}{SUFFIX}"
    files.replace(path, target)
    return target
