"""What `repair` does: `check` is content afterwards, nothing that was good is lost, and what was cut can be read."""

from __future__ import annotations

import pytest

from esker.base.types import TopicPartition
from esker.records.batch import batches
from esker.storage import repair
from esker.storage.checkpoints import read_offsets, write_offsets
from esker.storage.listing import look
from esker.testing.files import KILLED, SYNCED, CrashFiles

from .made_log import (
    DIR,
    FOLDER,
    OFFSETS_A_ROUND,
    ROUNDS,
    MadeLog,
    change,
    faults,
    findings,
    flip,
    headers_of,
    log_path,
)

A_SEGMENT = ROUNDS * OFFSETS_A_ROUND
HIGH_WATERMARKS = f"{DIR}/replication-offset-checkpoint"


@pytest.fixture
def files() -> CrashFiles:
    made = CrashFiles()
    MadeLog(made, FOLDER)
    made.write_new(f"{DIR}/.kafka_cleanshutdown", b"")
    return made


def planned(files: CrashFiles, path: str = FOLDER) -> list[str]:
    return list(repair.plan(files, look(files, path)).sentences())


def mended(files: CrashFiles, path: str = FOLDER) -> list[str]:
    return list(repair.mend(files, [path]))


def offsets(files: CrashFiles, path: str) -> list[int]:
    return [record.offset for batch in batches(files.read(path)) for record in batch.records()]


def everything(files: CrashFiles) -> dict[str, bytes]:
    return {name: files.read(f"{FOLDER}/{name}") for name in files.names(FOLDER)}


def test_good_log_is_left_alone(files: CrashFiles) -> None:
    before = everything(files)
    assert planned(files) == mended(files) == []
    assert everything(files) == before


def test_plan_changes_nothing(files: CrashFiles) -> None:
    flip(files, log_path(0), 500)
    flip(files, f"{FOLDER}/leader-epoch-checkpoint", 0)
    before = everything(files)
    assert len(planned(files)) == 3
    assert everything(files) == before


def test_damaged_batch_goes_and_all_around_it_stays(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[12]
    before = offsets(files, log_path(0))
    flip(files, log_path(0), header.end - 1)
    mended(files)
    lost = range(header.base_offset, header.last_offset + 1)
    assert offsets(files, log_path(0)) == [offset for offset in before if offset not in lost]
    assert faults(files) == []


def test_what_was_cut_is_kept_and_can_be_read(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[12]
    flip(files, log_path(0), header.end - 1)
    damaged = files.read(log_path(0))[header.position : header.end]
    mended(files)
    kept = f"{log_path(0)}.{header.position}-{header.end}.cut"
    assert files.read(kept) == damaged
    assert [(each.path, each.kind) for each in findings(files)] == [(kept, "set-aside")]
    assert [found.path for found in look(files, kept)] == [kept]


def test_second_cut_at_the_same_place_keeps_the_first(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[0]
    kept = f"{log_path(0)}.{header.position}-{header.end}.cut"
    for _ in range(2):
        flip(files, log_path(0), headers_of(files, log_path(0))[0].end - 1)
        mended(files)
    first_two = {name for name in files.names(FOLDER) if name.endswith(".cut")}
    assert len(first_two) == 2
    assert kept.rpartition("/")[2] in first_two or kept.replace(".cut", ".1.cut").rpartition("/")[2] in first_two


def test_several_damages_of_several_segments_go_at_once(files: CrashFiles) -> None:
    hit: list[int] = []
    for base in (0, A_SEGMENT, 2 * A_SEGMENT):
        for number in (2, 30):
            header = headers_of(files, log_path(base))[number]
            hit += range(header.base_offset, header.last_offset + 1)
            flip(files, log_path(base), header.end - 3)
    mended(files)
    left = [offset for base in (0, A_SEGMENT, 2 * A_SEGMENT) for offset in offsets(files, log_path(base))]
    assert left == [offset for offset in range(3 * A_SEGMENT) if offset not in hit]
    assert faults(files) == []


def test_torn_end_is_cut_and_what_speaks_of_it_follows(files: CrashFiles) -> None:
    last = log_path(2 * A_SEGMENT)
    header = headers_of(files, last)[-4]
    files.open(last).truncate(header.position + 20)
    mended(files)
    assert faults(files) == []
    assert files.size(last) == header.position
    assert f"{header.base_offset:020d}.snapshot" in files.names(FOLDER)
    assert f"{3 * A_SEGMENT:020d}.snapshot" not in files.names(FOLDER)


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_index_made_anew_is_the_one_that_was(files: CrashFiles, suffix: str) -> None:
    """But for the places of the entries of the two others, which depend on the interval."""
    path = log_path(A_SEGMENT).replace(".log", suffix)
    before = files.read(path)
    files.open(path).truncate(5)
    mended(files)
    assert faults(files) == []
    if suffix == ".txnindex":
        assert files.read(path) == before
    assert files.size(path) > 0


def test_index_that_is_missing_is_made(files: CrashFiles) -> None:
    path = log_path(A_SEGMENT).replace(".log", ".timeindex")
    files.remove(path)
    mended(files)
    assert files.exists(path)
    assert faults(files) == []


def test_snapshot_is_made_anew_from_the_batches(files: CrashFiles) -> None:
    path = f"{FOLDER}/{2 * A_SEGMENT:020d}.snapshot"
    before = files.read(path)
    flip(files, path, 15)
    mended(files)
    assert files.read(path) == before


def test_epochs_are_made_anew_from_the_batches(files: CrashFiles) -> None:
    path = f"{FOLDER}/leader-epoch-checkpoint"
    before = files.read(path)
    files.write_new(path, b"0\n1\n7 300\n")
    mended(files)
    assert files.read(path) == before


def test_wrong_epoch_in_a_batch_is_written_over_and_no_record_is_lost(files: CrashFiles) -> None:
    before = everything(files)
    for number in (0, 12):
        flip(files, log_path(A_SEGMENT), headers_of(files, log_path(A_SEGMENT))[number].position + 15, 4)
    mended(files)
    assert everything(files) == before


def test_topic_id_is_taken_from_another_partition(files: CrashFiles) -> None:
    MadeLog(files, f"{DIR}/t-1", segments=1)
    path = f"{FOLDER}/partition.metadata"
    before = files.read(path)
    files.write_new(path, b"version: 0\n")
    mended(files, DIR)
    assert files.read(path) == before


def test_topic_id_that_nobody_knows_is_left(files: CrashFiles) -> None:
    files.write_new(f"{FOLDER}/partition.metadata", b"version: 0\n")
    plan = repair.plan(files, look(files, DIR))
    assert plan.is_empty
    assert [finding.kind for finding in plan.left] == ["topic-id"]


def test_checkpoint_keeps_what_makes_sense(files: CrashFiles) -> None:
    MadeLog(files, f"{DIR}/u-0", segments=1)
    files.write_new(HIGH_WATERMARKS, b"0\n4\nt 0 99999\nu 0 17\nx 0 1\n\xff\xfe bad\n")
    mended(files, DIR)
    assert read_offsets(files, HIGH_WATERMARKS) == {TopicPartition("t", 0): 3 * A_SEGMENT, TopicPartition("u", 0): 17}
    assert faults(files, DIR) == []


def test_checkpoint_of_a_log_that_is_gone_loses_its_entry(files: CrashFiles) -> None:
    write_offsets(files, HIGH_WATERMARKS, {TopicPartition("t", 0): 3, TopicPartition("gone", 0): 3})
    mended(files, DIR)
    assert read_offsets(files, HIGH_WATERMARKS) == {TopicPartition("t", 0): 3}


def test_finished_rewrite_is_put_in_place_and_an_unfinished_one_removed(files: CrashFiles) -> None:
    files.write_new(log_path(0) + ".swap", files.read(log_path(0)))
    files.write_new(log_path(A_SEGMENT) + ".cleaned", b"junk")
    mended(files)
    assert faults(files) == []
    assert not [name for name in files.names(FOLDER) if name.endswith((".swap", ".cleaned"))]


def test_offset_that_does_not_rise_takes_its_batch_out(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[12]
    change(files, log_path(0), header.position, bytes(8))
    mended(files)
    assert faults(files) == []
    assert set(range(A_SEGMENT)) - set(offsets(files, log_path(0))) == set(
        range(header.base_offset, header.last_offset + 1)
    )


def test_repair_stopped_anywhere_can_be_begun_again(files: CrashFiles) -> None:
    """Each act in turn is the last one before the machine stops, and all that was written is on disk, or only what was
    synced, or something between."""
    header = headers_of(files, log_path(0))[12]
    flip(files, log_path(0), header.end - 1)
    flip(files, log_path(A_SEGMENT), headers_of(files, log_path(A_SEGMENT))[5].end - 1)
    flip(files, f"{FOLDER}/{A_SEGMENT:020d}.snapshot", 15)
    start = settled(files)
    done = start.crash(keep=KILLED)
    mended(done)
    good = all_offsets(done)
    for at in range(len(done.operations)):
        for keep in (KILLED, SYNCED, at):
            half = done.crash(at, keep)
            mended(half)
            assert faults(half) == []
            assert all_offsets(half) == good


def settled(files: CrashFiles) -> CrashFiles:
    """The same, all of it on disk."""
    for name in files.names(FOLDER):
        files.open(f"{FOLDER}/{name}").sync()
    for folder in (FOLDER, DIR, "/"):
        files.sync_folder(folder)
    return files.crash(keep=SYNCED)


def all_offsets(files: CrashFiles) -> list[int]:
    return [offset for base in (0, A_SEGMENT, 2 * A_SEGMENT) for offset in offsets(files, log_path(base))]
