"""Lines of text: complete, and safe to print whatever the bytes are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker import kernel
from esker.base.errors import Corrupt
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Attribute, Codec
from esker.records.batch import Batch, batches
from esker.records.control import ControlType, EndMarker, end_marker_batch
from esker.records.record import LogRecord, TimestampType
from esker.records.text import batch_line, control_line, lines, record_line, shown
from unit.records.samples import LOG_APPEND_TIME, TIME, batch_of, message, remade, wrapper

#    content                         shown whole
SHOWN = [
    (None,                           "null"),
    (b"",                            '""'),
    (b"null",                        '"null"'),
    (b"two words",                   '"two words"'),
    (b'"\\',                         r'"\"\\"'),
    (b"0xff",                        '"0xff"'),
    ("ключ 鍵 ✓".encode(),            '"ключ 鍵 ✓"'),
    (b"a\nb\tc\r",                   r'"a\nb\tc\r"'),
    (b"\x00\x00\x00\x01",            "0x00000001"),
    (b"\xff",                        "0xff"),
    (b"\x1b[31mred",                 "0x1b5b33316d726564"),  # a terminal escape
    (b"\x9b31m",                     "0x9b33316d"),          # the same in one byte
    ("a\u0085b".encode(),            "0x61c28562"),          # a control character beyond ASCII
    ("a\u202eb".encode(),            "0x61e280ae62"),        # turns the reading direction
    ("a\u2028b".encode(),            "0x61e280a862"),        # ends a line
    (b"\xed\xa0\x80",                "0xeda080"),            # a lone surrogate is not UTF-8
    (b"1234567\xc3",                 "0x31323334353637c3"),  # half a character
]  # fmt: skip

#    content                         shown up to 8 bytes
CUT = [
    (b"12345678",                    '"12345678"'),
    (b"123456789",                   '"12345678"…(9 bytes)'),
    (bytes(9),                       "0x0000000000000000…(9 bytes)"),
    ("1234567é".encode(),            '"1234567"…(9 bytes)'),  # a character that the cut goes through is left out
    ("12345😀".encode(),             '"12345"…(9 bytes)'),
]  # fmt: skip


@pytest.mark.parametrize(("content", "text"), SHOWN)
def test_contents(content: bytes | None, text: str) -> None:
    assert shown(content) == text


@pytest.mark.parametrize(("content", "text"), CUT)
def test_contents_are_cut(content: bytes, text: str) -> None:
    assert shown(content, 8) == text


@given(st.binary(max_size=100) | st.text(max_size=40).map(lambda text: text.encode(errors="replace")))
def test_nothing_but_printable_characters_ever(content: bytes) -> None:
    line = record_line(LogRecord(0, 0, TimestampType.CREATE_TIME, content, content, ((content, content),)), 40)
    assert line.isprintable()


def the_only(data: bytes) -> Batch:
    (batch,) = batches(data)
    return batch


def crc(data: bytes, at: int = 17) -> str:
    return data[at : at + 4].hex()


def test_a_plain_batch() -> None:
    data = batch_of([b"a", None], Encoding(base_offset=5, leader_epoch=3))
    assert list(lines(the_only(data))) == [
        (
            f"offset=5..6 records=2 position=0 size={len(data)} magic=2 codec=none CreateTime={TIME}..{TIME + 1}"
            f" crc={crc(data)}(ok) leader_epoch=3"
        ),
        f'offset=5 CreateTime={TIME} key="k0" value="a"',
        f'offset=6 CreateTime={TIME + 1} key="k1" value=null',
    ]


def test_a_batch_with_everything() -> None:
    attributes = int(Attribute.LOG_APPEND_TIME | Attribute.TRANSACTIONAL | Attribute.DELETE_HORIZON) | 0x100
    encoding = Encoding(Codec.ZSTD, None, attributes, 3, 4000, 1, 17, base_timestamp=TIME + 50, max_timestamp=TIME)
    data = kernel.encode(Rows([TIME], [None], [b"v"], [[(b"h", None), (b"", b"\0")]], [9]), encoding)
    assert list(lines(the_only(data))) == [
        (
            f"offset=9 records=1 position=0 size={len(data)} magic=2 codec=zstd LogAppendTime={TIME}"
            f" crc={crc(data)}(ok) leader_epoch=3 producer=4000/1 sequence=17 delete_horizon={TIME + 50}"
            " transactional attributes=0x100"
        ),
        f'offset=9 LogAppendTime={TIME} key=null value="v" headers=["h"=null, ""=0x00]',
    ]


def test_a_marker_says_what_it_ends() -> None:
    marker = EndMarker(ControlType.ABORT, 4000, 1, 7, TIME)
    first, second = lines(the_only(end_marker_batch(marker, 9)))
    assert first.endswith("leader_epoch=-1 producer=4000/1 sequence=-1 transactional control")
    assert second == f"offset=9 CreateTime={TIME} key=0x00000000 value=0x000000000007 control=abort coordinator_epoch=7"


#    key           value            said of the control record
CONTROLS = [
    (b"\0\0\0\1",  b"\0\0\0\0\0\1", "control=commit coordinator_epoch=1"),
    (b"\0\0\0\2",  b"leader",       "control=leader_change"),
    (b"\0\0\0\x09", None,           "control=type-9"),
    (b"\0\0",      None,            "control=unreadable"),
    (b"\0\0\0\1",  None,            "control=unreadable"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "said"), CONTROLS)
def test_control_records(key: bytes, value: bytes | None, said: str) -> None:
    record = LogRecord(0, TIME, TimestampType.CREATE_TIME, key, value)
    assert control_line(record) == f"{record_line(record)} {said}"


def test_a_wrong_checksum_shows_both() -> None:
    good = batch_of([b"a"])
    line = batch_line(the_only(good[:-1] + b"\1"))
    assert f"crc={crc(good)}(BAD, of the bytes {crc(remade(good, len(good) - 1, bytes([1])))})" in line


def test_messages_of_magic_0_and_1() -> None:
    zero = message(3, b"k", None, magic=0)
    one = wrapper(5, message(0, None, b"a") + message(1, None, b"b"), Codec.SNAPPY, attributes=LOG_APPEND_TIME)
    shown_lines = [line for batch in batches(zero + one) for line in lines(batch)]
    assert shown_lines == [
        f"offset=3 records=1 position=0 size=27 magic=0 codec=none NoTimestampType=-1 crc={crc(zero, 12)}(ok)",
        'offset=3 NoTimestampType=-1 key="k" value=null',
        (
            f"offset=..5 records=inside position=27 size={len(one)} magic=1 codec=snappy LogAppendTime={TIME}"
            f" crc={crc(one, 12)}(ok)"
        ),
        f'offset=4 LogAppendTime={TIME} key=null value="a"',
        f'offset=5 LogAppendTime={TIME} key=null value="b"',
    ]


def test_a_batch_without_records_and_one_of_an_unknown_codec() -> None:
    emptied = kernel.encode(Rows([], [], []), Encoding(base_offset=5, last_offset=9))
    (line,) = lines(the_only(emptied))
    assert line.startswith("offset=5..9 records=0 ")
    unknown = lines(the_only(remade(batch_of([b"a"]), 22, b"\7")))
    assert " codec=unknown-7 " in next(unknown)
    with pytest.raises(Corrupt):
        next(unknown)
