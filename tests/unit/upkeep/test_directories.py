"""Log dirs: opened, closed, failing, full."""

import errno

import pytest

from esker.base.errors import Rejected, StorageFailed
from esker.base.types import TopicPartition
from esker.log.opening import Opened, Opening
from esker.rules.cursors import Checkpoints
from esker.rules.layout import CLEAN_SHUTDOWN, HIGH_WATERMARKS, LOG_STARTS, META_PROPERTIES, RECOVERY_POINTS
from esker.storage.lock import Locked
from esker.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from esker.testing.faults import Failure, FaultyFiles
from esker.testing.files import CrashFiles
from esker.upkeep.directories import NoneOnline
from esker.upkeep.identity import DirectoriesDisagree
from esker.upkeep.loading import Progress
from esker.upkeep.partitions import delete_log, placement, set_aside_stray, strays, truncate_to
from unit.upkeep.homes import PATHS, TOPIC_ID, append, loaded, made, restarted, unloaded

T0 = TopicPartition("t", 0)


@pytest.fixture
def files() -> CrashFiles:
    return CrashFiles()


def test_a_clean_close_marks_every_dir_and_the_next_start_takes_the_mark_away(files: CrashFiles) -> None:
    directories = loaded(files)
    append(made(directories, "t"))
    directories.close()
    assert all(files.exists(f"{path}/{CLEAN_SHUTDOWN}") for path in PATHS)
    again = loaded(files)
    assert not any(files.exists(f"{path}/{CLEAN_SHUTDOWN}") for path in PATHS)
    assert all(each.was_clean for each in again.dirs)
    log = again.log(T0)
    assert log is not None
    assert (log.cursors.log_end.offset, log.cursors.recovery_point, log.cursors.high_watermark.offset) == (3, 3, 3)


def test_without_the_mark_the_recovery_point_is_what_the_checkpoint_says(files: CrashFiles) -> None:
    directories = loaded(files)
    log = made(directories, "t")
    append(log)
    log.flush()
    directories.checkpoint(RECOVERY_POINTS, directories.dir_of(log))
    append(log)
    again = restarted(directories, files).log(T0)
    assert again is not None
    assert (again.cursors.recovery_point, again.cursors.log_end.offset) == (3, 6)


def test_a_checkpoint_that_cannot_be_read_is_named_and_not_believed(
    files: CrashFiles, caplog: pytest.LogCaptureFixture
) -> None:
    directories = loaded(files, paths=["/a"])
    append(made(directories, "t"))
    directories.close()
    files.write_new(f"/a/{RECOVERY_POINTS}", b"0\nmany\n")
    assert loaded(files, paths=["/a"]).log(T0) is not None
    assert f"not believed file=/a/{RECOVERY_POINTS} place='line 2'" in caplog.text


def test_the_log_start_is_checkpointed_only_where_it_is_above_the_first_segment(files: CrashFiles) -> None:
    directories = loaded(files, paths=["/a"])
    for name in ("cut", "whole"):
        append(made(directories, name))
    cut = directories.log(TopicPartition("cut", 0))
    assert cut is not None
    cut.advance_log_start(2)
    directories.close()
    assert files.read(f"/a/{LOG_STARTS}") == b"0\n1\ncut 0 2\n"
    again = loaded(files, paths=["/a"]).log(TopicPartition("cut", 0))
    assert again is not None
    assert again.cursors.log_start == 2


def test_a_dir_is_used_once_at_a_time(files: CrashFiles) -> None:
    loaded(files)
    with pytest.raises(Locked, match="/a is in use by this process"):
        loaded(files)


def test_what_failed_to_start_holds_no_lock(files: CrashFiles) -> None:
    files.make_folder("/b")
    write_meta_properties(files, f"/b/{META_PROPERTIES}", MetaProperties(1, "another", 1, TOPIC_ID), 0)
    files.make_folder("/a")
    write_meta_properties(files, f"/a/{META_PROPERTIES}", MetaProperties(1, "one", 1, TOPIC_ID[::-1]), 0)
    with pytest.raises(DirectoriesDisagree, match=r"cluster.id is not the same everywhere: /a says one, /b says anot"):
        loaded(files)
    assert loaded(files, paths=["/a"]).dirs[0].meta == MetaProperties(1, "one", 1, TOPIC_ID[::-1])


def test_a_new_dir_joins_the_cluster_of_the_others(files: CrashFiles) -> None:
    loaded(files, paths=["/a"], node_id=7, cluster_id="esker").close()
    loaded(files).close()
    found = [read_meta_properties(files, f"{path}/{META_PROPERTIES}") for path in PATHS]
    assert [(each.cluster_id, each.node_id) for each in found if each] == [("esker", 7)] * 2
    assert len({each.directory_id for each in found if each}) == 2


def test_another_node_is_refused(files: CrashFiles) -> None:
    loaded(files, node_id=7).close()
    with pytest.raises(DirectoriesDisagree, match=r"node.id is not the same .*: /a says 7, /b says 7, and 8 is"):
        loaded(files, node_id=8)


def test_a_copy_of_a_dir_is_refused(files: CrashFiles) -> None:
    loaded(files, paths=["/a"]).close()
    files.make_folder("/b")
    files.write_new(f"/b/{META_PROPERTIES}", files.read(f"/a/{META_PROPERTIES}"))
    with pytest.raises(DirectoriesDisagree, match=r"/a and /b have the same directory.id"):
        loaded(files)


@pytest.mark.parametrize("is_clean", [False, True])
def test_progress_counts_what_may_have_to_be_scanned(
    files: CrashFiles, is_clean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = loaded(files, paths=["/a"])
    size = sum(append(made(directories, name)).cursors.log_end.position or 0 for name in ("t", "u"))
    if is_clean:
        directories.close()
    else:
        directories.dirs[0].release()
    again = unloaded(files, paths=["/a"], threads_per_dir=1)
    whole, seen = Opening.run, []

    def run(opening: Opening) -> Opened:
        seen.append(again.progress[0])
        return whole(opening)

    monkeypatch.setattr(Opening, "run", run)
    again.load()
    left = Progress("/a", 2, 1) if is_clean else Progress("/a", 2, 1, 0, 0)
    first = Progress("/a", 2, 2) if is_clean else Progress("/a", 2, 2, 1, size // 2)
    assert seen == [first, left]
    assert again.progress == [Progress("/a", 2, 0)]


def test_one_log_that_cannot_be_opened_leaves_the_others_and_no_mark(
    files: CrashFiles, caplog: pytest.LogCaptureFixture
) -> None:
    directories = loaded(files, paths=["/a"])
    for name in ("bad", "good"):
        append(made(directories, name))
    directories.close()
    files.write_new("/a/bad-0/partition.metadata", b"version: 0\ntopic_id: ???")
    again = loaded(files, paths=["/a"])
    assert set(again.logs) == {TopicPartition("good", 0)}
    assert "left out log_dir=/a folder=bad-0" in caplog.text
    with pytest.raises(Rejected, match="bad-0: it could not be loaded"):
        made(again, "bad")
    again.close()
    assert not files.exists(f"/a/{CLEAN_SHUTDOWN}")
    assert b"bad 0 3" in files.read(f"/a/{RECOVERY_POINTS}"), "its checkpoint is not forgotten"


def test_a_dir_that_fails_at_start_goes_offline_and_the_others_serve(files: CrashFiles) -> None:
    directories = loaded(files)
    for name in ("t", "u", "v"):
        append(made(directories, name))
    directories.close()
    faulty = FaultyFiles(files, [Failure("names", errno.EIO, path="/b/", times=1000)])
    again = loaded(faulty)
    assert [each.path for each in again.online] == ["/a"]
    assert again.logs
    assert {each.log_dir.path for each in again.logs.values()} == {"/a"}
    with pytest.raises(Rejected, match="it may lie in a log dir that is offline"):
        made(again, "u", is_new=False)
    made(again, "w")


def test_when_no_dir_is_left_the_caller_is_told(files: CrashFiles) -> None:
    faulty = FaultyFiles(files, [Failure("make_folder", errno.EIO, times=1000)])
    with pytest.raises(NoneOnline, match=r"/a: .*; /b: "):
        loaded(faulty)


def test_a_dir_that_fails_takes_its_logs_out_of_service(files: CrashFiles) -> None:
    directories = loaded(files)
    logs = [made(directories, name) for name in ("t", "u")]
    broken, other = sorted(logs, key=lambda log: log.place.folder)
    directories.fail_log(broken, StorageFailed("/a/x", OSError(errno.EIO, "no disk")))
    with pytest.raises(Rejected, match="/a is offline: /a/x: no disk"):
        append(broken)
    append(other)
    directories.close()
    assert [files.exists(f"{path}/{CLEAN_SHUTDOWN}") for path in PATHS] == [False, True]


def test_new_logs_go_where_the_fewest_are(files: CrashFiles) -> None:
    directories = loaded(files)
    placed = [directories.dir_of(made(directories, name)).path for name in ("t", "u", "v", "w")]
    assert placed == ["/a", "/b", "/a", "/b"]
    assert directories.dir_of(made(directories, "x", preferred="/b")).path == "/b"


def test_a_cordoned_dir_gets_no_new_logs(files: CrashFiles) -> None:
    directories = loaded(files, cordoned=frozenset({"/a"}))
    assert [each.path for each in placement(directories)] == ["/b"]


def test_a_dir_that_cannot_make_a_folder_is_passed_over(files: CrashFiles) -> None:
    faulty = FaultyFiles(files, [Failure("make_folder", errno.ENOSPC, path="/a/")])
    directories = loaded(faulty)
    assert directories.dir_of(made(directories, "t")).path == "/b"
    assert len(directories.online) == 2, "a full disk still serves"


def test_a_deleted_log_is_renamed_at_once_and_removed_later(files: CrashFiles) -> None:
    directories = loaded(files, paths=["/a"])
    log = made(directories, "t")
    append(log)
    delete_log(directories, T0)
    (name,) = [name for name in files.names("/a") if name.startswith("t-0")]
    assert name.endswith("-delete")
    with pytest.raises(Rejected, match="the log was deleted"):
        append(log)
    again = restarted(directories, files, paths=["/a"])
    assert again.logs == {}
    (removal,) = again.removals.due(1 << 60)
    removal.run()
    assert not files.exists(f"/a/{name}")


def test_a_stray_is_named_and_set_aside(files: CrashFiles) -> None:
    directories = loaded(files, paths=["/a"])
    for name in ("t", "u"):
        made(directories, name)
    assigned = {T0: TOPIC_ID, TopicPartition("u", 0): bytes(16)}
    (stray,) = strays(directories, assigned)
    name = set_aside_stray(directories, stray)
    assert name.startswith("u-0.")
    assert name.endswith("-stray")
    assert set(restarted(directories, files, paths=["/a"]).logs) == {T0}


def test_future_logs_are_loaded_and_named(files: CrashFiles) -> None:
    directories = loaded(files, paths=["/a"])
    append(made(directories, "t"))
    directories.close()
    files.replace("/a/t-0", f"/a/t-0.{'0' * 32}-future")
    again = loaded(files, paths=["/a"])
    assert again.logs == {}
    assert set(again.futures) == {T0}


def test_of_two_folders_of_one_partition_neither_is_served(files: CrashFiles) -> None:
    for path in PATHS:
        directories = loaded(files, paths=[path], cluster_id="c")
        append(made(directories, "t"))
        directories.close()
    both = unloaded(files)
    both.load()
    assert both.logs == {}
    assert len(both.not_loaded) == 2


def test_a_truncation_lowers_the_recovery_point_on_disk_at_once(files: CrashFiles) -> None:
    directories = loaded(files, paths=["/a"])
    log = made(directories, "t")
    for _ in range(3):
        append(log)
    log.flush()
    directories.checkpoint(RECOVERY_POINTS, directories.dirs[0])
    assert files.read(f"/a/{RECOVERY_POINTS}") == b"0\n1\nt 0 9\n"
    truncate_to(directories, log, 4)
    assert files.read(f"/a/{RECOVERY_POINTS}") == b"0\n1\nt 0 3\n"


def test_of_two_drafts_of_a_checkpoint_the_later_one_stays(files: CrashFiles) -> None:
    directories = loaded(files, paths=["/a"])
    (log_dir,) = directories.dirs
    early, late = log_dir.draft(HIGH_WATERMARKS, {T0: 9}), log_dir.draft(HIGH_WATERMARKS, {T0: 3})
    assert early is not None
    assert late is not None
    log_dir.write(late)
    log_dir.write(early)
    assert files.read(f"/a/{HIGH_WATERMARKS}") == b"0\n1\nt 0 3\n"
    assert log_dir.saved(T0) == Checkpoints(None, None, 3)
    assert log_dir.draft(HIGH_WATERMARKS, {T0: 3}) is None
