"""What `check` says of a log dir: nothing of a good one, and of damage where it is and what it hit."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from esker import kernel
from esker.ports.files import RealFiles
from esker.records.batch import batches
from esker.storage.checkpoints import write_offsets
from esker.storage.findings import Finding, Severity
from esker.storage.listing import NothingThere, is_live, look
from esker.storage.lock import FolderLock
from esker.testing.files import CrashFiles

from .made_log import (
    DIR,
    FOLDER,
    OFFSETS_A_ROUND,
    RECORDS,
    ROUNDS,
    MadeLog,
    change,
    faults,
    findings,
    flip,
    headers_of,
    log_path,
)

if TYPE_CHECKING:
    from pathlib import Path

A_SEGMENT = ROUNDS * OFFSETS_A_ROUND
CLEAN = f"{DIR}/.kafka_cleanshutdown"


@pytest.fixture
def files() -> CrashFiles:
    """A log dir with one partition of three segments, closed."""
    made = CrashFiles()
    assert MadeLog(made, FOLDER).bases == [0, A_SEGMENT, 2 * A_SEGMENT]
    made.write_new(CLEAN, b"")
    return made


def only(files: CrashFiles, path: str = FOLDER) -> Finding:
    """The one finding there is."""
    (finding,) = faults(files, path)
    return finding


def test_log_made_here_is_clean(files: CrashFiles) -> None:
    assert findings(files) == findings(files, DIR) == []


def test_path_without_a_log_says_so(files: CrashFiles) -> None:
    files.make_folder("/empty")
    for path in ("/empty", "/d/nothing"):
        with pytest.raises(NothingThere, match=path):
            look(files, path)


def test_topic_is_all_its_partitions(files: CrashFiles) -> None:
    MadeLog(files, f"{DIR}/t-1", segments=1)
    MadeLog(files, f"{DIR}/tt-0", segments=1)
    assert [found.path for found in look(files, f"{DIR}/t")] == [f"{DIR}/t-0", f"{DIR}/t-1"]


# Batches.


def test_flipped_bit_is_told_with_bytes_and_offsets(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[3]
    flip(files, log_path(0), header.end - 2)
    finding = only(files)
    assert (finding.path, finding.kind, finding.severity) == (log_path(0), "crc", Severity.ERROR)
    assert (finding.position, finding.size) == (header.position, header.size)
    assert (finding.base_offset, finding.last_offset) == (header.base_offset, header.last_offset)


def test_damage_does_not_hide_what_comes_behind_it(files: CrashFiles) -> None:
    chosen = [headers_of(files, log_path(0))[number] for number in (0, 10, 11, 40)]
    for header in chosen:
        flip(files, log_path(0), header.end - 1)
    found = [(each.position, each.size) for each in faults(files) if each.path == log_path(0)]
    # Two batches side by side: the first one's size field leads to a batch that is no good, so they count as one.
    assert found[0] == (chosen[0].position, chosen[0].size)
    assert found[-1] == (chosen[3].position, chosen[3].size)
    assert sum(size for _, size in found) >= sum(header.size for header in chosen)


def test_damaged_size_field_is_stepped_over_by_the_index(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[12]
    change(files, log_path(0), header.position + 8, b"\x00\x7f\xff\xff")
    finding = only(files)
    assert finding.position == header.position
    assert header.size <= finding.size < 4 * header.size
    assert finding.base_offset == header.base_offset


@pytest.mark.parametrize("bit", [0, 2, 7])
def test_offset_that_is_too_high_is_told_of_the_batch_that_has_it(files: CrashFiles, bit: int) -> None:
    header = headers_of(files, log_path(0))[12]
    flip(files, log_path(0), header.position + 5, bit)
    assert header.position in {each.position for each in faults(files) if each.path == log_path(0)}


def test_offset_that_is_too_low_is_told_of_the_batch_that_has_it(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[12]
    change(files, log_path(0), header.position, bytes(8))
    (finding,) = [each for each in faults(files) if each.path == log_path(0)]
    assert (finding.kind, finding.position, finding.size) == ("order", header.position, header.size)


def test_epoch_of_one_batch_alone_is_told(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[12]
    flip(files, log_path(0), header.position + 15, 3)
    finding = only(files)
    assert (finding.kind, finding.position, finding.size) == ("epoch", header.position, header.size)


def test_batch_cut_off_is_a_fault_in_a_closed_log(files: CrashFiles) -> None:
    files.open(log_path(A_SEGMENT * 2)).truncate(1000)
    (finding,) = [each for each in faults(files) if each.path == log_path(A_SEGMENT * 2)]
    assert (finding.kind, finding.position + finding.size) == ("partial", 1000)


def test_batch_cut_off_is_none_while_a_broker_writes(files: CrashFiles) -> None:
    files.remove(CLEAN)
    path = log_path(A_SEGMENT * 2)
    files.open(path).write(files.read(path)[:100], files.size(path))
    assert [each.kind for each in faults(files)] == ["partial"]
    lock = FolderLock(files, DIR)
    assert faults(files) == []
    assert [(each.kind, each.severity) for each in findings(files)] == [("partial", Severity.INFO)]
    lock.release()


@pytest.mark.parametrize("base", [0, A_SEGMENT, 2 * A_SEGMENT])
@pytest.mark.parametrize("number", [1, 30, -1])
def test_log_cut_between_two_batches_is_told_by_what_stands_beside_it(
    files: CrashFiles, base: int, number: int
) -> None:
    header = headers_of(files, log_path(base))[number]
    files.open(log_path(base)).truncate(header.position)
    (finding,) = [each for each in faults(files) if each.path == log_path(base)]
    assert (finding.kind, finding.position) == ("short", header.position)
    assert (finding.base_offset, finding.last_offset) == (header.base_offset, base + A_SEGMENT - 1)


def test_zeros_behind_an_active_log_are_no_fault(files: CrashFiles) -> None:
    files.remove(CLEAN)
    path = log_path(A_SEGMENT * 2)
    files.open(path).truncate(files.size(path) + 100_000)
    (finding,) = findings(files)
    assert (finding.kind, finding.severity, finding.size) == ("zeros", Severity.INFO, 100_000)


def test_zeros_behind_a_closed_log_are(files: CrashFiles) -> None:
    files.open(log_path(0)).truncate(files.size(log_path(0)) + 100)
    assert (only(files).kind, only(files).severity) == ("zeros", Severity.WARNING)


def test_zeros_with_batches_behind_them_are_damage(files: CrashFiles) -> None:
    header = headers_of(files, log_path(0))[12]
    change(files, log_path(0), header.position, bytes(header.size))
    finding = only(files)
    assert (finding.kind, finding.severity, finding.position) == ("zeros", Severity.ERROR, header.position)


def test_segment_that_reaches_into_the_next_one_is_told(files: CrashFiles) -> None:
    """The second segment's batches once more, behind the first one's own."""
    files.open(log_path(0)).write(files.read(log_path(A_SEGMENT)), files.size(log_path(0)))
    kinds = {each.kind for each in faults(files) if each.path == log_path(0)}
    assert "segment-overlap" in kinds


def test_offset_too_far_from_the_base_is_told() -> None:
    files = CrashFiles()
    MadeLog(files, FOLDER, segments=1)
    data = bytearray(files.read(log_path(0)))
    last = headers_of(files, log_path(0))[-1]
    kernel.stamp(memoryview(data)[last.position :], 2**31, 0)
    files.write_new(log_path(0), data)
    assert "overflow" in {each.kind for each in faults(files)}


# Indexes.

INDEX_PLACES = [
    pytest.param(".index", 8 * 3 + 7, 0, "index-position", id="position between batches"),
    pytest.param(".index", 8 * 3 + 3, 0, "index-offset", id="offset of no batch's end"),
    pytest.param(".index", 8 * 3, 7, "index-offset", id="offset below the base"),
    pytest.param(".index", 8 * 23 + 4, 3, "index-position", id="position past the end"),
    pytest.param(".timeindex", 12 * 3 + 7, 0, "timeindex-timestamp", id="timestamp of no batch"),
    pytest.param(".timeindex", 12 * 3 + 10, 6, "timeindex-timestamp", id="offset past the end"),
]


@pytest.mark.parametrize(("suffix", "position", "bit", "kind"), INDEX_PLACES)
def test_entry_that_points_wrong_is_told(files: CrashFiles, suffix: str, position: int, bit: int, kind: str) -> None:
    path = log_path(A_SEGMENT).replace(".log", suffix)
    width = 8 if suffix == ".index" else 12
    flip(files, path, position, bit)
    found = faults(files)
    assert {each.path for each in found} == {path}
    assert (position // width * width, width) in {(each.position, each.size) for each in found}
    assert kind in {each.kind for each in found} or kind.replace("timestamp", "offset") in {each.kind for each in found}


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_index_cut_within_an_entry_is_told(files: CrashFiles, suffix: str) -> None:
    path = log_path(0).replace(".log", suffix)
    files.open(path).truncate(8 * 12 + 5)
    assert "index-size" in {each.kind for each in faults(files)}


@pytest.mark.parametrize(("suffix", "kind"), [(".index", "index-short"), (".timeindex", "timeindex-end")])
def test_index_that_ends_too_early_is_told(files: CrashFiles, suffix: str, kind: str) -> None:
    path = log_path(0).replace(".log", suffix)
    files.open(path).truncate(12 * 8)
    assert [(each.kind, each.severity) for each in faults(files)] == [(kind, Severity.WARNING)]


def test_zeros_belong_to_the_active_index_alone(files: CrashFiles) -> None:
    files.remove(CLEAN)
    for base in (0, 2 * A_SEGMENT):
        for suffix in (".index", ".timeindex"):
            file = files.open(log_path(base).replace(".log", suffix))
            file.truncate(file.size() + 24_000)
    assert {(each.kind, each.path) for each in faults(files)} == {
        ("index-zeros", log_path(0).replace(".log", ".index")),
        ("index-zeros", log_path(0).replace(".log", ".timeindex")),
    }


def test_missing_index_is_told(files: CrashFiles) -> None:
    files.remove(log_path(0).replace(".log", ".index"))
    assert (only(files).kind, only(files).severity) == ("index-missing", Severity.WARNING)


def test_index_without_a_log_is_told(files: CrashFiles) -> None:
    files.write_new(log_path(17).replace(".log", ".index"), b"")
    assert only(files).kind == "orphan"


def test_aborted_transaction_without_its_entry_is_told(files: CrashFiles) -> None:
    """Readers of committed records would be given them."""
    files.remove(log_path(0).replace(".log", ".txnindex"))
    aborted = [each for each in batches(files.read(log_path(0))) if each.header.control][::3]
    found = faults(files)
    assert {each.kind for each in found} == {"txnindex-missing"}
    assert [each.last_offset for each in found] == [each.header.base_offset for each in aborted]
    assert [each.base_offset for each in found] == [each.header.base_offset - RECORDS for each in aborted]


@pytest.mark.parametrize("position", [0, 1, 9, 17, 25, 33])
def test_every_field_of_an_aborted_transaction_is_checked(files: CrashFiles, position: int) -> None:
    path = log_path(0).replace(".log", ".txnindex")
    flip(files, path, 34 * 2 + position)
    assert {(each.path, each.position) for each in faults(files) if each.kind == "txnindex-entry"} == {(path, 34 * 2)}


# Other files.


def test_damaged_snapshot_is_told(files: CrashFiles) -> None:
    path = f"{FOLDER}/{A_SEGMENT:020d}.snapshot"
    flip(files, path, 20)
    assert (only(files).path, only(files).kind, only(files).severity) == (path, "snapshot", Severity.WARNING)


def test_snapshot_that_contradicts_the_log_is_told(files: CrashFiles) -> None:
    """The first one's content under the second one's name: the batches between are missing in it."""
    first, second = (f"{FOLDER}/{number * A_SEGMENT:020d}.snapshot" for number in (1, 2))
    files.write_new(second, files.read(first))
    assert {(each.path, each.kind) for each in faults(files)} == {(second, "snapshot-entry")}


def test_snapshot_past_the_end_is_told(files: CrashFiles) -> None:
    path = f"{FOLDER}/{4 * A_SEGMENT:020d}.snapshot"
    files.write_new(path, files.read(f"{FOLDER}/{A_SEGMENT:020d}.snapshot"))
    assert (only(files).path, only(files).kind) == (path, "snapshot-offset")


BAD_EPOCHS = [
    pytest.param(b"0\n3\n0 0\n2 264\n", "epochs", id="fewer rows than said"),
    pytest.param(b"0\n2\n0 0\n2 300\n", "epochs", id="an epoch too late"),
    pytest.param(b"0\n3\n0 0\n4 264\n2 528\n", "epochs-order", id="epochs that fall"),
    pytest.param(b"0\n4\n0 0\n2 264\n4 528\n6 5000\n", "epochs", id="an epoch past the end"),
    pytest.param(b"0\n3\n0 5\n2 264\n4 528\n", "epochs", id="an epoch later than the log's start"),
    pytest.param(b"nonsense", "epochs", id="no checkpoint"),
    pytest.param(b"", "epochs-missing", id="empty"),
]


@pytest.mark.parametrize(("data", "kind"), BAD_EPOCHS)
def test_epoch_checkpoint_is_held_against_the_batches(files: CrashFiles, data: bytes, kind: str) -> None:
    path = f"{FOLDER}/leader-epoch-checkpoint"
    files.write_new(path, data)
    assert kind in {each.kind for each in faults(files) if each.path == path}


def test_topic_id_that_other_partitions_do_not_have_is_told(files: CrashFiles) -> None:
    for number in (1, 2):
        MadeLog(files, f"{DIR}/t-{number}", segments=1)
    flip(files, f"{FOLDER}/partition.metadata", 30)
    finding = only(files, DIR)
    assert (finding.path, finding.kind) == (f"{FOLDER}/partition.metadata", "topic-id")


def test_checkpoint_entries_are_of_logs_that_are_there(files: CrashFiles) -> None:
    from esker.base.types import TopicPartition

    path = f"{DIR}/recovery-point-offset-checkpoint"
    write_offsets(files, path, {TopicPartition("t", 0): 3 * A_SEGMENT, TopicPartition("gone", 1): 5})
    assert (only(files, DIR).kind, only(files, DIR).severity) == ("checkpoint-entry", Severity.WARNING)
    write_offsets(files, path, {TopicPartition("t", 0): 3 * A_SEGMENT + 1})
    assert (only(files, DIR).kind, only(files, DIR).severity) == ("checkpoint-entry", Severity.ERROR)
    files.write_new(path, b"0\n1\n")
    assert only(files, DIR).kind == "checkpoint"


@pytest.mark.parametrize("suffix", [".cleaned", ".swap"])
def test_rewrite_left_half_done_is_told(files: CrashFiles, suffix: str) -> None:
    files.write_new(log_path(0) + suffix, files.read(log_path(0)))
    assert (only(files).kind, only(files).path) == ("leftover", log_path(0) + suffix)


def test_file_that_waits_to_be_removed_is_no_fault(files: CrashFiles) -> None:
    files.write_new(log_path(0) + ".deleted", b"junk")
    assert [(each.kind, each.severity) for each in findings(files)] == [("leftover", Severity.INFO)]


def test_file_that_cannot_be_read_is_told_and_the_others_are_looked_at(
    files: CrashFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    MadeLog(files, f"{DIR}/u-0", segments=1)
    flip(files, log_path(0, f"{DIR}/u-0"), 200)
    healthy = files.open

    def failing(path: str, *, create: bool = False) -> object:
        if path == log_path(0):
            raise PermissionError(13, "Permission denied", path)
        return healthy(path, create=create)

    monkeypatch.setattr(files, "open", failing)
    assert [(each.kind, each.path) for each in faults(files, DIR)] == [
        ("unreadable", log_path(0)),
        ("crc", log_path(0, f"{DIR}/u-0")),
    ]


def test_folder_that_waits_to_be_removed_is_not_looked_into(files: CrashFiles) -> None:
    MadeLog(files, f"{DIR}/gone-0.{'0' * 32}-delete", segments=1)
    flip(files, log_path(0, f"{DIR}/gone-0.{'0' * 32}-delete"), 200)
    assert faults(files, DIR) == []


def test_lock_of_another_process_is_seen_and_kept(tmp_path: Path) -> None:
    program = (
        "import sys, time; from esker.ports.files import RealFiles; from esker.storage.lock import FolderLock;"
        "lock = FolderLock(RealFiles(), sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert is_live(RealFiles(), str(tmp_path))
        assert is_live(RealFiles(), str(tmp_path))
        other.communicate(b"")
    assert not is_live(RealFiles(), str(tmp_path))
