import pytest

from esker.base.errors import BadFile
from esker.storage.handles import Handles
from esker.storage.txn_index import AbortedTransaction, TxnIndex, format_entry, parse_entries
from esker.testing.files import CrashFiles

BASE = 100
PATH = "/txnindex"

#                            producer first last  last stable
FIRST = AbortedTransaction(7, 100, 120, 100)
SECOND = AbortedTransaction(8, 105, 130, 125)
THIRD = AbortedTransaction(7, 131, 140, 140)


def index_of(*entries: AbortedTransaction) -> TxnIndex:
    index = TxnIndex(Handles(CrashFiles(), 8), PATH, BASE)
    for entry in entries:
        index.append(entry)
    return index


def test_entry_is_34_bytes() -> None:
    assert format_entry(FIRST).hex(" ") == " ".join(
        ["00 00", *("00 00 00 00 00 00 00 " + last for last in ("07", "64", "78", "64"))]
    )


def test_entries_come_back_in_order() -> None:
    assert index_of(FIRST, SECOND, THIRD).entries() == [FIRST, SECOND, THIRD]


def test_there_is_no_file_until_the_first_entry() -> None:
    files = CrashFiles()
    index = TxnIndex(Handles(files, 8), PATH, BASE)
    index.flush()
    index.clear()
    index.truncate_to(BASE)
    assert (index.size, index.entries(), index.fault()) == (0, [], None)
    assert not files.exists(PATH)


def test_marker_before_the_last_one_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        index_of(SECOND, FIRST)


@pytest.mark.parametrize(
    ("fetch", "end", "expected", "closed"),
    [
        (100, 101, [FIRST], True),
        (100, 100, [], True),
        (100, 105, [FIRST], True),
        (100, 106, [FIRST, SECOND], True),
        (120, 126, [FIRST, SECOND], True),
        (121, 126, [SECOND], True),
        (131, 132, [THIRD], True),
        (130, 131, [SECOND], True),
        (141, 500, [], False),
        (100, 141, [FIRST, SECOND, THIRD], False),
    ],
)
def test_overlap_is_kafkas(fetch: int, end: int, expected: list[AbortedTransaction], closed: bool) -> None:
    assert index_of(FIRST, SECOND, THIRD).overlapping(fetch, end) == (expected, closed)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (BASE, []),
        (120, []),
        (121, [FIRST]),
        (130, [FIRST]),
        (140, [FIRST, SECOND]),
        (141, [FIRST, SECOND, THIRD]),
    ],
)
def test_truncation_takes_markers_from_the_offset_on(offset: int, expected: list[AbortedTransaction]) -> None:
    index = index_of(FIRST, SECOND, THIRD)
    index.truncate_to(offset)
    assert index.entries() == expected


BAD = {
    "cut": (format_entry(FIRST)[:-1], "byte 0: expected an entry of 34 bytes, found 33 bytes"),
    "version": (format_entry(FIRST) + b"\0\1" + format_entry(SECOND)[2:], "byte 34: expected version 0, found 1"),
    "order": (
        format_entry(SECOND) + format_entry(FIRST),
        "byte 34: expected a last offset above 130, found 120",
    ),
    "turned": (format_entry(FIRST._replace(first_offset=121)), "byte 0: expected a first offset up to the last one"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_says_where_and_why(name: str) -> None:
    data, expected = BAD[name]
    place, why = expected.split(": ")
    with pytest.raises(BadFile) as caught:
        parse_entries(data, PATH)
    assert str(caught.value).startswith(f"{PATH}, {place}: {why}")
    files = CrashFiles()
    files.write_new(PATH, data)
    fault = TxnIndex(Handles(files, 8), PATH, BASE).fault()
    assert fault is not None
    assert fault.startswith(expected)


def test_marker_outside_the_segment_is_implausible() -> None:
    below = index_of(FIRST._replace(first_offset=10, last_offset=99))
    assert below.fault() == "its first marker 99 is below the segment's base 100"
    assert index_of(THIRD).fault(140) == "its last marker 140 is not below 140, where the next segment starts"
    assert index_of(THIRD).fault(141) is None


def test_clear_takes_an_unreadable_file_too() -> None:
    files = CrashFiles()
    files.write_new(PATH, b"x")
    index = TxnIndex(Handles(files, 8), PATH, BASE)
    index.clear()
    index.append(FIRST)
    assert index.entries() == [FIRST]
