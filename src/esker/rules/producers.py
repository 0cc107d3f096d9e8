"""The state of all producers of one log: what each wrote last, which transactions are open, what may be appended.

Two halves. `judge` and `judge_marker` say what stands against a batch before it is written, and change nothing.
`take` and `take_marker` note what was written, and judge nothing: followers and recovery use them alone and so take
over whatever comes. The order of the questions is Kafka 4.3.1's; where it cannot show in an answer it is shorter here.

What would surprise:
- A producer that is not known may begin with any sequence (KIP-360): its state may have gone with its last segment.
- Sequences count from 0 to 2^31-1 and then from 0 again, also in the middle of a batch.
- A marker with a higher epoch than the data's (Kafka 4.x bumps it) forgets the kept batches: sequences start at 0.
- A finished transaction holds the last stable offset back until its marker is below the high watermark.
- A snapshot keeps the newest of a producer's batches alone: after a restart only that one is known as a duplicate.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import NamedTuple, Self

from esker.base.kafka_errors import ErrorCode
from esker.kernel.contract import BatchHeader
from esker.kernel.layout import INT32_MAX, Attribute
from esker.records.control import ControlType, EndMarker

NONE = -1  # no sequence, epoch, offset, time: as Kafka writes it
KEPT_BATCHES = 5  # as many as a client may have in flight
EPOCH_BUMP_VERSION = 2  # from this transaction version on each transaction has an epoch of its own

_TRANSACTIONAL = int(Attribute.TRANSACTIONAL)
_CONTROL = int(Attribute.CONTROL)


class BatchMark(NamedTuple):
    """One batch of a producer. Both sequences and both offsets are inclusive; the last sequence is below the first in a
    batch that wraps. Batches of Kafka's own coordinators have no sequences."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry(NamedTuple):
    """What is known of a producer. `marks` are its last batches of this epoch, the newest last."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    last_timestamp: int  # of the last batch or marker
    txn_first_offset: int  # of the open transaction
    marks: tuple[BatchMark, ...]

    @property
    def last_sequence(self) -> int:
        return self.marks[-1].last_sequence if self.marks else NONE

    def kept_by_snapshot(self) -> ProducerEntry:
        """What a snapshot remembers: one batch, and as its time the entry's, even when that is a marker's."""
        marks = tuple(mark._replace(timestamp=self.last_timestamp) for mark in self.marks[-1:])
        return self._replace(marks=marks)


UNKNOWN = ProducerEntry(NONE, NONE, NONE, NONE, NONE, ())


class Verification(NamedTuple):
    """The transaction coordinator has said that this producer's transaction includes this partition. Meanwhile batches
    may have overtaken each other: none may go before the lowest sequence seen."""

    lowest_sequence: int = INT32_MAX
    supports_epoch_bump: bool = False  # a transaction of version 2


# For a broker that does not ask the coordinator (transaction.partition.verification.enable).
NOT_ASKED = Verification()


class Duplicate(NamedTuple):
    """The batch is there already: answer `mark`'s first offset, and its timestamp as log append time."""

    mark: BatchMark


class Refusal(NamedTuple):
    """The append is answered with this error."""

    code: ErrorCode
    message: str


class OpenTransaction(NamedTuple):
    first_offset: int
    producer_id: int


class Unreplicated(NamedTuple):
    """A finished transaction whose marker, at `last_offset`, is not yet known to be below the high watermark."""

    first_offset: int
    last_offset: int


class Completed(NamedTuple):
    """A transaction that had data here is finished; aborted, it goes to the transaction index with these figures."""

    producer_id: int
    first_offset: int
    last_offset: int  # the marker's
    last_stable_offset: int  # once the marker is replicated
    aborted: bool


def last_sequence(first: int, delta: int) -> int:
    """The sequence `delta` records after `first`."""
    return NONE if first < 0 else (first + delta) % (INT32_MAX + 1)


def first_sequence(last: int, delta: int) -> int:
    """The sequence `delta` records before `last`."""
    return NONE if last < 0 else (last - delta) % (INT32_MAX + 1)


class Producers:
    """All producers of one log."""

    __slots__ = ("entries", "ongoing", "unreplicated")

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.ongoing: list[OpenTransaction] = []  # by first offset
        self.unreplicated: list[Unreplicated] = []  # by first offset

    @classmethod
    def restore(cls, entries: Iterable[ProducerEntry], now_ms: int, expiration_ms: int) -> Self:
        """The state that a snapshot holds. What was unreplicated is forgotten: a log is only ever taken back to an
        offset at or below the high watermark, or is replayed from here on."""
        producers = cls()
        producers.entries = {entry.producer_id: entry for entry in entries}
        producers.expire(now_ms, expiration_ms)
        producers.ongoing = sorted(
            OpenTransaction(entry.txn_first_offset, entry.producer_id)
            for entry in producers.entries.values()
            if entry.txn_first_offset >= 0
        )
        return producers

    def judge(self, header: BatchHeader, verification: Verification | None = None) -> Duplicate | Refusal | None:
        """What a leader answers to this batch of data instead of appending it; None: nothing stands against it."""
        if header.producer_id < 0:
            return None
        entry = self.entries.get(header.producer_id, UNKNOWN)
        # A batch without a sequence comes from the group coordinator, which never repeats itself.
        if header.base_sequence >= 0 and entry.epoch == header.producer_epoch and (mark := _repeated(entry, header)):
            return Duplicate(mark)
        if header.producer_epoch < entry.epoch:
            return _old_epoch(header.producer_id, header.producer_epoch, entry.epoch)
        if header.attributes & _TRANSACTIONAL:
            in_transaction = entry.txn_first_offset >= 0 and header.producer_epoch == entry.epoch
            if verification is None and not in_transaction:
                return _not_verified(header.producer_id)
        if header.base_sequence >= 0 and (refusal := _out_of_order(entry, header, verification)):
            return refusal
        if entry.txn_first_offset >= 0 and not header.attributes & _TRANSACTIONAL:
            return _plain_in_transaction(entry)
        return None

    def judge_marker(self, marker: EndMarker, transaction_version: int) -> Refusal | None:
        """What a leader answers to a transaction coordinator's marker instead of appending it.

        From version 2 on the coordinator raises the epoch with each marker, so that one late by a transaction shows.
        A repeat of the marker that ended the last transaction is let through: its first answer was lost.
        """
        entry = self.entries.get(marker.producer_id, UNKNOWN)
        repeats = marker.producer_epoch == entry.epoch and entry.txn_first_offset < 0
        lowest = entry.epoch + 1 if transaction_version >= EPOCH_BUMP_VERSION and not repeats else entry.epoch
        if marker.producer_epoch < lowest:
            return _old_epoch(marker.producer_id, marker.producer_epoch, entry.epoch)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            return _old_coordinator(marker, entry.coordinator_epoch)
        return None

    def take(self, header: BatchHeader, first_offset: int, timestamp: int) -> None:
        """Note a batch that was written at this offset, with this largest timestamp; markers go to `take_marker`."""
        producer_id = header.producer_id
        if producer_id < 0 or header.attributes & _CONTROL:
            return
        entry = self.entries.get(producer_id, UNKNOWN)
        _, _, coordinator_epoch, _, txn_first_offset, marks = entry
        epoch, first, delta = header.producer_epoch, header.base_sequence, header.last_offset_delta
        mark = BatchMark(first, last_sequence(first, delta), first_offset, first_offset + delta, timestamp)
        marks = (*marks[1 - KEPT_BATCHES :], mark) if epoch == entry.epoch else (mark,)
        if txn_first_offset < 0 and header.attributes & _TRANSACTIONAL:
            txn_first_offset = first_offset
            insort(self.ongoing, OpenTransaction(first_offset, producer_id))
        self.entries[producer_id] = ProducerEntry(
            producer_id, epoch, coordinator_epoch, timestamp, txn_first_offset, marks
        )

    def take_marker(self, marker: EndMarker, offset: int) -> Completed | None:
        """Note a marker that was written at this offset. One with no data before it completes nothing."""
        producer_id = marker.producer_id
        entry = self.entries.get(producer_id, UNKNOWN)
        marks = entry.marks if marker.producer_epoch == entry.epoch else ()
        self.entries[producer_id] = ProducerEntry(
            producer_id, marker.producer_epoch, marker.coordinator_epoch, marker.timestamp, NONE, marks
        )
        first_offset = entry.txn_first_offset
        if first_offset < 0:
            return None
        del self.ongoing[bisect_left(self.ongoing, OpenTransaction(first_offset, producer_id))]
        insort(self.unreplicated, Unreplicated(first_offset, offset))
        last_stable_offset = self.ongoing[0].first_offset if self.ongoing else offset + 1
        return Completed(producer_id, first_offset, offset, last_stable_offset, marker.type == ControlType.ABORT)

    @property
    def first_unstable(self) -> int | None:
        """The first offset of the earliest transaction that is open, or finished but not replicated."""
        heads: list[OpenTransaction | Unreplicated] = [*self.ongoing[:1], *self.unreplicated[:1]]
        return min((head.first_offset for head in heads), default=None)

    def replicated_to(self, high_watermark: int) -> None:
        """All below the high watermark is replicated: let go of the transactions finished there."""
        if self.unreplicated:
            self.unreplicated = [each for each in self.unreplicated if each.last_offset >= high_watermark]

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that wrote nothing for so long and have no open transaction. Says how many."""
        latest = now_ms - expiration_ms
        known = self.entries.values()
        expired = [each for each in known if each.last_timestamp <= latest and each.txn_first_offset < 0]
        for entry in expired:
            del self.entries[entry.producer_id]
        return len(expired)

    def oldest_transaction_ms(self) -> int | None:
        """When the producer of the earliest open transaction last wrote: one that hangs is seen by this."""
        return self.entries[self.ongoing[0].producer_id].last_timestamp if self.ongoing else None


def _repeated(entry: ProducerEntry, header: BatchHeader) -> BatchMark | None:
    first = header.base_sequence
    for mark in entry.marks:
        if mark[0] == first and mark[1] == last_sequence(first, header.last_offset_delta):
            return mark
    return None


def _out_of_order(entry: ProducerEntry, header: BatchHeader, verification: Verification | None) -> Refusal | None:
    first = header.base_sequence
    if verification is not None:
        if verification.supports_epoch_bump and first != 0 and not entry.marks:
            return _wrong_sequence(header, "0, as nothing is known of this producer of a version 2 transaction")
        if first > verification.lowest_sequence:
            return _wrong_sequence(header, f"at most {verification.lowest_sequence}, the lowest seen")
    if entry.epoch == NONE:
        return None
    if header.producer_epoch != entry.epoch:
        return _wrong_sequence(header, f"0, as its last epoch was {entry.epoch}") if first != 0 else None
    expected = entry.marks[-1][1] + 1 & INT32_MAX if entry.marks else 0
    return _wrong_sequence(header, str(expected)) if first != expected else None


def _wrong_sequence(header: BatchHeader, expected: str) -> Refusal:
    found = f"producer {header.producer_id} sends sequence {header.base_sequence} in epoch {header.producer_epoch}"
    return Refusal(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, f"{found}; expected {expected}")


def _old_epoch(producer_id: int, epoch: int, known: int) -> Refusal:
    message = f"producer {producer_id} writes in epoch {epoch}, and its epoch {known} was seen"
    return Refusal(ErrorCode.INVALID_PRODUCER_EPOCH, message)


def _old_coordinator(marker: EndMarker, known: int) -> Refusal:
    message = f"a coordinator of epoch {marker.coordinator_epoch} ends a transaction of producer {marker.producer_id}"
    return Refusal(ErrorCode.TRANSACTION_COORDINATOR_FENCED, f"{message}, and epoch {known} was seen")


def _not_verified(producer_id: int) -> Refusal:
    message = f"producer {producer_id} has no open transaction here, and its coordinator named none"
    return Refusal(ErrorCode.INVALID_TXN_STATE, message)


def _plain_in_transaction(entry: ProducerEntry) -> Refusal:
    message = f"producer {entry.producer_id} writes outside of its transaction, open since {entry.txn_first_offset}"
    return Refusal(ErrorCode.INVALID_TXN_STATE, message)
