"""Compiled encoders: bytes as pictures, large fields as they were given, and what cannot be said."""

from typing import Any

import pytest

from esker.schema import CannotEncode
from unit.schema.tables import LIBRARY
from unit.schema.test_decode import ID, everything, produce

Commit: Any = LIBRARY["Commit"].shape

#   value                                          version  bytes
PICTURES = [
    (Commit(5, metadata="ab"),                        0,    "0000000000000005 0002 6162"),
    (Commit(5, metadata="ab", expire=9),              1,    "0000000000000005 0002 6162 0000000000000009"),
    (Commit(5, 7),                                    3,    "0000000000000005 00000007 0000"),
    (Commit(5, 7),                                    2,    "0000000000000005 0000"),
    (Commit(5, 7, "ab"),                              4,    "0000000000000005 00000007 03 6162 00"),
    (Commit(5, 7, topic_id=ID),                       4,    "0000000000000005 00000007 01 01 0010" + ID.hex()),
    (Commit(5, 7, topic_id=ID),                       3,    "0000000000000005 00000007 0000"),
    (Commit(5, metadata="é" * 64),                    4,    "0000000000000005 ffffffff 8101" + "c3a9" * 64 + "00"),
    ((5, 7, "ab", -1, bytes(16)),                     4,    "0000000000000005 00000007 03 6162 00"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "version", "data"), PICTURES)
def test_pictures(value: Any, version: int, data: str) -> None:
    assert LIBRARY["Commit"].encoder(version)(value) == [bytes.fromhex(data)]


def test_prefix_begins_the_first_buffer() -> None:
    assert LIBRARY["Nothing"].encoder(1)((), b"\1\2") == [b"\1\2\0"]


def test_client_id_of_a_header_stays_in_its_old_form() -> None:
    assert LIBRARY["Header"].encoder(2)((3, None)) == [bytes.fromhex("0003 ffff 00")]


def test_large_records_are_handed_on_and_not_copied() -> None:
    small, large = b"s" * 100, bytearray(b"l" * 5000)
    chunks = LIBRARY["Produce"].encoder(9)(produce(small, large, small))
    assert len(chunks) == 3
    assert chunks[1] is large
    assert small in chunks[0]
    assert small in chunks[2]


class Slice:
    """A part of a file: it has a length, and no bytes here."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


@pytest.mark.parametrize("size", [0, 1, 126, 127, 4095, 4096, 1 << 20])
def test_part_of_a_file_stands_for_its_bytes(size: int) -> None:
    part = Slice(size)
    chunks = LIBRARY["Produce"].encoder(9)(produce(part))
    whole = LIBRARY["Produce"].encoder(9)(produce(bytes(size)))
    assert chunks[1] is part
    assert chunks[0] + bytes(size) + chunks[2] == b"".join(whole)


UNSAID = "is set, and this version has no such field"

#   message       value                                             version  complaint
REFUSED = [
    ("Commit",     Commit(expire=3),                                   0,    f"expire {UNSAID}"),
    ("Commit",     Commit(1 << 63),                                    0,    "int too large to convert"),
    ("Commit",     Commit(metadata="x" * 32768),                       0,    "'h' format requires"),
    ("Commit",     Commit(metadata="\ud800"),                          0,    "surrogates not allowed"),
    ("Everything", everything(late="x"),                               2,    f"late {UNSAID}"),
    ("Everything", everything(tiny=128),                               2,    "byte format requires"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "version", "complaint"), REFUSED)
def test_what_cannot_be_said_is_refused(name: str, value: Any, version: int, complaint: str) -> None:
    with pytest.raises(CannotEncode, match=f"{name} v{version}: .*{complaint}"):
        LIBRARY[name].encoder(version)(value)


def test_ignorable_fields_are_dropped_where_the_version_lacks_them() -> None:
    value = everything(long=5, tagged="x", optional=LIBRARY["Everything"].shapes["Shared"](1))
    decoded, _ = LIBRARY["Everything"].decoder(0)(b"".join(LIBRARY["Everything"].encoder(0)(value)))
    assert (decoded.long, decoded.tagged, decoded.optional) == (-1, None, None)


def test_tags_stand_in_the_order_of_their_numbers() -> None:
    shared = LIBRARY["Everything"].shapes["Shared"]
    value = everything(tagged="x", tagged_struct=shared(1), tagged_structs=(shared(2),), tagged_number=6)
    (data,) = LIBRARY["Everything"].encoder(2)(value)
    tags = "04 00 05 00000001 00  01 02 0278  02 06 02 00000002 00  ac02 08 0000000000000006"
    assert data.endswith(bytes.fromhex(tags))
