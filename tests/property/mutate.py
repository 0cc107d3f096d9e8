"""Mutants: valid batches with one thing wrong, and the checksum mended, so that the walk over the records is reached.

A mutant is known by its number and the run's seed. Numbers below `len(systematic())` are the list of every cut and
of every field set to each of its worst values; above it they are drawn.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from struct import pack
from typing import TYPE_CHECKING, NamedTuple

from esker.kernel import load_reference
from esker.kernel.contract import BatchHeader, Encoding, Rows
from esker.kernel.layout import CRC, CRC_AT, CRC_FROM, HEADER_SIZE, INT32_MAX, LOG_OVERHEAD, Attribute, Codec
from esker.kernel.reference.varint import read_varlong, write_varint
from property.strategies import SOME_TIME, legacy_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REFERENCE = load_reference()
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
# So small before and after packing: 132 bytes of zstd may hold 100 KB.
GOLDEN_BYTES = 200
OFFSET, EPOCH_END, PRODUCER = 10, 17, 7
# Position and width of each number in front of the records.
HEADER_FIELDS = (
    *((0, 8), (8, 4), (12, 4), (16, 1), (17, 4), (21, 2), (23, 4)),
    *((27, 8), (35, 8), (43, 8), (51, 2), (53, 4), (57, 4)),
)
TOO_LONG = (b"\xff" * 4 + b"\x7f", b"\xff" * 5 + b"\x01", b"\xff" * 9 + b"\x01", b"\xff" * 11, b"\x80\x80\x00")


class Target(NamedTuple):
    """The batch to be damaged, and what stands around it. `plain` is its header and its records unpacked."""

    before: bytes
    batch: bytes
    after: bytes
    plain: bytes
    codec: int
    varints: tuple[tuple[int, int], ...]  # begin and end in `plain`


class Mutant(NamedTuple):
    """`position` is where the damaged batch stands in `data`."""

    data: bytes
    position: int


Mutation = tuple[Target, bytes]


def content(count: int, first: int = 0) -> Rows:
    """Small records with all that records can have: nulls, empties, header lists, content long enough to be packed."""
    keys = [b"key", None, b"", b"a key beyond a view's twelve bytes"]
    values = [b"value", b"", None, b"esker " * 9]
    headers: list[list[tuple[bytes, bytes | None]]] = [[(b"h", None), (b"", b"x")], [], [(b"\xff", b"y" * 14)], []]
    offsets = [first, *range(first + 2, first + 1 + count)] if first else list(range(count))
    times = [SOME_TIME + each for each in range(count)]
    return Rows(times, keys[:count], values[:count], headers[:count], offsets)


def client_batches(codec: Codec) -> Iterator[bytes]:
    """What a producer sends: base offset 0, consecutive."""
    yield REFERENCE.encode(content(4), Encoding(codec, base_sequence=0, producer_id=PRODUCER, producer_epoch=0))
    yield REFERENCE.encode(content(1), Encoding(codec))
    yield REFERENCE.encode(content(2), Encoding(codec, attributes=Attribute.LOG_APPEND_TIME, max_timestamp=SOME_TIME))


def log_batches(codec: Codec) -> list[bytes]:
    """What stands in a log: gaps, a transaction and its marker, a delete horizon, an emptied batch."""
    in_transaction = {"producer_id": PRODUCER, "producer_epoch": 0}
    bits = Attribute.TRANSACTIONAL
    marker = Rows([SOME_TIME], [b"\0\0\0\1"], [b"\0\0\0\0\0\3"], None, [OFFSET + 20])
    return [
        REFERENCE.encode(
            content(3, OFFSET), Encoding(codec, attributes=bits, last_offset=OFFSET + 9, **in_transaction)
        ),
        REFERENCE.encode(marker, Encoding(attributes=bits | Attribute.CONTROL, **in_transaction)),
        REFERENCE.encode(
            content(2, OFFSET + 30), Encoding(codec, attributes=Attribute.DELETE_HORIZON, base_timestamp=SOME_TIME)
        ),
        REFERENCE.encode(Rows([], [], []), Encoding(base_offset=OFFSET + 40, last_offset=OFFSET + 45)),
    ]


def golden_batches() -> Iterator[bytes]:
    """The first small batch of each file that a real Kafka wrote."""
    for path in sorted(GOLDEN.glob("*/*.log")):
        data = path.read_bytes()
        small = [header for header in REFERENCE.walk(data).headers if header.size <= GOLDEN_BYTES]
        batches = (data[header.position : header.end] for header in small[:1])
        yield from (batch for batch in batches if len(target_of(b"", batch, b"").plain) <= 2 * GOLDEN_BYTES)


@cache
def targets() -> list[Target]:
    alone = [batch for codec in Codec for batch in client_batches(codec)]
    alone += [legacy_message(0, 0), legacy_message(3, 1, 2), *golden_batches()]
    found = [target_of(b"", batch, b"") for batch in alone]
    for codec in Codec:
        row = log_batches(codec)
        found += [target_of(b"".join(row[:at]), row[at], b"".join(row[at + 1 :])) for at in range(len(row))]
    return found


def target_of(before: bytes, batch: bytes, after: bytes) -> Target:
    (header,) = REFERENCE.walk(batch).headers
    if header.magic != 2:
        return Target(before, batch, after, batch, Codec.NONE, ())
    plain = batch[:HEADER_SIZE] + REFERENCE.decompress(header.codec, batch[HEADER_SIZE:])
    return Target(before, batch, after, plain, header.codec, tuple(varints_of(plain, header)))


def varints_of(plain: bytes, header: BatchHeader) -> Iterator[tuple[int, int]]:
    """Where the lengths, counts and deltas of the records stand."""
    at, last, view = HEADER_SIZE, 0, memoryview(plain)

    def number() -> Iterator[tuple[int, int]]:
        nonlocal at, last
        begin = at
        last, at = read_varlong(view, at)
        yield begin, at

    for _ in range(header.record_count):
        yield from number()
        at += 1  # the attributes
        for _ in range(2):
            yield from number()
        for _ in range(2):
            yield from number()
            at += max(last, 0)
        yield from number()
        for _ in range(2 * last):
            yield from number()
            at += max(last, 0)


def worst_numbers(left: int) -> tuple[int, ...]:
    return (-1, 0, 1, left - 1, left, left + 1, INT32_MAX, -INT32_MAX - 1)


def with_field(data: bytes, at: int, width: int, number: int) -> bytes:
    kept = number & (1 << 8 * width) - 1
    return data[:at] + kept.to_bytes(width) + data[at + width :]


def header_mutations(data: bytes) -> Iterator[bytes]:
    """Each number of the header, set to each of the worst."""
    for at, width in HEADER_FIELDS:
        for number in (*worst_numbers(len(data) - at - width), 1 << 8 * width - 1, (1 << 8 * width - 1) - 1):
            yield with_field(data, at, width, number)


def varint_mutations(target: Target) -> Iterator[bytes]:
    """Each number of the records, set to each of the worst, and to encodings that no number has."""
    for begin, end in target.varints:
        head, tail = target.plain[:begin], target.plain[end:]
        yield from (head + write_varint(number) + tail for number in worst_numbers(len(tail)))
        yield from (head + wrong + tail for wrong in TOO_LONG)


def cut_mutations(target: Target) -> Iterator[bytes]:
    """Its end gone, and all of it zeros, as in a file made larger before it is written."""
    yield from (target.plain[:size] for size in range(len(target.plain)))
    yield bytes(len(target.plain))


@cache
def systematic() -> list[Mutation]:
    """Each with the plain form of the damaged batch; it is packed when its turn comes."""
    return [
        (target, plain)
        for target in targets()
        for mutations in (header_mutations(target.plain), varint_mutations(target), cut_mutations(target))
        for plain in mutations
    ]


def flip_bits(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def set_byte(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + random.choice((b"\0", b"\1", b"\2", b"\x7f", b"\x80", b"\xff")) + data[at + 1 :]


def delete_range(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + data[at + random.randint(1, 12) :]


def repeat_range(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data))
    return data[: at + random.randint(1, 30)] + data[at:]


def splice(random: Random, data: bytes) -> bytes:
    other = random.choice(targets()).plain
    return data[: random.randrange(len(data))] + other[random.randrange(len(other)) :]


def extend(random: Random, data: bytes) -> bytes:
    return data + random.choice((bytes(random.randint(1, 40)), random.randbytes(9), data[HEADER_SIZE:]))


def cut(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data))]


def blank(random: Random, data: bytes) -> bytes:
    """Zeros from somewhere on, or from the start, as after a torn write."""
    at = random.choice((0, random.randrange(len(data))))
    return data[:at] + bytes(len(data) - at)


def set_header_field(random: Random, data: bytes) -> bytes:
    at, width = random.choice(HEADER_FIELDS)
    return with_field(data, at, width, random.choice((*worst_numbers(len(data) - at), random.getrandbits(64))))


BYTE_MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(flip_bits, flip_bits, set_byte, set_byte, delete_range, repeat_range),
    *(splice, extend, cut, blank, set_header_field, set_header_field),
)


def set_varint(random: Random, target: Target) -> bytes:
    begin, end = random.choice(target.varints)
    tail = target.plain[end:]
    number = random.choice((*worst_numbers(len(tail)), random.randint(-70, 70), random.getrandbits(64) - 2**63))
    return target.plain[:begin] + random.choice((write_varint(number), *TOO_LONG)) + tail


def mutated(random: Random, target: Target) -> bytes:
    """The plain form with something wrong: often one number of the records, else any bytes."""
    if target.varints and random.random() < 0.4:
        return set_varint(random, target)
    return random.choice(BYTE_MUTATIONS)(random, target.plain)


def packed(target: Target, plain: bytes) -> bytes:
    """The damaged records, compressed as they were."""
    if target.codec == Codec.NONE or len(plain) < HEADER_SIZE:
        return plain
    return plain[:HEADER_SIZE] + REFERENCE.compress(target.codec, plain[HEADER_SIZE:])


def mended(batch: bytes, *, size: bool, crc: bool) -> bytes:
    changed = bytearray(batch)
    if size and len(batch) >= LOG_OVERHEAD:
        changed[8:LOG_OVERHEAD] = pack(">i", len(batch) - LOG_OVERHEAD)
    if crc and len(batch) >= CRC_FROM:
        CRC.pack_into(changed, CRC_AT, REFERENCE.crc32c(memoryview(changed)[CRC_FROM:]))
    return bytes(changed)


def drawn(random: Random) -> Mutant:
    target = random.choice(targets())
    if target.codec != Codec.NONE and random.random() < 0.4:
        batch = random.choice(BYTE_MUTATIONS)(random, target.batch)
    else:
        batch = packed(target, mutated(random, target))
    batch = mended(batch, size=random.random() < 0.9, crc=random.random() < 0.9)
    return Mutant(target.before + batch + target.after, len(target.before))


def listed(target: Target, plain: bytes) -> Mutant:
    """The size is mended only where it was not what was set."""
    resized = len(plain) != len(target.plain) or plain[8:12] == target.plain[8:12]
    batch = mended(packed(target, plain), size=resized, crc=plain[CRC_AT:CRC_FROM] == target.plain[CRC_AT:CRC_FROM])
    return Mutant(target.before + batch + target.after, len(target.before))


def mutant(seed: int, number: int) -> Mutant:
    """The same one for the same seed and number, wherever it is asked for."""
    if number < len(systematic()):
        return listed(*systematic()[number])
    return drawn(Random(seed << 40 | number))
