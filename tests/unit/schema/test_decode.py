"""Compiled decoders: pictures of bytes and what they are, and what is refused."""

import tracemalloc
from typing import Any

import pytest

from esker.schema import BadMessage
from unit.schema.tables import LIBRARY

ID = bytes(range(16))


def decode(name: str, version: int, data: bytes) -> Any:
    value, end = LIBRARY[name].decoder(version)(data)
    assert end == len(data)
    return tuple(value)


#   message   version  bytes                                                             value
PICTURES = [
    ("Commit",   0, "0000000000000005 0002 6162",                                        (5, -1, "ab", -1, bytes(16))),
    ("Commit",   1, "0000000000000005 0002 6162 0000000000000009",                       (5, -1, "ab", 9, bytes(16))),
    ("Commit",   3, "0000000000000005 00000007 0000",                                    (5, 7, "", -1, bytes(16))),
    ("Commit",   4, "0000000000000005 00000007 03 6162 00",                              (5, 7, "ab", -1, bytes(16))),
    ("Commit",   4, "0000000000000005 00000007 01 01 0010" + ID.hex(),                   (5, 7, "", -1, ID)),
    ("Commit",   4, "0000000000000005 00000007 01 02 0010" + ID.hex() + "8802 01 ff",    (5, 7, "", -1, ID)),
    ("Commit",   4, "0000000000000005 00000007 01 01 0501aa",                            (5, 7, "", -1, bytes(16))),
    ("Header",   1, "0003 0001 61",                                                      (3, "a")),
    ("Header",   1, "0003 ffff",                                                         (3, None)),
    ("Header",   2, "0003 0001 61 00",                                                   (3, "a")),
    ("Nothing",  0, "",                                                                  ()),
    ("Nothing",  1, "00",                                                                ()),
    ("Nothing",  1, "01 8001 8101" + "ab" * 129,                                         ()),
    ("Numbers",  0, "00000002 00000001 ffffffff",                                        ((1, -1),)),
    ("Numbers",  1, "03 00000001 ffffffff 00",                                           ((1, -1),)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "version", "data", "value"), PICTURES)
def test_pictures(name: str, version: int, data: str, value: tuple[Any, ...]) -> None:
    assert decode(name, version, bytes.fromhex(data)) == value


#   version  bytes: the count, and each element
SMALLEST = [
    (0,      "00000003" + "0000 00000000 00000000 ff 00000000 00" * 3),
    (1,      "04" + "01 01 01 ff 01 00 00 00" * 3 + "00"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "data"), SMALLEST)
def test_elements_may_be_as_small_as_they_can_be(version: int, data: str) -> None:
    """Their number is compared with what is left before they are read."""
    assert decode("Small", version, bytes.fromhex(data)) == ((("", b"", (), None, ((), False)),) * 3,)


def test_records_are_a_view_of_the_given_bytes() -> None:
    frame = bytearray(LIBRARY["Produce"].encoder(9)(produce(b"some records"))[0])
    value, _ = LIBRARY["Produce"].decoder(9)(frame)
    records = value.topics[0].partitions[0].records
    frame[frame.index(b"some")] = ord("h")
    assert (type(records), bytes(records)) == (memoryview, b"home records")


def test_bytes_are_a_copy() -> None:
    value, _ = LIBRARY["Everything"].decoder(2)(LIBRARY["Everything"].encoder(2)(everything(raw=b"raw"))[0])
    assert value.raw == b"raw"
    assert type(value.raw) is bytes


def test_reading_begins_where_it_is_told_and_says_where_it_ended() -> None:
    data = bytes.fromhex("ffff 0000000000000005 0002 6162 eeee")
    value, end = LIBRARY["Commit"].decoder(0)(data, 2)
    assert (value.offset, value.metadata, end) == (5, "ab", len(data) - 2)


def test_text_that_is_not_utf_8_is_read_as_kafka_reads_it() -> None:
    assert decode("Header", 1, b"\0\3\0\3a\xffb") == (3, "a�b")


@pytest.mark.parametrize("length", ["ffff", "fffe", "8000"])
def test_every_negative_length_is_null_where_null_may_be(length: str) -> None:
    assert decode("Header", 1, bytes.fromhex(f"0003 {length}")) == (3, None)


TOO_LONG = "a length, count, tag or size of more than five bytes"

#   message    version  bytes                                       position  what
REFUSED = [
    ("Commit",    0,    "",                                            0,     "the bytes end too early"),
    ("Commit",    0,    "0000000000000005 00",                         0,     "the bytes end too early"),
    ("Commit",    0,    "0000000000000005 0003 6162",                  10,    "the length of metadata"),
    ("Commit",    0,    "0000000000000005 ffff",                       10,    "the length of metadata"),
    ("Commit",    4,    "0000000000000005 00000007 00 00",             13,    "the length of metadata"),
    ("Commit",    4,    "0000000000000005 00000007 01 01 0011" + "00" * 17, 32, "the size of a tagged field of Commit"),
    ("Commit",    4,    "0000000000000005 00000007 01 01 000f" + "00" * 16, 32, "the size of a tagged field of Commit"),
    ("Commit",    4,    "0000000000000005 00000007 01 01 0502 aa",     16,    "the size of a tagged field of Commit"),
    ("Nothing",   1,    "01 05 ffffffff7f",                            1,     "the bytes end too early"),
    ("Nothing",   1,    "01 05 01",                                    1,     "the bytes end too early"),
    ("Nothing",   1,    "01 8080808080 00",                            1,     TOO_LONG),
    ("Numbers",   0,    "ffffffff",                                    4,     "the length of numbers"),
    ("Numbers",   0,    "7fffffff 00000001",                           4,     "the length of numbers"),
    ("Numbers",   0,    "00000002 00000001 ffff",                      4,     "the length of numbers"),
    ("Numbers",   1,    "ffffffff0f 00",                               5,     "the length of numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "version", "data", "position", "what"), REFUSED)
def test_refused_with_the_place_and_the_field(name: str, version: int, data: str, position: int, what: str) -> None:
    with pytest.raises(BadMessage) as raised:
        LIBRARY[name].decoder(version)(bytes.fromhex(data))
    error = raised.value
    assert (error.message, error.version, error.position, error.what) == (name, version, position, what)


@pytest.mark.parametrize("head", ["7fffffff", "00989680"])
def test_stated_length_allocates_nothing(head: str) -> None:
    """10,000,000 and 2^31 - 1 elements, in a frame that holds some 25,000."""
    data = bytes.fromhex(head) + bytes(100_000)
    decode_numbers = LIBRARY["Numbers"].decoder(0)
    tracemalloc.start()
    try:
        with pytest.raises(BadMessage):
            decode_numbers(data)
        assert tracemalloc.get_traced_memory()[1] < 20_000
    finally:
        tracemalloc.stop()


def test_elements_of_all_arrays_together_are_limited() -> None:
    data = LIBRARY["Produce"].encoder(9)(produce(b"a", b"b", b"c"))[0]
    decode_produce = LIBRARY["Produce"].decoder(9)
    assert decode_produce(data, 0, 4)[1] == len(data)  # a topic and three partitions
    with pytest.raises(BadMessage, match="too many elements, in partitions"):
        decode_produce(data, 0, 3)


def produce(*records: Any) -> Any:
    shapes = LIBRARY["Produce"].shapes
    partitions = tuple(shapes["Partition"](index, each) for index, each in enumerate(records))
    return shapes["Produce"](None, -1, (shapes["Topic"]("t", partitions=partitions),))


def everything(**fields: Any) -> Any:
    return LIBRARY["Everything"].shape(**fields)
