"""What is wrong in a batch, and exactly where: `check` and `unpack` find the same."""

from typing import Any

import pytest

from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.kernel.contract import Check, Kernel, Record
from esker.kernel.layout import INT64_MAX, Attribute, Codec
from unit.kernel.made import batch, header_of, message, record, varint

GOOD = batch(record(0, b"k", b"v"), record(1), leader_epoch=2)
SIX = bytes(6)  # the smallest body of a record: attributes, two deltas, two empty fields, no headers


def long(body: bytes) -> bytes:
    """A record around this body."""
    return varint(len(body)) + body


def of(block: bytes, count: int = 1) -> bytes:
    return batch(block=block, count=count)


#    what is wrong                    the batch                                       fault, position, record, figures
BAD_RECORDS = [
    ("more than the bytes can hold",  of(record(), 2),                                (Fault.COUNT, 0, -1, 1, 2)),
    ("an immense count",              of(record(), 10**9),                            (Fault.COUNT, 0, -1, 1, 10**9)),
    ("a record too many",             of(record() * 2, 1),                            (Fault.COUNT, 0, -1, 7, 14)),
    ("records without a count",       of(record(), 0),                                (Fault.COUNT, 0, -1, 0, 7)),
    ("a byte too many",               of(record() + b"\0"),                           (Fault.COUNT, 0, -1, 7, 8)),
    ("a length that ends nowhere",    of(b"\xff" * 7),                                (Fault.RECORD, 0, 0)),
    ("a negative length",             of(varint(-1) + SIX),                           (Fault.RECORD, 0, 0)),
    ("a length of 5",                 of(varint(5) + SIX),                            (Fault.RECORD, 0, 0)),
    ("a length past the end",         of(varint(7) + SIX),                            (Fault.RECORD, 0, 0)),
    ("a byte after the headers",      of(long(SIX + b"\0")),                          (Fault.RECORD, 0, 0)),
    ("a key past the record",         of(long(b"\0\0\0" + varint(9) + SIX)),          (Fault.RECORD, 0, 0)),
    ("a value past the record",       of(long(b"\0\0\0\0" + varint(9) + SIX)),        (Fault.RECORD, 0, 0)),
    ("a key of 2 GiB",                of(long(b"\0\0\0" + varint(2**31 - 1) + SIX)),  (Fault.RECORD, 0, 0)),
    ("a negative header count",       of(long(b"\0\0\0\1\1" + varint(-1))),           (Fault.RECORD, 0, 0)),
    ("more headers than bytes",       of(long(b"\0\0\0\1\1" + varint(2) + b"\0\0")),  (Fault.RECORD, 0, 0)),
    ("a header with a null key",      of(long(b"\0\0\0\1\1" + varint(1) + b"\1\1")),  (Fault.RECORD, 0, 0)),
    ("a timestamp of 11 bytes",       of(long(b"\0" + b"\x80" * 10 + b"\0" + SIX)),   (Fault.RECORD, 0, 0)),
    ("an offset of 6 bytes",          of(long(b"\0\0" + b"\x80" * 5 + b"\0" + SIX)),  (Fault.RECORD, 0, 0)),
    ("the second record",             of(record() + long(SIX + b"\0"), 2),            (Fault.RECORD, 0, 1)),
    ("codec 5",                       batch(record(), attributes=5),                  (Fault.CODEC, 0, -1, 0, 5)),
    ("codec 7",                       batch(record(), attributes=7),                  (Fault.CODEC, 0, -1, 0, 7)),
    ("a block that is not packed",    batch(record(), attributes=Codec.GZIP),         (Fault.COMPRESSED, 0)),
]  # fmt: skip

#    what is wrong               the batch                     fault, position, record, figures
BAD_ORDER = [
    ("the same offset twice",    batch(record(0), record(0)),  (Fault.ORDER, 0, 1, 1, 0)),
    ("a falling offset",         batch(record(1), record(0)),  (Fault.ORDER, 0, 1, 2, 0)),
    ("a negative offset",        batch(record(-1)),            (Fault.ORDER, 0, 0, 0, -1)),
    ("an offset past the last",  batch(record(0), record(5)),  (Fault.ORDER, 0, 1, 1, 5)),
]  # fmt: skip

#    what is wrong                 the batch                                fault, position, record, figures
BAD_HEADERS = [
    ("a negative count",           batch(record(), count=-1),               (Fault.COUNT, 0, -1, 0, -1)),
    ("a legacy message",           message(),                               (Fault.LEGACY, 0, -1, 2, 1)),
    ("a negative last offset",     batch(record(), last_delta=-1),          (Fault.ORDER, 0, -1, 0, -1)),
    ("a negative base offset",     batch(record(), base_offset=-1),         (Fault.ORDER, 0, -1, 0, -1)),
    ("no room for a next offset",  batch(record(), base_offset=INT64_MAX),  (Fault.ORDER, 0, -1, 0, 0)),
    ("half a batch",               GOOD[:-1],                               (Fault.PARTIAL, 0)),
    ("zeros",                      bytes(100),                              (Fault.ZEROS, 0)),
    ("too small a size",           GOOD[:8] + bytes(4) + GOOD[12:],         (Fault.SIZE, 0)),
    ("another magic",              GOOD[:16] + b"\3" + GOOD[17:],           (Fault.MAGIC, 0)),
]  # fmt: skip

table = pytest.mark.parametrize


def rows(of_table: list[tuple[str, bytes, tuple[Any, ...]]]) -> pytest.MarkDecorator:
    """Each row a test, by the name of what is wrong."""
    return table(
        ("data", "finding"), [(data, Finding(*found)) for _, data, found in of_table], ids=[row[0] for row in of_table]
    )


def unpacked(kernel: Kernel, data: bytes, position: int = 0) -> Finding:
    with pytest.raises(Corrupt) as raised:
        kernel.unpack(data, position)
    return raised.value.finding


@rows(BAD_RECORDS)
def test_bad_records_are_found_by_all_that_read_them(kernel: Kernel, data: bytes, finding: Finding) -> None:
    here = finding._replace(position=len(GOOD))
    assert kernel.check(GOOD + data + GOOD, len(GOOD)).finding == here
    assert unpacked(kernel, GOOD + data + GOOD, len(GOOD)) == here
    with pytest.raises(Corrupt) as raised:
        kernel.decode(GOOD + data + GOOD, len(GOOD))
    assert raised.value.finding == here


@rows(BAD_ORDER)
def test_bad_order_is_found_by_the_check_alone(kernel: Kernel, data: bytes, finding: Finding) -> None:
    assert kernel.check(data) == Check(0, 0, 0, 0, finding)
    assert kernel.check(data, deep=False).finding is None
    assert kernel.unpack(data)


@rows(BAD_HEADERS)
def test_bad_headers_are_found_without_looking_deep(kernel: Kernel, data: bytes, finding: Finding) -> None:
    for deep in (True, False):
        found = kernel.check(data, deep=deep)
        assert found == Check(0, 0, 0, 0, finding)


def test_shallow_check_reads_no_record(kernel: Kernel) -> None:
    for _, data, _ in BAD_RECORDS:
        assert kernel.check(data, deep=False).finding is None


def test_checksum_finding_says_both(kernel: Kernel) -> None:
    data = batch(record(), crc=7)
    right = header_of(batch(record())).crc
    finding = Finding(Fault.CRC, len(GOOD), -1, 7, right)
    assert kernel.check(GOOD + data, deep=False) == Check(1, 2, len(GOOD), 2, finding)
    assert unpacked(kernel, GOOD + data, len(GOOD)) == finding
    assert len(kernel.unpack(data, verify_crc=False)) == 1


def test_check_goes_from_batch_to_batch_and_says_how_far(kernel: Kernel) -> None:
    second = batch(record(), base_offset=5)
    assert kernel.check(GOOD + second) == Check(2, 3, len(GOOD + second), 6, None)
    assert kernel.check(GOOD + second, len(GOOD)) == Check(1, 1, len(GOOD + second), 6, None)
    assert kernel.check(b"", next_offset=9) == Check(0, 0, 0, 9, None)


#    base offset   the one before leaves   finding
NEXT = [
    (5,            5,                      None),
    (9,            5,                      None),  # a gap
    (4,            5,                      Finding(Fault.ORDER, 0, -1, 5, 4)),
]  # fmt: skip


@table(("base_offset", "next_offset", "finding"), NEXT)
def test_base_offsets_rise(kernel: Kernel, base_offset: int, next_offset: int, finding: Finding | None) -> None:
    assert kernel.check(batch(record(), base_offset=base_offset), next_offset=next_offset).finding == finding


def test_compacted_batches_are_good(kernel: Kernel) -> None:
    gaps = batch(record(2), record(7), base_offset=10, last_delta=9)
    emptied = batch(base_offset=20, last_delta=9, base_timestamp=-1)
    horizon = batch(record(later_ms=-50), base_offset=30, attributes=int(Attribute.DELETE_HORIZON))
    assert kernel.check(gaps + emptied + horizon) == Check(3, 3, len(gaps + emptied + horizon), 31, None)


def test_unpack_gives_the_records_as_they_stand(kernel: Kernel) -> None:
    headers = ((b"h", b"1"), (b"h", None), (b"", b""))
    data = batch(record(2, b"", None, -7, headers), record(5, None, b"v"), base_offset=40, last_delta=9)
    first, second = kernel.unpack(GOOD + data, len(GOOD))
    assert first == Record(0, -7, 2, b"", None, headers)
    assert second == Record(0, 0, 5, None, b"v", ())
    assert type(first) is Record
    assert kernel.unpack(batch(count=0)) == []


def test_every_negative_length_is_null(kernel: Kernel) -> None:
    (found,) = kernel.unpack(of(long(b"\0\0\0" + varint(-5) + varint(-(2**31)) + b"\0")))
    assert (found.key, found.value) == (None, None)


def test_record_attributes_are_carried(kernel: Kernel) -> None:
    (found,) = kernel.unpack(of(long(b"\x80" + SIX[1:])))
    assert found.attributes == -128


def test_varints_longer_than_need_be_are_read_and_their_high_bits_fall_off(kernel: Kernel) -> None:
    wide = b"\x82\x80\x80\x80\x70"  # 1, in five bytes whose last one holds bits beyond the 32nd
    (found,) = kernel.unpack(of(long(b"\0\0" + wide + SIX[:3])))
    assert found.offset_delta == 1


def test_unpacked_limit(kernel: Kernel) -> None:
    block = record(0, b"k" * 100)
    packed = batch(block=kernel.compress(Codec.ZSTD, block), count=1, attributes=Codec.ZSTD)
    assert kernel.check(packed, unpacked_limit=len(block)).finding is None
    over = Finding(Fault.UNPACKED_SIZE, 0, -1, len(block) - 1)
    assert kernel.check(packed, unpacked_limit=len(block) - 1).finding == over
    with pytest.raises(Corrupt) as raised:
        kernel.unpack(packed, unpacked_limit=len(block) - 1)
    assert raised.value.finding == over
