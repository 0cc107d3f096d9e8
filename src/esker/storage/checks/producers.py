"""What producers did, replayed from the batches, held against the transaction indexes and the snapshots.

The log may begin in the middle of a producer's history, and the cleaner takes batches out of it. So a snapshot is not
asked to say the same as the replay, only not to contradict a batch that is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile, Corrupt
from esker.records.batch import Batch
from esker.records.control import ControlType, read_end_marker
from esker.rules.producers import Completed, ProducerEntry, Producers
from esker.storage.findings import Finding, Place, error, warning
from esker.storage.snapshots import decode_snapshot
from esker.storage.txn_index import ENTRY, AbortedTransaction, parse_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from esker.ports.files import Files
    from esker.storage.listing import FoundFile
    from esker.storage.scan import Stretch


class Snapshot(NamedTuple):
    file: FoundFile
    entries: list[ProducerEntry]


class Replay:
    """The state of all producers at the point that the walk has reached. `aborted` are the transactions aborted by
    markers in the segment at hand, `markers` all of its abort markers: offset to producer id."""

    def __init__(self) -> None:
        self.state = Producers()
        self.aborted: list[Completed] = []
        self.markers: dict[int, int] = {}
        self.is_whole = True  # until damage hides batches
        self.first_offset = -1  # of the log
        self.next_offset = -1
        self.has_gaps = False  # the cleaner took batches out, or somebody cut some

    def begin_segment(self) -> None:
        self.aborted, self.markers = [], {}

    def pass_by(self, stretch: Stretch) -> None:
        """Every stretch, with producers or not: are there holes between batches?"""
        first, last = stretch.headers[0], stretch.headers[-1]
        if self.first_offset < 0:
            self.first_offset = self.next_offset = first.base_offset
        held = sum([header.last_offset_delta for header in stretch.headers]) + len(stretch.headers)
        self.has_gaps = self.has_gaps or self.next_offset + held != last.last_offset + 1
        self.next_offset = last.last_offset + 1

    def take(self, stretch: Stretch, from_index: int, end_index: int) -> None:
        for header in stretch.headers[from_index:end_index]:
            if header.producer_id < 0:
                continue
            if not header.control:
                self.state.take(header, header.base_offset, header.max_timestamp)
                continue
            try:
                marker = read_end_marker(Batch(header, stretch.data))
            except Corrupt:
                continue
            if marker is None:
                continue
            completed = self.state.take_marker(marker, header.base_offset)
            if marker.type is ControlType.ABORT:
                self.markers[header.base_offset] = marker.producer_id
            if completed is not None and completed.aborted:
                self.aborted.append(completed)
        self.state.unreplicated.clear()


def check_txn_index(path: str, data: bytes, replay: Replay, end_offset: int | None = None) -> Iterator[Finding]:
    """The index of the segment that the replay went through last; `data` is empty where there is no such file. With
    `end_offset` the log grew meanwhile: what lies past it was not seen."""
    try:
        entries = parse_entries(data, path)
    except BadFile as bad:
        at = int(bad.place.removeprefix("byte "))
        cause = f"expected {bad.expected}, found {bad.found}"
        yield error(path, "txnindex-entry", Place(at, min(ENTRY.size, len(data) - at)), cause)
        return
    if not replay.is_whole:
        return
    for number, entry in enumerate(entries):
        if end_offset is not None and entry.last_offset >= end_offset:
            break
        cause = _contradiction(entry, replay)
        if cause:
            place = Place(number * ENTRY.size, ENTRY.size, entry.first_offset, entry.last_offset)
            yield error(path, "txnindex-entry", place, cause)
    known = {entry.last_offset for entry in entries}
    for missing in replay.aborted:
        if missing.last_offset not in known:
            cause = f"producer {missing.producer_id}'s aborted transaction has no entry: its records would be read"
            yield error(path, "txnindex-missing", Place(-1, -1, missing.first_offset, missing.last_offset), cause)


def _contradiction(entry: AbortedTransaction, replay: Replay) -> str:
    if replay.markers.get(entry.last_offset) != entry.producer_id:
        return f"no marker at offset {entry.last_offset} aborts a transaction of producer {entry.producer_id}"
    for aborted in replay.aborted:
        if aborted.last_offset == entry.last_offset:
            return _difference_of(entry, aborted, replay)
    return ""


def _difference_of(entry: AbortedTransaction, aborted: Completed, replay: Replay) -> str:
    """An entry may know more than the log has: what was deleted from its start, or taken out of it."""
    if entry.first_offset < 0 or entry.last_stable < 0:
        return "an offset below 0"
    first, stable = aborted.first_offset, aborted.last_stable_offset
    knows_more = replay.has_gaps or entry.first_offset < replay.first_offset
    if entry.first_offset > first or (entry.first_offset < first and not knows_more):
        return f"its first offset is {entry.first_offset}, where the transaction began at {first}"
    knows_more = replay.has_gaps or entry.last_stable < replay.first_offset
    if entry.last_stable > stable or (entry.last_stable < stable and not knows_more):
        return f"its last stable offset is {entry.last_stable}, where the log says {stable}"
    return ""


def read_snapshots(files: Files, found: Iterable[FoundFile]) -> Iterator[Snapshot | Finding]:
    for file in found:
        try:
            yield Snapshot(file, decode_snapshot(files.read(file.path), file.path))
        except BadFile as bad:
            cause = f"{bad.place}: expected {bad.expected}, found {bad.found}"
            yield warning(file.path, "snapshot", Place(0, files.size(file.path)), cause)
        except FileNotFoundError:
            continue  # a live broker took it away


def check_snapshot(snapshot: Snapshot, replay: Replay) -> Iterator[Finding]:
    """When the replay has reached the offset of the snapshot."""
    if not replay.is_whole:
        return
    path = snapshot.file.path
    for entry in snapshot.entries:
        cause = ""
        if entry.marks and entry.marks[-1].last_offset >= snapshot.file.base_offset:
            cause = f"its last offset {entry.marks[-1].last_offset} is not below {snapshot.file.base_offset}"
        elif entry.producer_id in replay.state.entries:
            cause = _difference(entry, replay.state.entries[entry.producer_id])
        if cause:
            last = entry.marks[-1].last_offset if entry.marks else -1
            yield error(path, "snapshot-entry", Place(-1, -1, last, last), f"producer {entry.producer_id}: {cause}")


def _difference(said: ProducerEntry, replayed: ProducerEntry) -> str:
    if not replayed.marks:
        return ""
    batch = replayed.marks[-1]
    last_offset = said.marks[-1].last_offset if said.marks else -1
    if said.epoch == replayed.epoch and last_offset < batch.last_offset:
        return f"its last batch ends at {last_offset}, but there is one that ends at {batch.last_offset}"
    if last_offset != batch.last_offset:
        return ""
    if said.last_sequence != batch.last_sequence:
        return f"sequence {said.last_sequence} of offset {last_offset}, where the batch has {batch.last_sequence}"
    if said.epoch < replayed.epoch:
        return f"epoch {said.epoch}, where the log has {replayed.epoch}"
    return ""
