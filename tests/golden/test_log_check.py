"""`esker log check` finds nothing wrong with what real Kafkas of all generations wrote, and something with each case
once a byte of it is another."""

from __future__ import annotations

import shutil
from random import Random
from typing import TYPE_CHECKING

import pytest

from esker.ports.files import RealFiles
from esker.records.batch import batches
from esker.storage.check import check
from esker.storage.findings import Finding, Looked
from esker.storage.listing import look
from esker.storage.stats import Stats

from .corpus import Case, cases

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILES = RealFiles()
CHECKED_FROM = 16  # offset and leader epoch stand before, and no checksum covers them


def by_name(values: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("one", values, ids=lambda one: one.name)


def findings(folder: Path) -> list[Finding]:
    return [each for found in look(FILES, str(folder)) for each in check(FILES, found) if isinstance(each, Finding)]


@by_name(cases())
def test_every_case_is_clean(one: Case) -> None:
    assert findings(one.folder) == []


@by_name(cases())
def test_every_byte_of_every_log_is_looked_at(one: Case) -> None:
    reports = [report for found in look(FILES, str(one.folder)) for report in check(FILES, found)]
    read = sum(report.bytes for report in reports if isinstance(report, Looked))
    logs = [*one.logs, *one.folder.glob("*.checkpoint")]
    assert read == sum(log.stat().st_size for log in logs)


@by_name(cases())
def test_every_case_with_one_byte_changed_is_not(one: Case, tmp_path: Path, seed: int) -> None:
    chance = Random(f"{seed} {one.name}")
    copy = tmp_path / one.name
    shutil.copytree(one.folder, copy)
    for log in one.logs:
        data = bytearray(log.read_bytes())
        headers = [batch.header for batch in batches(bytes(data))]
        if not headers:
            continue
        header = chance.choice(headers)
        position = chance.randrange(header.position + CHECKED_FROM, header.end)
        data[position] ^= 1 << chance.randrange(8)
        (copy / log.name).write_bytes(data)
        found = [finding for finding in findings(copy) if finding.path == str(copy / log.name)]
        assert [each.position for each in found][:1] == [header.position], (position, found)
        (copy / log.name).write_bytes(log.read_bytes())


@by_name([case for case in cases() if case.is_known])
def test_counts_are_those_of_the_note(one: Case) -> None:
    stats = Stats()
    (partition,) = look(FILES, str(one.folder))
    assert not isinstance(partition, str)
    for _ in stats.partition(FILES, partition):  # type: ignore[arg-type]
        pass
    known = [record for records in one.expected.values() for record in records]
    assert stats.keyless == sum(record.key is None for record in known)
    assert stats.tombstones == sum(record.value is None for record in known)
    assert stats.damaged_bytes == 0
    assert stats.bytes == sum(log.stat().st_size for log in one.logs)
