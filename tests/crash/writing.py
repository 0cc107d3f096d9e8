"""A process that appends until it is killed, and says what it was told is durable: `python writing.py DIR MODE`.

Each line is `partition last_offset first_number`, written to stdout after the flush that the records waited for.
MODE `each`: one thread, a flush for every append. MODE `group`: several threads whose appends share flushes.
"""

import os
import sys
from itertools import count
from threading import Lock, Thread

from esker import kernel
from esker.base.types import TopicPartition
from esker.kernel.contract import Encoding, Rows
from esker.log.log import Log
from esker.upkeep.directories import LogDirectories
from esker.upkeep.group_commit import GroupCommit
from esker.upkeep.partitions import create_topic
from esker.upkeep.settings import DirectorySettings

TOPIC = "killed"
PARTITIONS = 2
THREADS = 4
RECORDS = 3
START_MS = 1_700_000_000_000
SETTINGS = {"flush.messages": "1", "internal.segment.bytes": "20000"}


def settings_of(home: str) -> DirectorySettings:
    return DirectorySettings((f"{home}/a", f"{home}/b"), reserve_bytes=0)


def batch(number: int) -> bytes:
    """Three records that say which batch they are of."""
    values = [b"%d.%d" % (number, place) for place in range(RECORDS)]
    return kernel.encode(Rows([START_MS + number] * RECORDS, [b"k"] * RECORDS, values), Encoding())


def opened(home: str) -> LogDirectories:
    directories = LogDirectories(settings_of(home))
    directories.load()
    if TopicPartition(TOPIC, 0) not in directories.logs:
        create_topic(directories, TOPIC, PARTITIONS, SETTINGS)
    return directories


def tell(log: Log, last_offset: int, number: int) -> None:
    """One write of a few bytes to a pipe is whole or not there."""
    os.write(1, b"%d %d %d\n" % (log.place.topic_partition.partition, last_offset, number))


def write_each(directories: LogDirectories, logs: list[Log]) -> None:
    for number in count():
        log = logs[number % len(logs)]
        appended = log.append_as_leader(batch(number), 0, START_MS + number)
        assert appended.flush_due
        log.flush()
        tell(log, appended.last_offset, number)


def write_in_groups(directories: LogDirectories, logs: list[Log]) -> None:
    owner, numbers = Lock(), count()
    commit = GroupCommit(directories, owner)

    def run() -> None:
        while True:
            with owner:
                number = next(numbers)
                log = logs[number % len(logs)]
                appended = log.append_as_leader(batch(number), 0, START_MS + number)
                commit.flush(log)
            tell(log, appended.last_offset, number)

    threads = [Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(home: str, mode: str) -> None:
    directories = opened(home)
    logs = [hosted.log for _, hosted in sorted(directories.logs.items())]
    {"each": write_each, "group": write_in_groups}[mode](directories, logs)


if __name__ == "__main__":
    main(*sys.argv[1:])
