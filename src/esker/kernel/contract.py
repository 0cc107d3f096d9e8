"""What a kernel does: the functions that `reference` (plain Python) and `_native` (Rust) both have.

A kernel works on the bytes of batches: bytes and numbers in, bytes, numbers or columns out. It opens no file, reads
no clock, keeps no setting and decides no policy. Positions count bytes from the start of the buffer given. Buffers
are not copied unless the result says so, and must not change while a call runs. Any C-contiguous buffer is taken, as
its bytes. Limits are not negative; a number that its field of 32 or 64 bits cannot hold raises OverflowError, or
ValueError where it is out of range anyway.

Magic 0 and 1 are walked and found by their headers; what looks inside a batch takes magic 2 alone and answers
`Fault.LEGACY` to others (`esker.records.legacy` converts them up).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntFlag
from typing import TYPE_CHECKING, NamedTuple, Protocol

from esker.base.faults import Fault, Finding
from esker.kernel.layout import CODEC_BITS, INT32_MAX, INT64_MAX, Attribute, Codec

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

# What one compressed block may unpack to unless the caller says otherwise.
UNPACKED_LIMIT = 256 << 20


class BatchHeader(NamedTuple):
    """The fields of a batch that stand before its records, and where it was found.

    A message of magic 0 or 1 shows itself as a batch: its offset is `base_offset` (for a compressed one that of the
    last message inside), its timestamp is both timestamps (-1 in magic 0), its `record_count` is 1, or -1 when it is
    compressed and only its content knows.
    """

    position: int
    base_offset: int
    size: int  # of the whole batch
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def end(self) -> int:
        """The position after the batch."""
        return self.position + self.size

    @property
    def last_offset(self) -> int:
        """The offset of the last record that the batch had when it was written; compaction does not change it."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        """The codec's number, which may be one that no `Codec` has."""
        return self.attributes & CODEC_BITS

    @property
    def log_append_time(self) -> bool:
        """Are all records stamped with the broker's time, which is `max_timestamp`?"""
        return self.magic > 0 and bool(self.attributes & Attribute.LOG_APPEND_TIME)

    @property
    def transactional(self) -> bool:
        return self.magic > 1 and bool(self.attributes & Attribute.TRANSACTIONAL)

    @property
    def control(self) -> bool:
        return self.magic > 1 and bool(self.attributes & Attribute.CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the cleaner may drop the tombstones or the marker in here; it is kept in `base_timestamp`."""
        given = self.magic > 1 and self.attributes & Attribute.DELETE_HORIZON
        return self.base_timestamp if given else None


class Walk(NamedTuple):
    """Headers found back to back. `fault` says why the walk ended at `end`: None when all bytes were batches or the
    limit was reached, PARTIAL, ZEROS, SIZE or MAGIC otherwise."""

    headers: list[BatchHeader]
    end: int
    fault: Fault | None


class Check(NamedTuple):
    """How far the bytes are good. `end` is where the good part ends; `finding` says what stands there, if anything."""

    batches: int
    records: int
    end: int
    next_offset: int
    finding: Finding | None


class Record(NamedTuple):
    """One record as it stands in its batch: deltas, not yet offset and timestamp."""

    attributes: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


class AppendLimits(NamedTuple):
    """What a topic takes from a client. The timestamp bounds are inclusive; a timestamp of -1 always passes."""

    max_batch_bytes: int
    keys_required: bool = False
    log_append_time: bool = False
    min_timestamp: int = -INT64_MAX - 1
    max_timestamp: int = INT64_MAX
    unpacked_limit: int = UNPACKED_LIMIT


class Accepted(NamedTuple):
    """A client's batch may be appended. `max_timestamp` is the true one, whatever the header says. `consecutive`:
    the offset deltas are 0, 1, 2, …; a compressed batch with others has to be encoded anew."""

    header: BatchHeader
    max_timestamp: int
    consecutive: bool


class Refused(NamedTuple):
    """A client's batch may not be appended. `records` names the records at fault (index in the batch), when the fault
    lies in single records' keys or timestamps."""

    finding: Finding
    records: list[tuple[int, Fault]]


class Column(IntFlag):
    """The columns of `decode`."""

    OFFSET = 1
    TIMESTAMP = 2
    TIMESTAMP_TYPE = 4  # 0 create time, 1 log append time
    KEY = 8
    VALUE = 16
    HEADERS = 32


ALL_COLUMNS = Column.OFFSET | Column.TIMESTAMP | Column.TIMESTAMP_TYPE | Column.KEY | Column.VALUE | Column.HEADERS


class Aborted(NamedTuple):
    """An aborted transaction; both offsets inclusive, the last one is its marker's."""

    producer_id: int
    first_offset: int
    last_offset: int


class Selection(NamedTuple):
    """What `decode` is to give. It stops after the batch with which `max_records` or `max_bytes` (of unpacked
    records) is reached; no batch may hold more than `unpacked_limit` of them, compressed or not. `views`: keys and
    values as views into the caller's buffer, or into one of unpacked blocks, instead of copies."""

    columns: int = ALL_COLUMNS
    first_offset: int = 0
    end_offset: int = INT64_MAX  # exclusive
    aborted: Sequence[Aborted] = ()
    views: bool = False
    verify_crc: bool = True
    max_records: int = INT64_MAX
    max_bytes: int = 256 << 20
    unpacked_limit: int = UNPACKED_LIMIT


class Binary(NamedTuple):
    """An Arrow binary array: a validity bitmap (None: no nulls), one more int32 offsets than values, the bytes."""

    validity: ReadableBuffer | None
    nulls: int
    offsets: ReadableBuffer
    data: ReadableBuffer


class BinaryView(NamedTuple):
    """An Arrow binary-view array: 16 bytes a view, and the two buffers that the views of more than 12 bytes point into:
    the caller's own, and all compressed blocks unpacked."""

    validity: ReadableBuffer | None
    nulls: int
    views: ReadableBuffer
    buffers: list[ReadableBuffer]


class HeaderLists(NamedTuple):
    """An Arrow list array of (key, value): int32 offsets, one more than records, into the two flat arrays. Keys
    are text: what is not UTF-8 in them is replaced by U+FFFD, as Kafka's own clients do."""

    offsets: ReadableBuffer
    keys: Binary
    values: Binary


class Columns(NamedTuple):
    """Records as Arrow buffers, native byte order. A column that was not asked for is None.

    `end` is the position after the last batch taken; equal to where `decode` began, there is no whole batch left.
    `next_offset` follows the last offset of that batch, whether its records were selected or not.
    """

    record_count: int
    end: int
    next_offset: int
    offset: ReadableBuffer | None  # int64
    timestamp: ReadableBuffer | None  # int64, milliseconds
    timestamp_type: ReadableBuffer | None  # int32
    key: Binary | BinaryView | None
    value: Binary | BinaryView | None
    headers: HeaderLists | None


class Rows(NamedTuple):
    """Records as Python lists of one length. Without `offsets` they are consecutive."""

    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Sequence[tuple[bytes, bytes | None]]] | None = None
    offsets: Sequence[int] | None = None


class Encoding(NamedTuple):
    """How `encode` makes batches.

    A batch ends before the record with which it would pass `batch_bytes` before compression. The last four fields
    are for rewriting a batch exactly: what the header said where it does not follow from the records.
    """

    codec: int = Codec.NONE
    level: int | None = None
    attributes: int = 0  # the bits of `Attribute`
    leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1  # of the first batch; the next ones count on
    batch_bytes: int | None = None
    base_offset: int | None = None
    last_offset: int | None = None
    base_timestamp: int | None = None
    max_timestamp: int | None = None


# A column's offsets are 32 bits wide, and a byte of a header's key may become the three of U+FFFD.
DECODED_BYTES_MAX = INT32_MAX // 3

EVERYTHING = Selection()
PLAIN = Encoding()


class Kernel(Protocol):
    """The functions of a kernel. Both kernels give equal results for equal bytes, faults and places included;
    only compressed bytes may differ, as they come from different builds of the codecs."""

    NAME: str

    def crc32c(self, data: ReadableBuffer, crc: int = 0, /) -> int:
        """The CRC-32C of the bytes, going on from `crc`."""

    def walk(self, data: ReadableBuffer, position: int = 0, limit: int = INT64_MAX) -> Walk:
        """Read the headers of at most `limit` batches, from the one at `position` on."""

    def find_offset(self, data: ReadableBuffer, offset: int, position: int = 0) -> BatchHeader | None:
        """The first batch whose last offset is ≥ `offset`. Raises Corrupt on a batch that cannot be stepped over."""

    def find_timestamp(self, data: ReadableBuffer, timestamp: int, position: int = 0) -> BatchHeader | None:
        """The first batch whose largest timestamp is ≥ `timestamp`. Raises as `find_offset` does."""

    def check(
        self,
        data: ReadableBuffer,
        position: int = 0,
        next_offset: int = 0,
        deep: bool = True,
        unpacked_limit: int = UNPACKED_LIMIT,
    ) -> Check:
        """Check batch after batch: structure, checksum, base offset ≥ the `next_offset` that the one before left;
        with `deep` each record too: lengths, count, offset deltas that rise and do not pass the last one."""

    def validate(self, data: ReadableBuffer, limits: AppendLimits) -> Accepted | Refused:
        """May a leader append what a client sent? One whole batch; a partial one after it is cut off."""

    def stamp(
        self,
        data: WriteableBuffer,
        base_offset: int,
        leader_epoch: int,
        max_timestamp: int | None = None,
        log_append_time: bool | None = None,
    ) -> int:
        """Write offset and leader epoch into the batches, in place and one after the other, and the two time fields
        where given; answer the next offset. The checksum is moved by what changed, not made anew: a batch that was
        damaged stays visibly damaged."""

    def unpack(
        self, data: ReadableBuffer, position: int = 0, verify_crc: bool = True, unpacked_limit: int = UNPACKED_LIMIT
    ) -> list[Record]:
        """The records of the one batch at `position`, as they stand. Raises Corrupt."""

    def decode(self, data: ReadableBuffer, position: int = 0, selection: Selection = EVERYTHING) -> Columns:
        """Records of batch after batch as columns; control batches are left out. Raises Corrupt when the first batch
        is bad; a bad one later ends the answer before it, so that the next call raises."""

    def encode(self, records: Columns | Rows, encoding: Encoding = PLAIN) -> bytes:
        """Batches of these records, back to back; none for no records, unless `last_offset` asks for an emptied one.
        Columns need a timestamp; without offsets they are consecutive, without keys, values or headers they have
        none; views are not taken. ValueError when the records cannot be written so."""

    def compress(self, codec: int, data: ReadableBuffer, level: int | None = None) -> bytes:
        """Compress as Kafka does, with Kafka's levels; None is Kafka's default."""

    def decompress(self, codec: int, data: ReadableBuffer, limit: int = UNPACKED_LIMIT) -> bytes:
        """Unpack at most `limit` bytes. Raises Corrupt (position 0)."""
