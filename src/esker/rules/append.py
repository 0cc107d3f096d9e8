"""What a leader takes from a client, and in which form it is written: `storage.md`, "Append", steps 1 to 5.

The kernel answers what is wrong with the bytes; here it becomes Kafka's answer. Stricter than Kafka, so that no log
holds what only Esker or only Kafka would understand: bits of the attributes that are not a client's to set, and odd
offset deltas in a batch that is not compressed (docs/stricter.md). A batch that does not unpack is INVALID_RECORD,
which no client tries again; Kafka answers an unexpected error of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode
from esker.kernel.contract import Accepted, AppendLimits, Refused
from esker.kernel.layout import CODEC_BITS, INT64_MAX, Attribute, Codec

if TYPE_CHECKING:
    from esker.base.config import LogConfig

CLIENTS_BITS = CODEC_BITS | int(Attribute.LOG_APPEND_TIME | Attribute.TRANSACTIONAL | Attribute.CONTROL)
CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
UNPACKED_LIMIT = 128 << 20


def limits(config: LogConfig, now_ms: int) -> AppendLimits:
    """What the topic takes at this moment. Kafka's difference of two times wraps around, so that by default a
    timestamp of before -2^63 + now is out of range; when both bounds are the largest number nothing is."""
    before_ms, after_ms = config.timestamp_before_max_ms, config.timestamp_after_max_ms
    oldest = -INT64_MAX - 1 if before_ms == after_ms == INT64_MAX else now_ms - before_ms
    newest = min(now_ms + after_ms, INT64_MAX)
    keys_required, log_append_time = config.cleanup_compact, config.log_append_time
    return AppendLimits(config.max_message_bytes, keys_required, log_append_time, oldest, newest, UNPACKED_LIMIT)


def verify(answer: Accepted | Refused) -> Accepted:
    """The batch may be written; raises Rejected with Kafka's code otherwise."""
    if isinstance(answer, Refused):
        raise refusal(answer)
    attributes = answer.header.attributes
    if attributes & ~CLIENTS_BITS:
        odd = f"attributes {attributes & 0xFFFF:#06x} have bits that are not a client's to set"
        raise Rejected(ErrorCode.INVALID_RECORD, odd)
    if not answer.consecutive and not attributes & CODEC_BITS:
        raise Rejected(ErrorCode.INVALID_RECORD, "the offset deltas of the records are not 0, 1, 2, …")
    return answer


def refusal(refused: Refused) -> Rejected:
    """As an error. Faults of single records name each record with a sentence of its own."""
    fault = refused.finding.fault
    code = ErrorCode.INVALID_RECORD if fault.code is ErrorCode.UNKNOWN_SERVER_ERROR else fault.code
    return Rejected(code, str(refused.finding), [(index, each.said) for index, each in refused.records])


def codec_on_disk(config: LogConfig, codec: int) -> int:
    """The codec in which a batch of this one is kept."""
    return CODECS.get(config.compression_type, codec)


def level(config: LogConfig, codec: int) -> int | None:
    """How hard the topic packs in this codec; None: it has no levels."""
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(Codec(codec))


def verify_size(size: int, config: LogConfig) -> None:
    """A batch that was packed anew may have grown."""
    if size > config.max_message_bytes:
        said = f"packed anew the batch has {size} bytes, more than max.message.bytes, {config.max_message_bytes}"
        raise Rejected(ErrorCode.MESSAGE_TOO_LARGE, said)


def verify_fits(size: int, config: LogConfig) -> None:
    """All of one append goes into one segment."""
    if size > config.segment_bytes:
        said = f"{size} bytes of batches are more than segment.bytes, {config.segment_bytes}"
        raise Rejected(ErrorCode.RECORD_LIST_TOO_LARGE, said)
