"""What a real Kafka wrote is written again from its records: the same bytes, or the same blocks in a codec."""

from collections.abc import Iterator

import pytest

from esker.kernel.contract import Kernel
from esker.kernel.layout import HEADER_SIZE, Codec
from esker.records.batch import Batch, batches, check
from esker.records.builder import reencode
from esker.records.control import end_marker_batch, read_end_marker
from esker.records.legacy import to_batches
from esker.records.record import LogRecord, TimestampType

from .corpus import Case, cases

by_name = pytest.mark.parametrize("one", cases(), ids=lambda one: one.name)


def batches_of(one: Case) -> Iterator[Batch]:
    for file in [*one.logs, *one.folder.glob("*.checkpoint")]:
        yield from batches(file.read_bytes())


def current(one: Case) -> Iterator[Batch]:
    return (batch for batch in batches_of(one) if batch.header.magic == 2)


def block(kernel: Kernel, batch: Batch) -> bytes:
    return kernel.decompress(batch.header.codec, batch.bytes[HEADER_SIZE:])


@by_name
def test_uncompressed_batches_come_out_byte_for_byte(kernel: Kernel, one: Case) -> None:
    for batch in current(one):
        if batch.header.codec == Codec.NONE:
            assert reencode(batch) == bytes(batch.bytes)


@by_name
def test_compressed_batches_unpack_to_the_same_block_under_the_same_header(kernel: Kernel, one: Case) -> None:
    for batch in current(one):
        if batch.header.codec != Codec.NONE:
            (again,) = batches(reencode(batch))
            assert block(kernel, again) == block(kernel, batch)
            own = {"position": 0, "size": again.header.size, "crc": again.header.crc}
            assert again.header == batch.header._replace(**own)


@by_name
def test_markers_are_built_as_the_broker_builds_them(kernel: Kernel, one: Case) -> None:
    for batch in current(one):
        marker = read_end_marker(batch)
        # The cleaner's delete horizon is no part of what a coordinator has written.
        if marker is not None and batch.header.delete_horizon_ms is None:
            header = batch.header
            assert end_marker_batch(marker, header.base_offset, header.leader_epoch) == bytes(batch.bytes)


@by_name
def test_legacy_messages_keep_their_records_in_batches(kernel: Kernel, one: Case) -> None:
    for log in one.logs:
        data = log.read_bytes()
        converted = to_batches(data, leader_epoch=4)
        assert kernel.check(converted).finding is None
        assert list(records(converted)) == [with_a_type(record) for record in records(data)]
        assert [batch.header.codec for batch in batches(converted)] == [batch.header.codec for batch in batches(data)]
        assert check(converted).next_offset == check(data).next_offset


def records(data: bytes) -> Iterator[LogRecord]:
    for batch in batches(data):
        yield from batch.records()


def with_a_type(record: LogRecord) -> LogRecord:
    """Magic 2 cannot say that a timestamp has no type."""
    is_old = record.timestamp_type is TimestampType.NONE
    return record._replace(timestamp_type=TimestampType.CREATE_TIME) if is_old else record
