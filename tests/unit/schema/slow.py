"""The slow, simple twin of the compiled functions: it looks at the table anew for each field of each message.

It answers dicts of Python values, a struct as a dict of its fields in the table's order. Its one shared part with the
compiler is the reading of the table's text.
"""

from __future__ import annotations

import struct
from typing import Any

from esker.schema.table import NONE, Field, Message, Struct

FORMATS = {"bool": ">?", "int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q"}
FORMATS |= {"float64": ">d", "uuid": ">16s"}


class Refused(Exception):
    """The bytes are no such message."""


class Reader:
    """A cursor over bytes, field by field."""

    def __init__(self, message: Message, version: int, data: bytes, position: int = 0) -> None:
        self.version, self.data, self.position = version, data, position
        self.flexible = version in message.flexible

    def take(self, size: int) -> bytes:
        if size < 0 or size > len(self.data) - self.position:
            raise Refused(f"{size} bytes at {self.position}")
        self.position += size
        return self.data[self.position - size : self.position]

    def number(self, type_: str) -> Any:
        return struct.unpack(FORMATS[type_], self.take(struct.calcsize(FORMATS[type_])))[0]

    def varint(self) -> int:
        number = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise Refused("a varint of more than five bytes")

    def length(self, field: Field, type_: str) -> int:
        """-1 for null."""
        length: int = self.varint() - 1 if self.compact(field) else self.number(type_)
        if length < 0 and self.version not in field.nullable:
            raise Refused(f"{field.name} is null")
        return max(length, -1)

    def compact(self, field: Field) -> bool:
        return self.flexible and not field.is_inflexible

    def struct(self, what: Struct) -> dict[str, Any]:
        found = {field.name: absent(field) for field in what.fields}
        for field in what.fields:
            is_tagged = self.flexible and self.version in field.tagged
            if self.version in field.versions and not is_tagged and self.version not in field.tagged:
                found[field.name] = self.field(field)
        if self.flexible:
            self.tags(what, found)
        return found

    def tags(self, what: Struct, found: dict[str, Any]) -> None:
        known = {field.tag: field for field in what.fields if field.is_tagged(self.version)}
        for _ in range(self.varint()):
            tag, size = self.varint(), self.varint()
            end = self.position + size
            if tag in known:
                found[known[tag].name] = self.field(known[tag], tagged=True)
            else:
                self.take(size)
            if self.position != end:
                raise Refused(f"tag {tag} has another size")

    def field(self, field: Field, *, tagged: bool = False) -> Any:
        if field.is_array:
            length = self.length(field, "int32")
            return None if length < 0 else self.array(field, length)
        if field.struct is not None:
            return self.nested(field, field.struct, tagged=tagged)
        return self.primitive(field)

    def array(self, field: Field, length: int) -> tuple[Any, ...]:
        if length > len(self.data) - self.position:
            raise Refused(f"{field.name} has {length} elements")
        one = field._replace(is_array=False, nullable=NONE)
        return tuple(self.field(one) for _ in range(length))

    def nested(self, field: Field, what: Struct, *, tagged: bool) -> Any:
        if self.version in field.nullable:
            mark = self.varint() - 1 if tagged else self.number("int8")
            if mark < 0:
                return None
        return self.struct(what)

    def primitive(self, field: Field) -> Any:
        if field.type in FORMATS:
            return self.number(field.type)
        length = self.length(field, "int16" if field.type == "string" else "int32")
        if length < 0:
            return None
        content = self.take(length)
        return content.decode(errors="replace") if field.type == "string" else content


def read(message: Message, version: int, data: bytes, position: int = 0) -> tuple[dict[str, Any], int]:
    reader = Reader(message, version, data, position)
    return reader.struct(message.struct), reader.position


class Writer:
    """The other way. It knows no default but for tags, and no chunks."""

    def __init__(self, message: Message, version: int) -> None:
        self.version = version
        self.flexible = version in message.flexible

    def struct(self, what: Struct, value: dict[str, Any]) -> bytes:
        present = [field for field in what.fields if self.version in field.versions]
        plain = [field for field in present if self.version not in field.tagged]
        out = b"".join(self.field(field, value[field.name]) for field in plain)
        return out + (self.tags([field for field in present if field not in plain], value) if self.flexible else b"")

    def tags(self, tagged: list[Field], value: dict[str, Any]) -> bytes:
        wanted = [field for field in tagged if value[field.name] != absent(field)]
        out = varint(len(wanted))
        for field in sorted(wanted, key=lambda field: field.tag):
            body = self.field(field, value[field.name], tagged=True)
            out += varint(field.tag) + varint(len(body)) + body
        return out

    def field(self, field: Field, value: Any, *, tagged: bool = False) -> bytes:
        if field.is_array:
            one = field._replace(is_array=False, nullable=NONE)
            return self.length(field, value, ">i") + b"".join(self.field(one, each) for each in value or ())
        if field.struct is not None:
            mark = b"" if self.version not in field.nullable else self.mark(value is None, tagged=tagged)
            return mark + (b"" if value is None else self.struct(field.struct, value))
        if field.type in FORMATS:
            return struct.pack(FORMATS[field.type], value)
        content = value.encode() if isinstance(value, str) else value
        return self.length(field, content, ">h" if field.type == "string" else ">i") + bytes(content or b"")

    def mark(self, is_null: bool, *, tagged: bool) -> bytes:
        return (b"\0" if is_null else b"\1") if tagged else (b"\xff" if is_null else b"\1")

    def length(self, field: Field, value: Any, code: str) -> bytes:
        length = -1 if value is None else len(value)
        return varint(length + 1) if self.flexible and not field.is_inflexible else struct.pack(code, length)


def write(message: Message, version: int, value: dict[str, Any]) -> bytes:
    return Writer(message, version).struct(message.struct, value)


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def absent(field: Field) -> Any:
    """The value of a field that is not on the wire."""
    if field.default == "null":
        return None
    if field.is_array:
        return ()
    if field.struct is not None:
        return {each.name: absent(each) for each in field.struct.fields}
    if field.type in ("string", "uuid", "bytes", "records"):
        empty: dict[str, Any] = {"string": field.default or "", "uuid": bytes(16)}
        return empty.get(field.type, b"")
    if field.type == "bool":
        return field.default == "true"
    return int(field.default or "0", 0)


def plain(value: Any) -> Any:
    """A compiled function's value as this twin would say it."""
    if hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    return bytes(value) if isinstance(value, memoryview) else value


def shaped(value: Any, what: Struct, shapes: dict[str, Any]) -> Any:
    """A dict of this twin as the class that a compiled function takes."""
    return shapes[what.name](*(_shaped(value[field.name], field, shapes) for field in what.fields))


def _shaped(value: Any, field: Field, shapes: dict[str, Any]) -> Any:
    if field.struct is None or value is None:
        return value
    if field.is_array:
        return tuple(shaped(each, field.struct, shapes) for each in value)
    return shaped(value, field.struct, shapes)
