"""What the scan of a log's segments tells beside their indexes: leader epochs, producers, aborted transactions. It is
noted while the bytes are there, so that recovery reads them once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.base.errors import Corrupt
from esker.kernel.layout import INT64_MAX
from esker.log.replay import Known, aborted, producers_at, take_batch
from esker.records.batch import Batch
from esker.rules.epochs import Epochs

if TYPE_CHECKING:
    from esker.kernel.contract import BatchHeader
    from esker.rules.producers import Producers
    from esker.storage.scan import Stretch
    from esker.storage.txn_index import AbortedTransaction


class Told:
    """Segments come in order, each between `begin` and `end`; those that are believed are left out."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.epochs: list[tuple[int, int]] = []  # where an epoch begins that is above those before
        self.last_of: dict[int, int] = {}  # by epoch, the base of its last batch
        self.silent: set[int] = set()  # bases of segments in which no producer with an id wrote
        self.aborted: dict[int, list[AbortedTransaction]] = {}  # by base, as they belong into the transaction index
        self.unread: list[int] = []  # offsets of markers that say nothing
        self._base = -1
        self._producers: Producers | None = None  # as of the last batch that was taken
        self._reached = -1  # the base of the segment before which they are so

    def begin(self, base_offset: int) -> None:
        self._base = base_offset
        self.silent.add(base_offset)
        if self._reached != base_offset:
            self._producers = None

    def take(self, stretch: Stretch) -> None:
        latest = self.epochs[-1][0] if self.epochs else -1
        log_start = self._known.log_start
        last_of = self.last_of
        for header in stretch.headers:
            epoch = header.leader_epoch
            last_of[epoch] = header.base_offset
            if epoch > latest:
                latest = epoch
                self.epochs.append((epoch, header.base_offset))
            if header.producer_id >= 0 and header.last_offset >= log_start:
                self._take(header, stretch.data)

    def _take(self, header: BatchHeader, data: memoryview) -> None:
        self.silent.discard(self._base)
        if self._producers is None:
            self._producers = producers_at(self._known._replace(silent=self.silent), self._base)
        try:
            completed = take_batch(self._producers, Batch(header, data))
        except Corrupt:
            self.unread.append(header.base_offset)
            return
        if completed is not None and completed.aborted:
            self.aborted.setdefault(self._base, []).extend(aborted([completed]))

    def end(self, next_base: int | None) -> None:
        """It is done; where the next segment begins, be it one that is scanned or not."""
        self._reached = INT64_MAX if next_base is None else next_base

    def correct(self, epochs: Epochs, log_end: int) -> Epochs:
        """The epochs of the checkpoint, put right by the batches. It may lack some, or begin one too late, where the
        log start has moved back again; and where a batch of a lower epoch stands behind a start, it is a lie."""
        epochs = epochs.truncate_from_end(log_end)
        for place, (epoch, start_offset) in enumerate(epochs.entries):
            if any(0 <= other < epoch and last >= start_offset for other, last in self.last_of.items()):
                epochs = Epochs(epochs.entries[:place])
                break
        for epoch, start_offset in self.epochs:
            known = dict(epochs.entries).get(epoch)
            if epoch >= 0 and (known is None or known > start_offset):
                epochs = epochs.assign(epoch, start_offset)
        return epochs

    def producers(self, known: Known, end_offset: int) -> Producers:
        """At the end of the log, whose segments are those of `known`."""
        last_base = max(segment.base_offset for segment in known.segments)
        if self._producers is not None and last_base == self._base:
            return self._producers
        return producers_at(known._replace(silent=self.silent), end_offset)
