"""The entries of the files beside a log, a row each, under Kafka's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.storage import checkpoints
from esker.storage.checks.entries import OFFSET_ENTRY, TIME_ENTRY, Entries
from esker.storage.listing import FoundFile, Kind
from esker.storage.meta_properties import parse_meta_properties
from esker.storage.snapshots import decode_snapshot
from esker.storage.txn_index import VERSION, parse_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.ports.files import Files
    from esker.rules.producers import ProducerEntry

Row = dict[str, object]


def rows(files: Files, file: FoundFile) -> Iterator[Row]:
    """Raises BadFile where the file does not hold what it should."""
    if file.kind is Kind.INDEX:
        for entry in Entries(files.open(file.path), OFFSET_ENTRY):
            yield {"offset": file.base_offset + entry.first, "position": entry.second}
    elif file.kind is Kind.TIME_INDEX:
        for entry in Entries(files.open(file.path), TIME_ENTRY):
            yield {"timestamp": entry.first, "offset": file.base_offset + entry.second}
    elif file.kind is Kind.TXN_INDEX:
        for aborted in parse_entries(files.read(file.path), file.path):
            names = "version", "producerId", "firstOffset", "lastOffset", "lastStableOffset"
            yield dict(zip(names, (VERSION, *aborted), strict=True))
    elif file.kind is Kind.SNAPSHOT:
        yield from map(_producer, decode_snapshot(files.read(file.path), file.path))
    else:
        yield from _of_text(files.read(file.path), file)


def _producer(entry: ProducerEntry) -> Row:
    mark = entry.marks[-1] if entry.marks else None
    return {
        "producerId": entry.producer_id,
        "producerEpoch": entry.epoch,
        "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": None if entry.txn_first_offset < 0 else entry.txn_first_offset,
        "lastTimestamp": entry.last_timestamp,
        "firstSequence": mark.first_sequence if mark else None,
        "lastSequence": mark.last_sequence if mark else None,
        "lastOffset": mark.last_offset if mark else None,
        "offsetDelta": mark.last_offset - mark.first_offset if mark else None,
        "timestamp": mark.timestamp if mark else None,
    }


def _of_text(data: bytes, file: FoundFile) -> Iterator[Row]:
    if file.kind is Kind.EPOCHS:
        for epoch, start_offset in checkpoints.parse_epochs(data, file.path).entries:
            yield {"epoch": epoch, "startOffset": start_offset}
    elif file.kind is Kind.OFFSETS:
        for (topic, partition), offset in checkpoints.parse_offsets(data, file.path).items():
            yield {"topic": topic, "partition": partition, "offset": offset}
    elif file.kind is Kind.TOPIC_ID:
        yield {"topicId": checkpoints.uuid_text(checkpoints.parse_topic_id(data, file.path))}
    elif file.kind is Kind.CLEAN:
        yield {"brokerEpoch": checkpoints.parse_clean_shutdown(data).broker_epoch}
    elif file.kind is Kind.META:
        meta = parse_meta_properties(data, file.path)
        directory = None if meta.directory_id is None else checkpoints.uuid_text(meta.directory_id)
        names = {"version": meta.version, "clusterId": meta.cluster_id, "nodeId": meta.node_id}
        yield {**names, "directoryId": directory}
