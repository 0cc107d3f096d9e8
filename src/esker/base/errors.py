"""Errors, told apart by whose move is next.

`Rejected`: the caller's, who gets Kafka's code. `Corrupt`, `BadFile`: recovery's or the operator's. `StorageFailed`:
the log dir's, which goes offline. `InvalidConfig` and `KernelMissing`: that of the person who set or asked for it. A
bug is none of these: it is an AssertionError, and nothing is written after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.base.faults import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.base.kafka_errors import ErrorCode


class EskerError(Exception):
    """The root: everything that this package raises on purpose."""


class Rejected(EskerError):
    """A request that is answered with Kafka's `code`. `records` names single records at fault: the record's index in
    its batch and what is wrong with it."""

    def __init__(self, code: ErrorCode, message: str, records: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        self.records = list(records)

    def __reduce__(self) -> tuple[type[Rejected], tuple[ErrorCode, str, list[tuple[int, str]]]]:
        return type(self), (self.code, self.message, self.records)


class Corrupt(EskerError):
    """Bytes that are not what they should be. `finding` has the fault and its place in the bytes given."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding

    def __reduce__(self) -> tuple[type[Corrupt], tuple[Finding]]:
        return type(self), (self.finding,)


class BadFile(EskerError):
    """A small file (a checkpoint, a snapshot) that does not hold what its format says. `place` is a line or a byte."""

    def __init__(self, path: str, place: str, expected: str, found: str) -> None:
        super().__init__(f"{path}, {place}: expected {expected}, found {found}")
        self.path = path
        self.place = place
        self.expected = expected
        self.found = found

    def __reduce__(self) -> tuple[type[BadFile], tuple[str, str, str, str]]:
        return type(self), (self.path, self.place, self.expected, self.found)


class StorageFailed(EskerError):
    """A file or folder that cannot be used as it must be: its log dir goes offline. `cause` is what the system said."""

    def __init__(self, path: str, cause: OSError) -> None:
        super().__init__(f"{path}: {cause.strerror or cause}")
        self.path = path
        self.cause = cause

    def __reduce__(self) -> tuple[type[StorageFailed], tuple[str, OSError]]:
        return type(self), (self.path, self.cause)


class InvalidConfig(EskerError):
    """A setting that is unknown, out of its range, or at odds with another one. The text is one sentence for whoever
    set it."""


class KernelMissing(EskerError):
    """The kernel that ESKER_KERNEL asks for is not there, or no such kernel exists."""
