"""The state of the producers, told again by the batches themselves."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile, Corrupt
from esker.kernel.layout import INT64_MAX, Attribute
from esker.records.batch import Batch
from esker.records.control import read_end_marker
from esker.rules.layout import snapshot_name
from esker.rules.producers import Producers
from esker.rules.recovery import snapshots_to_try
from esker.storage.snapshots import read_snapshot
from esker.storage.txn_index import AbortedTransaction

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from esker.kernel.contract import BatchHeader
    from esker.log.segments import Place
    from esker.rules.producers import Completed, OpenTransaction, ProducerEntry, Unreplicated
    from esker.storage.segment import Segment

logger = logging.getLogger(__name__)

CONTROL = int(Attribute.CONTROL)


class Memory(NamedTuple):
    """What was known of some producers, should a write fail."""

    entries: dict[int, ProducerEntry | None]
    ongoing: list[OpenTransaction]
    unreplicated: list[Unreplicated]


def remember(producers: Producers, producer_ids: Iterable[int]) -> Memory:
    entries = {producer_id: producers.entries.get(producer_id) for producer_id in producer_ids}
    return Memory(entries, list(producers.ongoing), list(producers.unreplicated))


def take_back(producers: Producers, memory: Memory) -> None:
    for producer_id, entry in memory.entries.items():
        if entry is None:
            producers.entries.pop(producer_id, None)
        else:
            producers.entries[producer_id] = entry
    producers.ongoing, producers.unreplicated = memory.ongoing, memory.unreplicated


def take_over(producers: Producers, data: memoryview, headers: Iterable[BatchHeader]) -> Iterator[Completed]:
    """Note batches, unjudged; the transactions that they complete. `data` holds them. Raises Corrupt at a marker that
    says nothing."""
    for header in headers:
        if header.producer_id >= 0:
            completed = take_batch(producers, Batch(header, data))
            if completed is not None:
                yield completed


def take_batch(producers: Producers, batch: Batch) -> Completed | None:
    """The same for one batch."""
    header = batch.header
    if not header.attributes & CONTROL:
        producers.take(header, header.base_offset, header.max_timestamp)
        return None
    marker = read_end_marker(batch)
    return None if marker is None else producers.take_marker(marker, header.base_offset)


def aborted(completed: Iterable[Completed]) -> list[AbortedTransaction]:
    """The entries of the transaction index for them."""
    return [
        AbortedTransaction(each.producer_id, each.first_offset, each.last_offset, each.last_stable_offset)
        for each in completed
        if each.aborted
    ]


class Known(NamedTuple):
    """From what the state of the producers is told. `silent` segments, by base, are known to have no batch of a
    producer with an id."""

    place: Place
    segments: Iterable[Segment]
    snapshots: Iterable[int]
    log_start: int
    silent: Collection[int] = ()


def producers_at(known: Known, end_offset: int) -> Producers:
    """As the records below this offset tell, from the newest snapshot that can be read on. Damage
    is passed over here: it is for `check` to tell."""
    offset, producers = _from_snapshot(known, end_offset)
    if offset >= end_offset:
        return producers
    segments = list(known.segments)
    following = [segment.base_offset for segment in segments[1:]]
    for segment, end in zip(segments, [*following, INT64_MAX], strict=True):
        if end <= offset or segment.base_offset in known.silent:
            continue
        if segment.base_offset >= end_offset:
            break
        _replay(producers, segment, offset, end_offset)
    return producers


def _from_snapshot(known: Known, end_offset: int) -> tuple[int, Producers]:
    files, folder = known.place.handles.files, known.place.folder
    for offset in snapshots_to_try(known.snapshots, known.log_start, end_offset):
        path = f"{folder}/{snapshot_name(offset)}"
        try:
            entries = read_snapshot(files, path)
        except BadFile:
            continue  # the next older one and more batches say the same
        return offset, Producers.restore(entries, 0, INT64_MAX)
    return known.log_start, Producers()


def _replay(producers: Producers, segment: Segment, offset: int, end_offset: int) -> None:
    try:
        first = segment.find(offset)
        for header in segment.headers(first.position) if first else ():
            if header.base_offset >= end_offset:
                return
            if header.producer_id >= 0:
                _take_what_is_there(producers, segment.read_batch(header))
    except Corrupt as error:
        logger.warning("damaged log=%s segment=%d where=%r", segment.folder, segment.base_offset, str(error))


def _take_what_is_there(producers: Producers, batch: Batch) -> None:
    try:
        take_batch(producers, batch)
    except Corrupt as error:
        logger.warning("a marker that says nothing offset=%d why=%r", batch.header.base_offset, str(error))
