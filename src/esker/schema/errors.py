"""What can be wrong with a message, told apart by whose move is next."""

from __future__ import annotations

from esker.base.errors import EskerError


class BadMessage(EskerError):
    """Bytes that are no such message: the only error that decoding raises, whatever the bytes are.

    `position` is where reading stopped, `what` names the field and its fault.
    """

    def __init__(self, message: str, version: int, position: int, what: str) -> None:
        super().__init__(f"{message} v{version}, position {position}: {what}")
        self.message, self.version, self.position, self.what = message, version, position, what

    def __reduce__(self) -> tuple[type[BadMessage], tuple[str, int, int, str]]:
        return type(self), (self.message, self.version, self.position, self.what)


class CannotEncode(EskerError):
    """A value that this version has no bytes for: a field that it lacks, a number or a text too large."""

    def __init__(self, message: str, version: int, what: str) -> None:
        super().__init__(f"{message} v{version}: {what}")
        self.message, self.version, self.what = message, version, what

    def __reduce__(self) -> tuple[type[CannotEncode], tuple[str, int, str]]:
        return type(self), (self.message, self.version, self.what)


class UnknownVersion(EskerError):
    """A version that the message's table does not have."""

    def __init__(self, message: str, version: int, known: str) -> None:
        super().__init__(f"{message} has the versions {known}, not {version}")
        self.message, self.version, self.known = message, version, known

    def __reduce__(self) -> tuple[type[UnknownVersion], tuple[str, int, str]]:
        return type(self), (self.message, self.version, self.known)
