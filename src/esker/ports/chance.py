"""The door to chance: what must not be the same twice, or not in all logs at once."""

from __future__ import annotations

import random
from typing import Protocol


class Chance(Protocol):
    def below(self, n: int) -> int:
        """One of 0 … n - 1, each as likely; `n` is positive."""

    def uuid(self) -> bytes:
        """16 bytes, a random UUID (version 4)."""


class RealChance:
    """By the operating system, or by a seed that gives the same again. Not for secrets when seeded."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.SystemRandom() if seed is None else random.Random(seed)

    def below(self, n: int) -> int:
        return self._random.randrange(n)

    def uuid(self) -> bytes:
        drawn = bytearray(self._random.randbytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        return bytes(drawn)
