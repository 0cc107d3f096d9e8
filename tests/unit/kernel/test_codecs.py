"""The codecs: what is written, what is read, and that a bomb costs no memory."""

import os
import subprocess
import sys
import zlib
from struct import pack
from typing import Any

import pytest

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import Kernel
from esker.kernel.layout import Codec

PLAIN = b"".join(b"line %d of a log that repeats itself\n" % i for i in range(5000))
PACKED = list(Codec)[1:]
XERIAL = bytes.fromhex("82534e41505059000000000100000001")


def refusal(kernel: Kernel, codec: int, data: bytes, limit: int = 1 << 20) -> Finding:
    with pytest.raises(Corrupt) as raised:
        kernel.decompress(codec, data, limit)
    return raised.value.finding


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("plain", [b"", b"x", PLAIN])
def test_blocks_come_back(kernel: Kernel, codec: Codec, plain: bytes) -> None:
    assert kernel.decompress(codec, kernel.compress(codec, plain)) == plain


#    codec           what the block begins with
BEGINNINGS = [
    (Codec.GZIP,     "1f8b08"),
    (Codec.SNAPPY,   "82534e41505059000000000100000001"),
    (Codec.LZ4,      "04224d18604082"),  # independent blocks of 64 KiB, no checksums, no content size
    (Codec.ZSTD,     "28b52ffd"),
]  # fmt: skip


@pytest.mark.parametrize(("codec", "beginning"), BEGINNINGS)
def test_blocks_begin_as_kafkas_do(kernel: Kernel, codec: Codec, beginning: str) -> None:
    for plain in (b"", b"x", PLAIN):
        assert kernel.compress(codec, plain).hex().startswith(beginning)


def test_snappy_is_framed_in_blocks_of_32_kib(kernel: Kernel) -> None:
    packed = kernel.compress(Codec.SNAPPY, PLAIN)
    at, sizes = len(XERIAL), []
    while at < len(packed):
        size = int.from_bytes(packed[at : at + 4], "big")
        sizes.append(len(kernel.decompress(Codec.SNAPPY, packed[at + 4 : at + 4 + size])))  # a block is raw snappy
        at += 4 + size
    whole, rest = divmod(len(PLAIN), 32 << 10)
    assert sizes == [32 << 10] * whole + [rest]


#    codec           level that is the default     levels
LEVELS = [
    (Codec.GZIP,     -1,                           [-1, 1, 6, 9]),
    (Codec.LZ4,      9,                            [1, 2, 3, 8, 9, 10, 12, 13, 17]),
    (Codec.ZSTD,     3,                            [-131072, -5, 1, 3, 22]),
]  # fmt: skip


@pytest.mark.parametrize(("codec", "default", "levels"), LEVELS)
def test_levels(kernel: Kernel, codec: Codec, default: int, levels: list[int]) -> None:
    assert kernel.compress(codec, PLAIN, default) == kernel.compress(codec, PLAIN)
    for level in levels:
        assert kernel.decompress(codec, kernel.compress(codec, PLAIN, level)) == PLAIN


def test_lz4s_default_9_is_the_fast_one_and_all_others_pack_better(kernel: Kernel) -> None:
    sizes = {level: len(kernel.compress(Codec.LZ4, PLAIN, level)) for level in range(1, 18)}
    fast = sizes.pop(9)
    assert max(sizes.values()) < fast


@pytest.mark.parametrize("codec", [-1, 5, 7])
def test_other_codecs_are_refused(kernel: Kernel, codec: int) -> None:
    with pytest.raises(ValueError, match=str(codec)):
        kernel.compress(codec, b"")
    assert refusal(kernel, codec, b"") == Finding(Fault.CODEC, 0, -1, 0, codec)


@pytest.mark.parametrize("codec", list(Codec))
def test_the_limit_is_inclusive(kernel: Kernel, codec: Codec) -> None:
    packed = kernel.compress(codec, PLAIN)
    assert kernel.decompress(codec, packed, len(PLAIN)) == PLAIN
    for limit in (len(PLAIN) - 1, 1, 0):
        assert refusal(kernel, codec, packed, limit) == Finding(Fault.UNPACKED_SIZE, 0, -1, limit)


@pytest.mark.parametrize("codec", PACKED)
def test_what_is_no_such_stream_is_refused(kernel: Kernel, codec: Codec) -> None:
    packed = kernel.compress(codec, PLAIN)
    for bad in (b"no stream", packed[: len(packed) // 2], packed[:-1]):
        assert refusal(kernel, codec, bad) == Finding(Fault.COMPRESSED, 0)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_an_empty_block_is_no_stream(kernel: Kernel, codec: Codec) -> None:
    assert refusal(kernel, codec, b"") == Finding(Fault.COMPRESSED, 0)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_streams_back_to_back_are_one(kernel: Kernel, codec: Codec) -> None:
    packed = kernel.compress(codec, b"one ") + kernel.compress(codec, b"two")
    assert kernel.decompress(codec, packed) == b"one two"


def test_lz4_takes_one_frame_and_nothing_after_it(kernel: Kernel) -> None:
    packed = kernel.compress(Codec.LZ4, b"one")
    assert refusal(kernel, Codec.LZ4, packed * 2) == Finding(Fault.COMPRESSED, 0)
    assert refusal(kernel, Codec.LZ4, packed + b"\0") == Finding(Fault.COMPRESSED, 0)


@pytest.mark.parametrize("settings", [{"store_size": True}, {"block_size": 7}, {"content_checksum": True}])
def test_lz4_frames_of_other_settings_are_read(kernel: Kernel, settings: dict[str, Any]) -> None:
    from lz4 import frame

    assert kernel.decompress(Codec.LZ4, frame.compress(PLAIN, block_linked=False, **settings)) == PLAIN


def test_lz4_blocks_that_need_the_one_before_are_refused(kernel: Kernel) -> None:
    from lz4 import frame

    packed = frame.compress(PLAIN, block_linked=True)
    assert refusal(kernel, Codec.LZ4, packed) == Finding(Fault.COMPRESSED, 0)  # no Java reader could read them


MIB = 1 << 20
BOMB_MIB = 256


def zeros(codec: Codec, size: int) -> bytes:
    """The given number of zeros, packed by the reference kernel."""
    from esker.kernel import reference

    return reference.compress(codec, bytes(size))


def bomb(codec: Codec) -> bytes:
    """256 MiB in as few bytes as the codec can, put together from one piece."""
    match codec:
        case Codec.GZIP | Codec.ZSTD:
            return zeros(codec, MIB) * BOMB_MIB
        case Codec.LZ4:
            whole = zeros(codec, MIB)
            return whole[:7] + whole[7:-4] * BOMB_MIB + whole[-4:]
        case _:
            return XERIAL + zeros(codec, MIB)[len(XERIAL) :] * BOMB_MIB


def claims(codec: Codec) -> list[bytes]:
    """Small blocks that claim to be huge."""
    match codec:
        case Codec.SNAPPY:
            raw = b"\xff\xff\xff\xff\x0f" + b"\0" * 20  # 4 GiB
            return [raw, XERIAL + pack(">i", len(raw)) + raw]
        case Codec.ZSTD:
            return [bytes.fromhex("28b52ffd e0 ffffffff0f000000 010000")]  # single segment, 64 GiB
        case Codec.LZ4:
            from lz4 import frame

            return [frame.compress(bytes(100 * MIB), store_size=True)]
        case _:
            return [zlib.compress(bytes(100 * MIB), 9, wbits=31)]


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_refused(kernel: Kernel, codec: Codec) -> None:
    for block in [bomb(codec), *claims(codec)]:
        assert refusal(kernel, codec, block).fault in (Fault.UNPACKED_SIZE, Fault.COMPRESSED)
    assert refusal(kernel, codec, bomb(codec)) == Finding(Fault.UNPACKED_SIZE, 0, -1, MIB)


CHILD = """
import sys
from esker import kernel
from esker.base.errors import Corrupt

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

codec, block = int(sys.argv[1]), sys.stdin.buffer.read()
kernel.decompress(codec, kernel.compress(codec, b"warm"))
before = peak()
try:
    kernel.decompress(codec, block, 1 << 20)
except Corrupt as error:
    print(error.finding.fault.name, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process's peak of memory in /proc")
@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_takes_no_memory(kernel: Kernel, codec: Codec) -> None:
    for block in [bomb(codec), *claims(codec)]:
        answer = subprocess.run(
            [sys.executable, "-c", CHILD, str(int(codec))],
            input=block,
            capture_output=True,
            check=True,
            env=os.environ | {"ESKER_KERNEL": "native" if kernel.NAME == "native" else "reference"},
        )
        fault, grown_kib = answer.stdout.split()
        assert fault in (b"UNPACKED_SIZE", b"COMPRESSED")
        assert int(grown_kib) * 1024 < 16 * MIB + 2 * len(block)  # the limit was 1 MiB; the block may be copied
