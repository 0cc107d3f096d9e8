"""Any bytes at all, in every table of the internal records: a value, or the one error, as the slow twin says."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from esker.records.internal import consumer_tables, kraft_tables, offsets_tables, transaction_tables
from esker.schema import BadMessage
from esker.schema.library import Schema
from unit.schema import slow
from unit.schema.drawn import drawn

TABLES = (consumer_tables, kraft_tables, offsets_tables, transaction_tables)
SCHEMAS = [table.LIBRARY[name] for table in TABLES for name in table.LIBRARY]
VERSIONS = [
    (one, version) for one in SCHEMAS for version in range(one.message.versions.first, one.message.versions.last + 1)
]
# Lengths and counts are small, so bytes that say something are drawn more often than others.
BYTES = st.binary(max_size=60) | st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 0x80, 0xFF]), max_size=60).map(bytes)


def assert_same_answer(schema: Schema, version: int, data: bytes) -> None:
    try:
        expected: object = slow.read(schema.message, version, data)
    except slow.Refused:
        expected = None
    assert answer(schema, version, data) == expected


def answer(schema: Schema, version: int, data: bytes) -> object:
    try:
        value, end = schema.decoder(version)(data)
    except BadMessage:
        return None
    return slow.plain(value), end


@given(st.sampled_from(VERSIONS), BYTES)
def test_any_bytes_are_read_or_refused_like_the_twin_does(which: tuple[Schema, int], data: bytes) -> None:
    assert_same_answer(*which, data)


@given(st.sampled_from(VERSIONS), st.integers(0, 2**32), st.integers(0, 10_000), st.binary(max_size=3))
def test_one_wrong_place_is_read_or_refused_like_the_twin_does(
    which: tuple[Schema, int], seed: int, place: int, wrong: bytes
) -> None:
    schema, version = which
    data = slow.write(schema.message, version, drawn(Random(seed), schema.message, version))
    at = place % (len(data) + 1)
    assert_same_answer(schema, version, data[:at] + wrong + data[at + len(wrong) :])


@given(st.sampled_from(VERSIONS), st.integers(0, 2**32))
def test_what_is_written_is_read(which: tuple[Schema, int], seed: int) -> None:
    schema, version = which
    value = drawn(Random(seed), schema.message, version)
    given_value = slow.shaped(value, schema.message.struct, schema.shapes)
    found, end = schema.decoder(version)(b"".join(schema.encoder(version)(given_value)))
    assert slow.plain(found) == value
    assert end == len(slow.write(schema.message, version, value))
