"""Records as Esker has them beside the lines that Kafka's dump tool prints of them."""

from esker.records.record import LogRecord
from esker.records.text import TIME_NAMES
from parity.dump import Row


def line_of(line: Row, is_packed: bool) -> Row:
    """A batch's line and its records', without what another build of a codec may change: the batch's own bytes, and
    in a file with packed batches the place where it stands."""
    varies = {"position"} if is_packed else set()
    if line["compresscodec"] != "none":
        varies |= {"size", "crc"}
    return {key: value for key, value in line.items() if key not in varies}


def compare_records(ours: list[LogRecord], printed: list[Row], base_offset: int = 0, base_sequence: int = -1) -> None:
    """The last two are the batch's, from which the tool works out sequences."""
    assert len(ours) == len(printed)
    for each, row in zip(ours, printed, strict=True):
        sequence = (base_sequence + each.offset - base_offset) % 2**31 if base_sequence >= 0 else -1
        assert (each.offset, each.timestamp) == (row["offset"], row["timestamp"])
        assert TIME_NAMES[each.timestamp_type] == row["timestampType"]
        assert sequence == row.get("sequence", -1)  # messages of magic 0 and 1 have none
        compare_content(each, row)


def compare_content(each: LogRecord, row: Row) -> None:
    """The text only where the tool could print what is there."""
    assert (size_of(each.key), size_of(each.value)) == (row["keySize"], row["valueSize"])
    assert ",".join(name.decode() for name, _ in each.headers) == ",".join(row.get("headerKeys", []))
    assert text_of(each.key) == row.get("key", text_of(each.key))
    assert text_of(each.value) == row.get("payload", text_of(each.value))


def size_of(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def text_of(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="replace")
