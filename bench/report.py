"""What is kept of a row: its medians, the raw runs, the machine and what ran on it, as JSON."""

from __future__ import annotations

import json
import os
import platform
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure import Measured

CPU_INFO = "/proc/cpuinfo"


def write(folder: Path, measured: Measured, about: dict[str, object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{measured.row.name}.json"
    path.write_text(json.dumps(content(measured, about), indent=2) + "\n")
    return path


def content(measured: Measured, about: dict[str, object]) -> dict[str, object]:
    row = measured.row
    return {
        "name": row.name,
        "what": row.what,
        "unit": row.unit,
        "better": "larger" if row.larger_is_better else "smaller",
        "ratio": measured.ratio,
        "medians": {side: measured.figure(side) for side in measured.runs},
        "runs": measured.runs,
        "about": about,
        "machine": machine(),
    }


def machine() -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "cpu": cpu_model(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def cpu_model() -> str:
    try:
        with open(CPU_INFO) as file:
            found = re.search(r"model name\s*:\s*(.+)", file.read())
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown"
