"""The header checksum of an lz4 frame: right as the lz4 library has it, wrong as Kafka had it."""

import pytest

from esker import kernel
from esker.kernel.layout import Codec
from esker.records.lz4_header import header_checksum, repaired, short_xxh32

# From xxHash's own sanity checks and other implementations.
KNOWN = [
    (b"",           0x02CC5D05),
    (b"a",          0x550D7456),
    (b"abc",        0x32D153FF),
    (b"test",       0x3E2023CF),
]  # fmt: skip


@pytest.mark.parametrize(("data", "hashed"), KNOWN)
def test_the_hash_is_xxh32(data: bytes, hashed: int) -> None:
    assert short_xxh32(data) == hashed


def test_frames_of_the_library_have_the_right_checksum() -> None:
    from lz4 import frame

    for content_size in (False, True):
        for linked in (False, True):
            for sum_up in (False, True):
                packed = frame.compress(
                    b"esker" * 20, store_size=content_size, block_linked=linked, content_checksum=sum_up
                )
                end = 4 + (10 if content_size else 2)
                assert packed[end] == header_checksum(packed[4:end])
                assert repaired(packed) == packed


def test_a_wrong_checksum_is_set_right_and_nothing_else_changes() -> None:
    packed = kernel.compress(Codec.LZ4, b"esker")
    wrong = packed[:6] + bytes([packed[6] ^ 0xFF]) + packed[7:]
    assert repaired(wrong) == packed


@pytest.mark.parametrize("frame", ["", "04", "04224d18", "04224d1864", "04224d186440", "04224d1868400500000000", "00"])
def test_what_is_no_whole_header_stays_as_it_is(frame: str) -> None:
    assert repaired(bytes.fromhex(frame)) == bytes.fromhex(frame)
