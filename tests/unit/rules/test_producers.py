"""Producer state: the questions of facts/log.md as tables, and what is noted after a write."""

from __future__ import annotations

import pytest

from esker.base.kafka_errors import ErrorCode
from esker.kernel.contract import BatchHeader
from esker.kernel.layout import INT32_MAX, Attribute
from esker.records.control import ControlType, EndMarker
from esker.rules.producers import (
    NONE,
    NOT_ASKED,
    Completed,
    Duplicate,
    ProducerEntry,
    Producers,
    Refusal,
    Verification,
    first_sequence,
    last_sequence,
)

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
OLD_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH
TXN_STATE = ErrorCode.INVALID_TXN_STATE
FENCED = ErrorCode.TRANSACTION_COORDINATOR_FENCED

VERSION_2 = Verification(supports_epoch_bump=True)
DAY = 86_400_000
NOW = 1_700_000_000_000


def batch(sequence: int, count: int = 1, epoch: int = 0, attributes: int = 0, producer_id: int = 7) -> BatchHeader:
    return BatchHeader(0, 0, 100, -1, 2, 0, attributes, count - 1, NOW, NOW, producer_id, epoch, sequence, count)


def data(sequence: int, count: int = 1, epoch: int = 0, producer_id: int = 7) -> BatchHeader:
    """A batch of a transaction."""
    return batch(sequence, count, epoch, Attribute.TRANSACTIONAL, producer_id)


def marker(
    epoch: int = 0, coordinator_epoch: int = 0, kind: ControlType = ControlType.COMMIT, producer_id: int = 7
) -> EndMarker:
    return EndMarker(kind, producer_id, epoch, coordinator_epoch, NOW)


def written(*headers: BatchHeader | EndMarker, offset: int = 0) -> Producers:
    """The state after these, back to back from an offset on."""
    producers = Producers()
    for header in headers:
        if isinstance(header, EndMarker):
            producers.take_marker(header, offset)
            offset += 1
        else:
            producers.take(header, offset, NOW + offset)
            offset += header.last_offset_delta + 1
    return producers


def answer(producers: Producers, header: BatchHeader, verification: Verification | None = None) -> object:
    """The code of a refusal, the old first offset of a duplicate, or None."""
    match producers.judge(header, verification):
        case Refusal(code, _):
            return code
        case Duplicate(mark):
            return mark.first_offset
        case accepted:
            return accepted


class TestAPlainProducer:
    @pytest.mark.parametrize(
        ("known", "sent", "answered"),
        [
            # Known batches               what is sent                     the answer
            ([], batch(0), None),
            ([], batch(41), None),  # unknown: any sequence
            ([batch(0, 10)], batch(10), None),
            ([batch(0, 10)], batch(11), OUT_OF_ORDER),  # one is missing
            ([batch(0, 10)], batch(9), OUT_OF_ORDER),
            ([batch(0, 10)], batch(0, 10), 100),  # the same again
            ([batch(0, 10)], batch(0, 9), OUT_OF_ORDER),  # not quite the same
            ([batch(0, 10)], batch(1, 9), OUT_OF_ORDER),
            ([batch(0, 10)], batch(0, 10, epoch=1), None),  # a new epoch begins at 0
            ([batch(0, 10)], batch(10, epoch=1), OUT_OF_ORDER),
            ([batch(0, 10, epoch=1)], batch(10), OLD_EPOCH),
            ([batch(0, 10, epoch=1)], batch(0, 10), OLD_EPOCH),
            ([batch(0, 10), batch(0, 5, epoch=1)], batch(5, epoch=1), None),
            (
                [batch(0, 10), batch(0, 5, epoch=1)],
                batch(0, 10, epoch=1),
                OUT_OF_ORDER,
            ),  # what epoch 0 sent is forgotten
            ([batch(50, 10)], batch(60), None),  # the first batch of an epoch sets what is expected
            ([batch(0)], batch(7, producer_id=8), None),  # one producer says nothing of another
            ([batch(INT32_MAX)], batch(0), None),  # sequences go round
            ([batch(INT32_MAX)], batch(1), OUT_OF_ORDER),
            ([batch(INT32_MAX - 1, 3)], batch(1), None),  # also inside a batch: …6, …7, 0
            ([batch(INT32_MAX - 1, 3)], batch(INT32_MAX - 1, 3), 100),
            ([batch(INT32_MAX - 1, 2)], batch(0), None),
        ],
    )
    def test_is_answered_as_kafka_does(self, known: list[BatchHeader], sent: BatchHeader, answered: object) -> None:
        assert answer(written(*known, offset=100), sent) == answered

    def test_each_of_the_last_five_batches_is_known_again_and_none_before(self) -> None:
        producers = written(*(batch(2 * each, 2) for each in range(7)), offset=100)
        answers = [answer(producers, batch(2 * each, 2)) for each in range(8)]
        assert answers == [OUT_OF_ORDER, OUT_OF_ORDER, 104, 106, 108, 110, 112, None]

    def test_a_duplicate_tells_the_time_of_the_first_write(self) -> None:
        found = written(batch(0, 2), batch(2, 2), offset=100).judge(batch(0, 2))
        assert isinstance(found, Duplicate)
        assert found.mark.timestamp == NOW + 100

    def test_a_refusal_names_what_was_sent_and_what_was_expected(self) -> None:
        refusal = written(batch(0, 10)).judge(batch(12))
        assert refusal == Refusal(OUT_OF_ORDER, "producer 7 sends sequence 12 in epoch 0; expected 10")

    def test_judging_changes_nothing(self) -> None:
        producers = written(batch(0))
        before = dict(producers.entries)
        producers.judge(batch(1))
        producers.judge(data(1), NOT_ASKED)
        assert (producers.entries, producers.ongoing) == (before, [])

    def test_without_a_producer_id_nothing_is_judged_or_noted(self) -> None:
        producers = written(batch(-1, producer_id=-1, epoch=-1))
        assert producers.judge(batch(-1, producer_id=-1, epoch=-1)) is None
        assert not producers.entries


class TestATransaction:
    @pytest.mark.parametrize(
        ("known", "sent", "verified", "answered"),
        [
            # Known batches                 what is sent         by leave of         the answer
            ([], data(0), None, TXN_STATE),
            ([], data(0), NOT_ASKED, None),
            ([], data(3), NOT_ASKED, None),
            ([], data(0), VERSION_2, None),
            ([], data(3), VERSION_2, OUT_OF_ORDER),  # unknown, and yet not at 0
            ([data(0)], data(1), None, None),  # open: no leave needed
            ([data(0)], data(2), None, OUT_OF_ORDER),
            ([data(0)], data(0), None, 100),
            ([data(0)], batch(1), None, TXN_STATE),  # plain, inside of a transaction
            ([data(0)], batch(2), None, OUT_OF_ORDER),  # the sequence is looked at first
            ([data(0)], batch(0), None, 100),  # and a duplicate before all
            ([data(0)], data(0, epoch=1), None, TXN_STATE),  # what is open is of the old epoch
            ([data(0)], data(0, epoch=1), NOT_ASKED, None),
            ([data(0, epoch=1)], data(1), None, OLD_EPOCH),
            ([batch(0, epoch=1)], data(0), None, OLD_EPOCH),  # before the leave
            ([data(0), marker()], data(1), None, TXN_STATE),  # ended
            ([data(0), marker()], data(1), NOT_ASKED, None),
            ([data(0), marker()], data(0), None, 100),  # a marker of the same epoch forgets nothing
            ([data(0), marker(1)], data(1, epoch=1), NOT_ASKED, OUT_OF_ORDER),  # one of a higher epoch does
            ([data(0), marker(1)], data(0, epoch=1), NOT_ASKED, None),
            ([data(0), marker(1)], data(1, epoch=1), VERSION_2, OUT_OF_ORDER),
            ([data(0), marker(1)], data(1), NOT_ASKED, OLD_EPOCH),
            ([batch(0)], data(1), Verification(lowest_sequence=1), None),
            ([batch(0, 2)], data(2), Verification(lowest_sequence=1), OUT_OF_ORDER),  # 1 was seen, it may come yet
            ([], data(-1), NOT_ASKED, None),  # a group coordinator's commits have no sequences
            ([data(-1)], data(-1), None, None),
            ([data(-1, epoch=1)], data(-1), NOT_ASKED, OLD_EPOCH),
        ],
    )
    def test_is_answered_as_kafka_does(
        self,
        known: list[BatchHeader | EndMarker],
        sent: BatchHeader,
        verified: Verification | None,
        answered: object,
    ) -> None:
        assert answer(written(*known, offset=100), sent, verified) == answered

    @pytest.mark.parametrize(
        ("known", "sent", "version", "answered"),
        [
            ([], marker(), 0, None),
            ([], marker(), 2, None),
            ([data(0)], marker(), 1, None),
            ([data(0)], marker(), 2, OLD_EPOCH),  # version 2 raises the epoch with each marker
            ([data(0)], marker(1), 2, None),
            ([data(0, epoch=1)], marker(), 1, OLD_EPOCH),
            ([data(0), marker(1)], marker(1), 2, None),  # a repeat, nothing open
            ([data(0), marker(1)], marker(0), 2, OLD_EPOCH),
            ([data(0), marker(1), data(0, epoch=1)], marker(1), 2, OLD_EPOCH),  # late: it would end the next one
            ([data(0), marker(0, 5)], marker(0, 4), 1, FENCED),
            ([data(0), marker(0, 5)], marker(0, 5), 1, None),
            ([data(0, epoch=1), marker(1, 5)], marker(0, 4), 1, OLD_EPOCH),  # both wrong: the epoch first
        ],
    )
    def test_a_marker_is_answered_as_kafka_does(
        self, known: list[BatchHeader | EndMarker], sent: EndMarker, version: int, answered: ErrorCode | None
    ) -> None:
        refusal = written(*known).judge_marker(sent, version)
        assert (refusal.code if refusal else None) == answered

    def test_followers_take_over_what_a_leader_would_refuse(self) -> None:
        producers = written(batch(5, epoch=3), batch(9, epoch=1), marker(0, 9), marker(0, 2))
        assert producers.entries[7] == ProducerEntry(7, 0, 2, NOW, NONE, ())


class TestTheLastStableOffset:
    """Rows of what is written, from offset 100 on, and where readers of committed data must stop after each."""

    ABORT = ControlType.ABORT

    def test_it_waits_for_the_earliest_open_transaction(self) -> None:
        producers = Producers()
        seen = []
        rows: list[tuple[int, BatchHeader | EndMarker]] = [
            (100, batch(0)),
            (101, data(0, producer_id=8)),
            (102, data(0, producer_id=9)),
            (103, marker(producer_id=8)),
            (104, marker(producer_id=9)),
        ]
        for offset, each in rows:
            if isinstance(each, EndMarker):
                producers.take_marker(each, offset)
            else:
                producers.take(each, offset, NOW)
            producers.replicated_to(offset + 1)
            seen.append(producers.first_unstable)
        assert seen == [None, 101, 101, 102, None]

    def test_it_waits_for_the_marker_to_be_replicated(self) -> None:
        producers = written(data(0), marker(), offset=100)
        seen = []
        for high_watermark in (100, 101, 102):
            producers.replicated_to(high_watermark)
            seen.append(producers.first_unstable)
        assert seen == [100, 100, None]

    def test_an_earlier_one_may_be_finished_and_a_later_one_open(self) -> None:
        producers = written(data(0), marker(), data(0, producer_id=8), offset=100)
        assert producers.first_unstable == 100
        producers.replicated_to(102)
        assert producers.first_unstable == 102

    def test_a_marker_with_no_data_before_it_completes_nothing(self) -> None:
        producers = written(batch(0))
        assert producers.take_marker(marker(kind=self.ABORT), 50) is None
        assert producers.first_unstable is None

    def test_an_aborted_transaction_tells_the_index_how_stable_the_log_then_is(self) -> None:
        producers = written(data(0, 10, producer_id=8), data(0, 10), offset=100)
        assert producers.take_marker(marker(kind=self.ABORT), 120) == Completed(7, 110, 120, 100, aborted=True)
        assert producers.take_marker(marker(producer_id=8), 121) == Completed(8, 100, 121, 122, aborted=False)

    def test_the_oldest_transaction_is_as_old_as_its_producers_last_write(self) -> None:
        assert written(data(0), data(1), offset=100).oldest_transaction_ms() == NOW + 101
        assert written(batch(0)).oldest_transaction_ms() is None


class TestExpiry:
    @pytest.mark.parametrize(("age", "left"), [(DAY - 1, [7]), (DAY, []), (DAY + 1, [])])
    def test_a_producer_goes_when_it_wrote_nothing_for_so_long(self, age: int, left: list[int]) -> None:
        producers = written(batch(0))
        assert producers.expire(NOW + age, DAY) == 1 - len(left)
        assert list(producers.entries) == left

    def test_an_open_transaction_keeps_its_producer(self) -> None:
        producers = written(data(0))
        assert producers.expire(NOW + 9 * DAY, DAY) == 0
        producers.take_marker(marker(), 1)
        assert producers.expire(NOW + 9 * DAY, DAY) == 1


class TestASnapshot:
    def test_keeps_only_the_newest_batch(self) -> None:
        producers = written(batch(0, 2), batch(2, 2), batch(4, 2), offset=100)
        again = Producers.restore([each.kept_by_snapshot() for each in producers.entries.values()], NOW, DAY)
        answers = [answer(again, batch(sequence, 2)) for sequence in (0, 2, 4, 6)]
        assert answers == [OUT_OF_ORDER, OUT_OF_ORDER, 104, None]

    def test_brings_open_transactions_back_in_order(self) -> None:
        producers = written(data(0, producer_id=9), data(0, producer_id=8), batch(0), offset=100)
        again = Producers.restore(reversed(producers.entries.values()), NOW, DAY)
        assert again.ongoing == producers.ongoing
        assert again.first_unstable == 100

    def test_leaves_out_what_has_expired_meanwhile(self) -> None:
        producers = written(batch(0), data(0, producer_id=8))
        again = Producers.restore(producers.entries.values(), NOW + 9 * DAY, DAY)
        assert list(again.entries) == [8]

    def test_keeps_the_time_of_a_marker_as_that_of_the_batch(self) -> None:
        late = marker()._replace(timestamp=NOW + 5)
        kept = written(data(0), late).entries[7].kept_by_snapshot()
        assert kept.marks[0].timestamp == kept.last_timestamp == NOW + 5


@pytest.mark.parametrize(
    ("first", "delta", "last"),
    [(0, 0, 0), (0, 9, 9), (INT32_MAX, 0, INT32_MAX), (INT32_MAX, 1, 0), (INT32_MAX - 1, 2, 0), (NONE, 3, NONE)],
)
def test_sequences_go_round(first: int, delta: int, last: int) -> None:
    assert last_sequence(first, delta) == last
    assert first_sequence(last, delta) == first
