"""A log against a list of batches: whatever is done to it, in whatever order, what it answers is what the list says.

The disk is one in memory that can crash. After a crash the log holds what was synced, and of the rest what the disk
happened to have; nothing else, not even what a truncation took before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode
from esker.kernel.layout import Codec
from esker.log.reading import Wanted, end_offset_for, offset_for, read
from esker.records import batch
from esker.records.control import ControlType, read_end_marker
from esker.rules.cursors import Checkpoints
from esker.rules.read import Isolation
from esker.testing.files import KILLED, SYNCED, CrashFiles
from unit.log.kit import (
    NOBODY,
    NOW,
    VERIFIED,
    Sender,
    all_records,
    append,
    check_log,
    client_batch,
    config,
    leader_batch,
    marker,
    new_log,
    reopened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.base.config import LogConfig
    from esker.kernel.contract import BatchHeader
    from esker.log.log import Log
    from esker.log.values import Flush

PRODUCERS = st.integers(1, 3)
CODECS = st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY])
PAYLOADS = st.lists(st.binary(max_size=60), min_size=1, max_size=4)
FRACTIONS = st.floats(0, 1)
CONFIGS = st.builds(
    config,
    segment_bytes=st.sampled_from([300, 700, 2000, 1 << 20]),
    index_interval_bytes=st.sampled_from([0, 100, 4096]),
    segment_index_bytes=st.sampled_from([24, 60, 1 << 20]),
    segment_ms=st.sampled_from([50, 1 << 40]),
    retention_bytes=st.sampled_from([-1, 0, 900]),
    retention_ms=st.sampled_from([-1, 100]),
    flush_messages=st.sampled_from([1, 5, 1 << 40]),
    compression_type=st.sampled_from(["producer", "producer", "uncompressed", "zstd"]),
    log_append_time=st.sampled_from([False, False, True]),
    preallocate=st.booleans(),
)


class Row(NamedTuple):
    """A batch of the list. `values` by offset; `ends` is the kind of marker that it is."""

    first: int
    last: int
    values: tuple[bytes | None, ...]
    timestamp: int
    epoch: int
    sender: Sender = NOBODY
    ends: ControlType | None = None


def rows_of(log: Log) -> Iterator[Row]:
    """The batches of the log as rows, read from the files."""
    for segment in log.segments:
        for each in batch.batches(segment.file.read(segment.size, 0)):
            yield row_of(each)


def row_of(each: batch.Batch) -> Row:
    header: BatchHeader = each.header
    end = read_end_marker(each)
    kept = () if end else tuple(record.value for record in each.records())
    sender = Sender(header.producer_id, header.producer_epoch, header.base_sequence, header.transactional)
    kind = None if end is None else end.type
    return Row(header.base_offset, header.last_offset, kept, header.max_timestamp, header.leader_epoch, sender, kind)


def committed(rows: list[Row], start: int, end: int) -> list[bytes | None]:
    """What read_committed shows of [start, end): plain records, and those of transactions that were committed."""
    ends: dict[int, list[tuple[int, bool]]] = {}
    for row in rows:
        if row.ends is not None:
            ends.setdefault(row.sender.producer_id, []).append((row.first, row.ends is ControlType.COMMIT))
    shown: list[bytes | None] = []
    for row in rows:
        fate = True
        if row.sender.transactional:
            fate = next((good for at, good in ends.get(row.sender.producer_id, []) if at > row.first), False)
        if row.ends is None and fate and row.first < end:
            shown += [value for at, value in enumerate(row.values, row.first) if at >= start]
    return shown


def read_committed(log: Log) -> list[bytes | None]:
    """As a consumer does it, by the list of aborted transactions that comes with each slice."""
    offset = log.cursors.log_start
    shown: list[bytes | None] = []
    while True:
        answer = read(log, Wanted(offset, 500, Isolation.LAST_STABLE))
        if answer.slice is None:
            return shown
        assert answer.aborted is not None
        waiting = sorted(answer.aborted, key=lambda each: each.first_offset)
        dropped: set[int] = set()
        next_offset = offset
        for each in batch.batches(answer.slice.read()):
            header = each.header
            while waiting and waiting[0].first_offset <= header.last_offset:
                dropped.add(waiting.pop(0).producer_id)
            if header.control:
                dropped.discard(header.producer_id)
            elif not (header.transactional and header.producer_id in dropped):
                shown += [record.value for record in each.records() if record.offset >= offset]
            next_offset = header.last_offset + 1
        offset = next_offset


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.files = CrashFiles()
        self.files.now_ms = NOW
        self.rows: list[Row] = []
        self.time = NOW
        self.epoch = 0
        self.flush: Flush | None = None

    @initialize(chosen=CONFIGS, ordered=st.booleans(), start=st.sampled_from([0, 0, 1000]))
    def begin(self, chosen: LogConfig, *, ordered: bool, start: int) -> None:
        self.files = CrashFiles(ordered=ordered)
        self.files.now_ms = NOW
        self.config = chosen
        self.log = new_log(self.files, chosen, start)
        self.files.sync_folder("/")
        self.files.sync_folder("/logs")
        self.log.segments.sync_names()
        self.saved = Checkpoints(start, start, start)
        self.synced = start

    @property
    def end(self) -> int:
        return self.log.cursors.log_end.offset

    @property
    def start(self) -> int:
        return self.log.cursors.log_start

    def taken(self) -> None:
        """The newest batch of the log goes to the list."""
        found = list(rows_of(self.log))
        self.rows = [row for row in self.rows if row.first < found[0].first] + found

    def tick(self) -> int:
        self.time += 20
        self.files.now_ms = self.time
        return self.time

    # What is done.

    @rule(values=PAYLOADS, codec=CODECS)
    def append(self, values: list[bytes], codec: Codec) -> None:
        self.sent(values, NOBODY, codec)

    def sent(self, values: list[bytes], sender: Sender, codec: Codec = Codec.NONE) -> None:
        now, end = self.tick(), self.end
        made = client_batch(values, sender, timestamp=now, codec=codec)
        try:
            answer = self.log.append_as_leader(made, self.epoch, now, VERIFIED)
        except Rejected as error:
            self.too_large(error, end)
            return
        time = now if self.config.log_append_time else now + len(values) - 1
        assert (answer.first_offset, answer.last_offset) == (end, end + len(values) - 1)
        assert answer.max_timestamp == time
        self.rows.append(Row(end, answer.last_offset, tuple(values), time, self.epoch, sender))
        if answer.flush_due:
            self.flush_all()

    def too_large(self, error: Rejected, end: int) -> None:
        """The only refusal that these can meet."""
        assert error.code is ErrorCode.RECORD_LIST_TOO_LARGE
        assert self.end == end

    def sender(self, producer_id: int, *, transactional: bool) -> Sender:
        """Who goes on where he left off."""
        entry = self.log.producers.entries.get(producer_id)
        sequence = entry.last_sequence + 1 if entry else 0
        return Sender(producer_id, 0, sequence, transactional)

    @rule(values=PAYLOADS, producer_id=PRODUCERS, transactional=st.booleans())
    def append_idempotent(self, values: list[bytes], producer_id: int, *, transactional: bool) -> None:
        entry = self.log.producers.entries.get(producer_id)
        is_open = entry is not None and entry.txn_first_offset >= 0
        self.sent(values, self.sender(producer_id, transactional=transactional or is_open))

    @rule(producer_id=PRODUCERS)
    def repeat(self, producer_id: int) -> None:
        entry = self.log.producers.entries.get(producer_id)
        if entry is None or not entry.marks:
            return
        mark = entry.marks[-1]
        row = next((row for row in self.rows if row.first == mark.first_offset), None)
        if row is None:
            return  # retention took it
        again = client_batch(row.values, row.sender, timestamp=self.time)
        try:
            answer = self.log.append_as_leader(again, self.epoch, self.time, VERIFIED)
        except Rejected as error:
            self.too_large(error, self.end)
            return
        assert answer.is_duplicate
        assert (answer.first_offset, answer.last_offset) == (row.first, row.last)

    @rule(producer_id=PRODUCERS, commit=st.booleans())
    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        now = self.tick()
        end = marker(producer_id, commit=commit)._replace(timestamp=now)
        answer = self.log.append_marker(end, self.epoch, 0, now)
        sender = Sender(producer_id, 0, -1, True)
        self.rows.append(Row(answer.first_offset, answer.last_offset, (), now, self.epoch, sender, end.type))

    @rule(counts=st.lists(st.integers(1, 3), min_size=1, max_size=3), gap=st.sampled_from([0, 0, 3, 500]))
    def follow(self, counts: list[int], gap: int) -> None:
        now, offset, sent, rows = self.tick(), self.end + gap, bytearray(), []
        for at, count in enumerate(counts):
            values = [b"f"] * count
            sent += leader_batch(offset, values, self.epoch, timestamp=now + at)
            rows.append(Row(offset, offset + count - 1, tuple(values), now + at + count - 1, self.epoch))
            offset += count
        cut_off = leader_batch(offset, [b"partial"], self.epoch)[:-3]
        try:
            answer = self.log.append_as_follower(sent + cut_off, self.epoch, now)
        except Rejected as error:
            self.too_large(error, self.end)
            return
        assert (answer.first_offset, answer.last_offset) == (rows[0].first, rows[-1].last)
        self.rows += rows

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1

    @rule(part=FRACTIONS)
    def move_high_watermark(self, part: float) -> None:
        at = self.log.cursors
        offset = self.boundary(at.high_watermark.offset, part)
        rose = self.log.increment_high_watermark(offset)
        assert rose == (offset > at.high_watermark.offset)
        assert self.log.cursors.high_watermark.offset == offset

    def boundary(self, low: int, part: float) -> int:
        """An offset from `low` on at which a batch ends, or the log's."""
        choices = sorted({low, self.end, *(row.last + 1 for row in self.rows if low < row.last + 1 <= self.end)})
        return choices[round(part * (len(choices) - 1))]

    @rule(part=FRACTIONS)
    def advance_log_start(self, part: float) -> None:
        before, high = self.start, self.log.cursors.high_watermark.offset
        offset = before + round(part * (high - before))
        assert self.log.advance_log_start(offset) == (offset > before)
        assert self.start == max(before, offset)

    @rule()
    def advance_log_start_too_far(self) -> None:
        before = self.log.cursors
        with pytest.raises(Rejected):
            self.log.advance_log_start(before.high_watermark.offset + 1)
        assert self.log.cursors == before

    @rule(late=st.sampled_from([0, 1000]))
    def retain(self, late: int) -> None:
        before = self.log.cursors
        gone = self.log.retain(self.time + late)
        assert self.log.cursors.high_watermark.offset == before.high_watermark.offset
        assert self.end == before.log_end.offset
        for deleted in gone:
            deleted.remove(self.files)
        assert all(deleted.segment.base_offset < self.log.segments.first_base for deleted in gone)

    @rule(part=FRACTIONS, below=st.booleans())
    def truncate(self, part: float, *, below: bool) -> None:
        low = self.log.segments.first_base if below else self.log.cursors.high_watermark.offset
        offset = low + round(part * (self.end - low))
        for deleted in self.log.truncate_to(offset, self.time):
            deleted.remove(self.files)
        self.cut(offset)

    def cut(self, offset: int) -> None:
        self.rows = [row for row in self.rows if row.last < offset]
        self.synced = min(self.synced, self.end)
        self.checkpoint()

    @rule(forward=st.integers(-50, 50))
    def restart(self, forward: int) -> None:
        offset = max(0, self.end + forward)
        for deleted in self.log.truncate_fully_and_start_at(offset, self.time):
            deleted.remove(self.files)
        assert (self.start, self.end) == (offset, offset)
        self.rows = []
        self.synced = min(self.synced, offset)
        self.checkpoint()

    @rule()
    def flush_all(self) -> None:
        self.log.flush()
        self.synced = self.end
        assert self.log.unflushed_count == 0

    @rule()
    def begin_flush(self) -> None:
        self.flush = self.log.begin_flush()

    @rule()
    def end_flush(self) -> None:
        if self.flush is None:
            return
        self.flush.run()
        if self.log.flushed(self.flush):
            self.synced = self.log.cursors.recovery_point
        self.flush = None

    @rule()
    def checkpoint(self) -> None:
        """What a log dir writes of its logs."""
        at = self.log.cursors
        self.saved = Checkpoints(at.log_start, at.recovery_point, at.high_watermark.offset)

    @rule(chosen=CONFIGS)
    def configure(self, chosen: LogConfig) -> None:
        self.config = chosen
        self.log.configure(chosen)

    @rule()
    def close_and_open(self) -> None:
        before, known, epochs = self.log.cursors, dict(self.log.producers.entries), self.log.epochs
        self.log.close()
        self.checkpoint()
        self.flush = None
        opened = reopened(self.files, self.config, self.saved, clean=True)
        self.log = opened.log
        assert opened.recovered_bytes == 0
        assert [line for line in opened.done if line.startswith(("cut", "dropped", "scanned"))] == []
        after = self.log.cursors
        assert (after.log_start, after.log_end.offset) == (before.log_start, before.log_end.offset)
        assert after.high_watermark.offset == before.high_watermark.offset
        assert after.recovery_point == after.log_end.offset
        # As in Kafka a log from which all was deleted remembers nobody, and no epoch.
        kept = known if after.log_start < after.log_end.offset else {}
        assert self.log.producers.entries == {key: entry.kept_by_snapshot() for key, entry in kept.items()}
        assert self.log.epochs == epochs.truncate_from_end(after.log_end.offset)
        self.synced = self.end

    @rule(seed=st.integers(0, 1 << 32) | st.sampled_from([KILLED, SYNCED]))
    def crash(self, seed: int | str) -> None:
        start = self.start
        self.files = self.files.crash(None, seed)
        self.files.now_ms = self.time
        self.flush = None
        self.log = reopened(self.files, self.config, self.saved).log
        assert self.saved.log_start is not None
        assert self.saved.log_start <= self.start <= max(start, self.saved.log_start)
        assert self.end >= self.synced
        if seed == KILLED:
            first_base = self.log.segments.first_base
            assert list(rows_of(self.log)) == [row for row in self.rows if row.first >= first_base]
        self.survived(start)
        assert self.log.epochs.entries == () or self.log.epochs.entries[-1].epoch <= self.epoch

    def survived(self, start: int) -> None:
        """Nothing that was synced is lost, nothing is there that never was. Of what was deleted below the log start
        any part may be back."""
        found = list(rows_of(self.log))
        expected = [row for row in self.rows if start <= row.last < self.synced]
        assert [row for row in found if start <= row.last < self.synced] == expected
        assert set(found) <= set(self.rows)
        self.rows = found

    # What holds at any time.

    @invariant()
    def whole(self) -> None:
        check_log(self.log)

    @invariant()
    def reads_are_the_list(self) -> None:
        first_base = self.log.segments.first_base
        kept = [row for row in self.rows if row.first >= first_base]
        assert list(rows_of(self.log)) == kept
        wanted = [
            (offset, value)
            for row in kept
            for offset, value in enumerate(row.values, row.first)
            if offset >= self.start
        ]
        assert [(record.offset, record.value) for record in all_records(self.log)] == wanted
        high = self.log.cursors.high_watermark.offset
        shown = [(record.offset, record.value) for record in all_records(self.log, Isolation.HIGH_WATERMARK)]
        assert shown == [
            each
            for row in kept
            if row.last < high
            for each in enumerate(row.values, row.first)
            if each[0] >= self.start
        ]

    @invariant()
    def committed_reads_are_the_list(self) -> None:
        stable = self.log.cursors.last_stable.offset
        first_base = self.log.segments.first_base
        kept = [row for row in self.rows if row.first >= first_base]
        whole = [row for row in kept if row.last < stable or row.ends is not None]
        assert read_committed(self.log) == committed(whole, self.start, stable)

    @invariant()
    def stable_is_below_what_is_open(self) -> None:
        at = self.log.cursors
        firsts = [each.first_offset for each in self.log.producers.ongoing]
        assert at.last_stable.offset <= max(min([*firsts, at.high_watermark.offset]), at.log_start)

    @invariant()
    def producers_are_those_of_the_list(self) -> None:
        last: dict[int, Row] = {}
        for row in self.rows:
            if row.sender.producer_id >= 0 and row.ends is None and row.first >= self.log.segments.first_base:
                last[row.sender.producer_id] = row
        for producer_id, row in last.items():
            if row.last < self.start:
                continue
            newest = self.log.producers.entries[producer_id].marks[-1]
            assert (newest.first_offset, newest.last_offset) == (row.first, row.last)
            assert newest.first_sequence == row.sender.sequence

    @invariant()
    def times_lead_to_offsets(self) -> None:
        records = [(record.timestamp, record.offset) for record in all_records(self.log)]
        for wanted in {timestamp for timestamp, _ in records[-3:]}:
            found = offset_for(self.log, wanted, Isolation.LOG_END)
            assert found is not None
            assert found.offset == next(offset for timestamp, offset in records if timestamp >= wanted)

    @invariant()
    def epochs_end_where_the_next_begins(self) -> None:
        kept = [row for row in self.rows if row.last >= self.start]
        for row in kept:
            assert self.log.epochs.epoch_at(row.last) in (row.epoch, None)
        # A power cut may take the end of one segment and leave the next one, empty.
        if kept and self.log.epochs.entries and kept[-1].last + 1 == self.end:
            newest = kept[-1].epoch
            assert end_offset_for(self.log, newest).end_offset == self.end
            assert self.log.epochs.epoch_at(kept[-1].last) == newest


LogMachine.TestCase.settings = settings(stateful_step_count=30)
TestLog = LogMachine.TestCase


def test_the_machine_would_see_a_lost_record() -> None:
    """The model notices what it is there to notice."""
    machine = LogMachine()
    machine.begin(config(), ordered=True, start=0)
    machine.append([b"a"], Codec.NONE)
    machine.rows.append(machine.rows[0]._replace(first=1, last=1))
    with pytest.raises(AssertionError):
        machine.reads_are_the_list()


def test_the_machine_would_see_an_invented_one() -> None:
    machine = LogMachine()
    machine.begin(config(), ordered=True, start=0)
    append(machine.log)
    with pytest.raises(AssertionError):
        machine.survived(0)
