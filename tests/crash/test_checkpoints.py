"""Small files, stopped anywhere while they are written: what is read is the old content or the new."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from crash.states import crashes
from esker.base.errors import BadFile
from esker.base.types import TopicPartition
from esker.ports.files import Files
from esker.rules.epochs import Epochs
from esker.storage import checkpoints
from esker.testing.files import CrashFiles

FOLDER = "/data"
PATH = f"{FOLDER}/file"


class Kind(NamedTuple):
    write: Callable[[Files, str, int], None]  # two contents, by a number
    read: Callable[[Files, str], object]
    contents: tuple[object, object]


def offsets(number: int) -> dict[TopicPartition, int]:
    """More than a sector, so that it can be torn."""
    return {TopicPartition("topic", partition): partition * number for partition in range(100)}


def epochs(number: int) -> Epochs:
    return Epochs.of([(epoch, epoch * 10 + number) for epoch in range(100)])


IDS = (b"i" * 16, b"j" * 16)

KINDS = {
    "offsets": Kind(
        lambda files, path, number: checkpoints.write_offsets(files, path, offsets(number)),
        checkpoints.read_offsets,
        (offsets(0), offsets(1)),
    ),
    "epochs": Kind(
        lambda files, path, number: checkpoints.write_epochs(files, path, epochs(number)),
        checkpoints.read_epochs,
        (epochs(0), epochs(1)),
    ),
    "topic id": Kind(
        lambda files, path, number: checkpoints.write_topic_id(files, path, IDS[number]),
        checkpoints.read_topic_id,
        IDS,
    ),
}


def world(ordered: bool) -> CrashFiles:
    files = CrashFiles(ordered=ordered)
    files.make_folder(FOLDER)
    files.sync_folder("/")
    return files


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
@pytest.mark.parametrize("name", KINDS)
def test_old_or_new_after_every_crash(name: str, ordered: bool, profile: str, seed: int) -> None:
    kind = KINDS[name]
    files = world(ordered)
    kind.write(files, PATH, 0)
    start = len(files.operations)
    kind.write(files, PATH, 1)
    seen = Counter(kind.contents.index(kind.read(each.after, PATH)) for each in crashes(files, start, profile, seed))
    assert min(seen[0], seen[1]) > 0
    assert kind.read(files.crash(), PATH) == kind.contents[1]


@pytest.mark.parametrize("name", KINDS)
def test_first_one_is_there_whole_or_not_at_all(name: str, profile: str, seed: int) -> None:
    kind = KINDS[name]
    files = world(ordered=True)
    kind.write(files, PATH, 0)
    for crash in crashes(files, 0, profile, seed):
        assert not crash.after.exists(PATH) or kind.read(crash.after, PATH) == kind.contents[0]


def test_rename_without_a_sync_before_it_is_seen_to_tear(
    profile: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above would see a checkpoint that is not synced before it gets its name."""
    kind = KINDS["offsets"]
    files = world(ordered=True)
    kind.write(files, PATH, 0)
    start = len(files.operations)
    monkeypatch.setattr("esker.testing.files.CrashFile.sync", str)
    kind.write(files, PATH, 1)
    torn = 0
    for crash in crashes(files, start, profile, seed):
        try:
            torn += kind.read(crash.after, PATH) not in kind.contents
        except BadFile:
            torn += 1
    assert torn > 0
