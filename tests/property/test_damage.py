"""One damaged block in any file of a partition: `check` names the file and the place, `repair` takes away no more
than what was hit, and `check` is content afterwards."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import pytest

from esker.base.errors import BadFile
from esker.records.batch import batches
from esker.storage import repair
from esker.storage.checkpoints import parse_epochs
from esker.storage.findings import Finding
from esker.storage.listing import Kind, look_file
from esker.testing.files import KILLED, CrashFiles
from unit.storage.made_log import DIR, FOLDER, MadeLog, faults

BLOCKS = {"quick": 40, "test": 300, "campaign": 3_000, "night": 30_000}
RUNS = range(4)
# What nothing in the files tells: the end of the checkpoint's last line, and entries of an offset index so near the
# log's end that they may not have been due. Both change nothing for a reader.
HARMLESS = ("leader-epoch-checkpoint", ".index")


class Block(NamedTuple):
    """What was done to which bytes of which file: from the first to the last that is another one now."""

    path: str
    how: str
    position: int
    size: int


@pytest.fixture(scope="module")
def made() -> CrashFiles:
    files = CrashFiles()
    MadeLog(files, FOLDER)
    files.write_new(f"{DIR}/.kafka_cleanshutdown", b"")
    return files


def damaged(files: CrashFiles, chance: Random) -> Block | None:
    """None: the bytes came out as they were, or as good: white space of another kind between numbers."""
    names = [name for name in sorted(files.names(FOLDER)) if name != "partition.metadata"]
    path = f"{FOLDER}/{chance.choice(names)}"
    before = files.read(path)
    how = chance.choice(["flip", "zeros", "junk", "cut"])
    position, size = chance.randrange(len(before)), chance.choice([1, 8, 64, 512])
    size = min(size, len(before) - position)
    file = files.open(path)
    if how == "flip":
        size = 1
        file.write(bytes([before[position] ^ 1 << chance.randrange(8)]), position)
    elif how == "cut":
        size = len(before) - position
        file.truncate(position)
    else:
        file.write(bytes(size) if how == "zeros" else chance.randbytes(size), position)
    after = files.read(path)
    if path.endswith("leader-epoch-checkpoint") and after.split() == before.split() and _is_read(after, path):
        return None
    if how == "cut":
        return Block(path, how, position, size)
    changed = [at for at in range(position, position + size) if before[at] != after[at]]
    return Block(path, how, changed[0], changed[-1] - changed[0] + 1) if changed else None


def _is_read(data: bytes, path: str) -> bool:
    try:
        parse_epochs(data, path)
    except BadFile:
        return False
    return True


def names_it(finding: Finding, block: Block) -> bool:
    if finding.path != block.path:
        return False
    is_log = look_file(block.path) is not None and block.path.endswith(".log")
    return not is_log or finding.position <= block.position <= finding.position + finding.size


def is_harmless(block: Block) -> bool:
    return block.path.endswith(HARMLESS) and block.how == "cut"


def records(files: CrashFiles) -> dict[int, bytes | None]:
    """By offset, all that is left."""
    logs = sorted(name for name in files.names(FOLDER) if name.endswith(".log"))
    return {
        record.offset: record.value
        for name in logs
        for batch in batches(files.read(f"{FOLDER}/{name}"))
        for record in batch.records()
    }


def hit_offsets(files: CrashFiles, block: Block) -> set[int]:
    """Those of the batches that the block lies in, in the log as it was."""
    if not block.path.endswith(".log"):
        return set()
    return {
        offset
        for batch in batches(files.read(block.path))
        if batch.header.position < block.position + block.size and block.position < batch.header.end
        for offset in range(batch.header.base_offset, batch.header.last_offset + 1)
    }


@pytest.mark.parametrize("run", RUNS)
def test_damaged_block_is_named_and_mended(made: CrashFiles, run: int, seed: int, profile: str) -> None:
    chance = Random(seed * len(RUNS) + run)
    everything = records(made)
    for _ in range(BLOCKS[profile] // len(RUNS)):
        files = made.crash(keep=KILLED)
        block = damaged(files, chance)
        if block is None:
            continue
        found = faults(files)
        assert is_harmless(block) or any(names_it(finding, block) for finding in found), (block, found)
        list(repair.mend(files, [FOLDER]))
        assert faults(files) == [], block
        lost = everything.keys() - records(files).keys()
        # A block may hide where the next batch begins: then all up to the next one that the index knows is lost.
        assert lost <= hit_offsets(made, block) | neighbours(made, block), block
        assert all(everything[offset] == value for offset, value in records(files).items()), block


def neighbours(files: CrashFiles, block: Block) -> set[int]:
    """Of the batches up to the next index entry behind the block, and of the one before it."""
    if not block.path.endswith(".log"):
        return set()
    found = [batch.header for batch in batches(files.read(block.path))]
    hit = [at for at, header in enumerate(found) if header.position < block.position + block.size]
    last = max((at for at in hit if found[at].end > block.position), default=0)
    first = min((at for at in hit if found[at].end > block.position), default=0)
    return {
        offset
        for header in found[max(first - 1, 0) : last + 4]
        for offset in range(header.base_offset, header.last_offset + 1)
    }


def test_the_files_that_are_damaged_are_of_every_kind(made: CrashFiles) -> None:
    kinds = {found.kind for name in made.names(FOLDER) if (found := look_file(name)) is not None}
    assert kinds == {
        *(Kind.LOG, Kind.INDEX, Kind.TIME_INDEX, Kind.TXN_INDEX, Kind.SNAPSHOT, Kind.EPOCHS, Kind.TOPIC_ID)
    }
