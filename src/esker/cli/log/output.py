"""What the commands of `esker log` print: bytes, gathered into large writes; and a line of progress on a terminal.

Text is UTF-8 whatever the locale says, and printable, so that nothing in a record can steer a terminal.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

PIECE = 256 << 10
REDRAW_S = 0.2
BYTES_A_MIB = 1 << 20


class Output:
    """Gathers what is printed; `with` sees that it is all written at the end."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None or not issubclass(kind, BrokenPipeError):
            self.flush()

    def write(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= PIECE:
            self.flush()

    def line(self, text: str) -> None:
        self.write(safe(text).encode() + b"\n")

    def json(self, fields: dict[str, object]) -> None:
        self.write(json.dumps(fields, separators=(",", ":")).encode() + b"\n")

    def flush(self) -> None:
        pieces, self._pieces, self._size = self._pieces, [], 0
        sys.stdout.flush()
        sys.stdout.buffer.write(b"".join(pieces))
        sys.stdout.buffer.flush()


def safe(text: str) -> str:
    """A path or a cause may hold anything; what is not printable is spelled out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape", "replace").decode() for each in text)


def complain(text: str) -> None:
    print(f"esker: {safe(text)}", file=sys.stderr)


class Progress:
    """Bytes, rate and time left, in one line of a terminal that is written over; nothing elsewhere."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._began = self._drawn = time.monotonic()
        self._shows = sys.stderr.isatty()
        self._has_line = False

    def add(self, count: int) -> None:
        self._done += count
        if self._shows and (now := time.monotonic()) - self._drawn >= REDRAW_S:
            self._drawn, self._has_line = now, True
            sys.stderr.write(f"\r\x1b[K{self._line(now - self._began)}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Before anything else is printed, and at the end."""
        if self._has_line:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._has_line = False

    def _line(self, seconds: float) -> str:
        rate = self._done / max(seconds, 1e-9)
        left = max(self._total - self._done, 0) / max(rate, 1)
        sizes = f"{self._done / BYTES_A_MIB:,.0f} of {self._total / BYTES_A_MIB:,.0f} MiB"
        return f"{self._what}: {sizes}, {rate / BYTES_A_MIB:,.0f} MiB/s, {left:,.0f} s left"
