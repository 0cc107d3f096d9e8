"""Schemas, classes and functions are made when they are asked for, once."""

import pickle
import sys
from typing import Any

import pytest

from esker.schema import BadMessage, CannotEncode, Library, UnknownVersion
from unit.schema import tables
from unit.schema.tables import LIBRARY, TEXT


def test_table_is_read_when_its_message_is_asked_for() -> None:
    library = Library("here", "Good 0\n  a int8 0+\n\nBad x\n  nonsense")
    assert list(library) == ["Good", "Bad"]
    assert library["Good"].shape(5) == (5,)
    with pytest.raises(ValueError, match="x"):
        library["Bad"]


def test_function_is_compiled_once() -> None:
    library = Library("here", TEXT)
    schema = library["Commit"]
    assert library["Commit"] is schema
    assert schema.decoder(3) is schema.decoder(3)
    assert schema.encoder(3) is schema.encoder(3)
    assert schema.decoder(3) is not schema.decoder(4)


@pytest.mark.parametrize("version", [-1, 2, 14])
def test_version_that_does_not_exist_is_named(version: int) -> None:
    with pytest.raises(UnknownVersion, match=f"Produce has the versions 3-13, not {version}"):
        LIBRARY["Produce"].decoder(version)
    with pytest.raises(UnknownVersion):
        LIBRARY["Produce"].encoder(version)


def test_shared_struct_has_one_class_and_every_field_its_default() -> None:
    schema = LIBRARY["Everything"]
    value: Any = schema.shape()
    assert type(value.one) is schema.shapes["Shared"]
    assert value.one == value.tagged_struct == (0, 7)
    assert (value.short, value.text, value.maybe, value.old, value.id) == (-1, "none", "", None, bytes(16))
    assert (value.optional, value.ints, value.tagged_number, value.real, value.yes) == (None, (), 5, 0.0, False)


def test_classes_are_found_in_their_module() -> None:
    made = tables.ProduceTopic
    assert made is LIBRARY["Produce"].shapes["Topic"]
    assert tables.Commit is LIBRARY["Commit"].shape
    with pytest.raises(AttributeError, match="has no ProduceNonsense"):
        _ = tables.ProduceNonsense


def test_values_are_pickled_by_the_name_of_their_class() -> None:
    value = LIBRARY["Produce"].shapes["Topic"]("t")
    again = pickle.loads(pickle.dumps(value))
    assert (type(again), again) == (type(value), value)


@pytest.mark.parametrize("error", [BadMessage("M", 1, 2, "w"), CannotEncode("M", 1, "w"), UnknownVersion("M", 1, "0")])
def test_errors_are_pickled(error: Exception) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_keys_name_their_messages() -> None:
    assert {key: schema.message.name for key, schema in LIBRARY.by_key.items()} == {7: "Everything", 0: "Produce"}


def test_source_is_one_flat_function_each_way() -> None:
    source = LIBRARY["Produce"].source(9)
    assert source.count("def ") == 2
    compile(source, "shown", "exec")


def test_no_message_is_compiled_by_an_import() -> None:
    module = sys.modules["esker.schema.library"]
    assert not [name for name, each in vars(module).items() if isinstance(each, Library)]
    assert not Library("here", TEXT)._schemas
