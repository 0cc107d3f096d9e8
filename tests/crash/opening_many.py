"""A process that opens a log dir, and says: logs, seconds, bytes of memory a log. `python opening_many.py DIR`."""

import gc
import resource
import sys
import time
from pathlib import Path

from bench.rows.upkeep import few_handles, settings
from esker.upkeep.directories import LogDirectories

IN_PAGES = Path("/proc/self/statm")


def resident_bytes() -> int:
    """The most that there ever was, where the system does not say what is now."""
    if IN_PAGES.exists():
        return int(IN_PAGES.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(folder: str) -> None:
    directories = LogDirectories(settings(Path(folder)))
    gc.collect()
    before = resident_bytes()
    with few_handles():
        began = time.perf_counter()
        directories.load()
        took = time.perf_counter() - began
        gc.collect()
        size = (resident_bytes() - before) / max(len(directories.logs), 1)
        sys.stdout.write(f"{len(directories.logs)} {took} {size}\n")
        directories.close()


if __name__ == "__main__":
    main(sys.argv[1])
