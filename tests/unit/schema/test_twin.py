"""The compiled functions beside the slow twin: the same values, the same bytes, the same refusals.

The hostile bytes are made by the twin: it notes where each length, count, tag and size stands, and each is set in turn
to -1, 0, 1, what is left and one more and less, and the largest number. Then every cut.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from esker.schema import BadMessage
from esker.schema.library import Schema
from unit.schema import slow
from unit.schema.drawn import drawn
from unit.schema.tables import LIBRARY

INT32_MAX = 2**31 - 1
VERSIONS = [
    pytest.param(LIBRARY[name], version, id=f"{name}-v{version}")
    for name in LIBRARY
    for version in range(LIBRARY[name].message.versions.first, LIBRARY[name].message.versions.last + 1)
]
each_version = pytest.mark.parametrize(("schema", "version"), VERSIONS)


def answer(schema: Schema, version: int, data: bytes) -> Any:
    """What the compiled decoder says, in the twin's words; any other error than the one fails the test."""
    try:
        value, end = schema.decoder(version)(data)
    except BadMessage:
        return None
    return slow.plain(value), end


def answer_of_twin(schema: Schema, version: int, data: bytes) -> Any:
    try:
        return slow.read(schema.message, version, data)
    except slow.Refused:
        return None


def messages(schema: Schema, version: int, seed: int, count: int) -> Iterator[dict[str, Any]]:
    random = Random(f"{seed} {schema.message.name} {version}")
    for _ in range(count):
        yield drawn(random, schema.message, version)


@each_version
def test_same_bytes_and_same_values(schema: Schema, version: int, seed: int) -> None:
    for value in messages(schema, version, seed, 20):
        data = slow.write(schema.message, version, value)
        given = slow.shaped(value, schema.message.struct, schema.shapes)
        assert b"".join(schema.encoder(version)(given)) == data
        assert answer(schema, version, data + b"more") == (value, len(data))
        assert answer_of_twin(schema, version, data) == (value, len(data))


@each_version
def test_every_cut_is_refused(schema: Schema, version: int, seed: int) -> None:
    for value in messages(schema, version, seed, 2):
        data = slow.write(schema.message, version, value)[:3000]
        whole = answer(schema, version, data)
        for size in range(len(data) if whole is None else whole[1]):
            assert answer(schema, version, data[:size]) is None


@each_version
def test_every_length_at_its_worst(schema: Schema, version: int, seed: int) -> None:
    random, met = Random(seed), set()
    for value in messages(schema, version, seed, 3):
        data = slow.write(schema.message, version, value)
        for mutant in mutants(schema, version, data, random):
            found = answer(schema, version, mutant)
            assert found == answer_of_twin(schema, version, mutant), mutant.hex()
            met.add(found is None)
    assert met <= {True, False}
    assert met or schema.message.name in ("Nothing", "Header")


@each_version
def test_junk_is_read_alike(schema: Schema, version: int, seed: int) -> None:
    random = Random(seed)
    for value in messages(schema, version, seed, 5):
        data = bytearray(slow.write(schema.message, version, value))
        for _ in range(50):
            mutant = bytearray(data)
            for _ in range(random.choice((1, 1, 2, 5))):
                if mutant:
                    mutant[random.randrange(len(mutant))] = random.choice(
                        (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256))
                    )
            assert answer(schema, version, bytes(mutant)) == answer_of_twin(schema, version, bytes(mutant)), (
                mutant.hex()
            )


def mutants(schema: Schema, version: int, data: bytes, random: Random) -> Iterator[bytes]:
    noted = Noting(schema, version, data).places
    for start, end, code in noted if len(noted) < 60 else random.sample(noted, 60):
        left = len(data) - end
        for number in (-1, 0, 1, left - 1, left, left + 1, INT32_MAX):
            yield data[:start] + said(number, code) + data[end:]
        if code == "varint":
            yield data[:start] + b"\xff" * 5 + data[end:]


def said(number: int, code: str) -> bytes:
    if code == "varint":
        return slow.varint(max(0, number + 1))
    size = 4 if code == "int32" else 2
    return (number % (1 << 8 * size)).to_bytes(size)


class Noting(slow.Reader):
    """The twin's reader, which notes where lengths stand, and in which form."""

    def __init__(self, schema: Schema, version: int, data: bytes) -> None:
        super().__init__(schema.message, version, data)
        self.places: list[tuple[int, int, str]] = []
        self.struct(schema.message.struct)

    def varint(self) -> int:
        start = self.position
        number = super().varint()
        self.places.append((start, self.position, "varint"))
        return number

    def length(self, field: Any, type_: str) -> int:
        start = self.position
        found = super().length(field, type_)
        if not self.compact(field):
            self.places.append((start, self.position, type_))
        return found


def test_twin_notes_every_length() -> None:
    schema = LIBRARY["Produce"]
    assert [code for *_, code in Noting(schema, 3, bytes.fromhex("ffff 0001 00000000")).places] == ["int16", "int32"]
    assert [code for *_, code in Noting(schema, 9, bytes.fromhex("00 0001 01 00")).places] == ["varint"] * 3
