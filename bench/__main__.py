"""`python -m bench`: run the rows asked for, print a line for each, keep the raw runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench import report
from bench.measure import measure
from bench.row import Skipped
from bench.rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.row import Row

REPORTS = Path("build") / "bench"
EXAMPLES = """examples:
  python -m bench                              every row
  python -m bench kernel-check                 one row
  python -m bench kernel-check,kernel-decode   some rows
  python -m bench --kafka                      every row beside a real Kafka
  python -m bench --list                       what each row measures
ratio is always Esker against the peer: above 1 Esker is better. Medians of five interleaved rounds."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure Esker beside a peer and beside a limit of this machine.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "rows", nargs="?", default="all", metavar="name,name", help="the rows to run; all of them unless given"
    )
    made.add_argument("--kafka", action="store_true", help="the rows beside a real Kafka, which needs Java and Maven")
    made.add_argument("--list", action="store_true", help="say what each row measures, and run none")
    made.add_argument(
        "--reports", type=Path, default=REPORTS, metavar="FOLDER", help="where the JSON goes (%(default)s)"
    )
    return made


def chosen(names: str, *, with_kafka: bool = False) -> list[Row]:
    """The rows of these names, in the order given; ValueError names one that is not there. All are those that need a
    real Kafka, or those that do not."""
    if names == "all":
        return [row for row in ROWS.values() if row.needs_kafka == with_kafka]
    for name in names.split(","):
        if name not in ROWS:
            raise ValueError(f"there is no row {name!r}: the rows are {', '.join(ROWS)}")
    return [ROWS[name] for name in names.split(",")]


def run(row: Row, reports: Path) -> str:
    """The row's line; its report is written."""
    try:
        contest = row.set_up()
    except Skipped as missing:
        return f"{row.name} skipped: {missing}"
    measured = measure(row, contest)
    report.write(reports, measured, contest.about)
    return measured.line()


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    try:
        rows = chosen(asked.rows, with_kafka=asked.kafka)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    for row in rows:
        print(f"{row.name}: {row.what} ({row.unit})" if asked.list else run(row, asked.reports), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
