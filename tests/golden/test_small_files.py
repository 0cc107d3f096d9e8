"""Snapshots, leader epochs and topic ids that real Kafkas wrote: read, held against their logs, written again alike."""

from __future__ import annotations

from pathlib import Path
from struct import Struct

import pytest

from esker.records.batch import batches
from esker.records.control import read_end_marker
from esker.rules.epochs import Epochs
from esker.rules.producers import Completed, ProducerEntry, Producers
from esker.storage.checkpoints import format_epochs, format_topic_id, parse_epochs, parse_topic_id
from esker.storage.snapshots import decode_snapshot, encode_snapshot

from .corpus import HERE, case

TXN_ENTRY = Struct(">hqqqq")
SNAPSHOTS = sorted(HERE.glob("*/*.snapshot"))
EPOCHS = sorted(HERE.glob("*/leader-epoch-checkpoint"))
TOPIC_IDS = sorted(HERE.glob("*/partition.metadata"))
# Their logs are whole: nothing was compacted, so that what is in the log makes the state.
REPLAYED = [path for path in SNAPSHOTS if not path.parent.name.startswith(("compacted", "internal-metadata"))]
# Batches of magic 0 and 1 tell of no epoch, and those that began one may have been cleaned away.
TAUGHT = [path for path in EPOCHS if not path.parent.name.startswith(("magic", "compacted"))]
TRANSACTIONAL = ["transactional", "transactional-lz4", "internal-offsets"]


def by_path(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=lambda path: f"{path.parent.name}/{path.name}")


def replayed(folder: Path, end: int) -> tuple[Producers, list[Completed]]:
    """The state after all batches below an offset, and the transactions finished on the way."""
    producers, finished = Producers(), []
    for log in sorted(folder.glob("*.log")):
        for batch in batches(log.read_bytes()):
            header = batch.header
            if header.last_offset >= end:
                break
            if marker := read_end_marker(batch):
                completed = producers.take_marker(marker, header.base_offset)
                finished += [completed] if completed else []
            else:
                producers.take(header, header.base_offset, header.max_timestamp)
    return producers, finished


@by_path(SNAPSHOTS)
def test_a_snapshot_is_written_again_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    assert encode_snapshot(decode_snapshot(data, str(path))) == data


@by_path(REPLAYED)
def test_a_snapshot_is_what_its_log_makes_of_the_producers(path: Path) -> None:
    producers, _ = replayed(path.parent, int(path.stem))
    kept = {entry.kept_by_snapshot() for entry in producers.entries.values()}
    assert set(decode_snapshot(path.read_bytes(), str(path))) == kept


def test_the_corpus_has_snapshots_of_every_sort() -> None:
    entries: list[ProducerEntry] = [each for path in REPLAYED for each in decode_snapshot(path.read_bytes(), str(path))]
    assert any(entry.marks for entry in entries)
    assert any(not entry.marks for entry in entries)
    assert any(entry.coordinator_epoch >= 0 for entry in entries)
    assert any(entry.epoch > 0 for entry in entries)


@pytest.mark.parametrize("name", TRANSACTIONAL)
def test_the_transaction_index_has_the_aborted_transactions_that_the_log_makes(name: str) -> None:
    one = case(name)
    (index,) = one.folder.glob("*.txnindex")
    _, finished = replayed(one.folder, 2**62)
    expected = [(0, *each[:4]) for each in finished if each.aborted]
    assert expected
    assert list(TXN_ENTRY.iter_unpack(index.read_bytes())) == expected


@by_path(EPOCHS)
def test_leader_epochs_are_written_again_byte_for_byte(path: Path) -> None:
    assert format_epochs(parse_epochs(path.read_bytes(), str(path))) == path.read_bytes()


@by_path(TAUGHT)
def test_leader_epochs_are_what_the_log_teaches(path: Path) -> None:
    """But for an epoch at the log's end, which the last start began and nothing was written in."""
    epochs, end = Epochs(), 0
    for log in sorted(path.parent.glob("*.log")):
        for batch in batches(log.read_bytes()):
            end = batch.header.last_offset + 1
            epochs = epochs.learn(batch.header.leader_epoch, batch.header.base_offset)
    assert parse_epochs(path.read_bytes(), str(path)).truncate_from_end(end) == epochs


@by_path(TOPIC_IDS)
def test_topic_ids_are_written_again_byte_for_byte(path: Path) -> None:
    assert format_topic_id(parse_topic_id(path.read_bytes(), str(path))) == path.read_bytes()
