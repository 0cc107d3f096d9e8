"""The bytes on the page of the indexes are a real Kafka's and mean what the page says."""

from pathlib import Path

import pytest

from esker.ports.files import RealFiles
from esker.storage.handles import Handles
from esker.storage.offset_index import OffsetIndex
from esker.storage.time_index import TimeIndex
from esker.storage.txn_index import parse_entries
from golden.corpus import case
from unit.records.test_format_pages import blocks, bytes_of

PAGE = "segment-indexes.md"
OF_TRANSACTIONS = case("internal-transactions").folder / "00000000000000000000"
OF_OFFSETS = case("internal-offsets").folder / "00000000000000000000"
SOURCES = [
    OF_TRANSACTIONS.with_suffix(".index"),
    OF_TRANSACTIONS.with_suffix(".timeindex"),
    OF_OFFSETS.with_suffix(".txnindex"),
]


def said(block: int) -> list[int]:
    return [int(said) for _, _, said in blocks(PAGE)[block]]


@pytest.mark.parametrize(("block", "source"), list(enumerate(SOURCES)), ids=lambda each: getattr(each, "suffix", None))
def test_page_shows_a_whole_file_of_kafkas(block: int, source: Path) -> None:
    assert bytes_of(blocks(PAGE)[block]) == source.read_bytes()


def test_page_says_what_is_read() -> None:
    handles = Handles(RealFiles(), 8)
    offsets = OffsetIndex(handles, str(SOURCES[0]), 0, 1 << 20)
    times = TimeIndex(handles, str(SOURCES[1]), 0, 1 << 20)
    (aborted,) = parse_entries(SOURCES[2].read_bytes(), "page")
    assert said(0) == [number for entry in offsets.all() for number in entry]
    assert said(1) == [number for entry in times.all() for number in entry]
    assert said(2) == [0, *aborted]
