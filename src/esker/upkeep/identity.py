"""Which cluster and node the log dirs of a process belong to: what their `meta.properties` say, and what a new dir is
given. Pure but for the ids that chance draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.base.errors import EskerError
from esker.storage.checkpoints import uuid_text
from esker.storage.meta_properties import MetaProperties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from esker.ports.chance import Chance
    from esker.upkeep.settings import DirectorySettings

FIRST_NODE = 1


class DirectoriesDisagree(EskerError):
    """Log dirs of different clusters or nodes, or one of them twice: a disk is mounted in the wrong place."""


def agree(
    found: Mapping[str, MetaProperties | None], settings: DirectorySettings, chance: Chance
) -> dict[str, MetaProperties]:
    """What each dir that has nothing yet is to say, by path. Raises DirectoriesDisagree."""
    there = {path: meta for path, meta in found.items() if meta is not None}
    cluster_id = _one("cluster.id", there, lambda meta: meta.cluster_id, settings.cluster_id)
    node_id = _one("node.id", there, lambda meta: meta.node_id, settings.node_id)
    _distinct(there)
    cluster = uuid_text(chance.uuid()) if cluster_id is None else str(cluster_id)
    node = FIRST_NODE if node_id is None else int(node_id)
    return {path: MetaProperties(1, cluster, node, chance.uuid()) for path in found if path not in there}


def _one(
    name: str,
    there: Mapping[str, MetaProperties],
    read: Callable[[MetaProperties], str | int | None],
    given: str | int | None,
) -> str | int | None:
    """The one value that all have and the settings agree with; None: nobody says."""
    said = {path: value for path, meta in there.items() if (value := read(meta)) is not None}
    values = {*said.values(), *_given(given)}
    if len(values) > 1:
        by = ", ".join(f"{path} says {value}" for path, value in said.items())
        asked = "" if given is None else f", and {given} is asked for"
        raise DirectoriesDisagree(f"{name} is not the same everywhere: {by}{asked}")
    return next(iter(values), None)


def _given(value: str | int | None) -> Iterable[str | int]:
    return () if value is None else (value,)


def _distinct(there: Mapping[str, MetaProperties]) -> None:
    by_id: dict[bytes, str] = {}
    for path, meta in there.items():
        if meta.directory_id is None:
            continue
        other = by_id.setdefault(meta.directory_id, path)
        if other != path:
            raise DirectoriesDisagree(f"{other} and {path} have the same directory.id: one is a copy of the other")
