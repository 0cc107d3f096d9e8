"""Writes the source of a function that encodes one message in one version.

The function answers a list of buffers: small parts joined, and each large `bytes` or `records` field as the object that
was given, never copied. So a field may be anything with a length, a part of a file too; only what is small must be
bytes. The order of the fields in the class is what values are read by, so a plain tuple encodes as well.
"""

from __future__ import annotations

from struct import Struct as Format
from struct import error as struct_error
from typing import TYPE_CHECKING

from esker.schema import varint
from esker.schema.errors import CannotEncode
from esker.schema.shapes import FORMATS, Shapes, absent
from esker.schema.table import NONE
from esker.schema.writer import Writer

if TYPE_CHECKING:
    from esker.schema.table import Field, Message, Struct

# Shorter than this a buffer is cheaper to copy than to hand on by itself.
JOINED = 4096
PLAIN = frozenset((bytes, bytearray, memoryview))
SMALL = 16
CONTINUES = 0x80

_formats: dict[str, list[object]] = {}


def small_packers(prefix: str, code: str) -> list[object]:
    """By the number of elements, the function that packs the count and so many."""
    formats = (f">{prefix}{size}{code}" for size in range(SMALL + 1))
    return _formats.get(prefix + code) or _formats.setdefault(prefix + code, [Format(each).pack for each in formats])


def pack_many(prefix: bytes, code: str, numbers: tuple[int, ...]) -> bytes:
    return prefix + Format(f">{len(numbers)}{code}").pack(*numbers)


class EncoderSource:
    """One function while it is being written. `pending` are the numbers that wait for their common pack call, `add`
    the name of what takes a finished part."""

    def __init__(self, message: Message, version: int, shapes: Shapes) -> None:
        self.message, self.version, self.shapes = message, version, shapes
        self.flexible = version in message.flexible
        self.out = Writer()
        self.pending: list[tuple[str, str]] = []
        self.add = "add"
        self.in_tag = False

    def write(self) -> Writer:
        """The whole function: `encode(value, prefix=b"") -> list of buffers`; the prefix begins the first of them."""
        out = self.out
        out.constants |= {"CannotEncode": CannotEncode, "write": varint.write, "struct_error": struct_error}
        out.constants |= {"join": b"".join, "pack_many": pack_many, "PLAIN": PLAIN, "DEFAULTS": (b"",)}
        with out.block(f"def encode_{self.message.name}_v{self.version}(value, prefix):"):
            out.line("chunks = []")
            out.line("parts = [prefix]")
            out.line("add = parts.append")
            with out.block("try:"):
                self._struct(self.message.struct, "value")
                out.line("chunks.append(join(parts))")
            with out.block("except (struct_error, UnicodeEncodeError) as error:"):
                out.line(f"raise {self._complaint('str(error)')} from error")
            out.line("return chunks")
        return out

    def _complaint(self, what: str) -> str:
        return f"CannotEncode({self.message.name!r}, {self.version}, {what})"

    # Numbers, and how they are joined with what stands beside them.

    def _fixed(self, code: str, expression: str) -> None:
        self.pending.append((code, expression))

    def _flush(self) -> None:
        self._add_numbers(self.pending)
        self.pending = []

    def _add_numbers(self, numbers: list[tuple[str, str]]) -> None:
        codes = "".join(code for code, _ in numbers)
        given = [expression for _, expression in numbers]
        if codes and all(_is_number(each) for each in given):
            self.out.line(f"{self.add}({Format('>' + codes).pack(*map(int, given))!r})")
        elif codes:
            self.out.line(f"{self.add}({self.out.pack(codes)}({', '.join(given)}))")

    def _varint(self, expression: str) -> None:
        """With what is pending, where it fits into a byte."""
        before, self.pending = self.pending, []
        with self.out.block(f"if {expression} < {CONTINUES}:"):
            self._add_numbers([*before, ("B", expression)])
        with self.out.block("else:"):
            self._add_numbers(before)
            self.out.line(f"{self.add}(write({expression}))")

    def _length(self, field: Field, code: str, expression: str) -> None:
        if self._is_flexible(field):
            length = self.out.fresh("length")
            self.out.line(f"{length} = {expression} + 1")
            self._varint(length)
        else:
            self._fixed(code, expression)
            self._flush()

    def _null(self, field: Field, code: str) -> None:
        self._fixed("B" if self._is_flexible(field) else code, "0" if self._is_flexible(field) else "-1")
        self._flush()

    def _is_flexible(self, field: Field) -> bool:
        return self.flexible and not field.is_inflexible

    # Structs and fields.

    def _struct(self, struct: Struct, value: str) -> None:
        """Everything of the struct, flushed."""
        names = {field.name: self.out.fresh(field.name) for field in struct.fields}
        if struct.fields:
            self.out.line(f"{''.join(f'{name}, ' for name in names.values())}= {value}")
        tagged = [field for field in struct.fields if self.flexible and field.is_tagged(self.version)]
        for field in struct.fields:
            if field.is_plain(self.version):
                self._value(field, names[field.name], tagged=False)
            elif field not in tagged and not field.is_ignorable:
                self._refuse_set(field, names[field.name])
        if self.flexible:
            self._tags(sorted(tagged, key=lambda field: field.tag), names)
        self._flush()

    def _refuse_set(self, field: Field, name: str) -> None:
        with self.out.block(f"if {self._is_set(field, name)}:"):
            self.out.line(f"raise {self._complaint(repr(f'{field.name} is set, and this version has no such field'))}")

    def _is_set(self, field: Field, name: str) -> str:
        """The expression that tells whether the field has another value than its default."""
        value = absent(field, self.shapes)
        if value is None:
            return f"({name} is not None)"
        if field.is_array:
            return f"({name} is None or len({name}) > 0)"
        if isinstance(value, int | str | bytes):
            return f"({name} != {value!r})"
        return f"({name} != {self.out.constant(f'absent_{type(value).__name__}', value)})"

    def _value(self, field: Field, name: str, *, tagged: bool) -> None:
        if field.type in FORMATS and not field.is_array:
            self._fixed(FORMATS[field.type], name)
        elif self.version not in field.nullable:
            self._present(field, name)
        elif field.struct is not None and not field.is_array:
            self._nullable_struct(field, name, tagged=tagged)
        else:
            self._nullable(field, name)

    def _nullable(self, field: Field, name: str) -> None:
        before = list(self.pending)
        with self.out.block(f"if {name} is None:"):
            self._null(field, "h" if field.type == "string" and not field.is_array else "i")
        self.pending = before
        with self.out.block("else:"):
            self._present(field, name)

    def _nullable_struct(self, field: Field, name: str, *, tagged: bool) -> None:
        before = list(self.pending)
        with self.out.block(f"if {name} is None:"):
            self._fixed("b", "0" if tagged else "-1")
            self._flush()
        self.pending = [*before, ("b", "1")]
        with self.out.block("else:"):
            self._present(field, name)

    def _present(self, field: Field, name: str) -> None:
        """The value of something that is there and is no number; flushed."""
        if field.is_array:
            self._array(field, name)
        elif field.struct is not None:
            self._struct(field.struct, name)
        elif field.type == "string":
            self._string(field, name)
        else:
            self._length(field, "i", f"len({name})")
            self._buffer(name)

    def _string(self, field: Field, name: str) -> None:
        text = self.out.fresh("text")
        self.out.line(f"{text} = {name}.encode()")
        self._length(field, "h", f"len({text})")
        self.out.line(f"{self.add}({text})")

    def _buffer(self, name: str) -> None:
        if self.in_tag:
            self.out.line(f"{self.add}({name})")
            return
        with self.out.block(f"if len({name}) < {JOINED} and {name}.__class__ in PLAIN:"):
            self.out.line(f"add({name})")
        with self.out.block("else:"):
            self.out.line(f"chunks += join(parts), {name}")
            self.out.line("parts.clear()")

    # Arrays.

    def _array(self, field: Field, name: str) -> None:
        if field.type in FORMATS and field.type != "uuid":
            self._numbers(field, name)
            return
        self._length(field, "i", f"len({name})")
        each = self.out.fresh("each")
        with self.out.block(f"for {each} in {name}:"):
            if field.struct is not None:
                self._struct(field.struct, each)
            else:
                self._value(field._replace(is_array=False, nullable=NONE), each, tagged=False)
                self._flush()

    def _numbers(self, field: Field, name: str) -> None:
        """The count and the numbers in one call where they are few."""
        self._flush()
        code, flexible = FORMATS[field.type], self._is_flexible(field)
        count, prefix = self.out.fresh("count"), "B" if flexible else "i"
        small = self.out.constant(f"pack_many_{prefix}{code}", small_packers(prefix, code))
        said = f"{count} + 1" if flexible else count
        self.out.line(f"{count} = len({name})")
        with self.out.block(f"if {count} <= {SMALL}:"):
            self.out.line(f"{self.add}({small}[{count}]({said}, *{name}))")
        with self.out.block("else:"):
            head = f"write({said})" if flexible else f"{self.out.pack('i')}({count})"
            self.out.line(f"{self.add}(pack_many({head}, {code!r}, {name}))")

    # Tags.

    def _tags(self, tagged: list[Field], names: dict[str, str]) -> None:
        """The section at the end of a struct: one byte, where every tagged field has its default."""
        if not tagged:
            self._fixed("B", "0")
            return
        marks = [self.out.fresh("is_set") for _ in tagged]
        for field, mark in zip(tagged, marks, strict=True):
            self.out.line(f"{mark} = {self._is_set(field, names[field.name])}")
        self._fixed("B", " + ".join(marks))
        self._flush()
        for field, mark in zip(tagged, marks, strict=True):
            with self.out.block(f"if {mark}:"):
                self._tag(field, names[field.name])

    def _tag(self, field: Field, name: str) -> None:
        """The field is written apart, since its size stands before it."""
        parts, outer = self.out.fresh("tagged"), (self.add, self.in_tag)
        self.out.line(f"{parts} = []")
        self.add, self.in_tag = f"{parts}.append", True
        self._value(field, name, tagged=True)
        self._flush()
        self.add, self.in_tag = outer
        self.out.line(f"{parts} = join({parts})")
        self.out.line(f"{self.add}(write({field.tag}))")
        self.out.line(f"{self.add}(write(len({parts})))")
        self.out.line(f"{self.add}({parts})")


def _is_number(expression: str) -> bool:
    return expression.lstrip("-").isdigit()
