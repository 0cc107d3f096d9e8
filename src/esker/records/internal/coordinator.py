"""One record of `__consumer_offsets` or `__transaction_state`, from its key and value and back.

Key and value begin with an int16: in the key the record's type, in the value its version. A null value deletes what the
key names. The surprises: type 0 is an offset commit of long ago, read like type 1, and never written; a value with
bytes left over is read, as Kafka reads it.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from esker.records.internal import consumer_tables, offsets_tables, transaction_tables
from esker.schema import BadMessage

if TYPE_CHECKING:
    from esker.records.internal.consumer_tables import ConsumerProtocolAssignment, ConsumerProtocolSubscription
    from esker.schema import Library, Schema

NUMBER = Struct(">h")
# The layout of every key so far; the number that stands where a version would be says which key it is.
KEY_LAYOUT = 0
TOPICS: dict[str, Library] = {
    "__consumer_offsets": offsets_tables.LIBRARY,
    "__transaction_state": transaction_tables.LIBRARY,
}


class Entry(NamedTuple):
    """A record that is understood: two values of the classes in the `*_tables`. `value` is None for a tombstone."""

    key: Any
    value: Any
    version: int = -1


class Unknown(NamedTuple):
    """A record that is not: of a type (share and streams groups have such) or of a version that is not known here. Its
    bytes are to be kept."""

    type: int
    version: int
    key: bytes
    value: bytes | None


def read(topic: str, key: bytes | None, value: bytes | None) -> Entry | Unknown:
    """A record of one of the two topics. Raises BadMessage."""
    type_ = _number(key, "a key")
    schemas = _schemas(TOPICS[topic]).get(type_)
    version = -1 if value is None else _number(value, "a value")
    if key is None or schemas is None or (value is not None and version not in schemas.value.message.versions):
        return Unknown(type_, version, key or b"", value)
    found, _ = schemas.key.decoder(KEY_LAYOUT)(key, NUMBER.size)
    if value is None:
        return Entry(found, None)
    return Entry(found, schemas.value.decoder(version)(value, NUMBER.size)[0], version)


def write(entry: Entry) -> tuple[bytes, bytes | None]:
    """Key and value; the value in `entry.version`. Raises UnknownVersion, CannotEncode."""
    name = type(entry.key).__name__
    library = next(library for library in TOPICS.values() if name in library)
    key = library[name]
    start = NUMBER.pack(key.message.key)
    head = b"".join(key.encoder(KEY_LAYOUT)(entry.key, start))
    if entry.value is None:
        return head, None
    encode = library[type(entry.value).__name__].encoder(entry.version)
    return head, b"".join(encode(entry.value, NUMBER.pack(entry.version)))


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """What a member of a group of protocol type `consumer` asks for. Raises BadMessage."""
    found: ConsumerProtocolSubscription = _read_embedded("ConsumerProtocolSubscription", data)
    return found


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """What such a member was given. Raises BadMessage."""
    found: ConsumerProtocolAssignment = _read_embedded("ConsumerProtocolAssignment", data)
    return found


def _read_embedded(name: str, data: bytes) -> Any:
    """A later version begins as the last known one does; what follows is left alone."""
    schema = consumer_tables.LIBRARY[name]
    first, last = schema.message.versions
    version = min(_number(data, name), last)
    if version < first:
        raise BadMessage(name, version, 0, "a negative version")
    return schema.decoder(version)(data, NUMBER.size)[0]


class _Schemas(NamedTuple):
    key: Schema
    value: Schema


_by_type: dict[int, dict[int, _Schemas]] = {}


def _schemas(library: Library) -> dict[int, _Schemas]:
    """The pairs of a topic by their type, told from the names: `OffsetCommitKey`, `OffsetCommitValue`."""
    found = _by_type.get(id(library))
    if found is None:
        pairs = [_Schemas(library[name], library[f"{name[:-3]}Value"]) for name in library if name.endswith("Key")]
        found = _by_type.setdefault(id(library), {pair.key.message.key: pair for pair in pairs})
        if 0 in found and 1 in found:
            found[0] = found[1]
    return found


def _number(data: bytes | None, what: str) -> int:
    if data is None or len(data) < NUMBER.size:
        raise BadMessage(what, 0, 0, "the bytes end too early")
    return int(NUMBER.unpack_from(data)[0])
