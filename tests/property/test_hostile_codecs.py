"""Damaged compressed blocks, without a batch around them: the same verdict from both kernels, the same bytes on
success. Every form in which a client's library may pack is damaged, not only what Esker writes itself."""

from __future__ import annotations

import gzip
import zlib
from functools import cache, partial
from itertools import chain
from random import Random
from struct import pack
from typing import TYPE_CHECKING

import pytest
import zstandard
from cramjam import snappy
from lz4 import frame as lz4

from esker.kernel import load_reference
from esker.kernel.layout import Codec
from property.mutate import BYTE_MUTATIONS
from property.outcome import Refusal, outcome, said

if TYPE_CHECKING:
    from collections.abc import Callable

    from esker.kernel.contract import Kernel

# Mutants of each form, on top of every cut of every block.
COUNTS = {"quick": 300, "test": 6_000, "campaign": 60_000, "night": 1_000_000}
LIMITS = (4096, 70)
PLAINS = (b"", b"x", b"esker " * 40, bytes(range(100)), bytes(900))
REFERENCE = load_reference()


def gzip_blocks(plain: bytes) -> list[bytes]:
    """Compressed and stored, two members, and a member whose header has all of its optional fields."""
    packed = [gzip.compress(plain, level, mtime=0) for level in (0, 1, 9)]
    head = b"\x1f\x8b\x08\x1e" + bytes(4) + b"\0\xff" + pack("<H", 3) + b"abcname\0comment\0"
    named = head + pack("<H", zlib.crc32(head) & 0xFFFF) + packed[1][10:]
    return [*packed, named, packed[0] + packed[2], REFERENCE.compress(Codec.GZIP, plain)]


def raw_snappy_blocks(plain: bytes) -> list[bytes]:
    return [bytes(snappy.compress_raw(plain))]


def xerial_blocks(plain: bytes) -> list[bytes]:
    """One block, two, one after an empty one, and other version numbers."""
    whole = REFERENCE.compress(Codec.SNAPPY, plain)
    empty = pack(">i", 1) + b"\0"
    return [whole, whole + whole[16:], whole[:16] + empty + whole[16:], whole[:8] + pack(">ii", 2, 9) + whole[16:]]


def lz4_blocks(plain: bytes) -> list[bytes]:
    """With and without each of the frame's options."""
    options: tuple[dict[str, bool | int], ...] = (
        {},
        {"content_checksum": True, "block_checksum": True},
        {"block_linked": True, "block_size": lz4.BLOCKSIZE_MAX256KB},
        {"store_size": True, "compression_level": 9},
    )
    skippable = b"\x50\x2a\x4d\x18" + pack("<I", 3) + b"abc"
    packed = [lz4.compress(plain, **{"store_size": False, **each}) for each in options]
    return [*packed, skippable + packed[0], packed[0] + skippable]


def zstd_blocks(plain: bytes) -> list[bytes]:
    """With and without checksum and stated size, two frames, a skippable one between."""
    packed = [
        zstandard.ZstdCompressor(level, write_checksum=checksum, write_content_size=size).compress(plain)
        for level, checksum, size in ((3, False, True), (1, True, True), (19, False, False))
    ]
    skippable = b"\x50\x2a\x4d\x18" + pack("<I", 3) + b"abc"
    return [*packed, packed[0] + skippable + packed[1], packed[0] + packed[2]]


FORMS: dict[str, tuple[Codec, Callable[[bytes], list[bytes]]]] = {
    "gzip": (Codec.GZIP, gzip_blocks),
    "snappy": (Codec.SNAPPY, raw_snappy_blocks),
    "xerial": (Codec.SNAPPY, xerial_blocks),
    "lz4": (Codec.LZ4, lz4_blocks),
    "zstd": (Codec.ZSTD, zstd_blocks),
}


@cache
def blocks(form: str) -> list[bytes]:
    return [block for plain in PLAINS for block in FORMS[form][1](plain)]


def damaged(random: Random, form: str) -> bytes:
    """One or two things wrong; now and then the end of another block."""
    block = random.choice(blocks(form))
    for _ in range(random.choice((1, 1, 2))):
        change = random.choice(BYTE_MUTATIONS)
        block = change(random, block) if block else block
    if random.random() < 0.1:
        other = random.choice(blocks(form))
        block = block[: random.randrange(len(block) + 1)] + other[random.randrange(len(other)) :]
    return block


def assert_same_verdict(reference: Kernel, native: Kernel, codec: Codec, block: bytes) -> None:
    for limit in LIMITS:
        expected, found = (outcome(partial(kernel.decompress, codec, block, limit)) for kernel in (reference, native))
        assert not isinstance(expected, Refusal), block.hex()
        assert said(found) == said(expected), f"decompress({codec}, bytes.fromhex({block.hex()!r}), {limit})"


@pytest.mark.parametrize("form", FORMS)
def test_damaged_blocks_get_the_same_verdict(
    reference: Kernel, native: Kernel, form: str, profile: str, seed: int
) -> None:
    random = Random(f"{seed} {form}")
    for _ in range(COUNTS[profile]):
        assert_same_verdict(reference, native, FORMS[form][0], damaged(random, form))


@pytest.mark.parametrize("form", FORMS)
def test_blocks_cut_anywhere_get_the_same_verdict(reference: Kernel, native: Kernel, form: str) -> None:
    for block in blocks(form):
        for size in range(len(block) + 1):
            assert_same_verdict(reference, native, FORMS[form][0], block[:size])


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(kernel: Kernel, form: str) -> None:
    """LZ4 frames with something around them are refused: Java's reader would lose it silently."""
    codec = FORMS[form][0]
    whole = chain.from_iterable(FORMS[form][1](plain)[: 4 if form == "lz4" else None] for plain in PLAINS)
    unpacked = {bytes(kernel.decompress(codec, block)) for block in whole}
    assert unpacked >= set(PLAINS)
