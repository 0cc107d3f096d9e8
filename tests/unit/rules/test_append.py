"""What a leader takes from a client, as a rule: bounds of time, codes, codecs, sizes."""

from dataclasses import replace

import pytest

from esker.base.config import DEFAULT
from esker.base.errors import Rejected
from esker.base.faults import Fault, Finding
from esker.base.kafka_errors import ErrorCode
from esker.kernel.contract import Accepted, BatchHeader, Refused
from esker.kernel.layout import INT64_MAX, Attribute, Codec
from esker.rules import append

INT64_MIN = -INT64_MAX - 1
NOW = 1_700_000_000_000


def wrapped(number: int) -> int:
    return (number - INT64_MIN) % (1 << 64) + INT64_MIN


def taken_by_kafka(timestamp: int, before_ms: int, after_ms: int) -> bool:
    """Its own sum, in 64 bits."""
    age = wrapped(NOW - timestamp)
    return not (age > before_ms or wrapped(-age) > after_ms)


# Left out: NOW - 2^63, whose age is the one number without a negative, so that Kafka takes it.
TIMES = [INT64_MIN + 1, NOW - INT64_MAX - 2, NOW - INT64_MAX, NOW - 101, NOW - 100, NOW, NOW + 50, NOW + 51, INT64_MAX]


@pytest.mark.parametrize("before_ms", [0, 100, INT64_MAX])
@pytest.mark.parametrize("after_ms", [0, 50])
@pytest.mark.parametrize("timestamp", TIMES)
def test_bounds_of_time_are_kafkas(before_ms: int, after_ms: int, timestamp: int) -> None:
    config = replace(DEFAULT, timestamp_before_max_ms=before_ms, timestamp_after_max_ms=after_ms)
    limits = append.limits(config, NOW)
    assert (limits.min_timestamp <= timestamp <= limits.max_timestamp) == taken_by_kafka(timestamp, before_ms, after_ms)


def test_bound_before_holds_where_there_is_none_after() -> None:
    limits = append.limits(replace(DEFAULT, timestamp_before_max_ms=100, timestamp_after_max_ms=INT64_MAX), NOW)
    assert (limits.min_timestamp, limits.max_timestamp) == (NOW - 100, INT64_MAX)


def test_without_bounds_every_time_is_taken() -> None:
    limits = append.limits(replace(DEFAULT, timestamp_after_max_ms=INT64_MAX), NOW)
    assert (limits.min_timestamp, limits.max_timestamp) == (INT64_MIN, INT64_MAX)


def test_limits_are_those_of_the_topic() -> None:
    config = replace(DEFAULT, max_message_bytes=77, cleanup_compact=True, log_append_time=True)
    limits = append.limits(config, NOW)
    assert (limits.max_batch_bytes, limits.keys_required, limits.log_append_time) == (77, True, True)


def header(attributes: int) -> BatchHeader:
    return BatchHeader(0, 0, 100, -1, 2, 0, attributes, 0, NOW, NOW, -1, -1, -1, 1)


@pytest.mark.parametrize("bits", [0, Attribute.TRANSACTIONAL, Attribute.LOG_APPEND_TIME, Codec.ZSTD])
def test_bits_of_a_client_pass(bits: int) -> None:
    accepted = Accepted(header(int(bits)), NOW, consecutive=True)
    assert append.verify(accepted) is accepted


@pytest.mark.parametrize("bits", [Attribute.DELETE_HORIZON, 1 << 7, -1 << 15])
def test_other_bits_do_not(bits: int) -> None:
    with pytest.raises(Rejected) as raised:
        append.verify(Accepted(header(int(bits)), NOW, consecutive=True))
    assert raised.value.code is ErrorCode.INVALID_RECORD


def test_odd_deltas_pass_only_where_the_batch_is_packed_anew() -> None:
    append.verify(Accepted(header(Codec.GZIP), NOW, consecutive=False))
    with pytest.raises(Rejected) as raised:
        append.verify(Accepted(header(0), NOW, consecutive=False))
    assert raised.value.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault.PARTIAL, ErrorCode.INVALID_RECORD),
        (Fault.CRC, ErrorCode.CORRUPT_MESSAGE),
        (Fault.CODEC, ErrorCode.INVALID_RECORD),  # Kafka: an unexpected error of its own
        (Fault.COMPRESSED, ErrorCode.INVALID_RECORD),
        (Fault.BATCH_SIZE, ErrorCode.MESSAGE_TOO_LARGE),
        (Fault.TIMESTAMP, ErrorCode.INVALID_TIMESTAMP),
    ],
)
def test_fault_becomes_a_code(fault: Fault, code: ErrorCode) -> None:
    assert append.refusal(Refused(Finding(fault, 0), [])).code is code


def test_each_record_at_fault_has_its_sentence() -> None:
    error = append.refusal(Refused(Finding(Fault.NO_KEY, 0, 1), [(1, Fault.NO_KEY), (4, Fault.TIMESTAMP)]))
    assert error.records == [(1, Fault.NO_KEY.said), (4, Fault.TIMESTAMP.said)]


@pytest.mark.parametrize(
    ("compression_type", "sent", "kept"),
    [
        ("producer", Codec.LZ4, Codec.LZ4),
        ("producer", Codec.NONE, Codec.NONE),
        ("uncompressed", Codec.LZ4, Codec.NONE),
        ("zstd", Codec.NONE, Codec.ZSTD),
        ("snappy", Codec.GZIP, Codec.SNAPPY),
    ],
)
def test_topic_chooses_the_codec(compression_type: str, sent: Codec, kept: Codec) -> None:
    assert append.codec_on_disk(replace(DEFAULT, compression_type=compression_type), sent) == kept


def test_levels_are_those_of_the_codec() -> None:
    config = replace(DEFAULT, compression_gzip_level=1, compression_lz4_level=2, compression_zstd_level=3)
    assert [append.level(config, codec) for codec in Codec] == [None, 1, None, 2, 3]


def test_sizes_are_inclusive() -> None:
    config = replace(DEFAULT, max_message_bytes=10, segment_bytes=20)
    append.verify_size(10, config)
    append.verify_fits(20, config)
    with pytest.raises(Rejected) as raised:
        append.verify_size(11, config)
    assert raised.value.code is ErrorCode.MESSAGE_TOO_LARGE
    with pytest.raises(Rejected) as raised:
        append.verify_fits(21, config)
    assert raised.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
