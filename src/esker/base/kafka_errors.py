"""Kafka's error numbers: the one table of them. It holds those that something here can answer."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """The number that a response carries; the names are Kafka's."""

    UNKNOWN_SERVER_ERROR = -1
    CORRUPT_MESSAGE = 2
    MESSAGE_TOO_LARGE = 10
    INVALID_TIMESTAMP = 32
    INVALID_RECORD = 87
