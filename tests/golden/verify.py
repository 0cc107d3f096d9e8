"""Is each case what it is meant to be? Asked of Kafka's own dump and of our own reading of the headers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from golden.corpus import Case, Content, Digest, Expected, cases
from golden.headers import CONTROL, HORIZON, TRANSACTIONAL, Header, headers
from parity.dump import Dump, dump

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
APPEND_TIME = 0x08
Headers = list[Header]
Row = dict[str, Any]


def verify() -> None:
    """Raises for the first case that is not right."""
    logs = [log for case in cases() for log in case.logs]
    dumps = dump(*logs)
    for case in cases():
        found = [header for log in case.logs for header in headers(log)]
        for name, is_so in _traits(case):
            assert is_so(found), f"{case.name}: {name}"
        if case.is_known:
            for log, records in case.expected.items():
                _compare(f"{case.name}/{log.name}", records, dumps[log])
    _verify_snapshot(next(case for case in cases() if case.name == "internal-metadata"))


def _compare(name: str, expected: list[Expected], dumped: Dump) -> None:
    assert all(batch["isvalid"] for batch in dumped.batches), f"{name}: Kafka finds a wrong checksum"
    rows = [row for batch in dumped.batches if not batch.get("isControl") for row in batch["records"]]
    assert [_of_row(row) for row in rows] == [_of_expected(each) for each in expected], f"{name}: other records"
    for row, each in zip(rows, expected, strict=True):
        assert "payload" not in row or _text(each.value) in (None, row["payload"]), f"{name}: another value {row}"
        assert [key for key, _ in each.headers] == row.get("headerKeys", []) or row["headerKeys"] == [""]


def _of_row(row: Row) -> tuple[int, int, str, int, int]:
    return row["offset"], row["timestamp"], row["timestampType"], row["keySize"], row["valueSize"]


def _of_expected(each: Expected) -> tuple[int, int, str, int, int]:
    return each.offset, each.timestamp, each.timestamp_type, _size(each.key), _size(each.value)


def _size(content: Content) -> int:
    if content is None:
        return -1
    return content.length if isinstance(content, Digest) else len(content)


def _text(content: Content) -> str | None:
    return content.decode(errors="replace") if isinstance(content, bytes) else None


def _traits(case: Case) -> list[tuple[str, Callable[[Headers], bool]]]:
    name = case.name.removesuffix("-2.0.1")
    found: list[tuple[str, Callable[[Headers], bool]]] = [("magic", lambda all_: _magics(all_) == _magics_meant(name))]
    codec = name.split("-")[-1]
    if codec in CODECS:
        meant = {CODECS[codec]}
        found.append((f"every full batch is {codec}", lambda all_: {h.codec for h in all_ if _is_full(h)} == meant))
    if "append-time" in name:
        found.append(("append time", lambda all_: all(header.has(APPEND_TIME) for header in all_)))
    return found + TRAITS.get(name, [])


def _magics(all_: Headers) -> list[int]:
    """In the order in which they come, so that a change half way shows."""
    return [header.magic for i, header in enumerate(all_) if i == 0 or all_[i - 1].magic != header.magic]


def _magics_meant(name: str) -> list[int]:
    if not name.startswith("magic"):
        return [2]
    first = int(name[5])
    return [first, int(name[-1])] if "-then-" in name else [first]


def _is_full(header: Header) -> bool:
    return header.count != 0 and not header.has(CONTROL)


def _has_gaps(all_: Headers) -> bool:
    ends = [header.base_offset + header.last_offset_delta + 1 for header in all_]
    return any(header.base_offset > end for header, end in zip(all_[1:], ends, strict=False))


def _has_holes(all_: Headers) -> bool:
    return any(0 < header.count <= header.last_offset_delta for header in all_)


def _keeps_empty(all_: Headers) -> bool:
    return any(header.count == 0 and header.producer_id >= 0 and header.size == 61 for header in all_)


def _has_horizon(all_: Headers) -> bool:
    return any(header.has(HORIZON) and not header.has(CONTROL) for header in all_)


def _has_marker_horizon(all_: Headers) -> bool:
    return any(header.has(HORIZON) and header.has(CONTROL) and header.has(TRANSACTIONAL) for header in all_)


def _has_transactions(all_: Headers) -> bool:
    return sum(header.has(CONTROL) for header in all_) == 4 and any(not header.has(TRANSACTIONAL) for header in all_)


def _three_epochs(all_: Headers) -> bool:
    return len({header.leader_epoch for header in all_}) == 3


def _sequences_go_on(all_: Headers) -> bool:
    return len({header.producer_id for header in all_}) == 3 and any(header.base_sequence > 0 for header in all_)


_COMPACTED: list[tuple[str, Callable[[Headers], bool]]] = [
    ("offsets miss between batches", _has_gaps),
    ("offsets miss inside a batch", _has_holes),
    ("an empty batch is kept", _keeps_empty),
    ("a tombstone has a horizon", _has_horizon),
]
TRAITS: dict[str, list[tuple[str, Callable[[Headers], bool]]]] = {
    "compacted-none": _COMPACTED,
    "compacted-zstd": _COMPACTED,
    "compacted-transactional": [("a marker has a horizon", _has_marker_horizon)],
    "transactional": [("four markers among plain batches", _has_transactions)],
    "transactional-lz4": [("four markers among plain batches", _has_transactions)],
    "epochs": [("three epochs", _three_epochs)],
    "idempotent": [("sequences", _sequences_go_on)],
}


def _verify_snapshot(case: Case) -> None:
    files: list[Path] = [*case.logs, *case.folder.glob("*.checkpoint")]
    rows = [row for each in dump(*files).values() for row in each.records]
    texts = {row["text"].split()[0].rstrip(":") for row in rows if row["text"]}
    lack = {"LeaderChange", "SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters"} - texts
    assert not lack, f"no control record of {lack}"
