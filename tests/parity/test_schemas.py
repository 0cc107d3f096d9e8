"""Our tables are those of the real Kafka's jars, and the compiler can do every message in them.

The same for each message and version as for the tables of the unit tests: the compiled functions beside the slow twin.
"""

from pathlib import Path
from random import Random

import pytest

from esker.schema import BadMessage, Library
from esker.schema.library import Schema
from tools import schemas
from unit.schema import slow
from unit.schema.drawn import drawn

pytestmark = pytest.mark.xdist_group("kafka")
JARS = ("kafka-clients", "kafka-metadata", "kafka-group-coordinator", "kafka-transaction-coordinator", "kafka-raft")
ROUNDS = {"quick": 1, "test": 3, "campaign": 40, "night": 1000}


@pytest.fixture(scope="module")
def every_message(kafka_jars: Path) -> Library:
    found = [schema for jar in JARS for schema in schemas.read_schemas(kafka_jars, jar).values()]
    usable = [schema for schema in found if schema["validVersions"] != "none"]
    return Library(__name__, "\n\n".join(map(schemas.table, usable)))


def versions(library: Library) -> list[tuple[Schema, int]]:
    whole = [library[name] for name in library]
    return [(one, version) for one in whole for version in range(one.message.versions[0], one.message.versions[1] + 1)]


def test_tables_in_the_checkout_are_those_of_the_jars(kafka_jars: Path) -> None:
    assert not schemas.stale(kafka_jars), "run .venv/bin/python tools/schemas.py"


def test_stale_table_is_found(kafka_jars: Path, tmp_path: Path) -> None:
    for path, text in schemas.files(kafka_jars).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert not schemas.stale(kafka_jars, tmp_path)
    changed, removed = f"{schemas.TARGET}/kraft_tables.py", f"{schemas.TARGET}/offsets_tables.pyi"
    (tmp_path / changed).write_text("TopicRecord 0\n")
    (tmp_path / removed).unlink()
    assert schemas.stale(kafka_jars, tmp_path) == [changed, removed]


def test_every_message_of_kafka_is_there(every_message: Library) -> None:
    assert len(every_message) > 230
    assert len(versions(every_message)) > 700


def test_every_message_is_read_and_written_like_the_twin_does(every_message: Library, seed: int, profile: str) -> None:
    random = Random(seed)
    for schema, version in versions(every_message):
        for _ in range(ROUNDS[profile]):
            value = drawn(random, schema.message, version)
            data = slow.write(schema.message, version, value)
            given = slow.shaped(value, schema.message.struct, schema.shapes)
            assert b"".join(schema.encoder(version)(given)) == data, (schema, version)
            found, end = schema.decoder(version)(data + b"more")
            assert (slow.plain(found), end) == (value, len(data)), (schema, version)


def test_every_message_refuses_junk_like_the_twin_does(every_message: Library, seed: int, profile: str) -> None:
    random = Random(seed)
    for schema, version in versions(every_message):
        for _ in range(ROUNDS[profile] * 3):
            data = mutant(random, slow.write(schema.message, version, drawn(random, schema.message, version)))
            assert answer(schema, version, data) == answer_of_twin(schema, version, data), (schema, version, data.hex())


def mutant(random: Random, data: bytes) -> bytes:
    out = bytearray(data[: random.randrange(len(data) + 1)] if random.random() < 0.3 else data)
    for _ in range(random.choice((0, 1, 2, 4))):
        if out:
            out[random.randrange(len(out))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(out)


def answer(schema: Schema, version: int, data: bytes) -> object:
    try:
        value, end = schema.decoder(version)(data)
    except BadMessage:
        return None
    return slow.plain(value), end


def answer_of_twin(schema: Schema, version: int, data: bytes) -> object:
    try:
        return slow.read(schema.message, version, data)
    except slow.Refused:
        return None
