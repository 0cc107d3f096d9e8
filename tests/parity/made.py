"""A log made by Esker from nothing: every codec and level, odd records, big ones, the broker's time, transactions."""

import time
from typing import NamedTuple

from esker.kernel.contract import Encoding, Kernel, Rows
from esker.kernel.layout import Attribute, Codec
from esker.records.control import ControlType, EndMarker, end_marker_batch
from esker.records.record import LogRecord, TimestampType
from esker.records.text import TIME_NAMES
from golden.contents import START_MS, Record, large, mixed, plain
from golden.script import Noted, noted_bytes
from parity.dump import Row

# Outside of their range the codecs clamp; these are both ends, Kafka's defaults (None) and one between.
LEVELS: dict[Codec, tuple[int | None, ...]] = {
    Codec.NONE: (None,),
    Codec.GZIP: (None, 1, 6, 9),
    Codec.SNAPPY: (None,),
    Codec.LZ4: (None, 1, 9, 12, 17),
    Codec.ZSTD: (None, -7, 1, 19, 22),
}
NOW = time.time_ns() // 1_000_000  # Kafka forgets a producer a day after its last batch
LEADER_EPOCH, COORDINATOR_EPOCH = 0, 9
TRANSACTIONAL = int(Attribute.TRANSACTIONAL)
KEPT, GIVEN_UP, IDEMPOTENT = 7_000, 7_001, 7_002  # producer ids: a committed, an aborted and no transaction


class Piece(NamedTuple):
    """A batch to be made, or with `ends` the marker that ends its producer's transaction."""

    records: list[Record]
    encoding: Encoding
    ends: ControlType | None = None


class Made(NamedTuple):
    """A batch that was made, at which offset, and what must be read out of it."""

    piece: Piece
    offset: int
    data: bytes

    @property
    def next_offset(self) -> int:
        return self.offset + max(len(self.piece.records), 1)

    @property
    def facts(self) -> Row:
        """What the dump's line says of the batch."""
        encoding = self.piece.encoding
        return {
            "baseOffset": self.offset,
            "lastOffset": self.next_offset - 1,
            "count": self.next_offset - self.offset,
            "producerId": encoding.producer_id,
            "producerEpoch": encoding.producer_epoch,
            "isTransactional": bool(encoding.attributes & Attribute.TRANSACTIONAL),
            "isControl": self.piece.ends is not None,
            "compresscodec": "none" if self.piece.ends is not None else Codec(encoding.codec).name.lower(),
            "deleteHorizonMs": encoding.base_timestamp,
            "isvalid": True,
        }

    @property
    def records(self) -> list[LogRecord]:
        return [
            LogRecord(
                offset=self.offset + place,
                timestamp=each.timestamp if self.time_type == 0 else self.piece.encoding.max_timestamp or 0,
                timestamp_type=self.time_type,
                key=each.key,
                value=each.value,
                headers=tuple((name.encode(), value) for name, value in each.headers),
            )
            for place, each in enumerate(self.piece.records)
        ]

    @property
    def time_type(self) -> TimestampType:
        return TimestampType(bool(self.piece.encoding.attributes & Attribute.LOG_APPEND_TIME))

    @property
    def noted(self) -> list[Noted]:
        """As the Java program prints what its consumer gets."""
        return [
            {
                "offset": each.offset,
                "timestamp": each.timestamp,
                "timestampType": TIME_NAMES[each.timestamp_type],
                "key": noted_bytes(each.key),
                "value": noted_bytes(each.value),
                "headers": [[name.decode(), noted_bytes(value)] for name, value in each.headers],
            }
            for each in self.records
        ]


def pieces() -> list[Piece]:
    return [*coded(), *stamped(), *transactions(), *idempotent()]


def coded() -> list[Piece]:
    encodings = [Encoding(codec, level) for codec, levels in LEVELS.items() for level in levels]
    return [Piece(records, encoding) for encoding in encodings for records in (mixed(START_MS), large(START_MS))]


def stamped() -> list[Piece]:
    """By the broker's clock, with a delete horizon, and with times far apart."""
    by_broker = Encoding(attributes=int(Attribute.LOG_APPEND_TIME), max_timestamp=START_MS + 5_000)
    horizon = Encoding(attributes=int(Attribute.DELETE_HORIZON), base_timestamp=START_MS + 86_400_000)
    apart = [Record(time, b"at", b"%d" % time) for time in (START_MS, 0, 2**62, START_MS - 1)]
    return [
        Piece(mixed(START_MS), by_broker),
        Piece(mixed(START_MS), by_broker._replace(codec=Codec.ZSTD)),
        Piece(plain(START_MS, 3), horizon),
        Piece(apart, Encoding()),
        Piece([Record(START_MS, None, None)], Encoding()),
        Piece([Record(START_MS, b"big", b"x" * 900_000)], Encoding()),
        Piece([Record(START_MS, b"big", b"x" * 900_000)], Encoding(Codec.LZ4)),
    ]


def transactions() -> list[Piece]:
    """Two that overlap, one of them given up."""
    kept = Encoding(attributes=TRANSACTIONAL, producer_id=KEPT, producer_epoch=1, base_sequence=0)
    given_up = kept._replace(producer_id=GIVEN_UP, producer_epoch=4, codec=Codec.SNAPPY)
    return [
        Piece(plain(START_MS, 3), kept),
        Piece(plain(START_MS, 2, first=10), given_up),
        Piece(plain(START_MS, 2, first=20), kept._replace(base_sequence=3, codec=Codec.ZSTD)),
        Piece([], given_up, ControlType.ABORT),
        Piece([], kept, ControlType.COMMIT),
    ]


def idempotent() -> list[Piece]:
    """The last batches of the log: a sequence that wraps from one to the next."""
    encoding = Encoding(producer_id=IDEMPOTENT, producer_epoch=0, base_sequence=2**31 - 2)
    return [
        Piece(plain(NOW, 2), encoding),
        Piece(plain(NOW, 3), encoding._replace(base_sequence=0, codec=Codec.GZIP)),
    ]


def sent_again(kernel: Kernel) -> bytes:
    """The last of them as its producer sent it."""
    return encoded(kernel, idempotent()[-1], 0)


def sent_next(kernel: Kernel) -> bytes:
    """What the same producer sends after it."""
    _, last = idempotent()
    return encoded(kernel, Piece(plain(NOW, 2), last.encoding._replace(base_sequence=len(last.records))), 0)


def make(kernel: Kernel) -> list[Made]:
    """The batches of the log, one after the other."""
    made: list[Made] = []
    for piece in pieces():
        offset = made[-1].next_offset if made else 0
        data = encoded(kernel, piece, offset) if piece.ends is None else marker(piece, piece.ends, offset)
        made.append(Made(piece, offset, data))
    return made


def encoded(kernel: Kernel, piece: Piece, offset: int) -> bytes:
    rows = Rows(
        timestamps=[each.timestamp for each in piece.records],
        keys=[each.key for each in piece.records],
        values=[each.value for each in piece.records],
        headers=[[(name.encode(), value) for name, value in each.headers] for each in piece.records],
    )
    return kernel.encode(rows, piece.encoding._replace(base_offset=offset, leader_epoch=LEADER_EPOCH))


def marker(piece: Piece, ends: ControlType, offset: int) -> bytes:
    encoding = piece.encoding
    found = EndMarker(ends, encoding.producer_id, encoding.producer_epoch, COORDINATOR_EPOCH, START_MS)
    return end_marker_batch(found, offset, LEADER_EPOCH)
