"""The corpus is whole: nothing lacks, nothing has changed since a real Kafka wrote it."""

import hashlib

import pytest

from golden.corpus import Case, case, cases

LARGEST_BYTES = 2_000_000
CODECS = ("none", "gzip", "snappy", "lz4")
CURRENT = {*CODECS, "zstd", "levels-gzip", "levels-lz4", "levels-zstd", "recompressed-zstd", "recompressed-none"}
CURRENT |= {"append-time-none", "append-time-lz4", "timestamps", "many-headers", "epochs"}
CURRENT |= {"tiny", "big-none", "big-gzip", "big-zstd", "idempotent", "transactional", "transactional-lz4"}
CURRENT |= {"compacted-none", "compacted-zstd", "compacted-transactional"}
CURRENT |= {"internal-offsets", "internal-transactions", "internal-metadata"}
OLD = {f"magic{magic}-{codec}" for magic in (0, 1) for codec in CODECS}
OLD |= {"magic1-append-time-none", "magic1-append-time-lz4"}
CHANGING = {"magic0-then-1", "magic0-then-2-2.0.1", "magic1-then-2-2.0.1"}


def test_every_case_is_there() -> None:
    assert {each.name for each in cases()} == CURRENT | OLD | {f"{name}-2.0.1" for name in OLD} | CHANGING


@pytest.mark.parametrize("one", cases(), ids=lambda one: one.name)
def test_files_are_the_ones_that_were_noted(one: Case) -> None:
    sums = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in one.folder.iterdir()
        if file.name != "origin.json"
    }
    assert sums == one.note["files"]


@pytest.mark.parametrize("one", cases(), ids=lambda one: one.name)
def test_every_log_says_what_it_holds(one: Case) -> None:
    assert one.note["kafka"]
    assert one.note["holds"]
    if one.is_known:
        assert all(records for records in one.expected.values())


def test_corpus_stays_small() -> None:
    sizes = [file.stat().st_size for one in cases() for file in one.folder.iterdir()]
    assert sum(sizes) < LARGEST_BYTES


def test_long_contents_are_noted_in_short() -> None:
    (record,) = case("big-zstd").expected[case("big-zstd").logs[0]]
    assert record.value == b"a" * 1_000_000
