"""Directories of a real Kafka, closed and killed, open here; what is written here a real Kafka takes over."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from esker.base.config import DEFAULT
from esker.base.types import TopicPartition
from esker.rules.layout import FileKind, parse_segment_file, snapshot_name
from esker.rules.read import Isolation
from esker.upkeep.directories import LogDirectories
from esker.upkeep.flush import FlushQueue
from esker.upkeep.partitions import NewLog, create_logs
from esker.upkeep.reserve import NAME
from esker.upkeep.settings import DirectorySettings
from esker.upkeep.tasks import Tasks
from golden.compaction import compacted
from golden.script import Noted
from parity import interop, ours
from parity.broker import Broker
from parity.dump import Dump, dump_log, parse_dump
from parity.interop import FRESH, Left, folder_of, log_of, producers_in, records_in
from parity.jars import KAFKA, missing

pytestmark = pytest.mark.xdist_group("kafka")

VERSIONS = (KAFKA, "3.9.2")
HANDED = "ours-handed"  # written in a directory of Esker's own and put in the place of Kafka's files
FAR_MS = 1 << 60
INDEXES = (FileKind.INDEX, FileKind.TIME_INDEX)


class Met(NamedTuple):
    """What became of one pair of directories."""

    closed: Left
    killed: Left
    taken_over: Left  # killed, opened and written to here, and started by Kafka again
    ours: dict[str, list[Noted]]  # read_committed, as Esker reads what it wrote
    dumps: dict[str, Dump]
    sanity: str
    server_log: str  # of the last start
    reserved: list[Path]  # its dirs, as they are after it


@pytest.fixture(scope="module", params=VERSIONS)
def met(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Met:
    if lack := missing(request.param):
        pytest.skip(lack)
    home = tmp_path_factory.mktemp("interop")
    broker = interop.two_dirs(home / "kafka", request.param)
    try:
        return meet(broker, home)
    finally:
        broker.kill()


def meet(broker: Broker, home: Path) -> Met:
    small = interop.small_segments(broker.version) | {"index.interval.bytes": "500"}
    empty = {name: small if name in ours.SMALL_SEGMENTS else {} for name in [*ours.WRITERS, HANDED]}
    broker.start()
    interop.fill(broker, empty)
    names = [*(topic.name for topic in [*interop.chosen(), *compacted()]), interop.MANY, interop.DELETED]
    said = interop.asked(broker, names, ["idempotent", "transactional"])
    broker.stop()
    closed = interop.leave(broker, said, home / "closed")
    broker.start()
    said = interop.asked(broker, [*names, FRESH], [FRESH], interop.filling_again())
    broker.kill()
    killed = interop.leave(broker, said, home / "killed")
    read_here = write_here(broker, home / "own")
    dumps, sanity = dumped(broker)
    before = broker.server.log.stat().st_size
    broker.start()
    said = interop.asked(broker, [*names, FRESH, *ours.WRITERS, HANDED], [])
    broker.stop()
    server_log = broker.server.log.read_bytes()[before:].decode()
    return Met(closed, killed, said, read_here, dumps, sanity, server_log, interop.dirs_of(broker))


def write_here(broker: Broker, own: Path) -> dict[str, list[Noted]]:
    """Kafka is down: append to its logs, in place, and give it files written elsewhere."""
    directories = LogDirectories(DirectorySettings(tuple(map(str, interop.dirs_of(broker))), defaults=interop.DEFAULTS))
    directories.load()
    for name, write in ours.WRITERS.items():
        write(log_of(directories, name), directories.topics.kafka[name].partitions[0].leader_epoch)
    names = [*ours.WRITERS]
    found = {name: records_in(log_of(directories, name), Isolation.LAST_STABLE) for name in names}
    directories.close()
    found[HANDED] = hand_over(broker, own)
    return found


def hand_over(broker: Broker, own: Path) -> list[Noted]:
    target = folder_of(broker, HANDED)
    directories = LogDirectories(DirectorySettings((str(own),)))
    directories.load()
    new = NewLog(TopicPartition(HANDED, 0), interop.own_id(target), DEFAULT)
    (log,) = create_logs(directories, [new])
    ours.packed(log, 0)
    found = records_in(log, Isolation.LAST_STABLE)
    directories.close()
    shutil.rmtree(target)
    shutil.copytree(log.place.folder, target)
    return found


def dumped(broker: Broker) -> tuple[dict[str, Dump], str]:
    """What Kafka's tool says of the files: every record and every index entry, and a second look at the indexes."""
    files = [each for name in [*ours.WRITERS, HANDED] for each in sorted(folder_of(broker, name).iterdir())]
    logs = [each for each in files if each.suffix in (".log", ".index", ".timeindex", ".snapshot", ".txnindex")]
    indexes = [each for each in files if each.suffix in INDEXES]
    return parse_dump(dump_log(*logs)), dump_log(*indexes, flags=("--index-sanity-check",))


@pytest.fixture(params=["closed", "killed"])
def left(request: pytest.FixtureRequest, met: Met, tmp_path: Path) -> Left:
    state: Left = getattr(met, request.param)
    return state.copied(tmp_path)


@pytest.fixture
def opened(left: Left) -> Iterator[LogDirectories]:
    directories = left.open()
    yield directories
    directories.close()


def test_offsets_are_those_that_kafka_tells(left: Left, opened: LogDirectories) -> None:
    assert opened.not_loaded == []
    assert interop.names_in(opened) >= set(left.uncommitted)
    assert {each.log_dir.path for each in opened.logs.values()} == {str(each) for each in left.dirs}
    cursors = {name: log_of(opened, name).cursors for name in left.uncommitted}
    assert {name: at.log_start for name, at in cursors.items()} == {name: left.earliest[name] for name in cursors}
    assert {name: at.log_end.offset for name, at in cursors.items()} == {name: left.latest[name] for name in cursors}


@pytest.mark.parametrize("isolation", [Isolation.HIGH_WATERMARK, Isolation.LAST_STABLE])
def test_records_are_those_that_kafkas_consumer_reads(left: Left, opened: LogDirectories, isolation: Isolation) -> None:
    theirs = left.committed if isolation is Isolation.LAST_STABLE else left.uncommitted
    for name, records in theirs.items():
        assert records_in(log_of(opened, name), isolation) == records, name


def test_producers_are_those_that_kafka_lists(left: Left, opened: LogDirectories) -> None:
    for name, theirs in left.producers.items():
        assert producers_in(log_of(opened, name)) == theirs, name
        assert theirs, f"{name} was to have producers"


def test_ids_and_settings_come_from_the_metadata_log(opened: LogDirectories) -> None:
    for topic_partition, hosted in opened.logs.items():
        assert hosted.held == "", topic_partition
        assert hosted.topic_id == interop.own_id(Path(hosted.log.place.folder))
    assert log_of(opened, "compacted-none").config.cleanup_compact
    assert not log_of(opened, "none").config.cleanup_compact
    assert log_of(opened, interop.MANY).config.segment_bytes == 2000
    assert log_of(opened, "__transaction_state").config.cleanup_compact


def test_retention_takes_nothing_of_a_compacted_topic_and_nothing_that_is_held(left: Left) -> None:
    """By the defaults of a week every record here is too old by years."""
    opened = left.open(DEFAULT)
    retain(opened)
    assert records_in(log_of(opened, "compacted-none"), Isolation.LAST_STABLE) == left.committed["compacted-none"]
    assert log_of(opened, interop.MANY).cursors.log_start > 0
    opened.close()


def test_without_the_metadata_log_everything_is_held(left: Left, caplog: pytest.LogCaptureFixture) -> None:
    shutil.rmtree(left.metadata)
    opened = left.open(DEFAULT)
    assert all(each.held for each in opened.logs.values())
    assert "why='nobody knows its settings' mend='say what its settings are: adopt_topic'" in caplog.text
    retain(opened)
    for name, theirs in left.committed.items():
        assert records_in(log_of(opened, name), Isolation.LAST_STABLE) == theirs
    opened.close()


def retain(opened: LogDirectories) -> None:
    for hosted in opened.hosted():
        hosted.log.increment_high_watermark(hosted.log.cursors.log_end.offset)
    now_ms = opened.world.clock.now_ms()
    Tasks(opened, FlushQueue()).background(now_ms).run_due(now_ms + 10 * 60_000)


def test_a_closed_directory_is_the_same_after_it_was_open_here(met: Met, tmp_path: Path) -> None:
    left = met.closed.copied(tmp_path)
    before = contents(left)
    left.open().close()
    assert contents(left) == before


def contents(left: Left) -> dict[str, bytes]:
    """Of all segment files, but for the snapshots of logs that never had a record."""
    return {
        f"{each.parent.name}/{each.name}": each.read_bytes()
        for folder in left.dirs
        for each in folder.rglob("*")
        if parse_segment_file(each.name) and each.name != snapshot_name(0)
    }


def test_kafkas_tool_finds_no_fault_in_what_is_ours(met: Met) -> None:
    assert {name: found.faults for name, found in met.dumps.items() if found.faults} == {}
    indexes = {name: len(found.entries) for name, found in met.dumps.items() if name.endswith(INDEXES)}
    for suffix in INDEXES:
        assert sum(count for name, count in indexes.items() if name.endswith(suffix)) > 50
    told = {
        line.rpartition("/")[2].partition(" ")[2] for line in met.sanity.splitlines() if not line.startswith("Dumping")
    }
    assert told <= {"passed sanity check.", "is empty."}


@pytest.mark.parametrize("name", [*ours.WRITERS, HANDED])
def test_kafkas_consumer_reads_what_is_ours(met: Met, name: str) -> None:
    assert met.taken_over.committed[name] == met.ours[name]


def test_kafka_goes_on_with_its_own_logs_after_esker_had_them(met: Met) -> None:
    for name, theirs in met.killed.committed.items():
        assert met.taken_over.committed[name] == theirs, name
        assert met.taken_over.earliest[name] == met.killed.earliest[name]
        assert met.taken_over.latest[name] == met.killed.latest[name]
    assert met.taken_over.earliest["ours-deleted"] == ours.DELETED_TO


def test_kafka_starts_on_a_dir_with_our_reserve_file(met: Met) -> None:
    """It was there when the broker started on the dir, and it served."""
    assert all((folder / NAME).exists() for folder in met.reserved)


def test_kafka_starts_on_our_clean_close_without_recovering_or_complaining(met: Met) -> None:
    if "LogManager" not in met.server_log:
        return  # 3.9 and older log by another library, which is not among the jars
    assert met.server_log.count("since clean shutdown file was found") == 2
    loud = [line for line in met.server_log.splitlines() if " WARN " in line or " ERROR " in line]
    assert [line for line in loud if "log" in line.lower() and "LogLoader" in line] == []
