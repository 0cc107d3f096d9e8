"""Times and spans as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"))


def when(ms: int) -> str:
    """ISO, in UTC; a number where no calendar has it."""
    try:
        stamp = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(ms)
    return stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(ms: int) -> str:
    """The two largest units."""
    parts: list[str] = []
    for unit_ms, letter in SPANS:
        count, ms = divmod(ms, unit_ms)
        if count or parts:
            parts.append(f"{count}{letter}")
    return "".join(parts[:2]) or "0s"
