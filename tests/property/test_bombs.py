"""A gibibyte of zeros in each codec is refused, in memory bounded by the limit and the packed bytes; so are lengths
that lie, wide windows, and rows of thousands of frames."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from struct import pack

import pytest

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import AppendLimits, Encoding, Kernel, Refused, Rows, Selection
from esker.kernel.layout import HEADER_SIZE, Codec
from property import bombs
from property.mutate import mended

LIMIT = 1 << 20
# Beside the packed bytes (mapped, and copied once by the reference): what was unpacked, grown by doubling, and the
# codec's own tables. The reference looks at the limit after each 512 packed bytes, which may hold 16 MiB of zstd.
GROWTH = {"native": 2 * LIMIT + (4 << 20), "reference": 64 << 20}
BOUNDED = Selection(unpacked_limit=LIMIT)
TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module", params=bombs.BOMBS)
def bomb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Codec, Path]:
    codec, make = bombs.BOMBS[request.param]
    path = tmp_path_factory.mktemp("bombs") / "block"
    path.write_bytes(make(bombs.GIB))
    return codec, path


@pytest.mark.skipif(not bombs.STATUS.exists(), reason="no /proc: a process's peak memory is read on Linux alone")
def test_gibibyte_of_zeros_is_refused_in_bounded_memory(kernel: Kernel, bomb: tuple[Codec, Path]) -> None:
    codec, path = bomb
    call = [sys.executable, "-m", "property.bombs", kernel.NAME, str(int(codec)), str(path), str(LIMIT)]
    where = os.environ | {"PYTHONPATH": str(TESTS)}
    run = subprocess.run(call, env=where, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    said, growth = run.stdout.split()
    assert said == Fault.UNPACKED_SIZE.name
    assert int(growth) <= 2 * path.stat().st_size + GROWTH[kernel.NAME]


@pytest.mark.parametrize("name", bombs.BOMBS)
def test_bombs_are_what_they_say(kernel: Kernel, name: str) -> None:
    """Made smaller, each unpacks to all its zeros: it was refused for its size and nothing else."""
    codec, make = bombs.BOMBS[name]
    assert kernel.decompress(codec, make(2 << 20)) == bytes(2 << 20)


def fault_of(kernel: Kernel, codec: Codec, block: bytes, limit: int = LIMIT) -> Fault:
    with pytest.raises(Corrupt) as caught:
        kernel.decompress(codec, block, limit)
    return caught.value.finding.fault


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        (0, Fault.COMPRESSED),
        (10, Fault.COMPRESSED),
        (999, Fault.COMPRESSED),
        (1001, Fault.COMPRESSED),
        (LIMIT, Fault.COMPRESSED),
        (LIMIT + 1, Fault.UNPACKED_SIZE),
        (2**32 - 1, Fault.UNPACKED_SIZE),
    ],
)
@pytest.mark.parametrize("framed", [False, True])
def test_snappy_that_lies_about_its_length_is_refused(kernel: Kernel, stated: int, fault: Fault, framed: bool) -> None:
    block = bombs.snappy_zeros(1000, stated)
    packed = bombs.XERIAL + pack(">i", len(block)) + block if framed else block
    assert fault_of(kernel, Codec.SNAPPY, packed) is fault


@pytest.mark.parametrize("window_log", [28, 31, 41])
def test_zstd_window_that_no_reader_must_support_is_refused(kernel: Kernel, window_log: int) -> None:
    """Kafka's Java reader stops at 128 MiB too."""
    assert fault_of(kernel, Codec.ZSTD, bombs.zstd_frame(1 << 20, window_log)) is Fault.COMPRESSED


# The reference copies what is left after each stream, so it gets fewer.
STREAMS = {"reference": 2_000, "native": 100_000}


@pytest.mark.parametrize(
    ("codec", "empty"),
    [
        (Codec.GZIP, bombs.gzip_stream(0)),
        (Codec.ZSTD, bombs.zstd_frame(0)),
        (Codec.ZSTD, b"\x50\x2a\x4d\x18" + bytes(4)),
    ],
    ids=["gzip members", "zstd frames", "zstd skippable frames"],
)
def test_thousands_of_empty_streams_are_nothing(kernel: Kernel, codec: Codec, empty: bytes) -> None:
    assert kernel.decompress(codec, empty * STREAMS[kernel.NAME], 10) == b""


def test_thousands_of_empty_snappy_blocks_are_nothing(kernel: Kernel) -> None:
    block = pack(">i", 1) + b"\0"
    assert kernel.decompress(Codec.SNAPPY, bombs.XERIAL + block * STREAMS[kernel.NAME], 10) == b""


def test_second_lz4_frame_is_refused(kernel: Kernel) -> None:
    frame = kernel.compress(Codec.LZ4, b"x")
    assert fault_of(kernel, Codec.LZ4, frame * 2) is Fault.COMPRESSED


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_batch_with_a_bomb_is_refused_by_whatever_looks_inside(kernel: Kernel, codec: Codec) -> None:
    good = kernel.encode(Rows([1], [b"k"], [b"v"]), Encoding(codec))
    block = next(make for one, make in bombs.BOMBS.values() if one == codec)(2 * LIMIT)
    bomb = bytearray(mended(good[:HEADER_SIZE] + block, size=True, crc=True))
    verdict = kernel.validate(bomb, AppendLimits(1 << 30, unpacked_limit=LIMIT))
    assert isinstance(verdict, Refused)
    assert verdict.finding.fault is Fault.UNPACKED_SIZE
    with pytest.raises(Corrupt, match="unpacks to more than the limit"):
        kernel.unpack(bomb, unpacked_limit=LIMIT)
    kernel.stamp(bomb, 1, 0)
    with pytest.raises(Corrupt, match="unpacks to more than the limit"):
        kernel.decode(good + bomb, len(good), BOUNDED)
    assert kernel.decode(good + bomb, 0, BOUNDED).end == len(good)
    finding = kernel.check(good + bomb, unpacked_limit=LIMIT).finding
    assert finding == Finding(Fault.UNPACKED_SIZE, len(good), -1, LIMIT)
