"""Hypothesis strategies for records, batches and segments. What they draw knows what went into it, so that a test
can say what must come out."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st

from esker.kernel import load_reference
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import INT32_MAX, INT64_MAX, Attribute, Codec

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = load_reference()
SOME_TIME = 1_700_000_000_000
LEVELS = {Codec.GZIP: range(1, 10), Codec.LZ4: range(1, 18), Codec.ZSTD: range(-3, 8)}

# To draw a segment takes milliseconds, and Hypothesis draws hundreds: tests of segments run half as many.
HALF = settings(max_examples=max(10, settings.default.max_examples // 2))  # type: ignore[union-attr]

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-INT32_MAX - 1, INT32_MAX)
INT64 = st.integers(-INT64_MAX - 1, INT64_MAX)
TIMES = st.integers(SOME_TIME, SOME_TIME + 1000) | st.just(-1) | INT64
# Around 12 bytes a view changes its form; long and dull is what a codec packs.
CONTENTS = st.none() | st.binary(max_size=14) | st.integers(0, 50).map(lambda count: b"esker " * count)
NAMES = st.text(max_size=5).map(str.encode) | st.binary(max_size=5)
HEADERS = st.lists(st.tuples(NAMES, CONTENTS), max_size=3)
GAPS = st.just(0) | st.integers(0, 1000)
BITS = st.sampled_from(
    [0, 0, Attribute.LOG_APPEND_TIME, Attribute.TRANSACTIONAL, Attribute.TRANSACTIONAL | Attribute.LOG_APPEND_TIME]
)


class Written(NamedTuple):
    """A batch, and what it was made of. `rows` has its offsets."""

    data: bytes
    rows: Rows
    encoding: Encoding


class Decoded(NamedTuple):
    """One record as a reader sees it."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Segment(NamedTuple):
    """Batches back to back, then a tail that is none."""

    parts: list[Written]
    tail: bytes

    @property
    def data(self) -> bytes:
        return b"".join(part.data for part in self.parts) + self.tail

    @property
    def records(self) -> list[Decoded]:
        return [record for part in self.parts for record in decoded(part)]


def decoded(part: Written) -> list[Decoded]:
    """What must come out of a batch."""
    if part.encoding.attributes & Attribute.CONTROL:
        return []
    stamped = bool(part.encoding.attributes & Attribute.LOG_APPEND_TIME)
    times = [highest(part)] * len(part.rows.timestamps) if stamped else part.rows.timestamps
    headers = part.rows.headers or [()] * len(times)
    columns = zip(part.rows.offsets or (), times, part.rows.keys, part.rows.values, headers, strict=True)
    return [Decoded(*row[:2], int(stamped), *row[2:4], _readable(row[4])) for row in columns]  # type: ignore[arg-type]


def highest(part: Written) -> int:
    """The largest timestamp that the batch's header shows."""
    if part.encoding.max_timestamp is not None:
        return part.encoding.max_timestamp
    return max([-1, *part.rows.timestamps])


def _readable(headers: list[tuple[bytes, bytes | None]]) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((name.decode(errors="replace"), content) for name, content in headers)


@st.composite
def rows(draw: st.DrawFn, smallest: int = 0, largest: int = 6, first: int = 0, *, gaps: bool = True) -> Rows:
    """Records with rising offsets from `first` on."""
    drawn = draw(st.lists(st.tuples(TIMES, CONTENTS, CONTENTS, HEADERS, GAPS), min_size=smallest, max_size=largest))
    offsets, next_offset = [], first
    for *_, gap in drawn:
        offsets.append(next_offset + gap * gaps)
        next_offset = offsets[-1] + 1
    times, keys = [row[0] for row in drawn], [row[1] for row in drawn]
    return Rows(times, keys, [row[2] for row in drawn], [row[3] for row in drawn], offsets)


@st.composite
def encodings(draw: st.DrawFn) -> Encoding:
    """Any codec, level and header; one batch."""
    codec = draw(st.sampled_from(Codec))
    level = draw(st.none() | st.sampled_from(LEVELS.get(codec, range(1))))
    producer = draw(st.sampled_from([(-1, -1, -1), (5, 0, 0)]) | st.tuples(INT64, INT16, INT32))
    times = draw(st.just((None, None)) | st.tuples(INT64, INT64))
    return Encoding(codec, level, draw(BITS), draw(INT32), *producer, base_timestamp=times[0], max_timestamp=times[1])


def written(content: Rows, encoding: Encoding) -> Written:
    return Written(bytes(REFERENCE.encode(content, encoding)), content, encoding)


def data_batches(first: int) -> st.SearchStrategy[Written]:
    return st.builds(written, rows(1, 3, first=first), encodings())


def stretched_batches(first: int) -> st.SearchStrategy[Written]:
    """As compaction leaves them: first and last offset stay, whichever records go; perhaps all."""

    def stretch(content: Rows, encoding: Encoding, end: int) -> Written:
        last = (content.offsets or [first])[-1:] or [first]
        plan = encoding._replace(base_offset=first, last_offset=last[0] + end)
        return written(content, plan if content.timestamps else plan._replace(codec=Codec.NONE))

    return st.builds(stretch, rows(0, 3, first=first), encodings(), st.integers(0, 9))


def tombstone_batches(first: int) -> st.SearchStrategy[Written]:
    """With a delete horizon: the base timestamp is it."""

    def mark(content: Rows, encoding: Encoding, horizon: int) -> Written:
        bits = encoding.attributes | Attribute.DELETE_HORIZON
        return written(content, encoding._replace(attributes=bits, base_timestamp=horizon))

    return st.builds(mark, rows(1, 3, first=first), encodings(), INT64)


def markers(first: int) -> st.SearchStrategy[Written]:
    """Control batches that end a transaction."""

    def mark(kind: int, producer_id: int) -> Written:
        content = Rows([SOME_TIME], [pack(">hh", 0, kind)], [pack(">hi", 0, 3)], None, [first])
        bits = Attribute.TRANSACTIONAL | Attribute.CONTROL
        return written(content, Encoding(attributes=bits, producer_id=producer_id, producer_epoch=0))

    return st.builds(mark, st.sampled_from([0, 1]), st.integers(0, 5))


BATCHES: list[Callable[[int], st.SearchStrategy[Written]]] = [
    data_batches,
    data_batches,
    stretched_batches,
    tombstone_batches,
    markers,
]


@st.composite
def batches(draw: st.DrawFn, first: int = 0) -> Written:
    """One batch of any kind, from offset `first` on."""
    return draw(draw(st.sampled_from(BATCHES))(first))


def legacy_message(offset: int, magic: int, attributes: int = 0) -> bytes:
    """A message of magic 0 or 1; its content is opaque to a kernel."""
    body = pack(">bb", magic, attributes) + (pack(">q", SOME_TIME) if magic else b"") + pack(">i", -1) + b"\0\0\0\1x"
    return pack(">qiI", offset, len(body) + 4, 0) + body


TAILS = st.one_of(
    st.just(b""),
    st.integers(1, 80).map(bytes),
    st.binary(max_size=16),
    st.integers(1, 67).map(lambda size: REFERENCE.encode(Rows([5], [None], [b""]))[:size]),
    st.builds(legacy_message, st.integers(0, 9), st.sampled_from([0, 1]), st.sampled_from([0, 1])),
)


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """One to three batches whose offsets rise, and a tail: nothing, zeros, junk, a part of a batch, an old message."""
    parts: list[Written] = []
    next_offset = draw(st.integers(0, 5))
    for _ in range(draw(st.integers(1, 3))):
        parts.append(draw(batches(next_offset + draw(GAPS))))
        next_offset = REFERENCE.walk(parts[-1].data).headers[0].last_offset + 1
    return Segment(parts, draw(TAILS))
