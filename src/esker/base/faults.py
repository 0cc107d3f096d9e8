"""What can be wrong with the bytes of a batch: one table of names, sentences and Kafka's answers.

The numbers are shared with the native kernel and shown in reports: they are never given a new meaning.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Self

from esker.base.kafka_errors import ErrorCode


class Fault(IntEnum):
    """One way in which bytes are not what they should be."""

    code: ErrorCode
    said: str

    def __new__(cls, number: int, code: ErrorCode, said: str) -> Self:
        member = int.__new__(cls, number)
        member._value_ = number
        member.code = code
        member.said = said
        return member

    # Where a batch should begin.
    PARTIAL = 1, ErrorCode.INVALID_RECORD, "the bytes end before the batch does"
    ZEROS = 2, ErrorCode.CORRUPT_MESSAGE, "zeros where a batch should begin: the unused part of a preallocated file"
    SIZE = 3, ErrorCode.CORRUPT_MESSAGE, "the size field is smaller than any batch of this magic"
    MAGIC = 4, ErrorCode.CORRUPT_MESSAGE, "the magic is none of 0, 1 and 2"
    LEGACY = 5, ErrorCode.INVALID_RECORD, "a message of magic 0 or 1 where only batches of magic 2 are taken"
    # Inside a batch.
    CRC = 6, ErrorCode.CORRUPT_MESSAGE, "the checksum does not match the bytes"
    CODEC = 7, ErrorCode.UNKNOWN_SERVER_ERROR, "the codec is none that Kafka knows"
    COMPRESSED = 8, ErrorCode.UNKNOWN_SERVER_ERROR, "the compressed block does not unpack"
    UNPACKED_SIZE = 9, ErrorCode.MESSAGE_TOO_LARGE, "the compressed block unpacks to more than the limit"
    COUNT = 10, ErrorCode.INVALID_RECORD, "the record count is not that of the records"
    RECORD = 11, ErrorCode.INVALID_RECORD, "the record's lengths do not add up"
    ORDER = 12, ErrorCode.CORRUPT_MESSAGE, "the offsets do not rise"
    # What a client may not send.
    SEVERAL = 20, ErrorCode.INVALID_RECORD, "more than one batch"
    BASE_OFFSET = 21, ErrorCode.INVALID_RECORD, "the base offset of a client's batch is not 0"
    BATCH_SIZE = 22, ErrorCode.MESSAGE_TOO_LARGE, "the batch is larger than max.message.bytes"
    CONTROL = 23, ErrorCode.INVALID_RECORD, "a control batch from a client"
    SEQUENCE = 24, ErrorCode.INVALID_RECORD, "a producer id without a sequence"
    NO_KEY = 25, ErrorCode.INVALID_RECORD, "a record without a key in a compacted topic"
    TIMESTAMP = 26, ErrorCode.INVALID_TIMESTAMP, "the timestamp is out of the range that the topic allows"
    TIMESTAMP_TYPE = 27, ErrorCode.INVALID_TIMESTAMP, "the client set the timestamp type to LogAppendTime"


class Finding(NamedTuple):
    """A fault and its place. `record` is the record's index in its batch, -1 when the batch as a whole is meant."""

    fault: Fault
    position: int
    record: int = -1
    expected: int = 0
    found: int = 0

    def __str__(self) -> str:
        place = f"position {self.position}" + (f", record {self.record}" if self.record >= 0 else "")
        figure = "08x" if self.fault is Fault.CRC else "d"
        figures = f" (expected {self.expected:{figure}}, found {self.found:{figure}})"
        return f"{place}: {self.fault.said}{figures if self.expected or self.found else ''}"
