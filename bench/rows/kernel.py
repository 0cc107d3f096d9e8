"""The kernel's rows: check, decode and encode 64 MB of batches, beside aiokafka's compiled reader and builder and
beside a copy of the same bytes. Each for 100-byte and for 1,024-byte values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.row import Contest, Row, Skipped, speed
from esker.base.errors import KernelMissing
from esker.kernel import load_native
from esker.kernel.contract import Column, Columns, Encoding, Kernel, Rows, Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

SEGMENT_BYTES = 64 << 20
MB = 1e6
KEY_BYTES = 16
FIRST_TIME = 1_700_000_000_000
FIVE = Column.OFFSET | Column.TIMESTAMP | Column.KEY | Column.VALUE | Column.HEADERS
NO_HEADERS: list[object] = []
# How much a reader takes at a time, in MiB; 4 is between Spark's 10,000 rows of 100 bytes and those of 1 KiB. Measured,
# one copy, GB/s for 1, 4, 16 and 64: 4.6, 4.7, 4.8, 1.8 of 100-byte values, 10.9, 7.6, 3.3, 2.1 of 1 KiB. What a slice
# gave back the next one takes, so its pages are there and a small one's are in the cache; columns of a whole segment
# are fresh pages, which cost more than the decoding.
SLICES = (1, 4, 16, 64)
SLICE = 4

Work = Callable[[], object]


class Shape(NamedTuple):
    """The records of a row and the batches they stand in."""

    value_bytes: int
    batch_bytes: int


SMALL = Shape(100, 16 << 10)
LARGE = Shape(1024, 64 << 10)


class Load(NamedTuple):
    """One segment: the records as lists, as columns and as bytes."""

    kernel: Kernel
    shape: Shape
    rows: Rows
    segment: bytes

    @property
    def amount(self) -> float:
        return len(self.segment) / MB

    @property
    def plan(self) -> Encoding:
        return Encoding(batch_bytes=self.shape.batch_bytes)


def make_load(shape: Shape) -> Load:
    """Enough records for 64 MB. Keys and values are objects of their own, as a producer's are."""
    kernel = native_kernel()
    record_bytes = KEY_BYTES + shape.value_bytes + 11  # the record's own fields
    count = SEGMENT_BYTES // record_bytes
    rows = Rows(
        [FIRST_TIME + number for number in range(count)],
        [b"%0*d" % (KEY_BYTES, number) for number in range(count)],
        [b"%0*d" % (shape.value_bytes, number) for number in range(count)],
    )
    return Load(kernel, shape, rows, kernel.encode(rows, Encoding(batch_bytes=shape.batch_bytes)))


def native_kernel() -> Kernel:
    try:
        return load_native()
    except KernelMissing as missing:
        raise Skipped(str(missing)) from missing


def compiled_peer() -> ModuleType:
    """aiokafka's record module, with its C classes or not at all."""
    try:
        from aiokafka.record import _crecords
    except ImportError as error:
        raise RuntimeError("aiokafka's compiled reader is missing: its pure Python one is no peer") from error
    compiled: ModuleType = _crecords
    return compiled


def contest(load: Load, esker: Work, peer: Work, more: dict[str, Work]) -> Contest:
    """The three sides, by segment bytes; the limit copies the segment to where memory is already."""
    room = memoryview(bytearray(len(load.segment)))

    def copy() -> None:
        room[:] = load.segment

    return Contest(
        speed(load.amount, esker),
        speed(load.amount, peer),
        speed(load.amount, copy),
        {name: speed(load.amount, work) for name, work in more.items()},
        about(load),
    )


def about(load: Load) -> dict[str, object]:
    return {
        "kernel": load.kernel.NAME,
        "peer": f"aiokafka {version('aiokafka')}, compiled (aiokafka.record._crecords)",
        "limit": "memory copy into a buffer that is there already",
        "records": len(load.rows.timestamps),
        "segment_bytes": len(load.segment),
        "key_bytes": KEY_BYTES,
        **load.shape._asdict(),
    }


def check_contest(shape: Shape) -> Contest:
    load, peer = make_load(shape), compiled_peer()

    def check() -> None:
        assert load.kernel.check(load.segment).finding is None

    def iterate() -> None:
        for batch in peer_batches(peer, load.segment):
            for _ in batch:
                pass

    return contest(load, check, iterate, {})


def peer_batches(peer: ModuleType, segment: bytes) -> Iterator[Any]:
    """Its batches, the checksum of each verified."""
    records = peer.MemoryRecords(segment)
    while (batch := records.next_batch()) is not None:
        assert batch.validate_crc()
        yield batch


def decode_contest(shape: Shape) -> Contest:
    load, peer = make_load(shape), compiled_peer()

    def decode(mebibytes: int, *, views: bool = False) -> Work:
        selection = Selection(FIVE, views=views, max_bytes=mebibytes << 20)
        return lambda: decode_slices(load, selection)

    more = {f"esker, slices of {size} MiB": decode(size) for size in SLICES if size != SLICE}
    more |= {f"esker, views, slices of {size} MiB": decode(size, views=True) for size in SLICES}
    return contest(load, decode(SLICE), lambda: collect(peer, load), more)


def decode_slices(load: Load, selection: Selection) -> None:
    """As a reader takes them: a slice's columns are dropped when the next ones have come."""
    position, columns = 0, None
    while position < len(load.segment):
        columns = load.kernel.decode(load.segment, position, selection)
        position = columns.end
    assert columns is not None
    assert columns.next_offset == len(load.rows.timestamps)


def collect(peer: ModuleType, load: Load) -> None:
    """The same five of each record, in lists."""
    five: tuple[list[object], ...] = ([], [], [], [], [])
    offset, timestamp, key, value, headers = (column.append for column in five)
    for batch in peer_batches(peer, load.segment):
        for record in batch:
            offset(record.offset)
            timestamp(record.timestamp)
            key(record.key)
            value(record.value)
            headers(record.headers)
    assert len(five[0]) == len(load.rows.timestamps)


def encode_contest(shape: Shape) -> Contest:
    load, peer = make_load(shape), compiled_peer()
    pieces = in_pieces(load)
    assert b"".join(encoded(load, pieces)) == load.segment
    assert same_but_offsets(load, build(peer, load))
    columns = [Piece(load.kernel.decode(made, 0, Selection(FIVE)), load.plan) for made in encoded(load, pieces)]
    more: dict[str, Work] = {
        "esker, from columns": lambda: total(encoded(load, columns)),
        "esker, all at once": lambda: load.kernel.encode(load.rows, load.plan),
    }
    return contest(load, lambda: total(encoded(load, pieces)), lambda: total(build(peer, load)), more)


class Piece(NamedTuple):
    """What one call encodes."""

    records: Rows | Columns
    plan: Encoding


def in_pieces(load: Load) -> list[Piece]:
    """The records by so many whole batches as a writer encodes at a time."""
    headers = load.kernel.walk(load.segment).headers
    firsts = [header.base_offset for header in headers[:: (SLICE << 20) // load.shape.batch_bytes]]
    ends = [*firsts[1:], len(load.rows.timestamps)]
    timestamps, keys, values = load.rows[:3]
    return [
        Piece(Rows(timestamps[first:end], keys[first:end], values[first:end]), load.plan._replace(base_offset=first))
        for first, end in zip(firsts, ends, strict=True)
    ]


def encoded(load: Load, pieces: Sequence[Piece]) -> Iterator[bytes]:
    return (load.kernel.encode(*piece) for piece in pieces)


def total(made: Iterator[bytes]) -> int:
    """Each piece is dropped when it was counted, as a writer drops what is on its way."""
    return sum(len(one) for one in made)


def build(peer: ModuleType, load: Load) -> Iterator[bytes]:
    """All records through its builder, a new one for each batch. Each batch begins at offset 0."""
    builder, base = new_builder(peer, load.shape), 0
    for offset, (timestamp, key, value) in enumerate(zip(*load.rows[:3], strict=True)):
        if builder.append(offset - base, timestamp, key, value, NO_HEADERS) is None:
            yield builder.build()
            builder, base = new_builder(peer, load.shape), offset
            builder.append(0, timestamp, key, value, NO_HEADERS)
    yield builder.build()


def new_builder(peer: ModuleType, shape: Shape) -> Any:
    return peer.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=shape.batch_bytes,
    )


def same_but_offsets(load: Load, batches: Iterable[bytes]) -> bool:
    """Did the peer build what Esker did? A broker would write the base offsets, which no checksum covers."""
    headers = load.kernel.walk(load.segment).headers
    return [load.segment[one.position + 8 : one.end] for one in headers] == [bytes(one[8:]) for one in batches]


def twins(name: str, what: str, contest_of: Callable[[Shape], Contest]) -> list[Row]:
    """A row for 100-byte values and its twin for 1 KiB."""
    shapes = ((name, SMALL), (f"{name}-1k", LARGE))
    return [
        Row(
            each,
            "MB/s",
            f"{what}; {KEY_BYTES}-byte keys, {shape.value_bytes}-byte values, {shape.batch_bytes >> 10} KiB batches, "
            "uncompressed, 64 MiB; MB of the segment",
            partial(contest_of, shape),
        )
        for each, shape in shapes
    ]


ROWS = [
    *twins(
        "kernel-check",
        "Esker checks structure, CRC and every record; the peer verifies each CRC and goes through all records",
        check_contest,
    ),
    *twins(
        "kernel-decode",
        f"Esker decodes offset, timestamp, key, value and headers to columns, one copy, CRC checked, in slices of "
        f"{SLICE} MiB; the peer verifies each CRC and collects the same five in lists",
        decode_contest,
    ),
    *twins(
        "kernel-encode",
        "both make batches with their CRC from the same Python lists of timestamps, keys and values; Esker takes "
        f"{SLICE} MiB at a time",
        encode_contest,
    ),
]
