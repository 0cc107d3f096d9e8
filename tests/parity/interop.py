"""Directories on two disks that a real Kafka wrote, its own answers about them, and Esker's reading of the same."""

import base64
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from esker.base.config import LogConfig
from esker.base.types import TopicPartition
from esker.log.log import Log
from esker.log.reading import Wanted, read
from esker.records.batch import Batch, batches
from esker.records.control import ControlType, read_end_marker
from esker.records.text import TIME_NAMES
from esker.rules.layout import INTERNAL_TOPICS
from esker.rules.read import Isolation
from esker.upkeep.directories import LogDirectories
from esker.upkeep.settings import DirectorySettings
from golden.compaction import LET_GO, compacted
from golden.contents import START_MS, plain
from golden.current import PROPERTIES
from golden.plan import Topic, end_transaction, topics
from golden.script import Noted, Script, noted_bytes
from parity.broker import Broker, await_true

HOUR_MS = 3_600_000
# Of the golden corpus what differs for a log; how records are packed, golden and kernel tests have.
CHOSEN = ("none", "zstd", "gzip", "lz4", "snappy", "append-time-none", "big-zstd", "idempotent", "transactional")
MANY, DELETED, FRESH = "many-segments", "deleted-prefix", "fresh"
DELETED_TO = 30
# The server's own settings are in no metadata log: whoever opens its directories has to say them.
DEFAULTS = LogConfig(retention_ms=-1)


class Producer(NamedTuple):
    """As Kafka lists one; `open_since` is -1 without an open transaction."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    last_sequence: int
    last_timestamp: int
    open_since: int


class Left(NamedTuple):
    """A copy of both dirs as Kafka left them, and what it said before."""

    dirs: list[Path]
    earliest: dict[str, int]
    latest: dict[str, int]
    committed: dict[str, list[Noted]]
    uncommitted: dict[str, list[Noted]]
    producers: dict[str, list[Producer]]

    @property
    def metadata(self) -> Path:
        return self.dirs[0] / "__cluster_metadata-0"

    def open(self, defaults: LogConfig = DEFAULTS) -> LogDirectories:
        found = LogDirectories(DirectorySettings(tuple(map(str, self.dirs)), defaults=defaults))
        found.load()
        return found

    def copied(self, home: Path) -> "Left":
        """For a test that changes it."""
        return self._replace(dirs=[Path(shutil.copytree(each, home / each.name)) for each in self.dirs])


def two_dirs(home: Path, version: str) -> Broker:
    dirs = {"log.dirs": f"{home / 'data'},{home / 'data-2'}", "log.segment.delete.delay.ms": "0"}
    return Broker(home, PROPERTIES | dirs, version)


def small_segments(version: str) -> dict[str, str]:
    """Below 4.0 there is no lower limit to go around."""
    return {"segment.bytes" if version.startswith("3.") else "internal.segment.bytes": "2000"}


def chosen() -> list[Topic]:
    return [topic for topic in topics() if topic.name in CHOSEN]


def fill(broker: Broker, more: dict[str, dict[str, str]]) -> None:
    """Every kind of log; `more` are empty topics by their settings."""
    script = Script()
    for topic in [*chosen(), *compacted()]:
        script.create(topic.name, topic.settings)
        topic.write(script, topic)
    for topic in compacted():
        script.config(topic.name, LET_GO)
    for name in (MANY, DELETED):
        script.create(name, small_segments(broker.version))
        script.producer(name, {})
        for at in range(60):
            script.batch(name, name, plain(START_MS + at * HOUR_MS, 5, first=at * 5))
    for name, settings in more.items():
        script.create(name, settings)
    script.say("delete", DELETED, str(DELETED_TO))
    script.run(broker.bootstrap, version=broker.version)
    await_cleaned(broker)


def filling_again() -> Script:
    """Before the kill: appends to logs that were closed cleanly, and producers of today."""
    script = Script()
    script.producer("later", {})
    for name in ("none", MANY):
        script.batch("later", name, plain(START_MS + 100 * HOUR_MS, 3, first=1000))
    script.create(FRESH, {})
    now = time.time_ns() // 1_000_000
    for name, verb in (("keeps", "commit"), ("drops", "abort")):
        script.producer(name, {"transactional.id": name})
        script.say("init", name)
        script.say("begin", name)
        script.batch(name, FRESH, plain(now, 3))
        end_transaction(script, FRESH, verb, name, 4 if verb == "commit" else 8)
    script.producer("idempotent", {"enable.idempotence": "true"})
    script.batch("idempotent", FRESH, plain(now, 2))
    return script


def await_cleaned(broker: Broker) -> None:
    """The cleaner has come to the active segment of each when a checkpoint says so."""
    homes = {topic.name: folder_of(broker, topic.name) for topic in compacted()}
    actives = {name: max(int(log.stem) for log in home.glob("*.log")) for name, home in homes.items()}

    def is_clean() -> bool:
        rows = [
            line.split()
            for each in dirs_of(broker)
            for line in (each / "cleaner-offset-checkpoint").read_text().splitlines()[2:]
        ]
        cleaned = {row[0]: int(row[2]) for row in rows}
        return all(cleaned.get(name, -1) >= active for name, active in actives.items())

    await_true(is_clean, 120, f"the cleaner comes to {actives}")


def dirs_of(broker: Broker) -> list[Path]:
    return [Path(each) for each in broker.properties["log.dirs"].split(",")]


def folder_of(broker: Broker, topic: str) -> Path:
    (found,) = [each / f"{topic}-0" for each in dirs_of(broker) if (each / f"{topic}-0").is_dir()]
    return found


def asked(broker: Broker, names: list[str], with_producers: list[str], after: Script | None = None) -> Left:
    """What Kafka says of them, `after` this was done; the dirs come with `leave`."""
    script = after or Script()
    for isolation in ("read_committed", "read_uncommitted"):
        script.say("consume-all", isolation, *names)
    script.say("bounds", *names)
    for name in with_producers:
        script.say("producers", name)
    told = script.run(broker.bootstrap, version=broker.version)
    halves = {name: halved(told.got.get(name, [])) for name in names}
    return Left(
        [],
        {name: earliest for name, (earliest, _) in told.bounds.items()},
        {name: latest for name, (_, latest) in told.bounds.items()},
        {name: half[0] for name, half in halves.items()},
        {name: half[1] for name, half in halves.items()},
        {name: sorted(Producer(*row) for row in told.producers[name]) for name in with_producers},
    )


def halved(got: list[Noted]) -> tuple[list[Noted], list[Noted]]:
    """Two readers one after the other: the second begins where an offset does not rise."""
    for place in range(1, len(got)):
        if got[place]["offset"] <= got[place - 1]["offset"]:
            return got[:place], got[place:]
    return [], got


def leave(broker: Broker, said: Left, home: Path) -> Left:
    """A copy of its dirs; it has ended."""
    return said._replace(dirs=dirs_of(broker)).copied(home)


# Esker's side.


def log_of(directories: LogDirectories, topic: str) -> Log:
    log = directories.log(TopicPartition(topic, 0))
    assert log is not None, topic
    return log


def names_in(directories: LogDirectories) -> set[str]:
    return {each.topic for each in directories.logs} - INTERNAL_TOPICS


def records_in(log: Log, isolation: Isolation) -> list[Noted]:
    """As a consumer reads them. The one replica that there is has all of it."""
    log.increment_high_watermark(log.cursors.log_end.offset)
    return [each for batch in seen(log, isolation) for each in noted(batch) if each["offset"] >= log.cursors.log_start]


def seen(log: Log, isolation: Isolation) -> Iterator[Batch]:
    """Batches of data, without those of aborted transactions where the reader asks so: the client's own part."""
    offset = log.cursors.log_start
    while (found := read(log, Wanted(offset, 3000, isolation))).slice is not None:
        to_come = sorted((each.first_offset, each.producer_id) for each in found.aborted or ())
        aborting: set[int] = set()
        for batch in batches(found.slice.read()):
            header = batch.header
            while to_come and to_come[0][0] <= header.last_offset:
                aborting.add(to_come.pop(0)[1])
            marker = read_end_marker(batch) if header.control else None
            if marker is not None and marker.type is ControlType.ABORT:
                aborting.discard(header.producer_id)
            elif not header.control and not (header.transactional and header.producer_id in aborting):
                yield batch
            offset = header.last_offset + 1


def noted(batch: Batch) -> Iterator[Noted]:
    for record in batch.records():
        yield {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": TIME_NAMES[record.timestamp_type],
            "key": noted_bytes(record.key),
            "value": noted_bytes(record.value),
            "headers": [[name.decode(), noted_bytes(value)] for name, value in record.headers],
        }


def producers_in(log: Log) -> list[Producer]:
    return sorted(
        Producer(
            each.producer_id,
            each.epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.txn_first_offset,
        )
        for each in log.producers.entries.values()
    )


def own_id(folder: Path) -> bytes:
    text = (folder / "partition.metadata").read_text().rpartition("topic_id: ")[2]
    return base64.urlsafe_b64decode(text.strip() + "==")
