"""Leader epochs: those of the batches never fall, and the checkpoint says the same.

No checksum covers a batch's epoch. One batch alone that says more than those on both sides is not believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.base.errors import BadFile
from esker.storage.checkpoints import format_epochs, parse_epochs
from esker.storage.checks.small_files import bad
from esker.storage.findings import Finding, Place, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.kernel.contract import BatchHeader
    from esker.rules.epochs import Epochs
    from esker.storage.scan import Stretch

NO_EPOCH = -1


class EpochsCheck:
    """`path` is the checkpoint's, None without one; `log_start` the log's, where the log dir says."""

    def __init__(self, path: str | None, log_start: int | None = None) -> None:
        self.path = path
        self._log_start = log_start
        self._epochs: Epochs | None = None
        self._latest = NO_EPOCH  # of the last batch that is believed
        self._fallen = NO_EPOCH  # of the one after it, if it said less
        self._risen: tuple[str, Place, int] | None = None  # the last batch, if it is the first of its epoch
        self._told: set[int] = set()  # epochs of which the checkpoint says something else: told once each

    def read(self, data: bytes) -> Iterator[Finding]:
        """The checkpoint, before the first batch."""
        assert self.path is not None
        try:
            self._epochs = parse_epochs(data, self.path)
        except BadFile as wrong:
            yield bad(wrong, len(data), "epochs")
            return
        if data and format_epochs(self._epochs).split() != data.split():
            cause = "its epochs or offsets do not rise from line to line"
            yield error(self.path, "epochs-order", Place(0, len(data)), cause)

    def take(self, stretch: Stretch, path: str) -> Iterator[Finding]:
        headers = stretch.headers
        if self._risen is None and {header.leader_epoch for header in headers} == {self._latest}:
            ends = headers[0], headers[-1]
            if all(self._said(header) in (None, self._latest) for header in ends):
                return
        for header in headers:
            if header.leader_epoch != NO_EPOCH:
                place = Place(stretch.position + header.position, header.size, header.base_offset, header.last_offset)
                yield from self._judge(header, path, place)

    def finish(self, next_offset: int) -> Iterator[Finding]:
        yield from self._confirm()
        if self.path is None or self._epochs is None:
            return
        if not self._epochs.entries and self._latest > NO_EPOCH:
            cause = f"it has no epoch, and the log has batches of epoch {self._latest}"
            yield warning(self.path, "epochs-missing", Place(), cause)
        start = self._epochs.entries[-1].start_offset if self._epochs.entries else 0
        if start > next_offset:
            cause = f"epoch {self._epochs.latest} starts at {start}, past the end of the log, {next_offset}"
            yield error(self.path, "epochs", Place(-1, -1, next_offset, start), cause)

    def _judge(self, header: BatchHeader, path: str, place: Place) -> Iterator[Finding]:
        epoch = header.leader_epoch
        if self._risen is not None and epoch < self._risen[2]:
            alone_path, alone_place, risen = self._risen
            self._risen = None
            cause = f"leader epoch {risen} stands alone between batches of epoch {self._latest} and {epoch}"
            yield error(alone_path, "epoch", alone_place, cause)
        yield from self._confirm()
        if epoch < self._latest:
            yield from self._fall(epoch, path, place)
        elif epoch > self._latest and self._latest > NO_EPOCH:
            self._risen = path, place, epoch
        else:
            self._latest = epoch
            yield from self._compare(epoch, place)

    def _confirm(self) -> Iterator[Finding]:
        """Nothing speaks against the batch that began an epoch."""
        if self._risen is not None:
            _, place, self._latest = self._risen
            self._risen = None
            yield from self._compare(self._latest, place)

    def _fall(self, epoch: int, path: str, place: Place) -> Iterator[Finding]:
        yield error(path, "epoch", place, f"leader epoch {epoch} after a batch of epoch {self._latest}")
        if epoch == self._fallen:
            self._latest = epoch  # twice the same: the log goes on so
        self._fallen = epoch

    def _compare(self, epoch: int, place: Place) -> Iterator[Finding]:
        said = None if self._epochs is None else self._epochs.epoch_at(place.base_offset)
        if said is None and self._epochs is not None and self._epochs.entries and self._log_start is not None:
            yield from self._late(max(place.base_offset, self._log_start), self._epochs.entries[0].start_offset)
        if said is None or said == epoch or epoch in self._told:
            return
        assert self.path is not None
        self._told.add(epoch)
        cause = f"it says epoch {said} at offset {place.base_offset}, where the batch has {epoch}"
        yield error(self.path, "epochs", Place(-1, -1, place.base_offset, place.last_offset), cause)

    def _late(self, first_offset: int, start_offset: int) -> Iterator[Finding]:
        """Only records below the log's start may be without an epoch."""
        if start_offset > first_offset and NO_EPOCH not in self._told:
            assert self.path is not None
            self._told.add(NO_EPOCH)
            cause = f"its first epoch starts at {start_offset}, and the log at {first_offset}"
            yield warning(self.path, "epochs", Place(-1, -1, first_offset, start_offset - 1), cause)

    def _said(self, header: BatchHeader) -> int | None:
        return None if self._epochs is None else self._epochs.epoch_at(header.base_offset)
