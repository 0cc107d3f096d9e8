"""What the kernels do in a second, measured on a segment made here. `make bench` measures against peers and limits;
this is only to see it."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from esker import kernel
from esker.base.errors import KernelMissing
from esker.kernel.contract import Encoding, Rows, Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from esker.kernel.contract import Kernel

VALUE_BYTES = 100
BATCH = Encoding(batch_bytes=16 << 10)
# Work goes on in pieces of about 2 MB, as on a long segment: so the memory of one piece serves for the next.
PIECE = Selection(max_bytes=2 << 20)
PIECE_RECORDS = 16_000
RECORDS = {"native": 250_000, "reference": 2_000}
RUNS = 5


class Figures(NamedTuple):
    """MB of segment a second."""

    kernel: str
    check: float
    decode: float
    encode: float


def show() -> None:
    """A line for each kernel that is here."""
    print("\n== MB of segment a second, records of 100 bytes in batches of 16 KiB, median of five")
    print(f"{'kernel':<10} {'check':>9} {'decode':>9} {'encode':>9}")
    for one in _kernels():
        figures = measured(one, RECORDS[one.NAME])
        print(f"{figures.kernel:<10} {figures.check:>9,.0f} {figures.decode:>9,.0f} {figures.encode:>9,.0f}")


def _kernels() -> list[Kernel]:
    try:
        return [kernel.load_native(), kernel.load_reference()]
    except KernelMissing as error:
        print(f"native: not here ({error})")
        return [kernel.load_reference()]


def measured(one: Kernel, record_count: int) -> Figures:
    """One kernel's figures."""
    pieces = [_rows(first, min(first + PIECE_RECORDS, record_count)) for first in range(0, record_count, PIECE_RECORDS)]
    segment = b"".join(one.encode(rows, BATCH) for rows in pieces)
    acts: list[Callable[[], object]] = [
        lambda: one.check(segment),
        lambda: _decode(one, segment),
        lambda: [len(one.encode(rows, BATCH)) for rows in pieces],
    ]
    return Figures(one.NAME, *(len(segment) / 1e6 / _seconds(act) for act in acts))


def _rows(first: int, end: int) -> Rows:
    values: list[bytes | None] = [b"%0*d" % (VALUE_BYTES, number) for number in range(first, end)]
    timestamps = [1_700_000_000_000 + number for number in range(first, end)]
    return Rows(timestamps, [None] * len(values), values, offsets=range(first, end))


def _decode(one: Kernel, segment: bytes) -> int:
    position = records = 0
    while position < len(segment):
        columns = one.decode(segment, position, PIECE)
        position, records = columns.end, records + columns.record_count
    return records


def _seconds(act: Callable[[], object]) -> float:
    return median(_time(act) for _ in range(RUNS))


def _time(act: Callable[[], object]) -> float:
    began = perf_counter()
    act()
    return perf_counter() - began
