"""The text that a message is written down in, and what it says.

    OffsetCommitValue 0-4 flexible 4+ key 1
      offset int64 0+
      metadata string? 0+ =null
      expire_timestamp int64 1 =-1 ignorable
      topic_id uuid 4+ @0 ignorable
      members []Member 0+
        member_id string 0+

A line is a field: name, type, versions, and what is out of the ordinary: `?` may be null (`?12+` from then on), `@0`
the tag (`@0:5+` from then on, plain before), `=` the default, `ignorable` (may be dropped where the version lacks it),
`inflexible` (keeps its old form in flexible versions). Deeper lines are a struct's fields; `struct Name` gives the
fields of one that several fields have, before them. The words are those of Kafka's JSON.

docs/decisions/0009-schema-compiler.md says why a message is written down like this and what is made of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDLESS = 1 << 15
INDENT = "  "


class Versions(NamedTuple):
    """Both ends inclusive."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last

    def __str__(self) -> str:
        if self.last < self.first:
            return "none"
        if self.last == ENDLESS:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NONE = Versions(0, -1)


class Struct(NamedTuple):
    """Fields under a name; the message itself is one."""

    name: str
    fields: tuple[Field, ...]


class Field(NamedTuple):
    """One line of a table. `type` is a primitive's name, or that of `struct`; `default` is as written."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    default: str | None
    is_ignorable: bool
    is_inflexible: bool
    struct: Struct | None

    def is_tagged(self, version: int) -> bool:
        return version in self.tagged and version in self.versions

    def is_plain(self, version: int) -> bool:
        return version in self.versions and version not in self.tagged


class Message(NamedTuple):
    """A whole table. `key` is the number that Kafka knows the message by, -1 if it has none."""

    struct: Struct
    versions: Versions
    flexible: Versions
    key: int

    @property
    def name(self) -> str:
        return self.struct.name


class _Line(NamedTuple):
    depth: int
    words: list[str]


def split_tables(text: str) -> dict[str, str]:
    """Each message's own lines, by its name, not yet understood."""
    blocks = (block.strip("\n") for block in text.split("\n\n"))
    return {block.split(maxsplit=1)[0]: block for block in blocks if block}


def parse_table(text: str) -> Message:
    """One message's lines. Raises ValueError: a table is code, and a wrong one a bug."""
    head, *rest = (_line(line) for line in text.splitlines())
    name, versions, *more = head.words
    facts = dict(zip(more[::2], more[1::2], strict=True))
    fields = _Fields(rest).read(1)
    flexible = parse_versions(facts.get("flexible", "none"))
    return Message(Struct(name, fields), parse_versions(versions), flexible, int(facts.get("key", -1)))


def parse_versions(text: str) -> Versions:
    if text == "none":
        return NONE
    first, dash, last = text.removesuffix("+").partition("-")
    if text.endswith("+"):
        return Versions(int(first), ENDLESS)
    return Versions(int(first), int(last) if dash else int(first))


def _line(line: str) -> _Line:
    bare = line.lstrip()
    return _Line((len(line) - len(bare)) // len(INDENT), bare.split())


class _Fields:
    """The lines that are still to be read, and the structs that fields may name."""

    def __init__(self, lines: list[_Line]) -> None:
        self.lines = lines[::-1]
        self.shared: dict[str, Struct] = {}

    def read(self, depth: int) -> tuple[Field, ...]:
        return tuple(self._read(depth))

    def _read(self, depth: int) -> Iterator[Field]:
        while self.lines and self.lines[-1].depth == depth:
            name, type_, *more = self.lines.pop().words
            if name == "struct":
                self.shared[type_] = Struct(type_, self.read(depth + 1))
                continue
            own = self.read(depth + 1)
            yield self._field(name, type_, more, own)

    def _field(self, name: str, type_: str, more: list[str], own: tuple[Field, ...]) -> Field:
        versions, *flags = more
        type_, question, nullable = type_.partition("?")
        bare = type_.removeprefix("[]")
        marked = {flag[0]: flag[1:] for flag in flags}
        tag, _, tagged = marked.get("@", "").partition(":")
        return Field(
            name,
            bare,
            bare != type_,
            parse_versions(versions),
            parse_versions(nullable or versions) if question else NONE,
            parse_versions(tagged or versions) if tag else NONE,
            int(tag or -1),
            marked.get("="),
            "ignorable" in flags,
            "inflexible" in flags,
            Struct(bare, own) if own else self.shared.get(bare),
        )
