"""A metadata log in memory: batches of records, and a file system that has nothing but them."""

from __future__ import annotations

from typing import Any

from esker import kernel
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Attribute, Codec
from esker.records.internal import kraft

ID = bytes(range(16))
OTHER_ID = bytes(range(100, 116))
CONTROL_KEY = b"\0\0\0\2"


def batch(first_offset: int, *records: Any, codec: Codec = Codec.NONE) -> bytes:
    """Records of KRaft's, or values as they are."""
    values = [each if isinstance(each, bytes) else kraft.write(each) for each in records]
    offsets = list(range(first_offset, first_offset + len(values)))
    return kernel.encode(Rows([1] * len(values), [None] * len(values), values, None, offsets), Encoding(codec))


def control(offset: int) -> bytes:
    rows = Rows([1], [CONTROL_KEY], [b"\0\0"], None, [offset])
    return kernel.encode(rows, Encoding(attributes=int(Attribute.CONTROL)))


class MemoryFile:
    """One of the files below."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data

    def size(self) -> int:
        return len(self.data)

    def read(self, size: int, position: int) -> bytes:
        return self.data[position : position + size]


class MemoryFiles:
    """A folder `log` with these files; only what a reader needs."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def names(self, folder: str) -> list[str]:
        assert folder == "log"
        return list(self.files)

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        assert not create
        return MemoryFile(path, self.files[path.removeprefix("log/")])
