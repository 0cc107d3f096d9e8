"""A process that writes is killed: whatever it said was durable is there, in order, and nothing else."""

import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from crash.writing import RECORDS, opened
from esker.log.log import Log
from esker.log.reading import Wanted, read
from esker.records.batch import batches
from esker.records.record import LogRecord
from esker.rules.read import Isolation

KILLS = {"quick": 2, "test": 5, "campaign": 100, "night": 2_000}
LIVES = 10  # kills of one directory
MOST_LINES = 300
WRITING = Path(__file__).with_name("writing.py")


class Told(NamedTuple):
    """What the process said it had been promised."""

    last_offset: int
    number: int


def run_until_killed(home: Path, mode: str, lines: int) -> dict[int, list[Told]]:
    """By partition, what was said before it died, which is after at least so many lines."""
    command = [sys.executable, str(WRITING), str(home), mode]
    path = os.pathsep.join(sys.path)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        said += process.stdout.readlines()
    found: dict[int, list[Told]] = defaultdict(list)
    for line in said:
        partition, last_offset, number = map(int, line.split())
        found[partition].append(Told(last_offset, number))
    return found


def records_of(log: Log) -> list[LogRecord]:
    found: list[LogRecord] = []
    while (got := read(log, Wanted(len(found), 1 << 20, Isolation.LOG_END))).slice is not None:
        found += [record for each in batches(got.slice.read()) for record in each.records()]
    return found


def check(home: Path, told: dict[int, list[Told]]) -> None:
    directories = opened(str(home))
    for topic_partition, hosted in directories.logs.items():
        records = records_of(hosted.log)
        assert [record.offset for record in records] == list(range(hosted.log.cursors.log_end.offset))
        for last_offset, number in told[topic_partition.partition]:
            values = [record.value for record in records[last_offset - RECORDS + 1 : last_offset + 1]]
            assert values == [b"%d.%d" % (number, place) for place in range(RECORDS)], f"{topic_partition} {number}"
        assert len(records) % RECORDS == 0, "a batch is there whole or not at all"
        assert hosted.log.cursors.recovery_point <= hosted.log.cursors.log_end.offset
    directories.close()


@pytest.mark.parametrize("mode", ["each", "group"])
def test_nothing_that_was_acknowledged_is_lost_by_a_kill(mode: str, profile: str, seed: int, tmp_path: Path) -> None:
    """The same directory again and again, so that a killed recovery is recovered from as well."""
    chance = random.Random(f"{seed} {mode}")
    for life in range(0, KILLS[profile], LIVES):
        home = tmp_path / str(life)
        home.mkdir()
        live(home, mode, chance, min(LIVES, KILLS[profile] - life))


def live(home: Path, mode: str, chance: random.Random, kills: int) -> None:
    told: dict[int, list[Told]] = defaultdict(list)
    for _ in range(kills):
        for partition, said in run_until_killed(home, mode, chance.randrange(1, MOST_LINES)).items():
            told[partition] += said
        if chance.randrange(3):
            check(home, told)
    check(home, told)
