"""Where the fields of a batch stand: docs/formats/record-batch.md as constants."""

from enum import IntEnum, IntFlag
from struct import Struct

LOG_OVERHEAD = 12  # base offset and size, which the size field does not count
UP_TO_MAGIC = 17  # enough bytes to know the size and the magic
HEADER_SIZE = 61
CRC_AT = 17
CRC_FROM = 21  # the checksum covers everything from the attributes on
MAX_TIMESTAMP_AT = 35

HEADER = Struct(">qiibIhiqqqhii")
OFFSET_AND_SIZE = Struct(">qi")
EPOCH_AND_MAGIC = Struct(">ib")
STAMPED = Struct(">qii")  # base offset, size, leader epoch
ATTRIBUTES = Struct(">h")
MAX_TIMESTAMP = Struct(">q")
CRC = Struct(">I")
LEGACY_MESSAGE = Struct(">qiIbb")  # offset, size, crc, magic, attributes; magic 1 has its timestamp next
LEGACY_TIMESTAMP = Struct(">q")

# The smallest size field of each magic; below the first a batch of any magic is impossible.
SMALLEST_SIZE = (14, 22, HEADER_SIZE - LOG_OVERHEAD)

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Codec(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODEC_BITS = 0x07

# The levels that Kafka's settings allow; the other codecs have none.
LEVELS = {Codec.GZIP: {-1, *range(1, 10)}, Codec.LZ4: range(1, 18), Codec.ZSTD: range(-131072, 23)}


class Attribute(IntFlag):
    """The other bits of a batch's attributes."""

    LOG_APPEND_TIME = 0x08
    TRANSACTIONAL = 0x10
    CONTROL = 0x20
    DELETE_HORIZON = 0x40


def wrap64(number: int) -> int:
    """The number as Java's long keeps it."""
    return (number + 2**63) % 2**64 - 2**63
