"""The words of `--offset` and `--time`: `A`, `A:`, `:B`, `A:B`; from A on and up to, not with, B."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import EskerError

if TYPE_CHECKING:
    from collections.abc import Callable

OFFSET_MAX = 2**63 - 1
UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
LONG_UNITS = {"second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "day": "d", "week": "w"}
AGO = re.compile(r"-\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)")
WEEK_MS = 7 * UNITS_MS["d"]


class BadWords(EskerError):
    """What was asked for cannot be understood."""


class Window(NamedTuple):
    """Which records: offsets and milliseconds, both ends exclusive."""

    first_offset: int = 0
    end_offset: int = OFFSET_MAX
    first_ms: int = -OFFSET_MAX - 1
    end_ms: int = OFFSET_MAX

    @property
    def is_timed(self) -> bool:
        return self.first_ms > -OFFSET_MAX - 1 or self.end_ms < OFFSET_MAX


def window(offset: str | None, time: str | None, now_ms: int) -> Window:
    """Raises BadWords."""
    found = Window()
    if offset is not None:
        first, end = _pair(offset, _offset, "an offset is a number: --offset 100, --offset 100:200, --offset :200")
        found = found._replace(first_offset=first or 0, end_offset=OFFSET_MAX if end is None else end)
    if time is not None:
        words = "a time is 2026-11-19T08:00, milliseconds, or -10m: --time -10m, --time 2026-11-19:2026-11-20"
        first, end = _pair(time, lambda text: parse_time(text, now_ms), words)
        if first is not None:
            found = found._replace(first_ms=first)
        if end is not None:
            found = found._replace(end_ms=end)
    return found


def _pair(text: str, parse: Callable[[str], int | None], words: str) -> tuple[int | None, int | None]:
    """A colon is also part of a time of day, so the whole is tried first, and then each colon as the middle."""
    whole = parse(text)
    if whole is not None:
        return whole, None
    for middle in (match.start() for match in re.finditer(":", text)):
        sides = text[:middle], text[middle + 1 :]
        first, end = (parse(side) if side else None for side in sides)
        if all(parsed is not None or not side for parsed, side in zip((first, end), sides, strict=True)):
            return first, end
    raise BadWords(f"{text!r} is not understood: {words}")


def _offset(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,19}", text) else None


def parse_time(text: str, now_ms: int) -> int | None:
    """Milliseconds; a time without a zone is UTC."""
    text = text.strip()
    if re.fullmatch("[0-9]{9,19}", text):
        return int(text)
    ago = AGO.fullmatch(text.lower().removesuffix(" ago"))
    if ago is not None:
        unit_ms = _unit_ms(ago[2])
        return None if unit_ms is None else now_ms - int(float(ago[1]) * unit_ms)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def _unit_ms(word: str) -> int | None:
    short = LONG_UNITS.get(word.removesuffix("s") if len(word) > 2 else word, word)
    return WEEK_MS if short == "w" else UNITS_MS.get(short)
