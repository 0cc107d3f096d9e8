"""Messages of magic 0 and 1: read as Kafka reads them, checked more strictly, turned into batches."""

from struct import pack

import pytest

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.layout import Attribute, Codec
from esker.records.batch import batches
from esker.records.legacy import check_message, to_batches
from esker.records.record import LogRecord, TimestampType
from unit.records.samples import LOG_APPEND_TIME, TIME, batch_of, entry, message, remade, wrapper

CREATE, APPEND, NONE = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME, TimestampType.NONE
CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
VERSIONS = pytest.mark.parametrize("magic", [0, 1])
AHEAD = b"\x00" * 100  # what stands before a message in its buffer


def records(data: bytes, unpacked_limit: int = 1 << 20) -> list[LogRecord]:
    return [record for batch in batches(data) for record in batch.records(unpacked_limit)]


def offsets(data: bytes) -> list[int]:
    return [record.offset for record in records(data)]


def finding_of(data: bytes) -> Finding:
    with pytest.raises(Corrupt) as raised:
        records(data)
    return raised.value.finding


def inner(*offsets: int, magic: int = 1) -> bytes:
    return b"".join(message(offset, b"k", b"v%d" % offset, magic, timestamp=TIME + offset) for offset in offsets)


@VERSIONS
def test_null_and_empty_are_two_things(magic: int) -> None:
    pairs = [(None, None), (b"", b""), (None, b""), (b"k", None)]
    data = b"".join(message(i, key, value, magic) for i, (key, value) in enumerate(pairs))
    assert [(record.key, record.value) for record in records(data)] == pairs


def test_only_magic_1_has_a_timestamp_and_its_type() -> None:
    for attributes, kind in [(0, CREATE), (LOG_APPEND_TIME, APPEND)]:
        assert records(message(7, b"k", b"v", 0, attributes)) == [LogRecord(7, -1, NONE, b"k", b"v")]
        assert records(message(7, b"k", b"v", 1, attributes)) == [LogRecord(7, TIME, kind, b"k", b"v")]


@VERSIONS
@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_of_the_time_is_read(magic: int, codec: Codec) -> None:
    data = wrapper(1, inner(0, 1, magic=magic), codec, magic)
    assert [record.value for record in records(data)] == [b"v0", b"v1"]


@VERSIONS
def test_snappy_without_its_framing_is_read_too(magic: int) -> None:
    import cramjam

    raw = bytes(cramjam.snappy.compress_raw(inner(0, 1, magic=magic)))
    data = message(1, None, raw, magic, Codec.SNAPPY)
    assert [record.value for record in records(data)] == [b"v0", b"v1"]


#    magic  wrapper  inside             of the log
PLACES = [
    (0,     7,       (5, 6, 7),         [5, 6, 7]),    # absolute
    (0,     9,       (5, 9),            [5, 9]),       # the cleaner took some out
    (1,     7,       (0, 1, 2),         [5, 6, 7]),    # relative, the last one is the wrapper's
    (1,     9,       (0, 4),            [5, 9]),
    (1,     9,       (1, 4),            [6, 9]),       # the first one is gone and the others kept their offsets
    (1,     7,       (0,),              [7]),
    (1,     0,       (0,),              [0]),
    (1,     0,       (0, 1, 2),         [0, 1, 2]),    # not yet placed by a broker
]  # fmt: skip


@pytest.mark.parametrize(("magic", "outside", "inside", "log"), PLACES)
def test_inner_offsets(magic: int, outside: int, inside: tuple[int, ...], log: list[int]) -> None:
    assert offsets(wrapper(outside, inner(*inside, magic=magic), magic=magic)) == log


def test_a_wrapper_stamped_by_the_broker_lends_its_timestamp() -> None:
    data = wrapper(1, inner(0, 1), attributes=LOG_APPEND_TIME, timestamp=TIME + 99)
    assert {(record.timestamp, record.timestamp_type) for record in records(data)} == {(TIME + 99, APPEND)}


def test_inside_a_wrapper_of_create_time_each_message_has_its_own() -> None:
    stamped = message(0, None, None, attributes=LOG_APPEND_TIME)  # the type inside counts for nothing
    data = wrapper(1, stamped + inner(1), timestamp=TIME + 99)
    assert [(record.timestamp, record.timestamp_type) for record in records(data)] == [
        (TIME, CREATE),
        (TIME + 1, CREATE),
    ]


def test_magic_0_lz4_is_read_with_its_wrong_checksum_and_magic_1_is_not() -> None:
    frame = bytearray(kernel.compress(Codec.LZ4, inner(0, magic=0)))
    frame[6] ^= 0xFF
    assert offsets(message(0, None, bytes(frame), 0, Codec.LZ4)) == [0]
    assert finding_of(message(0, None, bytes(frame), 1, Codec.LZ4)) == Finding(Fault.COMPRESSED, 0)


GOOD = message(3, b"key", b"value")
BAD_CRC = GOOD[:-1] + b"X"
KEY_AT, VALUE_AT = 26, 33  # of GOOD: where the lengths stand


def length(number: int) -> bytes:
    return pack(">i", number)


#    what is wrong                        the message                                        fault             record
BAD = [
    ("the checksum",                      BAD_CRC,                                           Fault.CRC,            -1),
    ("a key longer than the message",     remade(GOOD, KEY_AT, length(1000)),                Fault.RECORD,         -1),
    ("a key that leaves no value",        remade(GOOD, KEY_AT, length(9)),                   Fault.RECORD,         -1),
    ("the longest key",                   remade(GOOD, KEY_AT, length(2**31 - 1)),           Fault.RECORD,         -1),
    ("a value longer than the message",   remade(GOOD, VALUE_AT, length(6)),                 Fault.RECORD,         -1),
    ("bytes after the value",             remade(GOOD, VALUE_AT, length(4)),                 Fault.RECORD,         -1),
    ("a null value with bytes",           remade(GOOD, VALUE_AT, length(-1)),                Fault.RECORD,         -1),
    ("a codec of later times",            message(3, None, b"x", 1, Codec.ZSTD),             Fault.CODEC,          -1),
    ("a codec of no time",                message(3, None, b"x", 1, 7),                      Fault.CODEC,          -1),
    ("no value to unpack",                message(3, None, None, 1, Codec.GZIP),             Fault.COMPRESSED,     -1),
    ("a value that is not packed",        message(3, None, b"gzip", 1, Codec.GZIP),          Fault.COMPRESSED,     -1),
    ("nothing inside",                    wrapper(3, b""),                                   Fault.COUNT,          -1),
    ("half a header inside",              wrapper(3, inner(0) + inner(1)[:10]),              Fault.PARTIAL,         1),
    ("half a message inside",             wrapper(3, inner(0) + inner(1)[:-1]),              Fault.PARTIAL,         1),
    ("zeros inside",                      wrapper(3, inner(0, 1) + AHEAD),                   Fault.ZEROS,           2),
    ("no magic inside",                   wrapper(3, remade(inner(0), 16, b"\x05")),         Fault.MAGIC,           0),
    ("too small a size inside",           wrapper(3, inner(0)[:8] + length(3) + bytes(9)),   Fault.SIZE,            0),
    ("a batch of magic 2 inside",         wrapper(3, inner(0) + batch_of([b"x"])),           Fault.RECORD,          1),
    ("a wrapper inside",                  wrapper(3, wrapper(3, inner(0))),                  Fault.RECORD,          0),
    ("a checksum inside",                 wrapper(3, inner(0) + BAD_CRC),                    Fault.CRC,             1),
    ("lengths inside",                    wrapper(3, inner(0) + remade(GOOD, KEY_AT, length(99))), Fault.RECORD,    1),
    ("inner offsets past the wrapper's",  wrapper(3, inner(0, 5)),                           Fault.ORDER,          -1),
]  # fmt: skip


@pytest.mark.parametrize(("data", "fault", "record"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_what_is_wrong_is_named_with_its_place(data: bytes, fault: Fault, record: int) -> None:
    before = message(0, None, None)
    found = finding_of(before + data)
    assert (found.fault, found.position, found.record) == (fault, len(before), record)
    assert check_message(before + data, len(before)).finding == found
    with pytest.raises(Corrupt) as raised:
        to_batches(before + data)
    assert raised.value.finding == found


def test_a_checksum_finding_says_both_checksums() -> None:
    found = finding_of(BAD_CRC)
    assert found.expected == int.from_bytes(GOOD[12:16], "big")
    assert found.found != found.expected


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused_at_the_limit(codec: Codec) -> None:
    data = wrapper(0, message(0, None, bytes(50_000)), codec)
    with pytest.raises(Corrupt) as raised:
        records(data, unpacked_limit=1000)
    assert raised.value.finding == Finding(Fault.UNPACKED_SIZE, 0, -1, 1000)
    assert check_message(data, unpacked_limit=1000).finding == raised.value.finding


OLD = message(5, b"k", b"v")
THREE_INSIDE = wrapper(7, inner(0, 1, 2))

#    bytes                              next   fault            record  records  then next
CHECKED = [
    (OLD,                                 0,   None,                 0,       1,     6),
    (OLD,                                 5,   None,                 0,       1,     6),
    (OLD,                                 6,   Fault.ORDER,         -1,       0,     6),
    (THREE_INSIDE,                        5,   None,                 0,       3,     8),
    (THREE_INSIDE,                        6,   Fault.ORDER,          0,       0,     6),
    (wrapper(7, inner(0, 2, 1, 3)),       0,   Fault.ORDER,          2,       0,     0),
    (wrapper(7, inner(0, 0)),             0,   Fault.ORDER,          1,       0,     0),
    (wrapper(6, inner(5, 7, magic=0), magic=0), 0, Fault.ORDER,      1,       0,     0),
    (wrapper(0, inner(0, 1)),             0,   Fault.ORDER,          1,       0,     0),
    (message(-1, None, None),             0,   Fault.ORDER,         -1,       0,     0),
    (message(2**63 - 1, None, None),      0,   Fault.ORDER,         -1,       0,     0),
    (wrapper(2**63 - 1, inner(5, magic=0), magic=0), 0, Fault.ORDER, -1,      0,     0),  # leaves no next offset
    (batch_of([b"x"]),                    0,   Fault.MAGIC,         -1,       0,     0),
    (b"",                                 0,   Fault.PARTIAL,       -1,       0,     0),
    (OLD[:-1],                            0,   Fault.PARTIAL,       -1,       0,     0),
    (AHEAD,                               0,   Fault.ZEROS,         -1,       0,     0),
]  # fmt: skip


@pytest.mark.parametrize(("data", "least", "fault", "record", "count", "then"), CHECKED, ids=range(len(CHECKED)))
def test_check_message(data: bytes, least: int, fault: Fault | None, record: int, count: int, then: int) -> None:
    found = check_message(AHEAD + data, len(AHEAD), least)
    assert (found.records, found.next_offset, found.batches) == (count, then, 1 if fault is None else 0)
    assert found.end == len(AHEAD) + (len(data) if fault is None else 0)
    if fault is None:
        assert found.finding is None
    else:
        assert found.finding is not None
        assert found.finding[:3] == (fault, len(AHEAD), record)


def test_a_check_that_is_not_deep_leaves_the_inside_alone() -> None:
    broken_inside = wrapper(7, inner(0) + BAD_CRC)
    assert check_message(broken_inside, deep=False).finding is None
    assert check_message(broken_inside, next_offset=8, deep=False).finding == Finding(Fault.ORDER, 0, -1, 8, 7)
    assert check_message(BAD_CRC, deep=False).finding == finding_of(BAD_CRC)


@VERSIONS
@pytest.mark.parametrize("codec", [Codec.NONE, *CODECS])
def test_a_message_becomes_a_batch_with_the_same_records(magic: int, codec: Codec) -> None:
    first = 5 if magic == 0 else 0
    many = inner(first, first + 2, magic=magic)
    data = wrapper(7, many, codec, magic) if codec else message(7, b"k", None, magic)
    converted = to_batches(data, leader_epoch=3)
    (batch,) = batches(converted)
    assert batch.header.magic == 2
    assert batch.header.codec == codec
    assert batch.header.leader_epoch == 3
    assert batch.header.last_offset == 7
    assert batch.header.producer_id == batch.header.base_sequence == -1
    kept = [record._replace(timestamp_type=CREATE) for record in records(data)]
    assert batch.records() == kept
    batch.verify()


def test_log_append_time_is_kept() -> None:
    for data in (
        message(3, b"k", b"v", attributes=LOG_APPEND_TIME),
        message(3, b"k", b"v", attributes=LOG_APPEND_TIME, timestamp=-7),
        wrapper(4, inner(0, 1), attributes=LOG_APPEND_TIME, timestamp=TIME + 99),
    ):
        (batch,) = batches(to_batches(data))
        assert batch.header.attributes & Attribute.LOG_APPEND_TIME
        assert batch.records() == records(data)


def test_magic_0_has_no_timestamp_afterwards_either() -> None:
    (batch,) = batches(to_batches(message(3, b"k", b"v", magic=0, attributes=LOG_APPEND_TIME)))
    assert (batch.header.base_timestamp, batch.header.max_timestamp, batch.header.log_append_time) == (-1, -1, False)
    assert [record.timestamp for record in batch.records()] == [-1]


def test_batches_of_magic_2_among_messages_stay_as_they_are() -> None:
    new = batch_of([b"x"], offsets=[9])
    converted = to_batches(message(8, None, None) + new)
    assert converted.endswith(new)
    assert offsets(converted) == [8, 9]


def test_offsets_too_far_apart_for_one_batch_become_two() -> None:
    far = 2**31 + 5
    data = wrapper(far, inner(0, far))
    first, second = batches(to_batches(data))
    assert (first.header.base_offset, second.header.base_offset) == (0, far)


def test_a_partial_tail_is_not_dropped_silently() -> None:
    with pytest.raises(Corrupt) as raised:
        to_batches(OLD + OLD[:20])
    assert raised.value.finding == Finding(Fault.PARTIAL, len(OLD))


def test_entries_are_what_this_file_takes_them_for() -> None:
    assert entry(3, b"\x01\x00" + pack(">q", TIME) + length(3) + b"key" + length(5) + b"value") == GOOD
