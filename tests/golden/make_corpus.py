"""Makes the golden corpus anew: `python tests/golden/make_corpus.py [current|old]`, by hand, with Java and Maven."""

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from golden.current import make_current  # noqa: E402
from golden.old import make_old  # noqa: E402
from golden.verify import verify  # noqa: E402


def main(only: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        if "old" not in only:
            make_current(Path(scratch) / "current", save)
        if "current" not in only:
            make_old(Path(scratch) / "old", save)
    verify()


def save(name: str, files: list[Path], note: Mapping[str, Any]) -> None:
    """Copy a case's files and write its note, with the SHA-256 of each."""
    target = HERE / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in files:
        shutil.copyfile(file, target / file.name)
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}
    (target / "origin.json").write_text(_json(dict(note) | {"files": sums}))


def _json(note: dict[str, Any]) -> str:
    """Indented, but a record to a line."""
    parts = []
    for key, value in note.items():
        if isinstance(value, list) and value:
            rows = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in value)
            parts.append(f'  "{key}": [\n{rows}\n  ]')
        else:
            parts.append(f'  "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main(sys.argv[1:])
