"""`meta.properties`: which cluster, node and log dir a folder belongs to.

A Java properties file, in ISO 8859-1. Version 1 is Kafka's since KRaft; version 0, or none at all, is older: it says
`broker.id` for the node and may lack the cluster. `directory.id` came with 3.7 and is missing in older files.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile
from esker.storage.checkpoints import parse_uuid, uuid_text, write_safely

if TYPE_CHECKING:
    from esker.ports.files import Files

VERSIONS = (0, 1)
NODE_NAMES = ("broker.id", "node.id")  # by version

# A backslash at a line's end goes on with the next line, less its blanks.
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:\r\n|\r|\n)[ \t\f]*")
_LINE = re.compile(r"[ \t\f]*((?:[^\\=: \t\f]|\\.)+)[ \t\f]*[=:]?[ \t\f]*(.*)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_SPECIAL = re.compile(r"([\\=:#!])")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNIT = Struct(">H")
_NODE = re.compile(r"[0-9]{1,9}")


class MetaProperties(NamedTuple):
    """`directory_id` is the 16 bytes of the id."""

    version: int = 1
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: bytes | None = None


def parse_meta_properties(data: bytes, path: str) -> MetaProperties:
    """Raises BadFile, which names the property as the place."""
    properties = _properties(data.decode("latin-1"))
    version = _int(properties, "version", path) or 0
    if version not in VERSIONS:
        raise BadFile(path, "version", "0 or 1", str(version))
    node_id = _int(properties, NODE_NAMES[version], path)
    cluster_id = properties.get("cluster.id")
    if version > 0 and (node_id is None or cluster_id is None):
        raise BadFile(path, "cluster.id" if cluster_id is None else "node.id", "a value", "nothing")
    directory = properties.get("directory.id")
    directory_id = None if directory is None else parse_uuid(directory.encode(), path, "directory.id")
    return MetaProperties(version, cluster_id, node_id, directory_id)


def format_meta_properties(meta: MetaProperties, now_ms: int) -> bytes:
    """Kafka's own form, with the time as Java prints it."""
    rows = {
        "cluster.id": meta.cluster_id,
        "directory.id": None if meta.directory_id is None else uuid_text(meta.directory_id),
        NODE_NAMES[meta.version]: meta.node_id,
        "version": meta.version,
    }
    when = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    lines = [f"{name}={_escaped(str(value))}" for name, value in rows.items() if value is not None]
    return "".join(f"{line}\n" for line in ("#", f"#{when}", *lines)).encode("latin-1")


def read_meta_properties(files: Files, path: str) -> MetaProperties | None:
    """None: a folder that no broker has used yet."""
    return parse_meta_properties(files.read(path), path) if files.exists(path) else None


def write_meta_properties(files: Files, path: str, meta: MetaProperties, now_ms: int) -> None:
    write_safely(files, path, format_meta_properties(meta, now_ms))


def _properties(text: str) -> dict[str, str]:
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if not line.lstrip(" \t\f").startswith(("#", "!"))]
    joined = re.split("\n", _CONTINUED.sub(r"\1", "\n".join(lines)))
    matches = filter(None, map(_LINE.fullmatch, joined))
    return {_plain(match[1]): _plain(match[2]) for match in matches}


def _plain(text: str) -> str:
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _LETTERS.get(match[2], match[2]), text)
    return plain.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")


def _escaped(text: str) -> str:
    """Java escapes by units of UTF-16."""
    data = _SPECIAL.sub(r"\\\1", text).encode("utf-16-be", "surrogatepass")
    return "".join(chr(unit) if 0x20 <= unit <= 0x7E else f"\\u{unit:04x}" for (unit,) in _UNIT.iter_unpack(data))


def _int(properties: dict[str, str], name: str, path: str) -> int | None:
    value = properties.get(name)
    if value is None:
        return None
    if not _NODE.fullmatch(value):
        raise BadFile(path, name, "a number", repr(value))
    return int(value)
