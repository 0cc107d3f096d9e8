"""Random values for any table, from a seeded random: what a strategy would draw, but fast enough for 198 messages."""

from __future__ import annotations

from random import Random
from typing import Any

from esker.schema.table import NONE, Field, Message, Struct
from unit.schema.slow import absent

RANGES = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
TEXTS = ("", "a", "topic", "ünï-🦜", "x" * 126, "y" * 127, "z" * 300)


def drawn(random: Random, message: Message, version: int) -> dict[str, Any]:
    """A message that the version can say: what it has no field for keeps its default."""
    return _struct(random, message.struct, version, version in message.flexible, 0)


def _struct(random: Random, what: Struct, version: int, flexible: bool, depth: int) -> dict[str, Any]:
    return {field.name: _field(random, field, version, flexible, depth) for field in what.fields}


def _field(random: Random, field: Field, version: int, flexible: bool, depth: int) -> Any:
    if version not in field.versions or (field.is_tagged(version) and random.random() < 0.5):
        return absent(field)
    if version in field.nullable and random.random() < 0.2:
        return None
    if field.is_array:
        sizes = (0, 1, 2, 2, 3) if field.struct or depth > 2 else (0, 1, 3, 16, 17, 130)
        one = field._replace(is_array=False, nullable=NONE, tagged=NONE)
        count = random.choice(sizes)
        return tuple(_field(random, one, version, flexible, depth + 1) for _ in range(count))
    if field.struct is not None:
        return _struct(random, field.struct, version, flexible, depth + 1)
    return _primitive(random, field.type)


def _primitive(random: Random, type_: str) -> Any:
    if type_ in RANGES:
        bits = RANGES[type_]
        return random.choice((0, 1, -1, 2**bits - 1, -(2**bits), random.randrange(-(2**bits), 2**bits)))
    if type_ in ("uint16", "uint32"):
        return random.randrange(1 << (16 if type_ == "uint16" else 32))
    if type_ == "bool":
        return random.random() < 0.5
    if type_ == "float64":
        return random.random()
    if type_ == "string":
        return random.choice(TEXTS)
    return random.randbytes(16 if type_ == "uuid" else random.choice((0, 1, 126, 127, 200, 5000)))
