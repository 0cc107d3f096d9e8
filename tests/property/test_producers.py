"""Producer state against a twin that is written down as Kafka's own steps go: slow, with every batch it ever saw."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from esker.base.kafka_errors import ErrorCode
from esker.kernel.contract import BatchHeader
from esker.kernel.layout import INT32_MAX, Attribute
from esker.records.control import ControlType, EndMarker
from esker.rules.producers import BatchMark, Duplicate, ProducerEntry, Producers, Refusal, Verification
from esker.storage.snapshots import decode_snapshot, encode_snapshot

# Small, so that batches meet each other; sequences lie around the place where they go round.
PRODUCERS = st.integers(1, 3)
EPOCHS = st.integers(0, 3)
COORDINATOR_EPOCHS = st.integers(0, 2)
COUNTS = st.integers(1, 3)
SEQUENCES = st.integers(0, 6) | st.integers(INT32_MAX - 3, INT32_MAX)
LEAVES = st.none() | st.builds(Verification, st.sampled_from([0, 2, INT32_MAX]), st.booleans())
NEVER = 10**15


@dataclass
class Twin:
    """One producer: all batches of its present epoch, each with its sequences one by one."""

    epoch: int = -1
    coordinator_epoch: int = -1
    time: int = -1
    open_since: int | None = None
    batches: list[tuple[list[int], int, int]] = field(default_factory=list)  # sequences, first offset, time

    def enter(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.batches = []
        self.epoch = epoch


def sequences(header: BatchHeader) -> list[int]:
    found = [header.base_sequence]
    for _ in range(header.last_offset_delta):
        found.append(0 if found[-1] == INT32_MAX else found[-1] + 1)
    return found


def judged(twin: Twin | None, header: BatchHeader, leave: Verification | None) -> ErrorCode | int | None:
    """The table of facts/log.md from the top down: a code, the offset of the batch that is repeated, or None."""
    known = twin or Twin()
    transactional = bool(header.attributes & Attribute.TRANSACTIONAL)
    if twin and header.producer_epoch == known.epoch:
        for repeated, offset, _ in known.batches[-5:]:
            if (repeated[0], repeated[-1]) == (sequences(header)[0], sequences(header)[-1]):
                return offset
    if transactional and not (known.open_since is not None and known.epoch == header.producer_epoch):
        if twin and header.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if leave is None:
            return ErrorCode.INVALID_TXN_STATE
    if header.producer_epoch < known.epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if not in_order(twin, header, leave):
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    if known.open_since is not None and not transactional:
        return ErrorCode.INVALID_TXN_STATE
    return None


def in_order(twin: Twin | None, header: BatchHeader, leave: Verification | None) -> bool:
    sent = header.base_sequence
    if leave and leave.supports_epoch_bump and sent != 0 and not (twin and twin.batches):
        return False
    if leave and sent > leave.lowest_sequence:
        return False
    if twin is None:
        return True
    if twin.epoch != header.producer_epoch or not twin.batches:
        return sent == 0
    last = twin.batches[-1][0][-1]
    return sent == last + 1 or (sent == 0 and last == INT32_MAX)


class ProducersAndTwins(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.producers = Producers()
        self.twins: dict[int, Twin] = {}
        self.finished: list[tuple[int, int]] = []  # first offset and marker
        self.end = 0
        self.high_watermark = 0
        self.sent: list[BatchHeader] = []

    def header(self, producer_id: int, epoch: int, sequence: int, count: int, transactional: bool) -> BatchHeader:
        attributes = int(Attribute.TRANSACTIONAL) if transactional else 0
        header = BatchHeader(0, 0, 0, 0, 2, 0, attributes, count - 1, 0, 0, producer_id, epoch, sequence, count)
        self.sent.append(header)
        return header

    @rule(
        producer_id=PRODUCERS, epoch=EPOCHS, sequence=SEQUENCES, count=COUNTS, transactional=st.booleans(), leave=LEAVES
    )
    def a_client_sends_anything(
        self, producer_id: int, epoch: int, sequence: int, count: int, transactional: bool, leave: Verification | None
    ) -> None:
        self.send(self.header(producer_id, epoch, sequence, count, transactional), leave)

    @rule(producer_id=PRODUCERS, count=COUNTS, transactional=st.booleans(), leave=LEAVES)
    def a_client_goes_on(self, producer_id: int, count: int, transactional: bool, leave: Verification | None) -> None:
        twin = self.twins.get(producer_id, Twin(epoch=0))
        following = (twin.batches[-1][0][-1] + 1) % (INT32_MAX + 1) if twin.batches else 0
        self.send(self.header(producer_id, twin.epoch, following, count, transactional), leave)

    @rule(back=st.integers(1, 9), leave=LEAVES)
    def a_client_repeats_itself(self, back: int, leave: Verification | None) -> None:
        if len(self.sent) >= back:
            self.send(self.sent[-back], leave)

    @rule(producer_id=PRODUCERS, epoch=EPOCHS, sequence=SEQUENCES, count=COUNTS, transactional=st.booleans())
    def a_follower_takes_over(
        self, producer_id: int, epoch: int, sequence: int, count: int, transactional: bool
    ) -> None:
        self.take(self.header(producer_id, epoch, sequence, count, transactional))

    @rule(producer_id=PRODUCERS, epoch=EPOCHS, coordinator=COORDINATOR_EPOCHS, version=st.integers(0, 2))
    def a_coordinator_ends(self, producer_id: int, epoch: int, coordinator: int, version: int) -> None:
        marker = EndMarker(ControlType.ABORT, producer_id, epoch, coordinator, self.end)
        twin = self.twins.get(producer_id, Twin())
        late = epoch <= twin.epoch if version == 2 else epoch < twin.epoch
        if version == 2 and epoch == twin.epoch and twin.open_since is None:
            late = False
        expected = ErrorCode.INVALID_PRODUCER_EPOCH if late else None
        if not late and coordinator < twin.coordinator_epoch:
            expected = ErrorCode.TRANSACTION_COORDINATOR_FENCED
        refusal = self.producers.judge_marker(marker, version)
        assert (refusal.code if refusal else None) == expected
        if refusal is None:
            self.end_transaction(marker)

    @rule(producer_id=PRODUCERS, epoch=EPOCHS, coordinator=COORDINATOR_EPOCHS)
    def a_follower_takes_over_an_end(self, producer_id: int, epoch: int, coordinator: int) -> None:
        self.end_transaction(EndMarker(ControlType.ABORT, producer_id, epoch, coordinator, self.end))

    @rule(data=st.data())
    def followers_catch_up(self, data: st.DataObject) -> None:
        self.high_watermark = data.draw(st.integers(self.high_watermark, self.end))
        self.producers.replicated_to(self.high_watermark)

    @rule(age=st.integers(0, 10))
    def time_passes(self, age: int) -> None:
        """Times are offsets here: forget who wrote nothing for so long."""
        gone = [each for each, twin in self.twins.items() if twin.open_since is None and self.end - twin.time >= age]
        assert self.producers.expire(self.end, age) == len(gone)
        for each in gone:
            del self.twins[each]

    @rule()
    def the_log_is_opened_again(self) -> None:
        """From a snapshot at its end, with all of it replicated."""
        written = encode_snapshot(self.producers.entries.values())
        self.producers = Producers.restore(decode_snapshot(written, "a snapshot"), 0, NEVER)
        self.finished = []
        for twin in self.twins.values():
            twin.batches = [(numbers, offset, twin.time) for numbers, offset, _ in twin.batches[-1:]]

    def send(self, header: BatchHeader, leave: Verification | None) -> None:
        expected = judged(self.twins.get(header.producer_id), header, leave)
        match self.producers.judge(header, leave):
            case Refusal(code, _):
                assert code == expected
            case Duplicate(mark):
                assert (mark.first_offset, True) == (expected, not isinstance(expected, ErrorCode))
            case None:
                assert expected is None
                self.take(header)

    def take(self, header: BatchHeader) -> None:
        self.producers.take(header, self.end, self.end)
        twin = self.twins.setdefault(header.producer_id, Twin())
        twin.enter(header.producer_epoch)
        twin.batches.append((sequences(header), self.end, self.end))
        twin.time = self.end
        if header.attributes & Attribute.TRANSACTIONAL and twin.open_since is None:
            twin.open_since = self.end
        self.end += header.last_offset_delta + 1

    def end_transaction(self, marker: EndMarker) -> None:
        completed = self.producers.take_marker(marker, self.end)
        twin = self.twins.setdefault(marker.producer_id, Twin())
        twin.enter(marker.producer_epoch)
        began, twin.open_since = twin.open_since, None
        twin.coordinator_epoch, twin.time = marker.coordinator_epoch, self.end
        assert (completed is None) == (began is None)
        if completed and began is not None:
            others = [each.open_since for each in self.twins.values() if each.open_since is not None]
            stable = min(others, default=self.end + 1)
            assert completed == (marker.producer_id, began, self.end, stable, True)
            self.finished.append((began, self.end))
        self.end += 1

    @invariant()
    def the_first_unstable_offset_is_that_of_all_transactions(self) -> None:
        unsettled = [twin.open_since for twin in self.twins.values() if twin.open_since is not None]
        unsettled += [first for first, last in self.finished if last >= self.high_watermark]
        assert self.producers.first_unstable == min(unsettled, default=None)

    @invariant()
    def entries_say_what_the_twins_know(self) -> None:
        assert self.producers.entries == {each: entry(each, twin) for each, twin in self.twins.items()}


def entry(producer_id: int, twin: Twin) -> ProducerEntry:
    marks = [
        BatchMark(numbers[0], numbers[-1], offset, offset + len(numbers) - 1, time)
        for numbers, offset, time in twin.batches[-5:]
    ]
    since = -1 if twin.open_since is None else twin.open_since
    return ProducerEntry(producer_id, twin.epoch, twin.coordinator_epoch, twin.time, since, tuple(marks))


TestProducersAndTwins = ProducersAndTwins.TestCase


@given(PRODUCERS, EPOCHS, SEQUENCES, COUNTS)
def test_a_producer_nobody_knows_may_begin_anywhere(producer_id: int, epoch: int, sequence: int, count: int) -> None:
    header = BatchHeader(0, 0, 0, 0, 2, 0, 0, count - 1, 0, 0, producer_id, epoch, sequence, count)
    assert Producers().judge(header) is None
