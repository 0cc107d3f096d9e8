"""The golden corpus for tests: each case's files, and what its producers say that these hold."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Digest:
    """Stands for bytes too long to be noted."""

    sha256: str
    length: int

    @classmethod
    def of(cls, data: bytes) -> "Digest":
        return cls(hashlib.sha256(data).hexdigest(), len(data))


Content = bytes | Digest | None


def matches(content: Content, data: bytes | None) -> bool:
    """Whether this data is what the note says."""
    if isinstance(content, Digest):
        return data is not None and Digest.of(data) == content
    return content == data


@dataclass(frozen=True)
class Expected:
    """A record, known otherwise than from the file's bytes."""

    offset: int
    timestamp: int
    timestamp_type: str
    key: Content
    value: Content
    headers: tuple[tuple[str, bytes | None], ...]
    is_transactional: bool
    is_aborted: bool


@dataclass(frozen=True)
class Case:
    """A folder of the corpus. `note` is its origin.json as it is."""

    name: str
    folder: Path
    note: dict[str, Any]

    @property
    def logs(self) -> list[Path]:
        return sorted(self.folder.glob("*.log"))

    @property
    def is_known(self) -> bool:
        """Whether anything but the bytes themselves tells what is in them."""
        return bool(self.note["known_from"] != "nothing")

    @property
    def expected(self) -> dict[Path, list[Expected]]:
        """Per log, the records that a reader of everything finds in it, aborted ones as well, markers left out."""
        found: dict[Path, list[Expected]] = {log: [] for log in self.logs}
        for row in self.note["records"]:
            record = _expected(row)
            found[self._log_of(record.offset)].append(record)
        return found

    def _log_of(self, offset: int) -> Path:
        return max(log for log in self.logs if int(log.stem) <= offset)


def cases() -> list[Case]:
    notes = sorted(HERE.glob("*/origin.json"))
    return [Case(note.parent.name, note.parent, json.loads(note.read_text())) for note in notes]


def case(name: str) -> Case:
    return Case(name, HERE / name, json.loads((HERE / name / "origin.json").read_text()))


def _expected(row: dict[str, Any]) -> Expected:
    return Expected(
        offset=row["offset"],
        timestamp=row["timestamp"],
        timestamp_type=row["timestampType"],
        key=_content(row["key"]),
        value=_content(row["value"]),
        headers=tuple((key, None if value is None else bytes.fromhex(value)) for key, value in row["headers"]),
        is_transactional=row.get("transactional", False),
        is_aborted=row.get("aborted", False),
    )


def _content(noted: str | dict[str, Any] | None) -> Content:
    if noted is None:
        return None
    if isinstance(noted, str):
        return bytes.fromhex(noted)
    if "repeat" in noted:
        return bytes.fromhex(noted["repeat"]) * int(noted["times"])
    return Digest(noted["sha256"], noted["length"])
