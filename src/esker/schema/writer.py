"""Lines of generated source, and the constants that they name."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from struct import Struct
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Writer:
    """Source grows line by line. `constants` become the globals of the function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._depth = 0
        self._numbers = count(1)

    def line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, name: str) -> str:
        """A variable that no other part of the function has."""
        return f"{name}_{next(self._numbers)}"

    def constant(self, name: str, thing: object) -> str:
        """The name under which the function sees the thing."""
        self.constants[name] = thing
        return name

    def unpack(self, formats: str) -> str:
        return self.constant(f"unpack_{formats.replace('?', 't')}", Struct(f">{formats}").unpack_from)

    def pack(self, formats: str) -> str:
        return self.constant(f"pack_{formats.replace('?', 't')}", Struct(f">{formats}").pack)

    @property
    def source(self) -> str:
        return "\n".join(self.lines) + "\n"


def made(source: str, constants: dict[str, Any], file: str) -> FunctionType:
    """The one function that the source defines. Nothing is run for it: the compiled module's constants hold the
    function's code, and all that its body may name is in `constants`."""
    module = compile(source, file, "exec")
    (code,) = (each for each in module.co_consts if isinstance(each, CodeType))
    function = FunctionType(code, constants)
    function.__defaults__ = constants.get("DEFAULTS")
    return function
