"""The text of a table, and what it says."""

import pytest

from esker.schema.table import NONE, Versions, parse_table, parse_versions, split_tables
from unit.schema.tables import TEXT

#   text     versions that are in it     versions that are not
VERSIONS = [
    ("0",     [0],                       [-1, 1]),
    ("3-13",  [3, 4, 13],                [2, 14]),
    ("4+",    [4, 5, 999],               [3, -1]),
    ("none",  [],                        [-1, 0, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "inside", "outside"), VERSIONS)
def test_versions_are_what_kafka_writes(text: str, inside: list[int], outside: list[int]) -> None:
    versions = parse_versions(text)
    assert str(versions) == text
    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)


def test_tables_are_told_apart_by_empty_lines() -> None:
    assert list(split_tables(TEXT)) == ["Everything", "Nothing", "Header", "Produce", "Commit", "Numbers", "Small"]


def test_head_says_versions_and_key() -> None:
    everything = parse_table(split_tables(TEXT)["Everything"])
    assert (everything.name, everything.versions, everything.flexible) == ("Everything", (0, 3), parse_versions("2+"))
    assert (everything.key, parse_table("Bare 4").key, parse_table("Bare 4").flexible) == (7, -1, NONE)


def test_line_says_all_of_a_field() -> None:
    fields = {field.name: field for field in parse_table(split_tables(TEXT)["Everything"]).struct.fields}
    assert fields["maybe"].nullable == fields["long"].versions == parse_versions("1+")
    assert (fields["ints"].type, fields["ints"].is_array, fields["ints"].nullable) == (
        "int32",
        True,
        Versions(0, 1 << 15),
    )
    assert (fields["old"].default, fields["old"].is_inflexible, fields["text"].is_inflexible) == ("null", True, False)
    assert (fields["tagged_number"].tag, fields["tagged_number"].tagged) == (300, parse_versions("2+"))
    assert fields["long"].is_ignorable
    assert not fields["late"].is_ignorable


def test_field_may_be_plain_first_and_tagged_later() -> None:
    (shared,) = (
        field.struct for field in parse_table(split_tables(TEXT)["Everything"]).struct.fields if field.name == "one"
    )
    assert shared is not None
    tail = shared.fields[1]
    assert [tail.is_plain(version) for version in range(4)] == [False, True, False, False]
    assert [tail.is_tagged(version) for version in range(4)] == [False, False, True, True]


def test_deeper_lines_are_the_fields_of_a_struct() -> None:
    fields = {field.name: field for field in parse_table(split_tables(TEXT)["Everything"]).struct.fields}
    nested, one, optional = fields["nested"].struct, fields["one"].struct, fields["optional"].struct
    assert nested is not None
    assert nested.fields[0].struct is not None
    assert [field.name for field in nested.fields[0].struct.fields] == ["value", "label"]
    assert one == optional
    assert "late" in fields


@pytest.mark.parametrize(
    "text", ["", "Lonely", "Odd 0 flexible", "Message 0\n  name", "Message x", "Message 0\n  a b c"]
)
def test_wrong_table_is_a_bug(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_table(text)
