"""Producer snapshots: the `.snapshot` files, which spare a start the replay of the whole log for its producers.

A snapshot holds the state up to the offset in its name. It is checked by a CRC, so it need not be written safely: one
that a crash has torn is found out, deleted, and an older one is loaded. That is why a roll does not wait for the disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import TYPE_CHECKING

from esker import kernel
from esker.base.errors import BadFile
from esker.rules.producers import NONE, BatchMark, ProducerEntry, first_sequence

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from esker.ports.files import Files

VERSION = 1
HEADER = Struct(">hIi")  # version, checksum of all from the count on, count
COUNT = Struct(">i")
COUNT_AT = 6
# Producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, first offset of the
# open transaction.
ENTRY = Struct(">qhiqiqiq")


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """The file's bytes. Of each producer only the newest batch is kept."""
    packed = [_pack(entry) for entry in entries]
    body = COUNT.pack(len(packed)) + b"".join(packed)
    return HEADER.pack(VERSION, kernel.crc32c(body), len(packed)) + body[COUNT.size :]


def decode_snapshot(data: ReadableBuffer, path: str) -> list[ProducerEntry]:
    """The entries in the order of the file. Raises BadFile, naming `path`."""
    view = memoryview(data)
    if len(view) < HEADER.size:
        raise BadFile(path, "byte 0", f"a header of {HEADER.size} bytes", f"{len(view)} bytes")
    version, crc, count = HEADER.unpack_from(view)
    if version != VERSION:
        raise BadFile(path, "byte 0", f"version {VERSION}", f"version {version}")
    if (true_crc := kernel.crc32c(view[COUNT_AT:])) != crc:
        raise BadFile(path, "byte 2", f"checksum {true_crc:08x}", f"{crc:08x}")
    if count * ENTRY.size != len(view) - HEADER.size:
        room = len(view) - HEADER.size
        raise BadFile(path, f"byte {COUNT_AT}", f"a count of entries that fill {room} bytes", str(count))
    return [_unpack(fields) for fields in ENTRY.iter_unpack(view[HEADER.size :])]


def write_snapshot(files: Files, path: str, entries: Iterable[ProducerEntry], *, durable: bool = False) -> None:
    """Write it. Unless `durable`, when it reaches the disk is the system's matter; its name is the caller's to sync."""
    file = files.open(path, create=True)
    file.truncate(0)
    file.write(encode_snapshot(entries), 0)
    if durable:
        file.sync()


def read_snapshot(files: Files, path: str) -> list[ProducerEntry]:
    """What the file holds. Raises BadFile, or OSError."""
    return decode_snapshot(files.read(path), path)


def _pack(entry: ProducerEntry) -> bytes:
    sequence, offset, delta = NONE, NONE, 0
    if entry.marks:
        mark = entry.marks[-1]
        sequence, offset, delta = mark.last_sequence, mark.last_offset, mark.last_offset - mark.first_offset
    ids = entry.producer_id, entry.epoch
    return ENTRY.pack(
        *ids, sequence, offset, delta, entry.last_timestamp, entry.coordinator_epoch, entry.txn_first_offset
    )


def _unpack(fields: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, txn_first_offset = fields
    mark = BatchMark(first_sequence(sequence, delta), sequence, offset - delta, offset, timestamp)
    marks = (mark,) if offset >= 0 else ()
    return ProducerEntry(producer_id, epoch, coordinator_epoch, timestamp, max(txn_first_offset, NONE), marks)
