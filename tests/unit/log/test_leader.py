"""Appending as a leader: what is answered, what is refused, and that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from esker import kernel
from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode
from esker.kernel.layout import INT64_MAX, Attribute, Codec
from esker.rules.producers import Verification
from esker.rules.roll import RollReason
from unit.log.kit import (
    NOW,
    VERIFIED,
    Sender,
    all_records,
    append,
    client_batch,
    config,
    folder,
    marker,
    values,
)

if TYPE_CHECKING:
    from esker.log.log import Log
    from esker.testing.files import CrashFiles

Make = Callable[..., "Log"]


def state(log: Log, disk: CrashFiles) -> tuple[object, ...]:
    """All that a refused append must leave as it was."""
    return log.cursors, dict(log.producers.entries), log.epochs, len(log.segments), folder(disk)


def refused(log: Log, disk: CrashFiles, data: bytes | bytearray, now_ms: int = NOW) -> Rejected:
    before = state(log, disk)
    with pytest.raises(Rejected) as raised:
        log.append_as_leader(data, 0, now_ms)
    assert state(log, disk) == before
    return raised.value


def test_offsets_count_on_from_the_end(make: Make) -> None:
    log = make(start_offset=100)
    first = log.append_as_leader(client_batch([b"a", b"b"]), 3, NOW)
    second = log.append_as_leader(client_batch([b"c"]), 3, NOW)
    assert (first.first_offset, first.last_offset) == (100, 101)
    assert (second.first_offset, second.last_offset, second.cursors) == (102, 102, log.cursors)
    assert [(record.offset, record.value) for record in all_records(log)] == [(100, b"a"), (101, b"b"), (102, b"c")]


def test_append_answers_times_and_no_append_time(make: Make) -> None:
    answer = make().append_as_leader(client_batch([b"a", b"b"], timestamp=NOW), 0, NOW)
    assert (answer.max_timestamp, answer.append_time) == (NOW + 1, -1)
    assert (answer.flush_due, answer.is_duplicate, answer.rolled, answer.repacked) == (False, False, None, None)


def test_writable_buffer_is_stamped_in_place_and_another_one_is_not(make: Make) -> None:
    log = make(start_offset=7)
    buffer = client_batch([b"a"])
    fixed = bytes(buffer)
    log.append_as_leader(buffer, 0, NOW)
    log.append_as_leader(fixed, 0, NOW)
    assert kernel.walk(buffer).headers[0].base_offset == 7
    assert fixed == bytes(client_batch([b"a"]))
    assert values(log) == [b"a", b"a"]


def test_bytes_after_the_batch_that_are_part_of_another_are_cut_off(make: Make) -> None:
    log = make()
    log.append_as_leader(client_batch([b"a"]) + client_batch([b"b"])[:50], 0, NOW)
    assert values(log) == [b"a"]


def test_log_append_time_replaces_the_times_of_records(make: Make) -> None:
    log = make(config(log_append_time=True))
    answer = log.append_as_leader(client_batch([b"a", b"b"], timestamp=5), 0, NOW)
    assert (answer.max_timestamp, answer.append_time) == (NOW, NOW)
    assert [record.timestamp for record in all_records(log)] == [NOW, NOW]
    assert log.segments.active.largest.timestamp == NOW


def test_wrong_max_timestamp_is_put_right(make: Make) -> None:
    log = make()
    made = client_batch([b"a"], max_timestamp=NOW + 500)
    assert log.append_as_leader(made, 0, NOW).max_timestamp == NOW


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batch_is_packed_anew_in_the_codec_of_the_topic(make: Make, codec: str) -> None:
    log = make(config(compression_type=codec))
    sent = client_batch([b"a" * 500, b"b" * 500])
    size = len(sent)
    answer = log.append_as_leader(sent, 0, NOW)
    (header,) = list(log.segments.active.headers())
    assert Codec(header.codec).name.lower() == codec
    assert answer.repacked is not None
    assert answer.repacked == (2, size, header.size)
    assert values(log) == [b"a" * 500, b"b" * 500]


def test_uncompressed_topic_unpacks(make: Make) -> None:
    log = make(config(compression_type="uncompressed"))
    answer = log.append_as_leader(client_batch([b"a" * 500], codec=Codec.ZSTD), 0, NOW)
    assert answer.repacked is not None
    assert next(log.segments.active.headers()).codec == Codec.NONE
    assert values(log) == [b"a" * 500]


def test_same_codec_is_kept_byte_for_byte(make: Make) -> None:
    log = make(config(compression_type="lz4"))
    sent = client_batch([b"a" * 500], codec=Codec.LZ4)
    answer = log.append_as_leader(sent, 0, NOW)
    assert answer.repacked is None
    assert log.segments.active.file.read(len(sent), 0) == bytes(sent)


def test_level_of_the_topic_counts(make: Make) -> None:
    sizes = []
    text = b" ".join(b"%d" % (each * 7919 % 10007) for each in range(3000))
    for level in (1, 9):
        log = make(config(compression_type="gzip", compression_gzip_level=level))
        log.append_as_leader(client_batch([text]), 0, NOW)
        sizes.append(log.segments.size)
    assert sizes[1] < sizes[0]


def test_packing_anew_keeps_producer_and_transaction(make: Make) -> None:
    log = make(config(compression_type="zstd"))
    log.append_as_leader(client_batch([b"a"], Sender(5, 1, 0, True)), 0, NOW, VERIFIED)
    header = next(log.segments.active.headers())
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, 0)
    assert header.transactional


def test_packed_anew_a_batch_may_grow_too_large(make: Make, disk: CrashFiles) -> None:
    log = make(config(compression_type="uncompressed", max_message_bytes=400))
    small = client_batch([b"a" * 1000], codec=Codec.ZSTD)
    assert len(small) < 400
    assert refused(log, disk, small).code is ErrorCode.MESSAGE_TOO_LARGE


def flipped(data: bytearray, at: int) -> bytearray:
    data[at] ^= 1
    return data


def with_bits(bits: int) -> bytearray:
    return client_batch([b"a"], attributes=bits)


REFUSED = {
    "nothing": (b"", ErrorCode.INVALID_RECORD),
    "part of a batch": (client_batch()[:-1], ErrorCode.INVALID_RECORD),
    "two batches": (client_batch() + client_batch(), ErrorCode.INVALID_RECORD),
    "zeros after a batch": (client_batch() + bytes(40), ErrorCode.CORRUPT_MESSAGE),
    "a base offset": (client_batch(base_offset=1), ErrorCode.INVALID_RECORD),
    "a flipped bit": (flipped(client_batch([b"a" * 20]), -5), ErrorCode.CORRUPT_MESSAGE),
    "no magic": (flipped(client_batch(), 16), ErrorCode.CORRUPT_MESSAGE),
    "a control batch": (with_bits(int(Attribute.CONTROL)), ErrorCode.INVALID_RECORD),
    "a producer without a sequence": (client_batch(sender=Sender(5, 0, -1)), ErrorCode.INVALID_RECORD),
    "a delete horizon": (with_bits(int(Attribute.DELETE_HORIZON)), ErrorCode.INVALID_RECORD),
    "too many bytes": (client_batch([b"a" * 3000]), ErrorCode.MESSAGE_TOO_LARGE),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_changes_nothing(make: Make, disk: CrashFiles, case: str) -> None:
    log = make(config(max_message_bytes=2000))
    append(log)
    data, code = REFUSED[case]
    error = refused(log, disk, bytearray(data))
    assert (error.code, error.records) == (code, [])


def test_record_without_key_on_a_compacted_topic_is_named(make: Make, disk: CrashFiles) -> None:
    rows = kernel.encode(kernel_rows([b"k", None, b"k", None]))
    error = refused(make(config(cleanup_compact=True)), disk, rows)
    assert error.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in error.records] == [1, 3]
    assert all("key" in said for _, said in error.records)


def kernel_rows(keys: list[bytes | None], timestamp: int = NOW) -> kernel.contract.Rows:
    return kernel.contract.Rows([timestamp] * len(keys), keys, [b"v"] * len(keys))


def test_times_out_of_range_are_named(make: Make, disk: CrashFiles) -> None:
    rows = kernel.contract.Rows([NOW, NOW - 200, NOW + 200, NOW], [b"k"] * 4, [b"v"] * 4)
    error = refused(make(config(timestamp_before_max_ms=100, timestamp_after_max_ms=100)), disk, kernel.encode(rows))
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in error.records] == [1, 2]


def test_one_bad_time_is_the_code_of_all_faults(make: Make, disk: CrashFiles) -> None:
    rows = kernel.contract.Rows([NOW, NOW + 200], [None, b"k"], [b"v"] * 2)
    error = refused(make(config(cleanup_compact=True, timestamp_after_max_ms=100)), disk, kernel.encode(rows))
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in error.records] == [0, 1]


def test_no_bound_of_time_holds_when_both_are_the_largest(make: Make) -> None:
    log = make(config(timestamp_before_max_ms=INT64_MAX, timestamp_after_max_ms=INT64_MAX))
    log.append_as_leader(client_batch(timestamp=-(1 << 63)), 0, NOW)
    log.append_as_leader(client_batch(timestamp=INT64_MAX), 0, NOW)
    assert log.cursors.log_end.offset == 2


def test_bound_before_holds_though_there_is_none_after(make: Make, disk: CrashFiles) -> None:
    log = make(config(timestamp_before_max_ms=100, timestamp_after_max_ms=INT64_MAX))
    assert refused(log, disk, client_batch(timestamp=NOW - 101)).code is ErrorCode.INVALID_TIMESTAMP
    log.append_as_leader(client_batch(timestamp=NOW - 100), 0, NOW)


def test_batch_larger_than_a_segment_is_refused(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=100))
    assert refused(log, disk, client_batch([b"a" * 100])).code is ErrorCode.RECORD_LIST_TOO_LARGE


# Rolls.


def test_segment_is_rolled_by_size(make: Make) -> None:
    log = make(config(segment_bytes=200))
    append(log, size=100)
    answer = log.append_as_leader(client_batch([b"x" * 100]), 0, NOW)
    assert answer.rolled is RollReason.SIZE
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    assert answer.cursors.log_end == (2, 1, log.segments.active.size)
    assert log.segments.snapshots == [1]


def test_segment_is_rolled_by_the_time_of_records(make: Make) -> None:
    log = make(config(segment_ms=1000))
    append(log, timestamp=NOW)
    append(log, timestamp=NOW + 1000)
    assert len(log.segments) == 1
    answer = log.append_as_leader(client_batch(timestamp=NOW + 1001), 0, NOW)
    assert answer.rolled is RollReason.TIME


def test_segment_without_times_is_rolled_by_the_clock(make: Make) -> None:
    log = make(config(segment_ms=1000))
    log.append_as_leader(client_batch(timestamp=-1, max_timestamp=-1), 0, NOW)
    answer = log.append_as_leader(client_batch(timestamp=NOW), 0, NOW + 1001)
    assert answer.rolled is RollReason.TIME


def test_compacted_segment_is_rolled_by_the_lag_of_compaction(make: Make) -> None:
    log = make(config(cleanup_compact=True, max_compaction_lag_ms=1000))
    append(log, timestamp=NOW)
    assert log.append_as_leader(client_batch(timestamp=NOW + 1001), 0, NOW).rolled is RollReason.TIME


def test_segment_is_rolled_when_an_index_is_full(make: Make) -> None:
    log = make(config(index_interval_bytes=0, segment_index_bytes=24))
    append(log)
    append(log, timestamp=NOW + 1)
    assert log.append_as_leader(client_batch(timestamp=NOW + 2), 0, NOW).rolled is RollReason.INDEX_FULL


def test_index_that_can_hold_nothing_gives_each_batch_its_segment(make: Make) -> None:
    log = make(config(segment_index_bytes=4))
    for _ in range(3):
        append(log)
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2]
    assert values(log) == [b"x" * 10] * 3


def test_same_with_a_preallocated_file(make: Make) -> None:
    log = make(config(segment_index_bytes=4, preallocate=True, segment_bytes=4096))
    for _ in range(3):
        append(log)
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2]


def test_jitter_is_drawn_for_each_segment(make: Make) -> None:
    log = make(config(segment_ms=1000, segment_jitter_ms=900, segment_bytes=100))
    ages = set()
    for _ in range(10):
        append(log)
        ages.add(log.segments.limits.age_ms)
    assert len(ages) > 5
    assert all(100 < age <= 1000 for age in ages)


def test_preallocated_file_is_cut_at_the_roll(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=300, preallocate=True))
    append(log, size=150)
    assert disk.size("/logs/t-0/00000000000000000000.log") == 300
    append(log, size=150)
    first = next(iter(log.segments))
    assert disk.size("/logs/t-0/00000000000000000000.log") == first.size < 300


# Producers.


def test_repeat_is_answered_with_the_first_offset_and_nothing_is_written(make: Make, disk: CrashFiles) -> None:
    log = make()
    append(log)
    log.append_as_leader(client_batch([b"a", b"b"], Sender(5, 0, 0)), 0, NOW)
    before = state(log, disk)
    again = log.append_as_leader(client_batch([b"a", b"b"], Sender(5, 0, 0)), 0, NOW + 99)
    assert again.is_duplicate
    assert (again.first_offset, again.last_offset, again.append_time) == (1, 2, NOW + 1)
    assert state(log, disk) == before


def test_older_of_five_is_a_repeat_and_the_sixth_is_out_of_order(make: Make, disk: CrashFiles) -> None:
    log = make()
    for sequence in range(6):
        log.append_as_leader(client_batch(sender=Sender(5, 0, sequence)), 0, NOW)
    assert log.append_as_leader(client_batch(sender=Sender(5, 0, 1)), 0, NOW).first_offset == 1
    assert refused(log, disk, client_batch(sender=Sender(5, 0, 0))).code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_gap_in_sequences_and_old_epoch_are_refused(make: Make, disk: CrashFiles) -> None:
    log = make()
    log.append_as_leader(client_batch(sender=Sender(5, 1, 0)), 0, NOW)
    assert refused(log, disk, client_batch(sender=Sender(5, 1, 2))).code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(log, disk, client_batch(sender=Sender(5, 0, 1))).code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_refused_batch_rolls_nothing(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=150))
    log.append_as_leader(client_batch([b"x" * 50], Sender(5, 0, 0)), 0, NOW)
    refused(log, disk, client_batch([b"x" * 50], Sender(5, 0, 7)))
    assert len(log.segments) == 1


def test_transaction_needs_the_word_of_its_coordinator(make: Make, disk: CrashFiles) -> None:
    log = make()
    assert refused(log, disk, client_batch(sender=Sender(5, 0, 0, True))).code is ErrorCode.INVALID_TXN_STATE
    log.append_as_leader(client_batch(sender=Sender(5, 0, 0, True)), 0, NOW, VERIFIED)
    log.append_as_leader(client_batch(sender=Sender(5, 0, 1, True)), 0, NOW)
    assert refused(log, disk, client_batch(sender=Sender(5, 0, 2))).code is ErrorCode.INVALID_TXN_STATE


def test_second_version_of_transactions_begins_with_sequence_zero(make: Make) -> None:
    log = make()
    with pytest.raises(Rejected) as raised:
        log.append_as_leader(client_batch(sender=Sender(5, 0, 3, True)), 0, NOW, Verification(supports_epoch_bump=True))
    assert raised.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


# Epochs, cursors, flush.


def test_epoch_begins_at_its_first_batch(make: Make, disk: CrashFiles) -> None:
    log = make()
    append(log)
    log.append_as_leader(client_batch(), 4, NOW)
    log.append_as_leader(client_batch(), 4, NOW)
    assert [tuple(each) for each in log.epochs.entries] == [(0, 0), (4, 1)]
    assert disk.read("/logs/t-0/leader-epoch-checkpoint") == b"0\n2\n0 0\n4 1\n"


def test_append_moves_the_end_alone(make: Make) -> None:
    log = make()
    append(log)
    at = log.cursors
    assert (at.log_start, at.last_stable.offset, at.high_watermark.offset, at.recovery_point) == (0, 0, 0, 0)
    assert at.log_end == (1, 0, log.segments.active.size)


def test_flush_is_due_when_so_many_are_unflushed(make: Make) -> None:
    log = make(config(flush_messages=3))
    assert [log.append_as_leader(client_batch(), 0, NOW).flush_due for _ in range(3)] == [False, False, True]
    log.flush()
    assert not log.append_as_leader(client_batch(), 0, NOW).flush_due


def test_append_never_syncs_but_for_a_new_epoch(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=200))
    append(log)
    before = len(disk.operations)
    for _ in range(5):
        append(log, size=80)
    assert {each.name for each in disk.operations[before:]}.isdisjoint({"sync", "sync_folder"})


# Markers.


def open_transaction(log: Log, producer_id: int, sequence: int = 0) -> None:
    log.append_as_leader(client_batch(sender=Sender(producer_id, 0, sequence, True)), 0, NOW, VERIFIED)


def test_last_stable_waits_for_the_earliest_open_transaction(make: Make) -> None:
    log = make()
    append(log)
    open_transaction(log, 1)
    open_transaction(log, 2)
    log.increment_high_watermark(3)
    assert log.cursors.last_stable.offset == 1
    log.append_marker(marker(1, commit=True), 0, 0, NOW)
    log.increment_high_watermark(4)
    assert log.cursors.last_stable.offset == 2
    log.append_marker(marker(2, commit=True), 0, 0, NOW)
    assert log.cursors.last_stable.offset == 2  # its marker is not replicated
    log.increment_high_watermark(5)
    assert log.cursors.last_stable.offset == 5


def test_aborted_transaction_is_in_the_index_of_its_markers_segment(make: Make) -> None:
    log = make(config(segment_bytes=100))
    open_transaction(log, 1)
    append(log)
    log.append_marker(marker(1, commit=False), 0, 0, NOW)
    indexes = [segment.txn_index.entries() for segment in log.segments]
    assert [tuple(each) for each in indexes[-1]] == [(1, 0, 2, 3)]
    assert not any(indexes[:-1])


def test_marker_without_data_completes_nothing(make: Make) -> None:
    log = make()
    log.append_marker(marker(1, commit=False), 0, 0, NOW)
    assert log.segments.active.txn_index.entries() == []
    assert log.cursors.first_unstable is None


def test_marker_of_an_old_epoch_or_coordinator_is_refused(make: Make) -> None:
    log = make()
    log.append_marker(marker(1, commit=True, epoch=3, coordinator_epoch=5), 0, 0, NOW)
    before = log.cursors
    for late, code in (
        (marker(1, commit=True, epoch=2, coordinator_epoch=5), ErrorCode.INVALID_PRODUCER_EPOCH),
        (marker(1, commit=True, epoch=3, coordinator_epoch=4), ErrorCode.TRANSACTION_COORDINATOR_FENCED),
    ):
        with pytest.raises(Rejected) as raised:
            log.append_marker(late, 0, 0, NOW)
        assert raised.value.code is code
    assert log.cursors == before


def test_marker_has_the_append_time_of_its_topic(make: Make) -> None:
    log = make(config(log_append_time=True))
    answer = log.append_marker(marker(1, commit=True)._replace(timestamp=5), 0, 0, NOW)
    header = next(log.segments.active.headers())
    assert (answer.append_time, answer.max_timestamp) == (NOW, NOW)
    assert header.log_append_time
    assert header.max_timestamp == NOW
    assert log.producers.entries[1].last_timestamp == NOW


def test_marker_too_large_for_a_segment_changes_nothing(make: Make, disk: CrashFiles) -> None:
    log = make(config(segment_bytes=70))
    before = state(log, disk)
    with pytest.raises(Rejected):
        log.append_marker(marker(1, commit=False), 0, 0, NOW)
    assert state(log, disk) == before
