"""Snapshots and checkpoints: what is written comes back, and any other bytes are an answer or a typed error."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.base.errors import BadFile
from esker.base.types import TopicPartition
from esker.kernel import crc32c
from esker.rules.producers import BatchMark, ProducerEntry, first_sequence
from esker.storage.checkpoints import (
    format_offsets,
    format_topic_id,
    parse_epochs,
    parse_offsets,
    parse_topic_id,
)
from esker.storage.meta_properties import MetaProperties, format_meta_properties, parse_meta_properties
from esker.storage.snapshots import decode_snapshot, encode_snapshot

INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1


@st.composite
def marks(draw: st.DrawFn, timestamp: int) -> BatchMark:
    last_offset, last_sequence = draw(st.integers(0, INT64)), draw(st.integers(-1, INT32))
    delta = draw(st.integers(0, min(INT32, last_offset)))
    return BatchMark(first_sequence(last_sequence, delta), last_sequence, last_offset - delta, last_offset, timestamp)


@st.composite
def entries(draw: st.DrawFn) -> ProducerEntry:
    timestamp = draw(st.integers(-1, INT64))
    kept = (draw(marks(timestamp)),) if draw(st.booleans()) else ()
    numbers = draw(st.integers(0, INT64)), draw(st.integers(-1, INT16)), draw(st.integers(-1, INT32))
    return ProducerEntry(*numbers, timestamp, draw(st.integers(-1, INT64)), kept)


TOPICS = st.text("abcXYZ019._-", min_size=1, max_size=20)
PARTITIONS = st.builds(TopicPartition, TOPICS, st.integers(0, INT32))
# Text that a crash, a disk or a hand may have left: near to what is right, or far from it.
WORDS = st.sampled_from(
    [b"0", b"1", b"2", b"-1", b"t", b"\n", b"\r", b" ", b"\\", b"=", b":", b"\0", b"\xff", b"9" * 30]
)
NOISE = st.binary(max_size=200) | st.lists(WORDS, max_size=40).map(b"".join)


def refused(parse: Callable[[bytes, str], object], data: bytes) -> BadFile | None:
    """Anything but BadFile goes through, and fails the test."""
    try:
        parse(data, "file")
    except BadFile as error:
        return error
    return None


@given(st.lists(entries(), max_size=5))
def test_a_snapshot_comes_back(given_entries: list[ProducerEntry]) -> None:
    assert decode_snapshot(encode_snapshot(given_entries), "s") == given_entries


@given(
    st.binary(max_size=200) | st.integers(0, 4).flatmap(lambda n: st.binary(min_size=46 * n, max_size=46 * n)),
    st.integers(-2, 5),
)
def test_bytes_under_a_good_checksum_are_entries_or_a_typed_error(noise: bytes, count: int) -> None:
    body = pack(">i", count) + noise
    data = pack(">hI", 1, crc32c(body)) + body
    error = refused(decode_snapshot, data)
    assert (error.place if error else None) == (None if count * 46 == len(noise) else "byte 6")
    assert error or len(decode_snapshot(data, "s")) == count


@given(st.dictionaries(PARTITIONS, st.integers(0, INT64), max_size=5))
def test_offsets_come_back(offsets: dict[TopicPartition, int]) -> None:
    assert parse_offsets(format_offsets(offsets), "c") == offsets


@given(st.binary(min_size=16, max_size=16).filter(any))
def test_a_topic_id_comes_back(topic_id: bytes) -> None:
    assert parse_topic_id(format_topic_id(topic_id), "p") == topic_id


@given(
    st.builds(
        MetaProperties,
        st.just(1),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool),
        st.integers(0, 10**9 - 1),
        st.none() | st.binary(min_size=16, max_size=16),
    )
)
def test_meta_properties_come_back(meta: MetaProperties) -> None:
    assert parse_meta_properties(format_meta_properties(meta, 0), "m") == meta


@pytest.mark.parametrize("parse", [parse_offsets, parse_epochs, parse_topic_id, parse_meta_properties, decode_snapshot])
@given(noise=NOISE)
def test_any_bytes_are_an_answer_or_a_typed_error(parse: Callable[[bytes, str], object], noise: bytes) -> None:
    error = refused(parse, noise)
    assert error is None or error.path == "file"
