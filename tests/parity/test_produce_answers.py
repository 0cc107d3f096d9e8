"""What the kernel says of a client's batch is what Kafka says, and what would be written is what Kafka writes."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from esker.base.faults import Fault
from esker.base.kafka_errors import ErrorCode
from esker.kernel.contract import Accepted, BatchHeader, Encoding, Kernel, Record, Refused, Rows
from esker.kernel.layout import Attribute, Codec, wrap64
from parity.broker import Broker
from parity.crafted import batch, record, records
from parity.differences import OURS, code_of, ours_to
from parity.produce_rows import NOW, ROWS, TOPICS
from parity.row import Row
from parity.wire import Produced, Wire

pytestmark = pytest.mark.xdist_group("kafka")  # one worker, one broker at a time
rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
accepted_by_both = [row for row in ROWS if row.says is None and ours_to(row) is None]
accepted_rows = pytest.mark.parametrize("row", accepted_by_both, ids=lambda row: row.name)
INTERNAL = "__consumer_offsets"
LEADER_EPOCH = 0  # a new topic's
UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_REQUIRED_ACKS, NOT_FOR_TRANSACTIONS = 3, 17, 21, 53


class Verdict(NamedTuple):
    """Kafka's answer to a row, and what its log file grew by."""

    answer: Produced
    stored: bytes


class Judge:
    """A real broker with the topics of the table. A row is sent when it is first asked for, and once."""

    def __init__(self, broker: Broker, wire: Wire) -> None:
        self.broker = broker
        self.wire = wire
        self.verdict = cache(self._verdict)

    def prepare(self) -> None:
        self.wire.create({self._name(name): topic.settings for name, topic in TOPICS.items()})
        self.wire.create({INTERNAL: {}})
        for name in TOPICS:
            self.wire.await_leader(self._name(name), batch(*records(5), base_timestamp=NOW))

    def _verdict(self, row: Row) -> Verdict:
        before = len(self._log(row.topic))
        answer = self.wire.produce(self._name(row.topic), row.data)
        return Verdict(answer, self._log(row.topic)[before:])

    def _log(self, topic: str) -> bytes:
        return (self.broker.data / f"{self._name(topic)}-0" / f"{0:020d}.log").read_bytes()

    def _name(self, topic: str) -> str:
        return f"produce-{topic}"


@pytest.fixture(scope="module")
def judge(kafka_broker: Broker) -> Iterator[Judge]:
    with Wire(kafka_broker) as wire:
        judge = Judge(kafka_broker, wire)
        judge.prepare()
        yield judge


@rows
def test_kafka_answers_as_the_table_says(judge: Judge, row: Row) -> None:
    answer = judge.verdict(row).answer
    assert answer.code == code_of(row.says), answer


@rows
def test_kernel_answers_as_kafka_does(kernel: Kernel, judge: Judge, row: Row) -> None:
    fault, places, told = in_short(kernel.validate(row.data, TOPICS[row.topic].limits))
    says = ours_to(row)
    assert says in (fault, fault and fault.code), f"Esker: {told}"
    if row.name not in OURS:
        assert places == judge.verdict(row).answer.records, f"Esker: {told}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in OURS], ids=lambda row: row.name)
def test_each_difference_is_one(row: Row) -> None:
    assert row.says != ours_to(row)


def test_each_difference_is_about_a_row() -> None:
    assert set(OURS) <= {row.name for row in ROWS}


def in_short(answer: Accepted | Refused) -> tuple[Fault | None, list[int], str]:
    """The fault, the records that are named, and a word for a failure's message."""
    if isinstance(answer, Accepted):
        return None, [], "accepted"
    return answer.finding.fault, [place for place, _ in answer.records], str(answer.finding)


@rows
def test_kafka_stores_what_it_accepts_and_nothing_else(judge: Judge, row: Row) -> None:
    answer, stored = judge.verdict(row)
    assert bool(stored) == (answer.code == 0)
    assert not stored or len(stored) == 12 + int.from_bytes(stored[8:12], "big")


@accepted_rows
def test_what_is_written_is_what_kafka_writes(kernel: Kernel, judge: Judge, row: Row) -> None:
    answer, stored = judge.verdict(row)
    assert answer.code == 0, f"Kafka: {answer}"
    topic = TOPICS[row.topic]
    ours = kernel.validate(row.data, topic.limits)
    assert isinstance(ours, Accepted), in_short(ours)
    sent = row.data[: ours.header.size]
    if topic.codec is None or topic.codec == ours.header.codec:
        assert stored == stamped(kernel, sent, ours, answer)
    else:
        compare_packed_anew(kernel, stored, packed_anew(kernel, sent, ours, answer, topic.codec))


def stamped(kernel: Kernel, sent: bytes, ours: Accepted, answer: Produced) -> bytes:
    """As a leader does: the broker's time where the topic says so, else the true maximum."""
    written = bytearray(sent)
    by_broker = answer.append_time >= 0
    time = answer.append_time if by_broker else ours.max_timestamp
    following = kernel.stamp(written, answer.base_offset, LEADER_EPOCH, time, by_broker)
    assert following == answer.base_offset + ours.header.record_count
    return bytes(written)


def packed_anew(kernel: Kernel, sent: bytes, ours: Accepted, answer: Produced, codec: Codec) -> bytes:
    """As a leader does where the topic has another codec. Odd offset deltas and bits without a meaning do not last."""
    header, by_broker = ours.header, answer.append_time >= 0
    encoding = Encoding(
        codec=codec,
        attributes=int(Attribute.LOG_APPEND_TIME) if by_broker else 0,
        leader_epoch=LEADER_EPOCH,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        base_offset=answer.base_offset,
        max_timestamp=answer.append_time if by_broker else ours.max_timestamp,
    )
    return kernel.encode(rows_of(kernel.unpack(sent), header), encoding)


def rows_of(found: list[Record], header: BatchHeader) -> Rows:
    return Rows(
        timestamps=[wrap64(header.base_timestamp + each.timestamp_delta) for each in found],
        keys=[each.key for each in found],
        values=[each.value for each in found],
        headers=[each.headers for each in found],
    )


def compare_packed_anew(kernel: Kernel, stored: bytes, written: bytes) -> None:
    """The codecs' builds differ, what they pack does not."""
    theirs, ours = kernel.walk(stored).headers[0], kernel.walk(written).headers[0]
    assert theirs == ours._replace(size=theirs.size, crc=theirs.crc)
    assert kernel.unpack(stored) == kernel.unpack(written)


# What is asked of the request comes before what is asked of its batch: each of these carries one with a wrong checksum.
BAD = batch(*records(2), crc=1)


@pytest.mark.parametrize(
    ("topic", "data", "acks", "code"),
    [
        ("produce-plain", batch(record(), crc=1, attributes=Attribute.TRANSACTIONAL), -1, NOT_FOR_TRANSACTIONS),
        ("produce-plain", BAD, 7, INVALID_REQUIRED_ACKS),
        (INTERNAL, BAD, -1, INVALID_TOPIC),
        ("nowhere", BAD, -1, UNKNOWN_TOPIC),
        ("produce-plain", BAD, 1, int(ErrorCode.CORRUPT_MESSAGE)),
    ],
    ids=["transactional without an id", "acks 7", "an internal topic", "no such topic", "acks 1"],
)
def test_kafka_judges_the_request_before_the_batch(judge: Judge, topic: str, data: bytes, acks: int, code: int) -> None:
    answer = judge.wire.produce(topic, data, acks)
    assert answer.code == code, answer
