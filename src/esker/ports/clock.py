"""The door to time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970, as Kafka stamps them. It may jump, also backwards."""

    def monotonic(self) -> float:
        """Seconds from some start, for measuring: it never goes back."""


class RealClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()
