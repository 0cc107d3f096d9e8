"""The Python side of a message: a NamedTuple class for each of its structs, and the value of a field that is absent.

The surprise: a class is made when its message is first used. The classes of all of Kafka's messages would cost an
import some 30 ms, and most processes see a dozen of them.
"""

from __future__ import annotations

from collections import namedtuple
from struct import calcsize
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from esker.schema.table import Field, Message, Struct

# A primitive of a fixed size, as the struct module knows it.
FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
SIZES = {name: calcsize(f">{code}") for name, code in FORMATS.items()}
ABSENT: dict[str, object] = {
    "bool": False,
    "float64": 0.0,
    "uuid": bytes(16),
    "string": "",
    "bytes": b"",
    "records": b"",
}
SAID = {"null": None, "true": True, "false": False}

Shapes = dict[str, type[Any]]


def shapes_of(message: Message, module: str) -> Shapes:
    """Each struct's class by the struct's name, those inside of others first."""
    shapes: Shapes = {}
    _add(message.struct, message.name, module, shapes)
    return shapes


def _add(struct: Struct, owner: str, module: str, shapes: Shapes) -> None:
    for field in struct.fields:
        if field.struct is not None and field.struct.name not in shapes:
            _add(field.struct, owner, module, shapes)
    names = [field.name for field in struct.fields]
    defaults = [absent(field, shapes) for field in struct.fields]
    name = flat_name(owner, struct.name)
    shapes[struct.name] = namedtuple(name, names, defaults=defaults, module=module)  # noqa: PYI024


def flat_name(owner: str, struct: str) -> str:
    """Structs of two messages may share a name, so a class has the message's name in front."""
    return struct if struct.startswith(owner) else owner + struct


def absent(field: Field, shapes: Shapes) -> Any:
    """What the field is where it is not on the wire."""
    if field.default in SAID:
        return SAID[field.default]
    if field.is_array:
        return ()
    if field.struct is not None:
        return shapes[field.struct.name]()
    if field.default is not None and field.type != "string":
        return int(field.default, 0)
    return field.default if field.default is not None else ABSENT.get(field.type, 0)


def smallest_size(field: Field, version: int, *, flexible: bool) -> int:
    """The fewest bytes that the field takes up here, outside of a tag; what an array's element takes, for an array."""
    if field.type in SIZES:
        return SIZES[field.type]
    if field.struct is None:
        return 1 if flexible else 4 if field.type in ("bytes", "records") else 2
    return max(1, _smallest_struct(field.struct, version, flexible=flexible))


def _smallest_struct(struct: Struct, version: int, *, flexible: bool) -> int:
    total = int(flexible)
    for field in struct.fields:
        if not field.is_plain(version):
            continue
        is_flexible = flexible and not field.is_inflexible
        if field.is_array:
            total += 1 if is_flexible else 4
        elif field.struct is not None and version in field.nullable:
            total += 1
        else:
            total += smallest_size(field, version, flexible=is_flexible)
    return total
