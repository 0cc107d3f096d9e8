"""The bytes on the pages of docs/formats are real ones and mean what the pages say."""

import re
from pathlib import Path

import pytest

from esker import kernel
from esker.kernel.layout import Codec
from esker.records.batch import Batch, batches
from esker.records.control import ControlType, EndMarker, read_end_marker
from esker.records.lz4_header import repaired
from esker.records.record import LogRecord, TimestampType
from golden.corpus import case

PAGES = Path(__file__).resolve().parents[3] / "docs" / "formats"
PAGE_NAMES = ["record-batch.md", "legacy-message-set.md", "codecs.md", "control-records.md"]
HEX_BLOCK = re.compile(r"```hex\n(.*?)```", re.DOTALL)
IN_BYTES = re.compile(r"(\d+) bytes: (.+)")
HEADER = [
    "baseOffset", "batchLength", "partitionLeaderEpoch", "magic", "crc", "attributes", "lastOffsetDelta",
    "baseTimestamp", "maxTimestamp", "producerId", "producerEpoch", "baseSequence", "recordCount",
]  # fmt: skip
NUMBERS = {*HEADER, "offset", "size", "timestamp", "type", "version", "coordinatorEpoch"}
Line = tuple[bytes, str, str]


def blocks(page: str) -> list[list[Line]]:
    """The hex blocks of a page: lines of bytes, the field's name, what the page says."""
    return [[_line(line) for line in block.splitlines()] for block in HEX_BLOCK.findall((PAGES / page).read_text())]


def _line(line: str) -> Line:
    data, field, said = (part.strip() for part in line.split("|"))
    return bytes.fromhex(data), field, said


def bytes_of(block: list[Line]) -> bytes:
    return b"".join(data for data, _, _ in block)


def the_batch(data: bytes) -> Batch:
    (batch,) = batches(data)
    batch.verify()
    return batch


def log_of(name: str) -> bytes:
    (log,) = case(name).logs
    return log.read_bytes()


@pytest.mark.parametrize("page", PAGE_NAMES)
def test_a_number_beside_a_whole_field_is_the_number_in_it(page: str) -> None:
    seen = 0
    for block in blocks(page):
        for data, field, said in block:
            if field in NUMBERS and said.lstrip("-").isdigit():
                assert int.from_bytes(data, signed=field != "crc") == int(said), field
                seen += 1
            if text := IN_BYTES.fullmatch(said):
                assert data.endswith(text[2].encode())
                assert len(text[2]) == int(text[1])
                seen += 1
    assert seen


@pytest.mark.parametrize(("page", "at"), [("record-batch.md", 0), ("control-records.md", 0)])
def test_a_header_on_a_page_is_what_the_kernel_reads(page: str, at: int) -> None:
    block = blocks(page)[at]
    header = the_batch(bytes_of(block)).header
    assert [field for _, field, _ in block[: len(HEADER)]] == HEADER
    said = [int(number) for _, _, number in block[: len(HEADER)]]
    read = [header.base_offset, header.size - 12, *header[3:]]
    assert said == read


def test_the_batch_and_the_record() -> None:
    batch, record = blocks("record-batch.md")
    create = TimestampType.CREATE_TIME
    assert bytes_of(batch) in log_of("transactional")
    assert the_batch(bytes_of(batch)).records() == [
        LogRecord(4, 1700000001001, create, b"key-20", b"value-20"),
        LogRecord(5, 1700000001002, create, b"key-21", b"value-21"),
    ]
    log = log_of("none")
    assert bytes_of(record) in log
    (found,) = [one for one in next(batches(log)).records() if one.key == b"no value"]
    assert (found.offset, found.value, found.headers) == (2, None, ((b"null value", None),))


def test_the_legacy_messages() -> None:
    plain, wrapper, inside = blocks("legacy-message-set.md")
    assert bytes_of(plain) in log_of("magic1-none")
    assert bytes_of(wrapper) in log_of("magic0-gzip")
    create, none = TimestampType.CREATE_TIME, TimestampType.NONE
    assert the_batch(bytes_of(plain)).records() == [LogRecord(0, 1700000000000, create, None, b"no key")]
    packed = LogRecord(11, -1, none, b"key-0", b"value-0")
    assert the_batch(bytes_of(wrapper)).records() == the_batch(bytes_of(inside)).records() == [packed]
    assert kernel.decompress(Codec.GZIP, bytes_of(wrapper[7:])) == bytes_of(inside)


def test_the_block_in_every_codec() -> None:
    plain, *packed, wrong_lz4 = map(bytes_of, blocks("codecs.md"))
    for codec, block in zip((Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD), packed, strict=True):
        assert block in log_of(codec.name.lower())
        assert kernel.decompress(codec, block) == plain
    assert wrong_lz4 in log_of("magic0-lz4")
    assert repaired(wrong_lz4) == packed[2][: len(wrong_lz4)]


def test_the_marker() -> None:
    (block,) = blocks("control-records.md")
    assert bytes_of(block) in log_of("transactional")
    assert read_end_marker(the_batch(bytes_of(block))) == EndMarker(ControlType.COMMIT, 3, 1, 0, 1795124671547)
