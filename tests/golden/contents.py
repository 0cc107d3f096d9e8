"""The records that the corpus is made of: the same on every run."""

from dataclasses import dataclass

START_MS = 1_700_000_000_000
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Record:
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def mixed(at: int, headers: bool = True) -> list[Record]:
    """Null, empty, text and binary keys and values, and every odd kind of header."""
    every_byte = bytes(range(256))
    found = [
        Record(at, None, b"no key"),
        Record(at + 1, b"", b""),
        Record(at + 1, b"no value", None, (("null value", None),)),
        Record(at + 2, b"twice", b"repeated header key", (("h", b"1"), ("h", b"2"), ("h", None))),
        Record(at + 5, every_byte, every_byte[::-1], (("binary", every_byte), ("", b"empty header key"))),
        Record(at + 5, "ключ".encode(), "значение, 值, ✓".encode(), (("заголовок-é-頭-😀", b"\xff\x00"),)),
        Record(at + 900, b"twice", b"", (("empty value", b""),)),
    ]
    return found if headers else [Record(each.timestamp, each.key, each.value) for each in found]


def large(at: int) -> list[Record]:
    """150 KB that compress well: more than one 32 KiB snappy block and one 64 KiB lz4 block."""
    return [
        Record(at, b"large-0", lines(0, 20_000)),
        Record(at + 10, b"large-1", lines(1, 90_000)),
        Record(at + 20, None, b"between two large ones"),
        Record(at + 30, b"large-2", lines(2, 40_000)),
    ]


def plain(at: int, count: int, first: int = 0) -> list[Record]:
    return [Record(at + i, b"key-%d" % (first + i), b"value-%d" % (first + i)) for i in range(count)]


def keyed(at: int, keys: str, value: str | None) -> list[Record]:
    """A record per key, for the cleaner: `value` None makes them tombstones."""
    return [
        Record(at + i, key.encode(), None if value is None else f"{value} of {key}".encode())
        for i, key in enumerate(keys.split())
    ]


def lines(seed: int, size: int) -> bytes:
    """Text like a server's log: a counter, a word that changes, and much that does not."""
    words = ["accepted", "rejected", "delayed", "retried", "flushed", "expired"]
    state, found = seed, bytearray()
    while len(found) < size:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found += f"{len(found):07d} the request was {words[(state >> 33) % 6]} by the log\n".encode()
    return bytes(found[:size])
