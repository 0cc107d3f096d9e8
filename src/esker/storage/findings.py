"""What `check` says: one finding for each place that does not hold what its format promises."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """ERROR: data is damaged or would be read wrongly. WARNING: the next start puts it right. INFO: no fault, only
    worth knowing: what a log looks like that is being written."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(NamedTuple):
    """One place. `kind` is a word for programs, `cause` a sentence for people. `position` and `size` are bytes of the
    file; both offsets are inclusive and say what is affected. -1: does not apply, or is not known."""

    path: str
    kind: str
    severity: Severity
    position: int
    size: int
    base_offset: int
    last_offset: int
    cause: str

    def __str__(self) -> str:
        place = f" bytes {self.position}-{self.position + self.size - 1}" if self.size > 0 else ""
        offsets = f" offsets {self.base_offset}-{self.last_offset}" if self.base_offset >= 0 else ""
        return f"{self.severity} {self.path}{place}{offsets} {self.kind}: {self.cause}"

    def fields(self) -> dict[str, object]:
        """Under the names that they have in JSON."""
        named = dict(zip(JSON_NAMES, self, strict=True))
        return {**named, "severity": self.severity.value}


JSON_NAMES = ("path", "kind", "severity", "position", "size", "baseOffset", "lastOffset", "cause")


class Looked(NamedTuple):
    """So many more bytes were looked at: for who shows how far it is."""

    bytes: int


Report = Finding | Looked


class Place(NamedTuple):
    """Where a finding is, before it is one: bytes and offsets."""

    position: int = -1
    size: int = -1
    base_offset: int = -1
    last_offset: int = -1


NOWHERE = Place()


def error(path: str, kind: str, place: Place, cause: str) -> Finding:
    return Finding(path, kind, Severity.ERROR, *place, cause)


def warning(path: str, kind: str, place: Place, cause: str) -> Finding:
    return Finding(path, kind, Severity.WARNING, *place, cause)


def info(path: str, kind: str, place: Place, cause: str) -> Finding:
    return Finding(path, kind, Severity.INFO, *place, cause)
