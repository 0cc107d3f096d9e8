"""Writes the source of a function that decodes one message in one version.

What makes it fast: fields of fixed size that stand together are unpacked in one call, and the length or count after
them in the same; a varint's first byte too, since it is nearly always the only one. What makes it safe: each length is
compared with what is left before anything is sliced or made; everything else that can go wrong is an IndexError or a
struct.error at the end of the bytes, caught once.

Text that is not UTF-8 gets replacement characters, as in Kafka. A negative length is null where null is allowed.
"""

from __future__ import annotations

from contextlib import contextmanager
from struct import Struct as Format
from struct import error as struct_error
from typing import TYPE_CHECKING

from esker.schema import varint
from esker.schema.errors import BadMessage
from esker.schema.shapes import FORMATS, SIZES, Shapes, absent, smallest_size
from esker.schema.table import NONE
from esker.schema.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.schema.table import Field, Message, Struct

# Arrays up to this long have their own struct, made once.
SMALL = 16
# How many array elements a message may have when its caller sets no limit.
UNLIMITED = 1 << 62
# The first byte of a varint, and what is below it is all of the number.
CONTINUES = 0x80

_formats: dict[str, list[object]] = {}


def small_unpackers(code: str) -> list[object]:
    """By the number of elements, the function that unpacks so many."""
    formats = (f">{size}{code}" for size in range(SMALL + 1))
    return _formats.get(code) or _formats.setdefault(code, [Format(each).unpack_from for each in formats])


class DecoderSource:
    """One function while it is being written. `pending` are the fields that wait for their common unpack call."""

    def __init__(self, message: Message, version: int, shapes: Shapes) -> None:
        self.message, self.version, self.shapes = message, version, shapes
        self.flexible = version in message.flexible
        self.out = Writer()
        self.pending: list[tuple[str, str]] = []

    def write(self) -> Writer:
        """The whole function: `decode(data, position=0, elements=UNLIMITED) -> (value, end)`."""
        out = self.out
        out.constants |= {"BadMessage": BadMessage, "new": tuple.__new__, "read_rest": varint.read_rest}
        out.constants["skip_tags"] = varint.skip_tags
        out.constants |= {"Format": Format, "struct_error": struct_error, "DEFAULTS": (0, UNLIMITED)}
        with out.block(f"def decode_{self.message.name}_v{self.version}(data, pos, elements):"):
            out.line("data = memoryview(data)")
            out.line("end = len(data)")
            with out.block("try:"):
                value = self._struct(self.message.struct)
                out.line(f"return {value}, pos")
            with out.block("except (IndexError, struct_error):"):
                self._refuse("the bytes end too early")
            with out.block("except OverflowError:"):
                self._refuse("a length, count, tag or size of more than five bytes")
        return out

    def _refuse(self, what: str) -> None:
        self.out.line(f"raise BadMessage({self.message.name!r}, {self.version}, pos, {what!r}) from None")

    # Fields of fixed size, and the numbers that stand before the others.

    def _fixed(self, code: str, name: str) -> str:
        variable = self.out.fresh(name)
        self.pending.append((code, variable))
        return variable

    def _flush(self) -> None:
        codes = [code for code, _ in self.pending]
        variables = [variable for _, variable in self.pending]
        self.pending.clear()
        if codes == ["B"]:
            self.out.line(f"{variables[0]} = data[pos]")
        elif codes:
            formats = "".join(codes)
            self.out.line(f"{', '.join(variables)}, = {self.out.unpack(formats)}(data, pos)")
        if codes:
            self.out.line(f"pos += {Format('>' + ''.join(codes)).size}")

    def _varint(self, name: str) -> str:
        variable = self._fixed("B", name)
        self._flush()
        with self.out.block(f"if {variable} >= {CONTINUES}:"):
            self.out.line(f"{variable}, pos = read_rest(data, pos, {variable})")
        return variable

    def _length(self, field: Field, code: str) -> str:
        """Reads a length; the variable then has the length itself in either form, -1 for null."""
        if not self.flexible or field.is_inflexible:
            variable = self._fixed(code, "length")
            self._flush()
            return variable
        variable = self._varint("length")
        self.out.line(f"{variable} -= 1")
        return variable

    # Structs and fields.

    def _struct(self, struct: Struct) -> str:
        """The expression that makes the struct, all of its fields being read."""
        tagged = [field for field in struct.fields if self.flexible and field.is_tagged(self.version)]
        values = {field.name: self._plain(field) for field in struct.fields}
        if self.flexible:
            values |= self._tags(struct, tagged)
        else:
            self._flush()
        shape = self.out.constant(f"Shape{struct.name}", self.shapes[struct.name])
        return f"new({shape}, ({''.join(f'{values[field.name]}, ' for field in struct.fields)}))"

    def _absent(self, field: Field) -> str:
        value = absent(field, self.shapes)
        if value is None or isinstance(value, int | str | bytes) or value == ():
            return repr(value)
        return self.out.constant(f"absent_{type(value).__name__}", value)

    def _plain(self, field: Field) -> str:
        if not field.is_plain(self.version):
            return self._absent(field)
        return self._value(field, tagged=False)

    def _value(self, field: Field, *, tagged: bool) -> str:
        """Reads the field; answers the variable or expression that has it."""
        if field.is_array:
            return self._array(field)
        if field.type in FORMATS:
            return self._fixed(FORMATS[field.type], field.name)
        if field.struct is None:
            return self._text(field)
        if self.version in field.nullable:
            return self._nullable_struct(field, field.struct, tagged=tagged)
        return self._kept(field, self._struct(field.struct))

    def _kept(self, field: Field, value: str) -> str:
        variable = self.out.fresh(field.name)
        self.out.line(f"{variable} = {value}")
        return variable

    def _text(self, field: Field) -> str:
        """A string, bytes or records: a length, and as many bytes."""
        variable, stop = self.out.fresh(field.name), self.out.fresh("stop")
        length = self._length(field, "h" if field.type == "string" else "i")
        with self._present(field, length, length, variable):
            self.out.line(f"{stop} = pos + {length}")
            self.out.line(f"{variable} = {CONTENT[field.type].format(f'data[pos:{stop}]')}")
            self.out.line(f"pos = {stop}")
        return variable

    @contextmanager
    def _present(self, field: Field, length: str, size: str, variable: str) -> Iterator[None]:
        """What is written inside runs for a length that is no null; `size` is the least that must be left for it."""
        out = self.out
        if self.version not in field.nullable:
            with out.block(f"if {length} < 0 or {size} > end - pos:"):
                self._refuse(f"the length of {field.name}")
            yield
            return
        with out.block(f"if {length} < 0:"):
            out.line(f"{variable} = None")
        with out.block("else:"):
            with out.block(f"if {size} > end - pos:"):
                self._refuse(f"the length of {field.name}")
            yield

    def _nullable_struct(self, field: Field, struct: Struct, *, tagged: bool) -> str:
        variable = self.out.fresh(field.name)
        if tagged:
            is_null = f"not {self._varint('mark')}"
        else:
            is_null = f"{self._fixed('b', 'mark')} < 0"
            self._flush()
        with self.out.block(f"if {is_null}:"):
            self.out.line(f"{variable} = None")
        with self.out.block("else:"):
            self.out.line(f"{variable} = {self._struct(struct)}")
        return variable

    # Arrays.

    def _array(self, field: Field) -> str:
        variable = self.out.fresh(field.name)
        length = self._length(field, "i")
        flexible = self.flexible and not field.is_inflexible
        smallest = smallest_size(field, self.version, flexible=flexible)
        size = f"{length} * {smallest}" if smallest > 1 else length
        with self._present(field, length, size, variable):
            self._count(field, length)
            if field.type in FORMATS and field.type != "uuid":
                self._numbers(field, length, variable)
            else:
                self._elements(field, length, variable)
        return variable

    def _count(self, field: Field, length: str) -> None:
        self.out.line(f"elements -= {length}")
        with self.out.block("if elements < 0:"):
            self._refuse(f"too many elements, in {field.name}")

    def _numbers(self, field: Field, length: str, variable: str) -> None:
        code = FORMATS[field.type]
        small = self.out.constant(f"unpack_many_{code}", small_unpackers(code))
        large = f"Format(f'>{{{length}}}{code}').unpack_from"
        self.out.line(f"{variable} = ({small}[{length}] if {length} <= {SMALL} else {large})(data, pos)")
        self.out.line(f"pos += {length} * {SIZES[field.type]}")

    def _elements(self, field: Field, length: str, variable: str) -> None:
        made = self.out.fresh("made")
        self.out.line(f"{made} = []")
        with self.out.block(f"for _ in range({length}):"):
            element = field._replace(is_array=False, nullable=NONE)
            value = self._struct(field.struct) if field.struct else self._value(element, tagged=False)
            self._flush()
            self.out.line(f"{made}.append({value})")
        self.out.line(f"{variable} = tuple({made})")

    # Tags.

    def _tags(self, struct: Struct, tagged: list[Field]) -> dict[str, str]:
        """The section at the end of a struct. Almost always it is empty, and costs one byte of a common unpack."""
        out = self.out
        count, found = self._fixed("B", "tags"), {}
        self._flush()
        for field in tagged:
            found[field.name] = self._kept(field, self._absent(field))
        with out.block(f"if {count}:"):
            if not tagged:
                out.line(f"pos = skip_tags(data, pos, {count})")
                return found
            with out.block(f"if {count} >= {CONTINUES}:"):
                out.line(f"{count}, pos = read_rest(data, pos, {count})")
            with out.block(f"for _ in range({count}):"):
                self._tag(struct, tagged, found)
        return found

    def _tag(self, struct: Struct, tagged: list[Field], found: dict[str, str]) -> None:
        out, tag, size, stop = self.out, self._varint("tag"), self._varint("size"), self.out.fresh("stop")
        out.line(f"{stop} = pos + {size}")
        with out.block(f"if {stop} > end:"):
            self._refuse(f"the size of a tagged field of {struct.name}")
        for field in tagged:
            with out.block(f"{'if' if field is tagged[0] else 'elif'} {tag} == {field.tag}:"):
                value = self._value(field, tagged=True)
                self._flush()
                out.line(f"{found[field.name]} = {value}")
        with out.block("else:"):
            out.line(f"pos = {stop}")
        with out.block(f"if pos != {stop}:"):
            self._refuse(f"the size of a tagged field of {struct.name}")


CONTENT = {
    "string": "str({}, 'utf-8', 'replace')",
    "bytes": "{}.tobytes()",
    "records": "{}",
}
