"""What a disk remembers when the power goes: a model of a file system, without its calls (`esker.testing.files`).

Each file has its bytes as of now, its bytes as of the last sync, and the changes since. Each folder has its names as
of now and the durable ones; changes of names wait in one journal for the folder's sync. A power cut picks what of the
waiting things had reached the disk:

- Bytes: each write since the last sync is there, or not, or some of its sectors of 512 bytes are, in any order. The
  size is one of those that the file had since, independently of the bytes: so a file may end early, or end in zeros.
- Names: a change (create, rename, remove) is there whole or not at all. With `ordered` they reach the disk in the order
  made, as with the journals of ext4, xfs and APFS. Without, in any order that does not turn around changes of the same
  name or file: more than POSIX promises nobody should use.
- Syncing a file says nothing of its name, syncing a folder nothing of its files' bytes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

SECTOR = 512
ROOT = 0


class Write(NamedTuple):
    position: int
    data: bytes


class Resize(NamedTuple):
    size: int


@dataclass
class FileNode:
    """A file, whatever its names are."""

    data: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    since: list[Write | Resize] = field(default_factory=list)
    modified_ms: int = 0
    durable_modified_ms: int = 0

    def write(self, position: int, data: bytes) -> None:
        self.since.append(Write(position, data))
        put(self.data, position, data)

    def resize(self, size: int) -> None:
        self.since.append(Resize(size))
        resize(self.data, size)

    def sync(self) -> None:
        self.durable, self.since, self.durable_modified_ms = bytes(self.data), [], self.modified_ms


# What a file holds afterwards, and when it was modified.
Survivor = Callable[[FileNode], tuple[bytearray, int]]


@dataclass
class FolderNode:
    names: dict[str, int] = field(default_factory=dict)
    durable: dict[str, int] = field(default_factory=dict)


class Place(NamedTuple):
    """A name in a folder."""

    folder: int
    name: str


class NameChange(NamedTuple):
    """What one operation does to names, all of it or nothing: which node each place leads to then, or none."""

    places: dict[Place, int | None]
    node: int

    def depends_on(self, earlier: NameChange) -> bool:
        return self.node == earlier.node or not self.places.keys().isdisjoint(earlier.places)


class Mood(NamedTuple):
    """How much of what waits survives one power cut; drawn once, so that extremes come up too."""

    names: float
    whole: float
    torn: float

    @classmethod
    def drawn(cls, chance: Random) -> Mood:
        whole = chance.choice((0.0, 0.5, 0.9, 1.0))
        return cls(chance.choice((0.0, 0.5, 0.9, 1.0)), whole, chance.random() * (1 - whole))


class Disk:
    """Nodes by number, the root folder first, and the changes of names that wait."""

    def __init__(self, *, ordered: bool = True) -> None:
        self.ordered = ordered
        self.nodes: dict[int, FileNode | FolderNode] = {ROOT: FolderNode()}
        self.journal: list[NameChange] = []
        self._next = ROOT + 1

    def add(self, node: FileNode | FolderNode) -> int:
        number, self._next = self._next, self._next + 1
        self.nodes[number] = node
        return number

    def folder(self, number: int) -> FolderNode:
        node = self.nodes[number]
        assert isinstance(node, FolderNode)
        return node

    def file(self, number: int) -> FileNode:
        node = self.nodes[number]
        assert isinstance(node, FileNode)
        return node

    def used(self, number: int = ROOT) -> int:
        """The bytes of all files that a name leads to, from this folder on."""
        node = self.nodes[number]
        return len(node.data) if isinstance(node, FileNode) else sum(map(self.used, node.names.values()))

    def change(self, change: NameChange) -> None:
        for place, node in change.places.items():
            name(self.folder(place.folder).names, place.name, node)
        self.journal.append(change)

    def sync_folder(self, number: int) -> None:
        """Its names are durable; with an ordered journal all that came before its last change too."""
        touching = [
            at for at, change in enumerate(self.journal) if any(place.folder == number for place in change.places)
        ]
        if not touching:
            return
        done = set(range(touching[-1] + 1)) if self.ordered else set(touching)
        for at in sorted(done):
            self._make_durable(self.journal[at])
        self.journal = [change for at, change in enumerate(self.journal) if at not in done]

    def _make_durable(self, change: NameChange) -> None:
        for place, node in change.places.items():
            name(self.folder(place.folder).durable, place.name, node)

    def after_kill(self) -> Disk:
        """The process is gone, the system lives: all is as it was, and some of it is durable by and by."""
        disk = copy.deepcopy(self)
        for change in disk.journal:
            disk._make_durable(change)
        return disk._settled(lambda node: (node.data, node.modified_ms))

    def after_power_cut(self, chance: Random | None) -> Disk:
        """What is on the disk; without `chance` what was synced and nothing else."""
        disk = copy.deepcopy(self)
        if chance is None:
            return disk._settled(lambda node: (bytearray(node.durable), node.durable_modified_ms))
        mood = Mood.drawn(chance)
        for change in disk._surviving_changes(chance, mood):
            disk._make_durable(change)
        return disk._settled(lambda node: (surviving_bytes(node, chance, mood), node.durable_modified_ms))

    def _surviving_changes(self, chance: Random, mood: Mood) -> list[NameChange]:
        if self.ordered:
            return self.journal[: chance.randint(0, len(self.journal))] if mood.names < 1 else self.journal
        kept: list[NameChange] = []
        lost: list[NameChange] = []
        for change in self.journal:
            survives = chance.random() < mood.names and not any(change.depends_on(earlier) for earlier in lost)
            (kept if survives else lost).append(change)
        return kept

    def _settled(self, surviving: Survivor) -> Disk:
        """Durable is all there is now."""
        self.journal = []
        for node in self.nodes.values():
            if isinstance(node, FolderNode):
                node.names = dict(node.durable)
            else:
                node.data, node.modified_ms = surviving(node)
                node.sync()
        return self


def name(names: dict[str, int], key: str, node: int | None) -> None:
    if node is None:
        names.pop(key, None)
    else:
        names[key] = node


def put(data: bytearray, position: int, piece: bytes) -> None:
    if len(data) < position:
        resize(data, position)
    data[position : position + len(piece)] = piece


def resize(data: bytearray, size: int) -> None:
    if size < len(data):
        del data[size:]
    else:
        data.extend(bytes(size - len(data)))


def surviving_bytes(node: FileNode, chance: Random, mood: Mood) -> bytearray:
    """The size is that after some of the changes, in their order; the bytes come as they like."""
    sized = chance.randint(0, len(node.since)) if mood.whole < 1 else len(node.since)
    data = bytearray(node.durable)
    size = len(data)
    for at, change in enumerate(node.since):
        if isinstance(change, Resize):
            if at < sized:
                resize(data, size := change.size)
            continue
        if at < sized:
            size = max(size, change.position + len(change.data))
        for position, piece in surviving_pieces(change, chance, mood):
            put(data, position, piece)
    resize(data, size)
    return data


def surviving_pieces(write: Write, chance: Random, mood: Mood) -> list[Write]:
    """All, nothing, or some of the sectors that the write touched."""
    fate = chance.random()
    if fate < mood.whole:
        return [write]
    if fate >= mood.whole + mood.torn:
        return []
    return [piece for piece in sectors(write) if chance.random() < 0.5]


def sectors(write: Write) -> list[Write]:
    pieces = []
    at, end = write.position, write.position + len(write.data)
    while at < end:
        stop = min(end, (at // SECTOR + 1) * SECTOR)
        pieces.append(Write(at, write.data[at - write.position : stop - write.position]))
        at = stop
    return pieces
