"""The batches that a client might send, and what must be said of each: the first fault in Kafka's order, or none.

Each is sent to a real broker too, so a row here that Kafka answers otherwise fails.
"""

import time
from typing import NamedTuple

from esker.base.faults import Fault
from esker.base.kafka_errors import ErrorCode
from esker.kernel.contract import AppendLimits
from esker.kernel.layout import INT32_MAX, INT64_MAX, Attribute, Codec
from parity.crafted import START_MS, batch, field, message, of_body, record, records, start, varint
from parity.packed_rows import PACKED, RECOMPRESSED
from parity.row import Row

HOUR_MS = 3_600_000
NOW = time.time_ns() // 1_000_000
LARGEST = 1_048_588  # max.message.bytes when nothing says otherwise


class Topic(NamedTuple):
    """A topic's settings, as Kafka is told and as the kernel is told. Without a codec it keeps the client's."""

    settings: dict[str, str]
    limits: AppendLimits
    codec: Codec | None = None


# Odd times and the sizes of all rows together must not make Kafka begin another file.
ONE_FILE = {"segment.ms": str(INT64_MAX), "retention.ms": "-1"}
ANY_TIME = ONE_FILE | {"message.timestamp.after.max.ms": str(INT64_MAX)}
ANY_LIMITS = AppendLimits(LARGEST)
TIGHT = ONE_FILE | {"message.timestamp.before.max.ms": str(HOUR_MS), "message.timestamp.after.max.ms": str(HOUR_MS)}
TIGHT_LIMITS = AppendLimits(LARGEST, min_timestamp=NOW - HOUR_MS, max_timestamp=NOW + HOUR_MS)
# Kafka's own defaults: as old as can be, at most an hour ahead. Its subtraction wraps, so the very oldest are too new.
USUAL_LIMITS = AppendLimits(LARGEST, min_timestamp=NOW - INT64_MAX, max_timestamp=NOW + HOUR_MS)
COMPACT = {"cleanup.policy": "compact"}
PACKED_AS_GZIP = {"compression.type": "gzip"}
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
TOPICS = {
    "plain": Topic(ANY_TIME, ANY_LIMITS),
    "recompressed": Topic(ANY_TIME | PACKED_AS_GZIP, ANY_LIMITS, RECOMPRESSED),
    "recompressed-append-time": Topic(
        ANY_TIME | PACKED_AS_GZIP | APPEND_TIME, ANY_LIMITS._replace(log_append_time=True), RECOMPRESSED
    ),
    "unpacked": Topic(ANY_TIME | {"compression.type": "uncompressed"}, ANY_LIMITS, Codec.NONE),
    "small": Topic(ANY_TIME | {"max.message.bytes": "300"}, ANY_LIMITS._replace(max_batch_bytes=300)),
    "usual": Topic(ONE_FILE, USUAL_LIMITS),
    "tight": Topic(TIGHT, TIGHT_LIMITS),
    "compacted": Topic(ANY_TIME | COMPACT, ANY_LIMITS._replace(keys_required=True)),
    "compacted-tight": Topic(TIGHT | COMPACT, TIGHT_LIMITS._replace(keys_required=True)),
    "append-time": Topic(TIGHT | APPEND_TIME, TIGHT_LIMITS._replace(log_append_time=True)),
    "compacted-append-time": Topic(
        ONE_FILE | COMPACT | APPEND_TIME, ANY_LIMITS._replace(log_append_time=True, keys_required=True)
    ),
}

ONE = batch(record())
THREE = batch(*records(3))
PRODUCER = {"producer_id": 7_000, "producer_epoch": 3, "base_sequence": 0}
HEADERS = ((b"h", b"1"), (b"h", None), (b"", b""), ("ü".encode(), bytes(range(256))))


def sized(data: bytes, size: int, magic: int = 2) -> bytes:
    """These bytes with that size field and magic, cut or filled up with ones to the size they say."""
    data = data[:8] + size.to_bytes(4, "big", signed=True) + data[12:16] + bytes([magic]) + data[17:]
    return data.ljust(12 + size, b"\x01")[: 12 + size] if size >= 0 else data


WALK = [
    Row("nothing", b"", Fault.PARTIAL),
    Row("eleven zero bytes", bytes(11), Fault.PARTIAL),
    Row("twelve zero bytes", bytes(12), Fault.ZEROS),
    Row("seventeen zero bytes", bytes(17), Fault.ZEROS),
    Row("a size of 13, cut before the magic", sized(ONE, 13)[:16], Fault.SIZE),
    Row("a size of 14, cut before the magic", sized(ONE, 14)[:16], Fault.PARTIAL),
    Row("a negative size", sized(ONE, -5), Fault.SIZE),
    Row("a size of 13", sized(ONE, 13), Fault.SIZE),
    Row("a size of 13, magic 3", sized(ONE, 13, magic=3), Fault.SIZE),
    Row("a size of 14", sized(ONE, 14), ErrorCode.UNKNOWN_SERVER_ERROR),
    Row("a size of 38", sized(ONE, 38), ErrorCode.UNKNOWN_SERVER_ERROR),
    Row("a size of 39", sized(ONE, 39), Fault.SIZE),
    Row("a size of 48", sized(ONE, 48), Fault.SIZE),
    Row("a size of 48, base offset 1", sized(batch(record(), base_offset=1), 48), Fault.BASE_OFFSET),
    Row("a size of 48, and another batch", sized(ONE, 48) + ONE, Fault.SEVERAL),
    Row("the largest size, cut", batch(record(), size=INT32_MAX), ErrorCode.UNKNOWN_SERVER_ERROR),
    Row("the largest size that can be, cut", batch(record(), size=INT32_MAX - 12), Fault.PARTIAL),
    Row("a size one too large", batch(record(), size=len(ONE) - 11), Fault.PARTIAL),
    Row("cut by a byte", ONE[:-1], Fault.PARTIAL),
    Row("cut after the header", ONE[:61], Fault.PARTIAL),
    Row("magic 3", sized(ONE, 49, magic=3), Fault.MAGIC),
    Row("magic -1", sized(ONE, 49, magic=255), Fault.MAGIC),
    Row("magic 3, cut", sized(ONE, 60, magic=3)[:40], Fault.MAGIC),
    Row("magic 0", message(magic=0), Fault.LEGACY),
    Row("magic 1", message(magic=1), Fault.LEGACY),
    Row("magic 1, cut", message(magic=1)[:-1], Fault.PARTIAL),
    Row("magic 1, a size of 14", sized(message(magic=1), 14, magic=1), Fault.LEGACY),
    Row("magic 0, a size of 14", sized(message(magic=0), 14, magic=0), Fault.LEGACY),
    Row("two messages of magic 1", message() * 2, Fault.LEGACY),
    Row("magic 1, then magic 3", message() + sized(ONE, 49, magic=3), Fault.LEGACY),
]
AFTER = [
    Row("two batches", ONE + ONE, Fault.SEVERAL),
    Row("two batches, the second with a wrong checksum", ONE + batch(record(), crc=1), Fault.SEVERAL),
    Row("two batches, the second with base offset 1", ONE + batch(record(), base_offset=1), Fault.SEVERAL),
    Row("two batches, the first with base offset 1", batch(record(), base_offset=1) + ONE, Fault.SEVERAL),
    Row("two batches, the second of magic 1", ONE + message(), Fault.SEVERAL),
    Row("two batches, the second of a size of 48", ONE + sized(ONE, 48), Fault.SEVERAL),
    Row("40 zero bytes after", ONE + bytes(40), Fault.ZEROS),
    Row("17 zero bytes after", ONE + bytes(17), Fault.ZEROS),
    Row("16 zero bytes after", ONE + bytes(16), Fault.ZEROS),
    Row("12 zero bytes after", ONE + bytes(12), Fault.ZEROS),
    Row("11 zero bytes after", ONE + bytes(11)),
    Row("a negative size after", ONE + sized(ONE, -1), Fault.SIZE),
    Row("magic 3 after", ONE + sized(ONE, 49, magic=3), Fault.MAGIC),
    Row("magic 3 after base offset 1", batch(record(), base_offset=1) + sized(ONE, 49, magic=3), Fault.MAGIC),
    Row("a batch cut by a byte after", ONE + THREE[:-1]),
    Row("a batch cut in its header after", ONE + THREE[:30]),
    Row("a byte after", ONE + b"x"),
    Row("a byte after a wrong checksum", batch(record(), crc=1) + b"x", Fault.CRC),
]
BATCH = [
    Row("base offset 1", batch(record(), base_offset=1), Fault.BASE_OFFSET),
    Row("base offset -1", batch(record(), base_offset=-1), Fault.BASE_OFFSET),
    Row("base offset 1 and too large", batch(*records(30), base_offset=1), Fault.BASE_OFFSET, "small"),
    Row("too large", batch(*records(30)), Fault.BATCH_SIZE, "small"),
    Row("too large by a byte", batch(record(None, bytes(231))), Fault.BATCH_SIZE, "small"),
    Row("as large as may be", batch(record(None, bytes(230))), None, "small"),
    Row("as large as may be, and a tail", batch(record(None, bytes(230))) + bytes(11), None, "small"),
    Row("too large until packed", batch(record(None, bytes(900)), codec=Codec.ZSTD), None, "small"),
    Row("too large for the default", batch(record(None, bytes(LARGEST))), Fault.BATCH_SIZE),
    Row("too large, a wrong checksum", batch(*records(30), crc=1), Fault.BATCH_SIZE, "small"),
    Row("a wrong checksum", batch(record(), crc=1), Fault.CRC),
    Row("a wrong checksum, codec 5", batch(record(), crc=1, attributes=5), Fault.CRC),
    Row("a wrong checksum, count 0", batch(record(), crc=1, record_count=0), Fault.CRC),
    *(Row(f"codec {codec}", batch(record(), attributes=codec), Fault.CODEC) for codec in (5, 6, 7)),
    Row("codec 5, count 0", batch(record(), attributes=5, record_count=0), Fault.CODEC),
    Row("codec 7, a control batch", batch(record(), attributes=7 | Attribute.CONTROL), Fault.CODEC),
    Row("count 0, no record", batch(record_count=0), Fault.COUNT),
    Row("count 0, last offset delta 0", batch(record_count=0, last_offset_delta=0), Fault.COUNT),
    Row("count 0, a record", batch(record(), record_count=0), Fault.COUNT),
    Row("count -1", batch(record(), record_count=-1), Fault.COUNT),
    Row("the least count", batch(record(), record_count=-INT32_MAX - 1, last_offset_delta=INT32_MAX), Fault.COUNT),
    Row("last offset delta one too high", batch(*records(3), last_offset_delta=3), Fault.COUNT),
    Row("last offset delta one too low", batch(*records(3), last_offset_delta=1), Fault.COUNT),
    Row("last offset delta negative", batch(record(), last_offset_delta=-1), Fault.COUNT),
    Row("count 0, a control batch", batch(record(), record_count=0, attributes=Attribute.CONTROL), Fault.COUNT),
    Row("a control batch", batch(record(), attributes=Attribute.CONTROL), Fault.CONTROL),
    Row("a control batch without a sequence", batch(record(), attributes=32, producer_id=7), Fault.CONTROL),
    Row("a producer without a sequence", batch(record(), producer_id=7_001, producer_epoch=0), Fault.SEQUENCE),
    Row(
        "a producer without a sequence, a broken record",
        batch(of_body(b""), producer_id=7_001, producer_epoch=0),
        Fault.SEQUENCE,
    ),
    Row("a producer", batch(*records(3), **PRODUCER)),
    Row("a producer in lz4", batch(*records(3), codec=Codec.LZ4, **PRODUCER | {"producer_id": 7_002})),
    Row("the largest producer", batch(record(), producer_id=INT64_MAX, producer_epoch=32767, base_sequence=0)),
    Row("a sequence that starts high", batch(record(), **PRODUCER | {"producer_id": 7_003, "base_sequence": 99})),
    Row("a sequence that wraps", batch(*records(3), **PRODUCER | {"producer_id": 7_004, "base_sequence": INT32_MAX})),
    Row("a sequence without a producer", batch(record(), base_sequence=5)),
    Row("a producer of -2", batch(record(), producer_id=-2, base_sequence=-7)),
    Row("a leader epoch of the client's", batch(record(), leader_epoch=77)),
]


def broken(name: str, *damaged: bytes, says: Fault = Fault.RECORD, topic: str = "plain") -> list[Row]:
    """The same damaged records in a plain batch and in a packed one: Kafka reads them with different code."""
    return [
        Row(name, batch(*damaged), says, topic),
        Row(f"{name}, packed", batch(*damaged, codec=Codec.ZSTD), says, topic),
    ]


def misled(name: str, *damaged: bytes) -> list[Row]:
    """Records whose own length is wrong. In a packed batch Kafka looks at it only when it has to pack it anew."""
    packed = batch(*damaged, codec=Codec.ZSTD)
    return [
        Row(name, batch(*damaged), Fault.RECORD),
        Row(f"{name}, packed", packed),
        Row(f"{name}, packed anew", packed, Fault.RECORD, "recompressed"),
    ]


def endless(name: str, damaged: bytes) -> list[Row]:
    """A length that is no number. In a plain batch nobody in Kafka catches that."""
    packed = batch(damaged, codec=Codec.ZSTD)
    return [
        Row(name, batch(damaged), ErrorCode.UNKNOWN_SERVER_ERROR),
        Row(f"{name}, packed", packed, Fault.RECORD),
        Row(f"{name}, packed anew", packed, Fault.RECORD, "recompressed"),
    ]


def counted(count: int) -> list[Row]:
    """Three records under another count, with a last offset delta to match."""
    says = Fault.RECORD if count == 4 else Fault.COUNT  # a fourth would fit, were it there
    return [
        Row(f"{count} records said, 3 there", batch(*records(3), record_count=count), says),
        Row(f"{count} records said, 3 packed", batch(*records(3), codec=Codec.ZSTD, record_count=count), says),
    ]


KEYED = start() + field(b"key") + field(b"value")
RECORDS = [
    *(row for count in (1, 2, 4, 9, 1000, INT32_MAX) for row in counted(count)),
    *broken("an empty block", b"", says=Fault.COUNT),
    *broken("a byte left over", record() + b"\x01", says=Fault.COUNT),
    *misled("a record too long by one", of_body(KEYED + varint(0), longer=1)),
    *misled("a record too short by one", of_body(KEYED + varint(0), longer=-1)),
    *misled("the first of two too long", of_body(KEYED + varint(0), longer=1), record(offset=1)),
    *misled("the first of two too short", of_body(KEYED + varint(0), longer=-1), record(offset=1)),
    *broken("a record of length 0", record(), b"\x00"),
    *misled("a record of length -1", varint(-1) + KEYED + varint(0)),
    *broken("a record of length 1", record(), of_body(b"\x00")),
    # Packed anew as well, it would make Kafka ask for more memory than Java has.
    *misled("the longest record", varint(INT32_MAX) + KEYED + varint(0))[:2],
    *endless("a length that never ends", b"\xff" * 12),
    *endless("a length of six bytes", varint(12, width=6) + KEYED + varint(0)),
    *broken("a time delta that never ends", of_body(b"\x00" + b"\xff" * 12 + KEYED)),
    *broken("a key beyond the record", of_body(start() + varint(100) + b"key" + field(b"") + varint(0))),
    *broken("a value beyond the record", of_body(start() + field(b"key") + varint(100) + b"v" + varint(0))),
    *broken("the longest key", of_body(start() + varint(INT32_MAX) + b"key" + field(b"") + varint(0))),
    *broken("a key into the next record", of_body(start() + varint(20) + b"key" + varint(0)), record(offset=1)),
    *broken("a header count of -1", of_body(KEYED + varint(-1))),
    *broken("a header count of 1, none there", of_body(KEYED + varint(1))),
    *broken("a header count of 0, one there", of_body(KEYED + varint(0) + field(b"h") + field(b""))),
    *broken("the largest header count", of_body(KEYED + varint(INT32_MAX) + field(b"h") + field(b""))),
    *broken("a header without a key", record(headers=[(None, b"v")])),
    *broken("a header key of length -2", of_body(KEYED + varint(1) + varint(-2) + field(b"v"))),
    *broken("a header key beyond the record", of_body(KEYED + varint(1) + varint(50) + b"h" + field(b"v"))),
    *broken("a header value beyond the record", of_body(KEYED + varint(1) + field(b"h") + varint(50) + b"v")),
    *broken("a good record, then a broken one", record(), of_body(KEYED + varint(-1))),
]


def both(name: str, odd: bytes) -> list[Row]:
    """A record that is odd and yet taken, in a plain batch and in a packed one."""
    return [Row(name, batch(odd)), Row(f"{name}, packed", batch(odd, codec=Codec.ZSTD))]


ODD = [
    Row("one record", ONE),
    Row("three records", THREE),
    *both("headers of every kind", record(headers=HEADERS)),
    *both("a header key that is not UTF-8", record(headers=[(b"\xff\xfe", b"v")])),
    *both("a header value of length -2", of_body(KEYED + varint(1) + field(b"h") + varint(-2))),
    *both("neither key nor value", record(None, None)),
    *both("empty key and value", record(b"", b"")),
    *both("a key length of -2", of_body(start() + varint(-2) + field(b"v") + varint(0))),
    *both("a value length of -2", of_body(start() + field(b"k") + varint(-2) + varint(0))),
    *both("the least key length", of_body(start() + varint(-INT32_MAX - 1) + field(b"v") + varint(0))),
    *both("a record's attributes", record(attributes=-1)),
    *both("varints longer than need be", of_body(b"\x00" + varint(5, 9) + varint(0, 5) + KEYED[3:] + varint(0, 4))),
    *both("a length longer than need be", varint(14, 5) + KEYED + varint(0)),
    *both("bits beyond 32", of_body(b"\x00\x00" + b"\x80\x80\x80\x80\x70" + KEYED[3:] + varint(0))),
    *both("bits beyond 64", of_body(b"\x00" + b"\x80" * 9 + b"\x7e" + KEYED[2:] + varint(0))),
    Row("offset deltas all 0", batch(record(), record(), record())),
    Row("offset deltas that fall", batch(record(offset=2), record(offset=1), record(offset=0))),
    Row("offset deltas with a gap", batch(record(), record(offset=7))),
    Row("negative offset deltas", batch(record(offset=-3), record(offset=-2))),
    Row("the delete horizon bit", batch(record(), attributes=Attribute.DELETE_HORIZON)),
    Row("every unused bit", batch(record(), attributes=0x7F80)),
    Row("the sign bit", batch(record(), attributes=-0x8000)),
    Row("a wrong max timestamp", batch(*records(3), max_timestamp=5)),
    Row("a wrong max timestamp, packed", batch(*records(3), codec=Codec.ZSTD, max_timestamp=5)),
    Row("a max timestamp of -1", batch(*records(3), max_timestamp=-1)),
    Row("a max timestamp too late", batch(*records(3), max_timestamp=INT64_MAX)),
    Row("times that fall", batch(record(time=9), record(time=-9, offset=1), max_timestamp=START_MS + 9)),
    Row("no timestamp", batch(record(), base_timestamp=-1)),
    Row("time 0", batch(record(), base_timestamp=0)),
    Row("negative times", batch(record(), record(time=-5, offset=1), base_timestamp=-10)),
    Row("negative times, packed", batch(record(), record(offset=1), codec=Codec.GZIP, base_timestamp=-10)),
    Row("the latest time", batch(record(), base_timestamp=INT64_MAX)),
    Row("past the latest time", batch(record(time=1), base_timestamp=INT64_MAX)),
    Row("the earliest time", batch(record(), base_timestamp=-INT64_MAX - 1)),
    Row("the append time bit", batch(*records(3), attributes=Attribute.LOG_APPEND_TIME)),
    Row("the append time bit, another max", batch(*records(3), attributes=8, max_timestamp=START_MS + 7)),
    Row("the append time bit, packed", batch(*records(3), codec=Codec.LZ4, attributes=8)),
    Row("the append time bit, no time", batch(*records(3), attributes=8, max_timestamp=-1), Fault.TIMESTAMP_TYPE),
]
TIMES = [
    Row("the latest time, usual", batch(record(), base_timestamp=INT64_MAX), Fault.TIMESTAMP, "usual"),
    Row("the earliest time, usual", batch(record(), base_timestamp=-INT64_MAX - 1), Fault.TIMESTAMP, "usual"),
    Row("the year 0, usual", batch(record(), base_timestamp=-62_167_219_200_000), None, "usual"),
    Row("now", batch(*records(3), base_timestamp=NOW), None, "tight"),
    Row("half an hour ago", batch(record(time=-HOUR_MS // 2), base_timestamp=NOW, max_timestamp=NOW), None, "tight"),
    Row("no timestamp on a tight topic", batch(record(), base_timestamp=-1), None, "tight"),
    Row("timestamp -2", batch(record(), base_timestamp=-2), Fault.TIMESTAMP, "tight"),
    Row("two hours ago", batch(record(), base_timestamp=NOW - 2 * HOUR_MS), Fault.TIMESTAMP, "tight"),
    Row("in two hours", batch(record(), base_timestamp=NOW + 2 * HOUR_MS), Fault.TIMESTAMP, "tight"),
    Row("a max timestamp in two hours", batch(record(), base_timestamp=NOW, max_timestamp=NOW * 2), None, "tight"),
    Row("the earliest time, tight", batch(record(), base_timestamp=-INT64_MAX - 1), Fault.TIMESTAMP, "tight"),
    Row("the latest time, tight", batch(record(), base_timestamp=INT64_MAX), Fault.TIMESTAMP, "tight"),
    Row(
        "the second and fourth of five too old",
        batch(*(record(time=-i % 2 * 2 * HOUR_MS, offset=i) for i in range(5)), base_timestamp=NOW),
        Fault.TIMESTAMP,
        "tight",
    ),
    Row(
        "an old record, then a broken one",
        batch(record(time=-2 * HOUR_MS), of_body(KEYED + varint(-1)), base_timestamp=NOW),
        Fault.RECORD,
        "tight",
    ),
    Row("the append time bit, now", batch(record(), attributes=8, base_timestamp=NOW), None, "tight"),
    Row(
        "the append time bit over an old record",
        batch(record(), attributes=8, base_timestamp=START_MS, max_timestamp=NOW),
        None,
        "tight",
    ),
    Row(
        "the append time bit, an old max",
        batch(record(), attributes=8, base_timestamp=NOW, max_timestamp=START_MS),
        Fault.TIMESTAMP,
        "tight",
    ),
    Row("append time", batch(*records(3)), None, "append-time"),
    Row("append time, packed", batch(*records(3), codec=Codec.SNAPPY), None, "append-time"),
    Row("append time, any timestamp", batch(record(), base_timestamp=-INT64_MAX - 1), None, "append-time"),
    Row("append time, odd deltas", batch(record(offset=5), record(offset=1)), None, "append-time"),
    Row(
        "append time, odd deltas, packed",
        batch(record(offset=5), record(), codec=Codec.GZIP),
        ErrorCode.UNKNOWN_SERVER_ERROR,
        "append-time",
    ),
    Row("append time, the bit set", batch(*records(2), attributes=8), Fault.TIMESTAMP_TYPE, "append-time"),
    Row(
        "append time, the bit set, packed",
        batch(*records(2), codec=4, attributes=8),
        Fault.TIMESTAMP_TYPE,
        "append-time",
    ),
    Row(
        "append time, the bit set, a broken record",
        batch(of_body(KEYED + varint(-1)), attributes=8),
        Fault.RECORD,
        "append-time",
    ),
]
ANEW = [
    Row("plain, packed anew", batch(record(None), *records(3)[1:]), None, "recompressed"),
    Row("zstd, packed anew", batch(*records(3), codec=Codec.ZSTD), None, "recompressed"),
    Row("the same codec, not packed anew", batch(*records(3), codec=Codec.GZIP), None, "recompressed"),
    Row("a producer, packed anew", batch(*records(3), **PRODUCER | {"producer_id": 7_005}), None, "recompressed"),
    Row("a record's attributes, packed anew", batch(record(attributes=-1)), None, "recompressed"),
    Row("every unused bit, packed anew", batch(record(), attributes=0x7F80), None, "recompressed"),
    Row("headers, packed anew", batch(record(headers=HEADERS)), None, "recompressed"),
    Row("a first delta of 5, packed anew", batch(record(time=5), record(time=2, offset=1)), None, "recompressed"),
    Row("a wrong max timestamp, packed anew", batch(*records(3), max_timestamp=5), None, "recompressed"),
    Row("no timestamp, packed anew", batch(record(), base_timestamp=-1), None, "recompressed"),
    Row("the append time bit, packed anew", batch(*records(3), attributes=8), None, "recompressed"),
    Row("append time, packed anew", batch(*records(3), codec=Codec.LZ4), None, "recompressed-append-time"),
    Row("append time, plain, packed anew", batch(record(time=5)), None, "recompressed-append-time"),
    Row("unpacked", batch(*records(3), codec=Codec.LZ4), None, "unpacked"),
    Row("unpacked, odd deltas", batch(record(offset=2), record(), codec=Codec.LZ4), None, "unpacked"),
]
MIXED_KEYS = [record(None), record(offset=1), record(None, offset=2), record(b"", offset=3)]
OLD_AND_KEYLESS = [record(None), record(time=-2 * HOUR_MS, offset=1), record(None, time=-2 * HOUR_MS, offset=2)]
KEYS = [
    Row("keys", batch(*records(3)), None, "compacted"),
    Row("tombstones", batch(record(value=None), record(b"", None, offset=1)), None, "compacted"),
    *broken("no keys at the first and third", *MIXED_KEYS, says=Fault.NO_KEY, topic="compacted"),
    *broken("no key, then a broken record", record(None), of_body(KEYED + varint(-1)), topic="compacted"),
    *broken("no key, then a byte", record(None), b"\x01", says=Fault.COUNT, topic="compacted"),
    Row("no key, a wrong count", batch(record(None), record_count=2), Fault.COUNT, "compacted"),
    Row(
        "a key length of -2 on a compacted topic",
        batch(of_body(start() + varint(-2) + field(b"v") + varint(0))),
        Fault.NO_KEY,
        "compacted",
    ),
    Row("no key and too old", batch(*OLD_AND_KEYLESS, base_timestamp=NOW), Fault.TIMESTAMP, "compacted-tight"),
    Row("too old without a key", batch(record(None)), Fault.NO_KEY, "compacted-tight"),
    Row("no key, append time", batch(*MIXED_KEYS), Fault.NO_KEY, "compacted-append-time"),
    Row(
        "no key, the append time bit",
        batch(*MIXED_KEYS, attributes=8),
        Fault.TIMESTAMP_TYPE,
        "compacted-append-time",
    ),
]


ROWS = [*WALK, *AFTER, *BATCH, *RECORDS, *ODD, *TIMES, *ANEW, *KEYS, *PACKED]
