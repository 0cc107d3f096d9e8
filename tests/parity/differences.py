"""Where Esker answers a client's batch otherwise than Kafka 4.3.1, on purpose, and why. A row's `says` is Kafka's
answer; what stands here is ours. A row that stands here without need fails, as does any other difference."""

from typing import NamedTuple

from esker.base.faults import Fault
from parity.row import Row, Says


class Difference(NamedTuple):
    """What Esker says of some rows, and why not what Kafka says."""

    why: str
    ours: Fault | None
    rows: tuple[str, ...]


DIFFERENCES = [
    Difference(
        "a size field that no batch of this magic has is told at once; Kafka reads fields beyond the bytes meanwhile",
        Fault.SIZE,
        (
            "a size of 14",
            "a size of 38",
            "a size of 48, base offset 1",
            "a size of 48, and another batch",
            "two batches, the second of a size of 48",
            "magic 1, a size of 14",
        ),
    ),
    Difference(
        "Kafka's sum of size and overhead passes its largest int; the bytes end before such a batch",
        Fault.PARTIAL,
        ("the largest size, cut",),
    ),
    Difference(
        "Kafka does not look at a record's own length when it keeps the packed block; no consumer can read the batch",
        Fault.RECORD,
        (
            "a record too long by one, packed",
            "a record too short by one, packed",
            "the first of two too long, packed",
            "the first of two too short, packed",
            "a record of length -1, packed",
            "the longest record, packed",
        ),
    ),
    Difference(
        "Kafka answers an unexpected error of its own to a length of more than five bytes",
        Fault.RECORD,
        ("a length that never ends", "a length of six bytes"),
    ),
    Difference(
        "Kafka's readers skip what they do not need; what nobody will read was not meant, or was damaged",
        Fault.COMPRESSED,
        (
            "gzip, a byte after it",
            "gzip, 9 zero bytes after it",
            "snappy, a byte after it",
            "snappy, another after it",
            "snappy, another after it, not counted",
            "lz4, a byte after it",
            "lz4, 9 zero bytes after it",
            "lz4, another after it",
            "lz4, another after it, not counted",
            "lz4, a skippable frame after it",
            "lz4, a wrong content checksum",
        ),
    ),
    Difference(
        "a block is unpacked before its records are read; Kafka unpacks as it reads and meets the other fault first",
        Fault.COMPRESSED,
        (
            "zstd, no byte of it",
            "gzip, 200 KB cut in half, counted 1",
            "gzip, cut in half after a broken record",
            "gzip, a broken second one",
            "snappy, 200 KB cut in half, counted 1",
            "snappy, cut in half after a broken record",
            "lz4, 200 KB cut in half, counted 1",
            "lz4, cut in half after a broken record",
        ),
    ),
    Difference(
        "Kafka wants to pack the batch anew and fails on its own way of reading; `consecutive` tells the log to do it",
        None,
        (
            "gzip, odd deltas",
            "gzip, all deltas 0",
            "snappy, odd deltas",
            "snappy, all deltas 0",
            "lz4, odd deltas",
            "lz4, all deltas 0",
            "zstd, odd deltas",
            "zstd, all deltas 0",
            "append time, odd deltas, packed",
        ),
    ),
]
OURS: dict[str, Fault | None] = {name: one.ours for one in DIFFERENCES for name in one.rows}


def ours_to(row: Row) -> Says:
    """What Esker is to say of the row."""
    return OURS.get(row.name, row.says)


def code_of(says: Says) -> int:
    """The number on the wire."""
    if says is None:
        return 0
    return says.code if isinstance(says, Fault) else int(says)
