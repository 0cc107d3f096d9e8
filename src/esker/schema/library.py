"""Tables by name, and the functions and classes that are made from them when they are first asked for.

A module of tables holds one text and a `Library` of it; its `__getattr__` is `library.shape`, so that
`from esker.records.internal.offsets_tables import OffsetCommitValue` gives the class, made now. A stub beside the
module tells mypy what the classes are; both are printed by tools/schemas.py.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from esker.schema.decoder import DecoderSource
from esker.schema.encoder import EncoderSource
from esker.schema.errors import UnknownVersion
from esker.schema.shapes import flat_name, shapes_of
from esker.schema.table import parse_table, split_tables
from esker.schema.writer import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from esker.schema.shapes import Shapes
    from esker.schema.writer import Writer

    Decode = Callable[..., tuple[Any, int]]
    Encode = Callable[..., list[Any]]


class Schema:
    """One message in all of its versions."""

    def __init__(self, table: str, module: str) -> None:
        self.message = parse_table(table)
        self.module = module
        self._decoders: dict[int, Decode] = {}
        self._encoders: dict[int, Encode] = {}

    def __repr__(self) -> str:
        return f"Schema({self.message.name} {self.message.versions})"

    @cached_property
    def shapes(self) -> Shapes:
        """The NamedTuple class of each struct, by the name that the table gives it."""
        return shapes_of(self.message, self.module)

    @property
    def shape(self) -> type[Any]:
        """The message's own class."""
        return self.shapes[self.message.name]

    def decoder(self, version: int) -> Decode:
        """`decode(data, position=0, elements=UNLIMITED) -> (value, end)`. It raises BadMessage and nothing else; what
        stands after the end is its caller's matter. `elements` limits how many array elements the whole message may
        have. Raises UnknownVersion."""
        found = self._decoders.get(version)
        return found or self._decoders.setdefault(version, self._made(self._decoder_source(version), version))

    def encoder(self, version: int) -> Encode:
        """`encode(value, prefix=b"") -> list of buffers`. It raises CannotEncode. Raises UnknownVersion."""
        found = self._encoders.get(version)
        return found or self._encoders.setdefault(version, self._made(self._encoder_source(version), version))

    def source(self, version: int) -> str:
        """Both functions as they are compiled, to be read by people."""
        return f"{self._decoder_source(version).source}\n\n{self._encoder_source(version).source}"

    def _decoder_source(self, version: int) -> Writer:
        self._require(version)
        return DecoderSource(self.message, version, self.shapes).write()

    def _encoder_source(self, version: int) -> Writer:
        self._require(version)
        return EncoderSource(self.message, version, self.shapes).write()

    def _require(self, version: int) -> None:
        if version not in self.message.versions:
            raise UnknownVersion(self.message.name, version, str(self.message.versions))

    def _made(self, writer: Writer, version: int) -> Callable[..., Any]:
        return made(writer.source, writer.constants, f"<{self.message.name} v{version}>")


class Library:
    """All messages of one text. A table is read when its message is first asked for."""

    def __init__(self, module: str, text: str) -> None:
        self.module = module
        self._tables = split_tables(text)
        self._schemas: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        found = self._schemas.get(name)
        return found or self._schemas.setdefault(name, Schema(self._tables[name], self.module))

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    @cached_property
    def by_key(self) -> dict[int, Schema]:
        """The messages that have a key, by it. It reads every table."""
        schemas = [self[name] for name in self]
        return {schema.message.key: schema for schema in schemas if schema.message.key >= 0}

    def shape(self, name: str) -> type[Any]:
        """The class of that name, for a module's `__getattr__`; raises AttributeError."""
        for owner in self._tables:
            if name.startswith(owner):
                for struct, shape in self[owner].shapes.items():
                    if flat_name(owner, struct) == name:
                        return shape
        raise AttributeError(f"{self.module} has no {name}")
