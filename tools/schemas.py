"""Print Esker's tables of messages, and the stubs that give their types, from the JSON in a real Kafka's jars.

    .venv/bin/python tools/schemas.py [FOLDER WITH THE JARS]

It writes `src/esker/records/internal/*_tables.py` and the stubs beside them; without a folder it takes the jars of the
parity kit, which fetches them once. tests/parity/test_schemas.py holds the files against the jars.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
TARGET = "src/esker/records/internal"
# Strings, which are kept, or a comment, which goes.
COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*')
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
PYTHON_TYPES = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "memoryview",
}

Json = dict[str, Any]


class Tables(NamedTuple):
    """One module of tables: what it says of itself, and which messages of which jar it holds."""

    module: str
    said: str
    jar: str
    names: tuple[str, ...]


MODULES = [
    Tables(
        "kraft_tables",
        "Records of KRaft's metadata log: those that topics, their settings and features are told by.",
        "kafka-metadata",
        (
            *("TopicRecord", "PartitionRecord", "PartitionChangeRecord", "RemoveTopicRecord", "ConfigRecord"),
            *("FeatureLevelRecord", "BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"),
        ),
    ),
    Tables(
        "offsets_tables",
        "Records of `__consumer_offsets`: committed offsets, classic groups, groups of KIP-848.",
        "kafka-group-coordinator",
        tuple(
            f"{name}{side}"
            for name in (
                *("LegacyOffsetCommit", "OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata"),
                *("ConsumerGroupPartitionMetadata", "ConsumerGroupMemberMetadata"),
                *("ConsumerGroupTargetAssignmentMetadata", "ConsumerGroupTargetAssignmentMember"),
                *("ConsumerGroupCurrentMemberAssignment", "ConsumerGroupRegularExpression"),
            )
            for side in ("Key", "Value")
        ),
    ),
    Tables(
        "transaction_tables",
        "Records of `__transaction_state`.",
        "kafka-transaction-coordinator",
        ("TransactionLogKey", "TransactionLogValue"),
    ),
    Tables(
        "consumer_tables",
        "What consumers tell each other through a group's leader: opaque bytes to a broker, shown by tools.",
        "kafka-clients",
        ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment"),
    ),
]


def read_schemas(jars: Path, jar: str) -> dict[str, Json]:
    """Every message of a jar, by name."""
    (path,) = jars.glob(f"{jar}-[0-9]*.jar")
    with ZipFile(path) as packed:
        names = [name for name in packed.namelist() if re.search(r"common/(?:message|metadata)/\w+\.json$", name)]
        found = [parse_json(packed.read(name).decode()) for name in names]
    return {schema["name"]: schema for schema in found}


def parse_json(text: str) -> Json:
    """Kafka's JSON has comments."""
    parsed: Json = json.loads(COMMENT.sub(lambda found: found[1] or "", text))
    return parsed


# The text of a table: esker.schema.table says what its words mean.


def table(schema: Json) -> str:
    head = f"{schema['name']} {schema['validVersions']}"
    if schema.get("flexibleVersions", "none") != "none":
        head += f" flexible {schema['flexibleVersions']}"
    if "apiKey" in schema:
        head += f" key {schema['apiKey']}"
    shared = [f"  struct {struct['name']}\n{fields(struct['fields'], 2)}" for struct in shared_structs(schema)]
    return "\n".join(part for part in (head, *shared, fields(schema.get("fields", []), 1)) if part)


def shared_structs(schema: Json) -> list[Json]:
    """Those that several fields have, each after the ones that it names itself."""
    waiting = {struct["name"]: struct for struct in schema.get("commonStructs", [])}
    placed: list[Json] = []
    while waiting:
        ready = [struct for struct in waiting.values() if not named_structs(struct["fields"]) & waiting.keys()]
        placed += ready
        for struct in ready:
            del waiting[struct["name"]]
    return placed


def named_structs(found: list[Json]) -> set[str]:
    own = {field["type"].removeprefix("[]") for field in found}
    return own.union(*(named_structs(field.get("fields", [])) for field in found))


def fields(found: list[Json], depth: int) -> str:
    return "\n".join(line for field in found for line in field_lines(field, depth))


def field_lines(field: Json, depth: int) -> Iterator[str]:
    versions = field.get("versions") or field["taggedVersions"]
    nullable = field.get("nullableVersions", "none")
    type_ = field["type"]
    if nullable != "none":
        type_ += "?" if nullable == versions else f"?{nullable}"
    words = [snake(field["name"]), type_, versions, *marks(field, versions)]
    yield "  " * depth + " ".join(words)
    if field.get("fields"):
        yield fields(field["fields"], depth + 1)


def marks(field: Json, versions: str) -> Iterator[str]:
    if "tag" in field:
        tagged = field["taggedVersions"]
        yield f"@{field['tag']}" + ("" if tagged == versions else f":{tagged}")
    # A null without quotes is no default to Kafka's own compiler: a broker writes such a field's null in its tag.
    if (default := field.get("default")) is not None:
        yield f"={str(default).lower() if isinstance(default, bool) else default}"
    if field.get("ignorable"):
        yield "ignorable"
    if field.get("flexibleVersions") == "none":
        yield "inflexible"


def snake(name: str) -> str:
    return HUMP.sub("_", name).lower()


# The stub of a table: the classes as they are when they have been made.


def stub_classes(schema: Json) -> Iterator[str]:
    seen: set[str] = set()
    for name, struct_fields in structs(schema):
        if name not in seen:
            seen.add(name)
            yield stub_class(schema["name"], name, struct_fields)


def structs(schema: Json) -> Iterator[tuple[str, list[Json]]]:
    """Each struct with its fields, the message itself last."""
    for shared in shared_structs(schema):
        yield from nested(shared["fields"])
        yield shared["name"], shared["fields"]
    yield from nested(schema.get("fields", []))
    yield schema["name"], schema.get("fields", [])


def nested(found: list[Json]) -> Iterator[tuple[str, list[Json]]]:
    for field in found:
        if field.get("fields"):
            yield from nested(field["fields"])
            yield field["type"].removeprefix("[]"), field["fields"]


def stub_class(owner: str, name: str, found: list[Json]) -> str:
    lines = [f"    {snake(field['name'])}: {annotation(owner, field)} = ..." for field in found]
    return "\n".join([f"class {flat_name(owner, name)}(NamedTuple):{'' if lines else ' ...'}", *lines])


def annotation(owner: str, field: Json) -> str:
    type_ = field["type"].removeprefix("[]")
    one = PYTHON_TYPES.get(type_) or (flat_name(owner, type_) if type_[0].isupper() else "int")
    whole = f"tuple[{one}, ...]" if type_ != field["type"] else one
    return f"{whole} | None" if field.get("nullableVersions", "none") != "none" else whole


def flat_name(owner: str, struct: str) -> str:
    return struct if struct.startswith(owner) else owner + struct


# Files.

MODULE = '''"""{said}

Printed by tools/schemas.py from Kafka's own tables. The classes are made when they are first asked for; the stub beside
this file says what they are.
"""

from esker.schema import Library

TABLES = """
{tables}
"""

LIBRARY = Library(__name__, TABLES)
__getattr__ = LIBRARY.shape
'''
STUB = '''"""The types of the module beside this file; printed by tools/schemas.py."""

from typing import NamedTuple

from esker.schema import Library

LIBRARY: Library

{classes}
'''


def files(jars: Path) -> dict[str, str]:
    """Each file that should be there, by its path from the root."""
    found = {}
    for module, said, jar, names in MODULES:
        every = read_schemas(jars, jar)
        chosen = [every[name] for name in names]
        tables = "\n\n".join(map(table, chosen))
        classes = "\n\n".join(text for schema in chosen for text in stub_classes(schema))
        found[f"{TARGET}/{module}.py"] = MODULE.format(said=said, tables=tables)
        found[f"{TARGET}/{module}.pyi"] = STUB.format(classes=classes)
    return found


def stale(jars: Path, root: Path = ROOT) -> list[str]:
    """The files that are not as they should be."""
    return [path for path, text in files(jars).items() if not is_same(root / path, text)]


def is_same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text


def main(arguments: Iterable[str]) -> None:
    given = [Path(argument) for argument in arguments]
    for path, text in files(given[0] if given else kit_jars()).items():
        (ROOT / path).write_text(text)
        print(path)


def kit_jars() -> Path:
    sys.path.insert(0, str(ROOT / "tests"))
    from parity.jars import jars

    return jars()


if __name__ == "__main__":
    main(sys.argv[1:])
