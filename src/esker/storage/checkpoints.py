"""The small text files: offset checkpoints, leader epochs, a partition's topic id, a log dir's identity, the marker of
a clean shutdown.

Each is parsed and formatted by pure functions on bytes; `write_safely` puts bytes in place so that after a crash the
file holds either the old or the new content. What cannot be parsed raises `BadFile` with the line; a file that is
not there is the caller's matter, except for the checkpoints, where it means that nothing was noted yet.
"""

from __future__ import annotations

import json
import posixpath
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile
from esker.base.types import TopicPartition
from esker.rules.epochs import Epochs

if TYPE_CHECKING:
    from esker.ports.files import Files

VERSION = 0
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
UUID_BYTES = 16
NO_BROKER_EPOCH = -1
SHOWN_BYTES = 40

_NUMBER = re.compile(rb"[0-9]{1,19}")
_UUID = re.compile(rb"[A-Za-z0-9_-]{22}(==)?")
_FIELD = re.compile(rb"([a-z_]+):\s+(\S+)")


def write_safely(files: Files, path: str, data: bytes) -> None:
    """Crash story: until the rename the old file stands, and a torn `.tmp` beside it that nobody reads; the bytes are
    on disk before they get the name, and the name is when this returns."""
    scratch = path + ".tmp"
    file = files.open(scratch, create=True)
    file.truncate(0)
    file.write(data, 0)
    file.sync()
    file.close()
    files.replace(scratch, path)
    files.sync_folder(posixpath.dirname(path) or ".")


# Offset checkpoints: recovery points, log starts, high watermarks, first dirty offsets.


def parse_offsets(data: bytes, path: str) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for number, fields in _rows(data, path, 3):
        place = f"line {number}"
        topic = _text(fields[0], path, place)
        partition = _number(fields[1], INT32_MAX, (path, place, "a partition"))
        offsets[TopicPartition(topic, partition)] = _number(fields[2], INT64_MAX, (path, place, "an offset"))
    return offsets


def format_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    return _checkpoint([f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


def read_offsets(files: Files, path: str) -> dict[TopicPartition, int]:
    return parse_offsets(files.read(path), path) if files.exists(path) else {}


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    write_safely(files, path, format_offsets(offsets))


# Leader epochs of one partition.


def parse_epochs(data: bytes, path: str) -> Epochs:
    """As Kafka loads it: an entry that goes back takes away those before it that it contradicts."""
    pairs = []
    for number, fields in _rows(data, path, 2):
        place = f"line {number}"
        epoch = _number(fields[0], INT32_MAX, (path, place, "an epoch"))
        pairs.append((epoch, _number(fields[1], INT64_MAX, (path, place, "an offset"))))
    return Epochs.of(pairs)


def format_epochs(epochs: Epochs) -> bytes:
    return _checkpoint([f"{epoch} {start_offset}" for epoch, start_offset in epochs.entries])


def read_epochs(files: Files, path: str) -> Epochs:
    return parse_epochs(files.read(path), path) if files.exists(path) else Epochs()


def write_epochs(files: Files, path: str, epochs: Epochs) -> None:
    write_safely(files, path, format_epochs(epochs))


# The id of the topic that a partition's folder belongs to.


def parse_topic_id(data: bytes, path: str) -> bytes:
    """The 16 bytes of the id. Versions above 0 are read too: Kafka promises to keep the two lines."""
    lines = data.splitlines()
    version = _field(lines, 0, "version", path)
    _number(version, INT32_MAX, (path, "line 1", "a version"))
    topic_id = parse_uuid(_field(lines, 1, "topic_id", path), path, "line 2")
    if not any(topic_id):
        raise BadFile(path, "line 2", "a topic's id", "zeros")
    return topic_id


def format_topic_id(topic_id: bytes) -> bytes:
    return f"version: {VERSION}\ntopic_id: {uuid_text(topic_id)}".encode()


def read_topic_id(files: Files, path: str) -> bytes | None:
    """None: no such file, as in folders older than Kafka 2.8."""
    return parse_topic_id(files.read(path), path) if files.exists(path) else None


def write_topic_id(files: Files, path: str, topic_id: bytes) -> None:
    write_safely(files, path, format_topic_id(topic_id))


# The marker of a clean shutdown: that it is there says all; what is in it only Kafka's controller cares about.


class CleanShutdown(NamedTuple):
    broker_epoch: int = NO_BROKER_EPOCH


def parse_clean_shutdown(data: bytes) -> CleanShutdown:
    """Any content counts, what older Kafkas write (nothing) too."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return CleanShutdown()
    epoch = found.get("brokerEpoch") if isinstance(found, dict) else None
    return CleanShutdown(epoch) if type(epoch) is int else CleanShutdown()


def format_clean_shutdown(marker: CleanShutdown) -> bytes:
    return json.dumps({"version": VERSION, "brokerEpoch": marker.broker_epoch}, separators=(",", ":")).encode()


def read_clean_shutdown(files: Files, path: str) -> CleanShutdown | None:
    return parse_clean_shutdown(files.read(path)) if files.exists(path) else None


def write_clean_shutdown(files: Files, path: str, marker: CleanShutdown) -> None:
    write_safely(files, path, format_clean_shutdown(marker))


# What the formats share.


def uuid_text(uuid: bytes) -> str:
    """As Kafka writes an id: 22 characters."""
    assert len(uuid) == UUID_BYTES
    return urlsafe_b64encode(uuid).decode().rstrip("=")


def parse_uuid(text: bytes, path: str, place: str) -> bytes:
    if not _UUID.fullmatch(text):
        raise BadFile(path, place, "an id of 22 characters", _shown(text))
    return urlsafe_b64decode(text[:22] + b"==")


def _checkpoint(rows: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in (VERSION, len(rows), *rows)).encode()


def _rows(data: bytes, path: str, width: int) -> Iterable[tuple[int, list[bytes]]]:
    """The rows with their line's number. A file that ends before its count has no rows, as Kafka reads it."""
    lines = data.splitlines()
    if lines and (version := _number(lines[0], INT32_MAX, (path, "line 1", "a version"))) != VERSION:
        raise BadFile(path, "line 1", f"version {VERSION}", f"version {version}")
    count = _number(lines[1], INT32_MAX, (path, "line 2", "a count")) if len(lines) > 1 else 0
    rows = [(number, line.split()) for number, line in enumerate(lines[2:], 3)]
    for number, fields in rows:
        if len(fields) != width:
            raise BadFile(path, f"line {number}", f"{width} fields", _shown(lines[number - 1]))
    if len(rows) != count:
        raise BadFile(path, "line 2", f"{len(rows)}, as many as there are rows", str(count))
    return rows


def _number(text: bytes, largest: int, what: tuple[str, str, str]) -> int:
    """A number of plain digits. `what` is the path, the place, and what it should be."""
    if not _NUMBER.fullmatch(text) or (number := int(text)) > largest:
        path, place, expected = what
        raise BadFile(path, place, expected, _shown(text))
    return number


def _shown(text: bytes) -> str:
    """Enough of it to know it by: a damaged file may be one long line."""
    return repr(text[:SHOWN_BYTES])


def _text(field: bytes, path: str, place: str) -> str:
    try:
        return field.decode()
    except UnicodeDecodeError:
        raise BadFile(path, place, "a topic's name", _shown(field)) from None


def _field(lines: list[bytes], index: int, name: str, path: str) -> bytes:
    line = lines[index] if index < len(lines) else b""
    match = _FIELD.fullmatch(line)
    if not match or match[1] != name.encode():
        raise BadFile(path, f"line {index + 1}", f"'{name}: …'", _shown(line))
    return match[2]
