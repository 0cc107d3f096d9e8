"""Producer snapshots: bytes both ways, and what is said of bytes that are none."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from esker.base.errors import BadFile
from esker.kernel import crc32c
from esker.ports.files import RealFiles
from esker.rules.producers import BatchMark, ProducerEntry
from esker.storage.snapshots import decode_snapshot, encode_snapshot, read_snapshot, write_snapshot

PLAIN = ProducerEntry(7, 0, -1, 1000, -1, (BatchMark(40, 49, 140, 149, 1000),))
OPEN = ProducerEntry(8, 3, 2, 2000, 150, (BatchMark(0, 0, 150, 150, 2000),))
MARKER_ONLY = ProducerEntry(9, 1, 0, 3000, -1, ())
#                   id  epoch  sequence  offset  delta  time  coordinator  transaction
ROWS = [
    pack(">qhiqiqiq", 7, 0, 49, 149, 9, 1000, -1, -1),
    pack(">qhiqiqiq", 8, 3, 0, 150, 0, 2000, 2, 150),
    pack(">qhiqiqiq", 9, 1, -1, -1, 0, 3000, 0, -1),
]


def snapshot(*rows: bytes, version: int = 1, count: int | None = None) -> bytes:
    body = pack(">i", len(rows) if count is None else count) + b"".join(rows)
    return pack(">hI", version, crc32c(body)) + body


def test_each_field_stands_where_the_format_says() -> None:
    assert encode_snapshot([PLAIN, OPEN, MARKER_ONLY]) == snapshot(*ROWS)
    assert decode_snapshot(snapshot(*ROWS), "s") == [PLAIN, OPEN, MARKER_ONLY]


def test_no_producers_make_a_header_alone() -> None:
    assert encode_snapshot([]) == snapshot()
    assert decode_snapshot(snapshot(), "s") == []


def test_of_many_batches_the_newest_is_written() -> None:
    older = BatchMark(30, 39, 130, 139, 900)
    assert encode_snapshot([PLAIN._replace(marks=(older, *PLAIN.marks))]) == snapshot(ROWS[0])


def test_a_batch_that_wraps_comes_back_whole() -> None:
    wrapped = PLAIN._replace(marks=(BatchMark(2**31 - 2, 0, 140, 142, 1000),))
    assert decode_snapshot(encode_snapshot([wrapped]), "s") == [wrapped]


def test_a_coordinators_batch_has_an_offset_and_no_sequence() -> None:
    commit = PLAIN._replace(marks=(BatchMark(-1, -1, 140, 149, 1000),))
    assert decode_snapshot(encode_snapshot([commit]), "s") == [commit]


@pytest.mark.parametrize(
    ("data", "place", "expected", "found"),
    [
        (b"", "byte 0", "a header of 10 bytes", "0 bytes"),
        (snapshot()[:9], "byte 0", "a header of 10 bytes", "9 bytes"),
        (snapshot(ROWS[0], version=2), "byte 0", "version 1", "version 2"),
        (snapshot(count=1), "byte 6", "a count of entries that fill 0 bytes", "1"),
        (snapshot(ROWS[0], count=2), "byte 6", "a count of entries that fill 46 bytes", "2"),
        (snapshot(ROWS[0], count=-1), "byte 6", "a count of entries that fill 46 bytes", "-1"),
        (snapshot(ROWS[0], b"\0", count=1), "byte 6", "a count of entries that fill 47 bytes", "1"),
    ],
)
def test_what_is_no_snapshot_is_named_with_its_place(data: bytes, place: str, expected: str, found: str) -> None:
    with pytest.raises(BadFile) as caught:
        decode_snapshot(data, "t-0/5.snapshot")
    assert (caught.value.path, caught.value.place) == ("t-0/5.snapshot", place)
    assert (caught.value.expected, caught.value.found) == (expected, found)


def test_each_changed_byte_is_noticed() -> None:
    whole = snapshot(*ROWS)
    for at in range(len(whole)):
        with pytest.raises(BadFile):
            decode_snapshot(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], "s")


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_written_over_a_longer_one(tmp_path: Path, durable: bool) -> None:
    path = str(tmp_path / "5.snapshot")
    write_snapshot(RealFiles(), path, [PLAIN, OPEN], durable=durable)
    write_snapshot(RealFiles(), path, [OPEN], durable=durable)
    assert read_snapshot(RealFiles(), path) == [OPEN]
