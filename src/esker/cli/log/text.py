"""Records as lines of text, a batch at a time: `records.text`, with a fast way for what most logs hold.

The fast way is for batches whose keys and values are printable ASCII all through: one look at the joined bytes tells,
one format of the whole batch prints it. Everything else goes record by record: headers, control records, other bytes,
nulls among others, long values to be cut, old magics. Both print the same; a test holds them together.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from esker.cli.log.columns import Bytes, columns
from esker.records import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.records.batch import Batch
    from esker.records.record import LogRecord

# Printable ASCII that stands for itself in quotes.
PLAIN = bytes(set(range(0x20, 0x7F)) - set(b'"\\'))
WHOLE = 1 << 62


def batch_line(batch: Batch, position: int) -> bytes:
    """The batch's line; `position` is the batch's in the file, its header's is the one in memory."""
    line = text.batch_line(batch)
    return line.replace(f" position={batch.header.position} ", f" position={position} ", 1).encode() + b"\n"


def record_lines(batch: Batch, records: Sequence[LogRecord], cut: int) -> bytes:
    """One by one."""
    show = text.control_line if batch.header.magic > 1 and batch.header.control else text.record_line
    return "".join([f"{show(record, cut)}\n" for record in records]).encode()


def fast_lines(batch: Batch, cut: int) -> bytes | None:
    """All records of the batch at once; None: this batch is none for the fast way. Raises Corrupt."""
    found = columns(batch)
    if found is None or not (_is_plain(found.keys, cut) and _is_plain(found.values, cut)):
        return None
    name = text.TIME_NAMES[batch.timestamp_type].encode()
    slots = [b"null" if column.each is None else b'"%b"' for column in (found.keys, found.values)]
    line = b"offset=%%d %b=%%d key=%b value=%b\n" % (name, *slots)
    filled = [column.each for column in (found.keys, found.values) if column.each is not None]
    rows = zip(found.offsets, found.timestamps, *filled, strict=True)
    return line * len(found.offsets) % tuple(chain.from_iterable(rows))


def _is_plain(column: Bytes, cut: int) -> bool:
    """Nothing that must be spelled out, and nothing to be cut."""
    if column.each is None:
        return True
    if column.joined.translate(None, PLAIN):
        return False
    return cut >= WHOLE or max(map(len, column.each)) <= cut
