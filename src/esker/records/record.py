"""One record as a reader gets it: with its offset and its timestamp, not with deltas.

The surprise: sums wrap around as Java's long does. A batch may hold a delta that leads past the largest int64, and
the record then has the timestamp that Kafka gives it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class TimestampType(IntEnum):
    """Whose clock a timestamp is from. Magic 0 has none, and the timestamp -1."""

    NONE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class LogRecord(NamedTuple):
    """A record and its place in the log. Header keys are bytes: nothing made sure that they are UTF-8."""

    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
