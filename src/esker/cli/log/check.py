"""`esker log check`: every promise of the formats, a finding a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.cli.log.output import Output, Progress
from esker.ports.files import RealFiles
from esker.storage.check import check
from esker.storage.findings import Looked, Severity
from esker.storage.listing import Found, FoundFile, FoundLogDir, FoundPartition, Kind, look

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from esker.ports.files import Files

UNREADABLE = "unreadable"


def run(options: argparse.Namespace) -> int:
    """0: nothing found; 1: findings; 2: something could not be looked at."""
    files = RealFiles()
    found = [one for path in options.path for one in look(files, path)]
    progress = Progress("checked", sum(size(files, file) for one in found for file in logs(one)))
    findings = failures = 0
    with Output() as output:
        for report in (report for one in found for report in check(files, one)):
            if isinstance(report, Looked):
                progress.add(report.bytes)
                continue
            if report.severity is Severity.INFO and options.quiet:
                continue
            progress.clear()
            findings += report.severity is not Severity.INFO
            failures += report.kind == UNREADABLE
            if options.json:
                output.json(report.fields())
            else:
                output.line(str(report))
            output.flush()
        progress.clear()
    return 2 if failures else 1 if findings else 0


def logs(found: Found) -> Iterator[FoundFile]:
    """Where the bytes are."""
    if isinstance(found, FoundLogDir):
        for partition in found.partitions:
            yield from partition.of_kind(Kind.LOG)
    elif isinstance(found, FoundPartition):
        yield from found.of_kind(Kind.LOG)
    else:
        yield found


def size(files: Files, file: FoundFile) -> int:
    try:
        return files.size(file.path)
    except OSError:
        return 0  # gone, or told of when it is opened
