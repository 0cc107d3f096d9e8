"""Batches built record by record, and batches written again."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import HEADER_SIZE, INT64_MAX, Attribute, Codec
from esker.records.batch import Batch, batches
from esker.records.builder import BatchBuilder, record_size, reencode, varint_size
from unit.records.samples import TIME, batch_of, message, remade

CONTENTS = st.none() | st.binary(max_size=200)
TIMES = st.integers(TIME, TIME + 10**6) | st.integers(-INT64_MAX - 1, INT64_MAX)
HEADERS = st.lists(st.tuples(st.binary(max_size=70), CONTENTS), max_size=3)
RECORDS = st.tuples(TIMES, CONTENTS, CONTENTS, HEADERS)


#    number                 bytes
VARINTS = [
    (0,                       1),
    (-1,                      1),
    (63,                      1),
    (-64,                     1),
    (64,                      2),
    (-65,                     2),
    (8191,                    2),
    (8192,                    3),
    (2**31 - 1,               5),
    (-(2**31),                5),
    (2**63 - 1,              10),
    (-(2**63),               10),
]  # fmt: skip


@pytest.mark.parametrize(("number", "size"), VARINTS)
def test_varint_size(number: int, size: int) -> None:
    assert varint_size(number) == size


#    key     value       headers                        bytes: length, attributes, deltas, key, value, headers
SIZES = [
    (None,   None,       [],                            1 + 1 + 2 + 1 + 1 + 1),
    (b"",    b"",        [],                            1 + 1 + 2 + 1 + 1 + 1),
    (b"k",   b"value",   [],                            1 + 1 + 2 + 2 + 6 + 1),
    (b"k",   b"v" * 64,  [],                            2 + 1 + 2 + 2 + 66 + 1),
    (None,   None,       [(b"h", None), (b"", b"x")],   1 + 1 + 2 + 1 + 1 + 1 + 3 + 3),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "headers", "size"), SIZES)
def test_record_size(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[bytes, bytes | None]], size: int
) -> None:
    assert record_size(0, 0, key, value, headers) == size
    assert len(kernel.encode(Rows([TIME], [key], [value], [headers]))) == HEADER_SIZE + size


@given(st.lists(RECORDS, min_size=1, max_size=150), st.none() | TIMES)
def test_the_size_is_exact_after_every_record(
    records: list[tuple[int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]]]], base: int | None
) -> None:
    builder = BatchBuilder(Encoding(base_timestamp=base))
    for delta, record in enumerate(records):
        assert builder.append(*record) == delta
    assert builder.record_count == len(records)
    assert len(builder.build()) == builder.size


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_built_is_read(codec: Codec) -> None:
    encoding = Encoding(codec, base_offset=40, leader_epoch=2, producer_id=9, producer_epoch=1, base_sequence=5)
    builder = BatchBuilder(encoding)
    builder.append(TIME, b"a", None)
    builder.append(TIME + 5, None, b"b", [(b"h", None)])
    (batch,) = batches(builder.build())
    batch.verify()
    found = [(record.offset, record.timestamp, record.key, record.value, record.headers) for record in batch.records()]
    assert found == [(40, TIME, b"a", None, ()), (41, TIME + 5, None, b"b", ((b"h", None),))]
    header = batch.header
    assert (header.codec, header.leader_epoch, header.max_timestamp) == (codec, 2, TIME + 5)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 1, 5)


def test_records_fit_up_to_the_last_byte() -> None:
    one = record_size(0, 0, None, b"12345")
    builder = BatchBuilder(Encoding(batch_bytes=HEADER_SIZE + 2 * one))
    builder.append(TIME, None, b"12345")
    assert builder.fits(TIME, None, b"12345")
    assert not builder.fits(TIME, None, b"123456")
    assert not builder.fits(TIME + 64, None, b"12345")  # the delta takes a byte more
    builder.append(TIME, None, b"12345")
    assert not builder.fits(TIME, None, None)


def test_a_first_record_of_any_size_fits_and_nothing_is_split() -> None:
    builder = BatchBuilder(Encoding(batch_bytes=100))
    assert builder.fits(TIME, None, bytes(1000))
    for _ in range(2):
        builder.append(TIME, None, bytes(1000))
    (batch,) = batches(builder.build())
    assert batch.header.record_count == 2


def test_nothing_appended_builds_nothing() -> None:
    builder = BatchBuilder()
    assert (builder.size, builder.record_count, builder.build()) == (HEADER_SIZE, 0, b"")


def emptied(**fields: int) -> bytes:
    return kernel.encode(Rows([], [], []), Encoding(last_offset=9, base_offset=5, **fields))


IDEMPOTENT = Encoding(leader_epoch=4, producer_id=9, producer_epoch=1, base_sequence=2**31 - 1)

AGAIN = {
    "plain": batch_of([b"a", None, b""]),
    "of a producer": batch_of([b"a", b"b"], IDEMPOTENT),
    "with gaps": batch_of([b"a", b"b"], Encoding(base_offset=3, last_offset=20), offsets=[5, 11]),
    "log append time": batch_of([b"a"], Encoding(attributes=int(Attribute.LOG_APPEND_TIME), max_timestamp=TIME + 99)),
    "delete horizon": batch_of(
        [None], Encoding(attributes=int(Attribute.DELETE_HORIZON), base_timestamp=TIME + 10**12)
    ),
    "control": batch_of([bytes(6)], Encoding(attributes=int(Attribute.TRANSACTIONAL | Attribute.CONTROL))),
    "emptied": emptied(base_timestamp=TIME, max_timestamp=TIME, producer_id=9, producer_epoch=0, base_sequence=4),
    "deltas that wrap": batch_of([b"a", b"b"], Encoding(base_timestamp=-INT64_MAX - 1)),
    "a maximum that is not true": batch_of([b"a"], Encoding(max_timestamp=5)),
    "attributes of later times": remade(batch_of([b"a"]), 21, b"\x7f\x80"),
}


@pytest.mark.parametrize("data", AGAIN.values(), ids=AGAIN.keys())
def test_an_uncompressed_batch_is_written_again_byte_for_byte(data: bytes) -> None:
    _, batch = batches(batch_of([b"before"]) + data)
    assert reencode(batch) == data


@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_a_compressed_batch_unpacks_to_the_same_block(codec: Codec) -> None:
    data = batch_of([b"a" * 100, None], IDEMPOTENT._replace(codec=codec, level=None), offsets=[5, 7])
    (batch,), (again,) = batches(data), batches(reencode(the_only(data)))
    assert kernel.decompress(codec, again.bytes[HEADER_SIZE:]) == kernel.decompress(codec, batch.bytes[HEADER_SIZE:])
    assert again.header._replace(size=0, crc=0) == batch.header._replace(size=0, crc=0)


def the_only(data: bytes) -> Batch:
    (batch,) = batches(data)
    return batch


def test_a_damaged_batch_is_not_written_again() -> None:
    data = batch_of([b"a"])[:-1] + b"X"
    with pytest.raises(Corrupt) as raised:
        reencode(the_only(data))
    assert raised.value.finding.fault is Fault.CRC


def test_a_legacy_message_is_not_written_again() -> None:
    with pytest.raises(Corrupt) as raised:
        reencode(the_only(message(0, None, None)))
    assert raised.value.finding == Finding(Fault.LEGACY, 0, -1, 2, 1)


def test_offsets_that_do_not_rise_are_not_written_again() -> None:
    past_the_last = remade(batch_of([b"a", b"b"]), 23, bytes(4))
    with pytest.raises(Corrupt) as raised:
        reencode(the_only(past_the_last))
    assert raised.value.finding == Finding(Fault.ORDER, 0, 1, 1, 1)
