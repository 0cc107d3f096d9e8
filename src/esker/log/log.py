"""One partition's log: an ordered map of segments, and the cursors into it.

Only the owner calls what changes it, one call at a time. Readers take no lock: the cursors are one immutable value,
published when a change is complete, and a read looks at one of them and never at fields one by one. A log knows nothing
of who replicates it and never syncs by itself; each call answers what it did and what moved.

When the disk fails in a way that leaves the log in doubt, it is broken: every later call is KAFKA_STORAGE_ERROR and
touches no file. A write that a full disk refused is not: the log is as it was before. So what a batch needs beside
itself is written first and taken back when the batch cannot be: the roll, the epoch's start, the index of aborted
transactions, what is known of producers.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from esker import kernel
from esker.base.errors import Corrupt, Rejected, StorageFailed
from esker.base.kafka_errors import ErrorCode
from esker.kernel.layout import Attribute
from esker.log import accept
from esker.log.follow import epochs_after, followed
from esker.log.guard import all_or_broken, touching_files
from esker.log.replay import Known, aborted, producers_at, remember, take_back, take_over
from esker.log.segments import Place, Segments
from esker.log.values import Appended, Deleted, Flush, NotSynced
from esker.ports.files import is_full_disk
from esker.records.control import end_marker_batch
from esker.rules import append, cursors, retention, roll
from esker.rules.cursors import Cursors, OffsetPosition
from esker.rules.layout import LEADER_EPOCHS
from esker.rules.producers import Duplicate, Producers, Refusal
from esker.storage.checkpoints import write_epochs
from esker.storage.data_file import WriteNotTakenBack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.base.config import LogConfig
    from esker.kernel.contract import BatchHeader
    from esker.records.control import EndMarker
    from esker.rules.epochs import Epochs
    from esker.rules.producers import Verification

logger = logging.getLogger(__name__)

TRANSACTIONAL = int(Attribute.TRANSACTIONAL)


class Log:
    """See the module. `topic_id` and placement are the business of those above."""

    __slots__ = (
        "_epochs_unsaved",
        "_generation",
        "config",
        "cursors",
        "epochs",
        "out_of_service",
        "producers",
        "segments",
    )

    def __init__(
        self, segments: Segments, config: LogConfig, at: Cursors, epochs: Epochs, producers: Producers
    ) -> None:
        self.segments = segments
        self.config = config
        self.cursors = at
        self.epochs = epochs
        self.producers = producers
        self.out_of_service: str | None = None
        self._generation = 0  # truncations so far
        self._epochs_unsaved = False  # the file says something older, which a load would put right

    @property
    def place(self) -> Place:
        return self.segments.place

    def verify_in_service(self) -> None:
        """Raises Rejected once the log is broken or closed."""
        if self.out_of_service is not None:
            raise Rejected(ErrorCode.KAFKA_STORAGE_ERROR, self.out_of_service)

    @property
    def unflushed_count(self) -> int:
        """Offsets that a power cut may take."""
        return self.cursors.log_end.offset - self.cursors.recovery_point

    def broken_by(self, error: OSError) -> Rejected | StorageFailed:
        """What the caller is told. A full disk breaks nothing, as long as what it refused was taken back. Also for who
        ran a flush that raised NotSynced."""
        path = error.filename or self.place.folder
        if is_full_disk(error) and not isinstance(error, WriteNotTakenBack | NotSynced):
            return Rejected(ErrorCode.KAFKA_STORAGE_ERROR, f"{path}: {error.strerror}")
        failed = StorageFailed(path, error)
        self.out_of_service = str(failed)
        return failed

    def settle(self) -> None:
        """The producers are as the records tell, after it was opened or truncated: what is above the high watermark or
        undecided holds the last stable offset."""
        at = self.cursors.high_watermark
        if not at.is_known:
            self.cursors = cursors.resolve_high_watermark(self.cursors, self.position_of(at.offset))
        self.producers.replicated_to(at.offset)
        self._set_first_unstable()

    # Append.

    @touching_files
    def append_as_leader(
        self,
        data: bytes | bytearray | memoryview,
        leader_epoch: int,
        now_ms: int,
        verification: Verification | None = None,
    ) -> Appended:
        """One batch from a client. A writable buffer is stamped in place. Raises Rejected, and then nothing changed."""
        config = self.config
        batch, header, max_timestamp, append_time, repacked = accept.from_client(data, config, now_ms)
        size = len(batch)
        append.verify_fits(size, config)
        judgement = self.producers.judge(header, verification)
        if judgement is not None:
            return self._answer(judgement)
        before = self.cursors
        first_offset = before.log_end.offset
        last_offset = first_offset + header.record_count - 1
        rolled = self._make_way(roll.Incoming(size, last_offset, max_timestamp, now_ms), first_offset)
        kernel.stamp(batch, first_offset, leader_epoch, max_timestamp, append_time >= 0)
        try:
            if leader_epoch > self.epochs.latest or self._epochs_unsaved:
                self._enter(self.epochs.assign(leader_epoch, first_offset))
            self._write(batch, last_offset, max_timestamp)
        except OSError:
            self._take_back_roll(before, rolled)
            raise
        if header.producer_id >= 0:
            self.producers.take(header, first_offset, max_timestamp)
            if header.attributes & TRANSACTIONAL:
                self._hold_back(first_offset, rolled, before.log_end.position or 0)
        flush_due = self.unflushed_count >= config.flush_messages
        return Appended(
            first_offset, last_offset, max_timestamp, append_time, self.cursors, flush_due, False, rolled, repacked
        )

    @touching_files
    def append_marker(self, marker: EndMarker, leader_epoch: int, transaction_version: int, now_ms: int) -> Appended:
        """The end of a transaction, from its coordinator. Raises Rejected, and then nothing changed."""
        refusal = self.producers.judge_marker(marker, transaction_version)
        if refusal is not None:
            raise Rejected(refusal.code, refusal.message)
        offset = self.cursors.log_end.offset
        batch = bytearray(end_marker_batch(marker, offset, leader_epoch))
        append_time = now_ms if self.config.log_append_time else -1
        if append_time >= 0:
            kernel.stamp(batch, offset, leader_epoch, append_time, True)
        append.verify_fits(len(batch), self.config)
        epochs = self.epochs.assign(leader_epoch, offset) if leader_epoch > self.epochs.latest else self.epochs
        appended = self._append_noted(memoryview(batch), kernel.walk(batch).headers, epochs, now_ms)
        return appended._replace(append_time=append_time)

    @touching_files
    def append_as_follower(self, data: bytes | bytearray | memoryview, leader_epoch: int, now_ms: int) -> Appended:
        """What the leader sent, as it is: offsets are given, and must begin at or after the end. A partial batch at
        the end is left out, and so are batches of an epoch above `leader_epoch` and all after them. Raises Rejected."""
        taken = followed(memoryview(data), self.cursors, leader_epoch)
        if not taken.headers:
            at = self.cursors.log_end.offset
            return Appended(at, at - 1, -1, -1, self.cursors)
        append.verify_fits(len(taken.data), self.config)
        if taken.restart_at is not None:
            for gone in self.truncate_fully_and_start_at(taken.restart_at, now_ms):
                gone.remove(self.place.handles.files)  # nothing in it could be read
        epochs = epochs_after(self.epochs, taken.headers)
        if self.epochs.entries and not epochs.entries:
            logger.warning("epochs forgotten log=%s why='a message of an old format'", self.place.folder)
        return self._append_noted(taken.data, taken.headers, epochs, now_ms)

    def _append_noted(self, data: memoryview, headers: Sequence[BatchHeader], epochs: Epochs, now_ms: int) -> Appended:
        """Batches with their offsets, unjudged: what they say of producers and transactions is noted first, as it may
        need the disk, and taken back when they cannot be written."""
        before, old_epochs = self.cursors, self.epochs
        last_offset = headers[-1].last_offset
        max_timestamp = max(header.max_timestamp for header in headers)
        # Of a message of magic 0 or 1 only its content knows the first offset.
        first_offset = headers[0].base_offset if headers[0].magic > 1 else None
        rolled = self._make_way(roll.Incoming(len(data), last_offset, max_timestamp, now_ms), first_offset)
        memory = remember(self.producers, {header.producer_id for header in headers if header.producer_id >= 0})
        index_size: int | None = None
        try:
            entries = aborted(take_over(self.producers, data, headers))
            if entries:
                index_size = self.segments.append_aborted(entries)
            self._enter(epochs)
            self._write_all(data, headers)
        except (OSError, Corrupt) as error:
            take_back(self.producers, memory)
            self.epochs, self._epochs_unsaved = old_epochs, self._epochs_unsaved or epochs is not old_epochs
            if index_size is not None:
                self.segments.take_back_aborted(index_size)
            self._take_back_roll(before, rolled)
            if isinstance(error, Corrupt):
                raise Rejected(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
            raise
        self._hold_back(headers[0].base_offset, rolled, before.log_end.position or 0)
        flush_due = self.unflushed_count >= self.config.flush_messages
        first = headers[0].base_offset
        return Appended(first, last_offset, max_timestamp, -1, self.cursors, flush_due, rolled=rolled)

    def _answer(self, judgement: Duplicate | Refusal) -> Appended:
        if isinstance(judgement, Refusal):
            raise Rejected(judgement.code, judgement.message)
        mark = judgement.mark
        return Appended(
            mark.first_offset, mark.last_offset, mark.timestamp, mark.timestamp, self.cursors, is_duplicate=True
        )

    def _make_way(self, incoming: roll.Incoming, first_offset: int | None) -> roll.RollReason | None:
        """Roll if these bytes are for a new segment."""
        segments = self.segments
        active = segments.active
        reason = roll.should_roll(segments.limits, active.size, active.is_index_full, incoming)
        if reason is not None:
            self._roll(roll.next_base(self.cursors.log_end.offset, first_offset, incoming.last_offset), incoming.now_ms)
            folder, base = self.place.folder, segments.active.base_offset
            logger.info("rolled segment=%d log=%s reason=%r", base, folder, str(reason))
        return reason

    def _roll(self, base_offset: int, now_ms: int) -> None:
        self.segments.roll(base_offset, self.producers.entries.values(), now_ms)
        self.cursors = cursors.roll(self.cursors, base_offset)

    def _take_back_roll(self, before: Cursors, rolled: roll.RollReason | None) -> None:
        """There is nothing to be written to the new segment, and its base may be above where the log goes on."""
        if rolled is None or self.cursors.log_end == before.log_end:
            return
        try:
            self.segments.unroll()
        except OSError as error:
            raise WriteNotTakenBack(error.errno, error.strerror, error.filename) from error
        self.cursors = before

    def _enter(self, epochs: Epochs) -> None:
        """The epoch's start is on disk before its first batch: a batch of an epoch that nobody knows could not be
        told from one that was never committed."""
        if epochs is not self.epochs or self._epochs_unsaved:
            write_epochs(self.place.handles.files, f"{self.place.folder}/{LEADER_EPOCHS}", epochs)
            self.epochs, self._epochs_unsaved = epochs, False

    def save_epochs(self, epochs: Epochs) -> None:
        """As the log tells by itself. Where a full disk does not take the file it is written later, before the next
        batch: until then a load would come to the same."""
        if epochs is self.epochs:
            return
        self.epochs, self._epochs_unsaved = epochs, True
        try:
            self._enter(epochs)
        except OSError as error:
            if not is_full_disk(error):
                raise

    def _write(self, batch: bytes | bytearray | memoryview, last_offset: int, max_timestamp: int) -> None:
        segments = self.segments
        active = segments.active
        position = active.append(batch, last_offset, max_timestamp)
        if not position:
            segments.limits = segments.limits.began(max_timestamp)
        self.cursors = cursors.append(self.cursors, last_offset + 1, active.base_offset, active.size)

    def _write_all(self, data: memoryview, headers: Sequence[BatchHeader]) -> None:
        segments = self.segments
        active = segments.active
        if not active.append_all(data, headers):
            segments.limits = segments.limits.began(headers[0].max_timestamp)
        self.cursors = cursors.append(self.cursors, headers[-1].last_offset + 1, active.base_offset, active.size)

    def _hold_back(self, offset: int, rolled: roll.RollReason | None, position: int) -> None:
        """The last stable offset waits for the transactions that the batches just written at this offset are of. They
        are written: an error now is none that can be answered as if nothing had been."""
        begin = OffsetPosition(offset, self.segments.active.base_offset, position if rolled is None else 0)
        try:
            self._set_first_unstable(begin)
        except OSError as error:
            raise WriteNotTakenBack(error.errno, error.strerror, error.filename) from error

    def _set_first_unstable(self, known: OffsetPosition | None = None) -> None:
        first, before = self.producers.first_unstable, self.cursors.first_unstable
        if first is None:
            position = None
        elif before is not None and first == before.offset:
            return
        elif known is not None and first == known.offset:
            position = known
        else:
            position = self.position_of(first)
        self._publish(cursors.set_first_unstable(self.cursors, position))

    def _publish(self, at: Cursors) -> None:
        before = self.cursors.last_stable.offset
        if at.last_stable.offset < before:
            logger.warning("last stable moved back log=%s from=%d to=%d", self.place.folder, before, at.last_stable[0])
        self.cursors = at

    def position_of(self, offset: int) -> OffsetPosition:
        """Where the batch with this offset begins; at the end of the log its end."""
        if offset >= self.cursors.log_end.offset:
            return self.cursors.log_end
        for segment in self.segments.since(offset):
            header = segment.find(offset)
            if header is not None:
                return OffsetPosition(offset, segment.base_offset, header.position)
        return self.cursors.log_end._replace(offset=offset)  # in a gap before the end

    # The high watermark.

    @touching_files
    def increment_high_watermark(self, offset: int) -> bool:
        """A leader's: forward only. Did it rise?"""
        before = self.cursors.high_watermark.offset
        assert offset <= self.cursors.log_end.offset, f"a high watermark of {offset} above {self.cursors.log_end}"
        self.cursors = cursors.increment_high_watermark(self.cursors, self.position_of(offset))
        return self._replicated(before)

    @touching_files
    def update_high_watermark(self, offset: int) -> bool:
        """A follower's, as the leader says, clamped. Did it rise?"""
        before = self.cursors.high_watermark.offset
        within = min(max(offset, self.cursors.log_start), self.cursors.log_end.offset)
        self._publish(cursors.update_high_watermark(self.cursors, self.position_of(within)))
        return self._replicated(before)

    def _replicated(self, before: int) -> bool:
        after = self.cursors.high_watermark.offset
        if self.producers.unreplicated:
            self.producers.replicated_to(after)
            self._set_first_unstable()
        return after > before

    # Flush.

    @touching_files
    def begin_flush(self) -> Flush | None:
        """What is to be synced now; None: nothing. The segment that holds the last offset synced is in it again: when
        that was flushed it was the active one, and its indexes were left out."""
        at, segments = self.cursors, self.segments
        if at.recovery_point >= at.log_end.offset:
            return None
        files, end_offset = segments.files_to_sync(at.recovery_point - 1)
        folder = (self.place.handles.files, self.place.folder) if segments.has_new_names else None
        end_offset = at.log_end.offset if end_offset is None else min(end_offset, at.log_end.offset)
        return Flush(tuple(files), folder, end_offset, self._generation, segments.names)

    def flushed(self, flush: Flush) -> bool:
        """It was synced. False: a truncation overtook it, and nobody knows what was. Raises Rejected on a log that is
        broken: the disk tells a failure once, and another flush may have been told."""
        self.verify_in_service()
        if flush.generation != self._generation:
            return False
        self.segments.names_synced(flush.names)
        self.cursors = cursors.flush(self.cursors, flush.end_offset)
        return True

    @touching_files
    def flush(self) -> None:
        """Sync here and now."""
        while (flush := self.begin_flush()) is not None:
            flush.run()
            self.flushed(flush)

    # What goes.

    @all_or_broken
    def retain(self, now_ms: int) -> list[Deleted]:
        """Delete what retention lets go. Where all of it may go and a full disk takes no new segment, the newest stays
        for now."""
        released = retention.release(self._held(), self.config, self.cursors, now_ms)
        keep_last = released.roll_first and not self._roll_to_delete(now_ms)
        room = len(self.segments) - 1
        log_start = self.segments.active.base_offset if keep_last else released.log_start
        if released.releases:
            self._start_at(max(log_start, self.cursors.log_start), "segment deletion")
        gone: list[Deleted] = []
        for each in released.releases:
            count = min(each.segment_count, room - len(gone))
            gone += self.segments.release(count, each.reason) if count else []
        return gone

    def _roll_to_delete(self, now_ms: int) -> bool:
        try:
            self._roll(self.cursors.log_end.offset, now_ms)
        except OSError as error:
            if not is_full_disk(error) or isinstance(error, WriteNotTakenBack):
                raise
            return False
        return True

    def _held(self) -> list[retention.Held]:
        return [
            retention.Held(segment.base_offset, segment.size, timestamp, segment.modified_ms if timestamp < 0 else 0)
            for segment in self.segments
            for timestamp in [segment.largest.timestamp]
        ]

    @touching_files
    def advance_log_start(self, offset: int, reason: str = "client") -> bool:
        """DeleteRecords, or a follower after its leader: did it move? Raises Rejected above the high watermark."""
        return self._start_at(offset, reason)

    def _start_at(self, offset: int, reason: str) -> bool:
        before = self.cursors.log_start
        self.cursors = cursors.advance_log_start(self.cursors, offset)
        after = self.cursors.log_start
        if after == before:
            return False
        logger.info("log start moved log=%s from=%d to=%d reason=%r", self.place.folder, before, after, reason)
        self.save_epochs(self.epochs.truncate_from_start(after))
        return True

    @all_or_broken
    def truncate_to(self, offset: int, now_ms: int) -> list[Deleted]:
        """Whole batches from this offset on go, also the one that holds it. Whoever keeps the checkpoints writes the
        recovery point and the log start anew before he lets the next batch in."""
        if offset >= self.cursors.log_end.offset:
            return []
        if offset < self.segments.first_base:
            return self._restart(offset, now_ms)
        self._generation += 1
        gone = self.segments.truncate_to(offset)
        self._cut_back()
        return gone

    def _cut_back(self) -> None:
        """Cursors, epochs and producers follow the end of the log, which has moved back."""
        active = self.segments.active
        end = OffsetPosition(active.next_offset(), active.base_offset, active.size)
        self._publish(cursors.truncate(self.cursors, end))
        self.save_epochs(self.epochs.truncate_from_end(end.offset))
        known = Known(self.place, self.segments, self.segments.snapshots, self.cursors.log_start)
        self.producers = producers_at(known, end.offset)
        self.settle()

    @all_or_broken
    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> list[Deleted]:
        """Everything goes, and the log begins anew at this offset."""
        return self._restart(offset, now_ms)

    def _restart(self, offset: int, now_ms: int) -> list[Deleted]:
        self._generation += 1
        gone = self.segments.restart(offset, now_ms)
        self.cursors = cursors.restart(self.cursors, offset)
        self.save_epochs(self.epochs.truncate_from_end(-1))
        self.producers = Producers()
        return gone

    # Settings and the end.

    def configure(self, config: LogConfig) -> None:
        """Settings that changed while it runs."""
        self.config = config
        self.segments.configure(config)

    def expire_producers(self, now_ms: int, expiration_ms: int) -> int:
        """Forget idle ones; how many."""
        return self.producers.expire(now_ms, expiration_ms)

    @touching_files
    def close(self) -> None:
        """Everything synced, a snapshot of the producers at the end, indexes cut to size; then nothing works here."""
        segments = self.segments
        segments.write_snapshot(self.cursors.log_end.offset, self.producers.entries.values(), durable=True)
        self._sync_at_rest()
        for segment in segments:
            segment.close()
        self.cursors = cursors.flush(self.cursors, self.cursors.log_end.offset)
        self.out_of_service = f"{self.place.folder}: the log is closed"

    def _sync_at_rest(self) -> None:
        try:
            for segment in self.segments.since(self.cursors.recovery_point - 1):
                segment.become_inactive()
                segment.flush()
            self.segments.sync_names()
        except OSError as error:
            raise NotSynced(error.errno, error.strerror, error.filename) from error
