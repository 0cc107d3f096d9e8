"""Errors, told apart by whose move is next.

Here so far: `Corrupt`, bytes that fail their check (recovery or the operator moves next), and `KernelMissing`
(the person who asked for it). Rejected requests and failed storage come with the rooms that raise them.
"""

from __future__ import annotations

from esker.base.faults import Finding


class EskerError(Exception):
    """The root: everything that this package raises on purpose."""


class Corrupt(EskerError):
    """Bytes that are not what they should be. `finding` has the fault and its place in the bytes given."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding

    def __reduce__(self) -> tuple[type[Corrupt], tuple[Finding]]:
        return type(self), (self.finding,)


class KernelMissing(EskerError):
    """The kernel that ESKER_KERNEL asks for is not there, or no such kernel exists."""
