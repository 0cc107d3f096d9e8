"""All rows, in the order in which they run."""

from bench.row import Row
from bench.rows import appends, kernel, log, upkeep

ROWS: dict[str, Row] = {row.name: row for row in [*kernel.ROWS, *appends.ROWS, *log.ROWS, *upkeep.ROWS]}
