"""The lock and pyproject.toml agree, as far as can be told without a network."""

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements" / "dev.lock").read_text()


def named(project: dict[str, Any]) -> dict[str, Requirement]:
    """What pyproject asks for in a checkout: the base and the dev extra."""
    asked = map(Requirement, chain(project["dependencies"], project["optional-dependencies"]["dev"]))
    return {requirement.name: requirement for requirement in asked}


def entries(lock: str) -> dict[str, str]:
    """Each package of the lock, with the text that stands with it: version, hashes, who asked for it."""
    _, *blocks = re.split(r"^(?=[a-z0-9-]+==)", "\n" + lock, flags=re.MULTILINE)
    return {block.split("==")[0]: block for block in blocks}


def pinned(lock: str) -> dict[str, str]:
    return {name: block.split("==")[1].split()[0] for name, block in entries(lock).items()}


def asked_directly(lock: str) -> set[str]:
    """The packages of which uv says that pyproject itself asked for them."""
    return {name for name, block in entries(lock).items() if "esker (pyproject.toml)" in block}


def drift(project: dict[str, Any], lock: str) -> list[str]:
    pins = pinned(lock)
    wanted = named(project)
    outdated = [f"{name}: {asked}, locked {pins.get(name)}" for name, asked in wanted.items() if misses(asked, pins)]
    return outdated + [f"{name}: nobody asks for it" for name in sorted(asked_directly(lock) - set(wanted))]


def misses(asked: Requirement, pins: dict[str, str]) -> bool:
    return asked.name not in pins or not asked.specifier.contains(pins[asked.name], prereleases=True)


def unhashed(lock: str) -> list[str]:
    return [name for name, block in entries(lock).items() if "--hash=sha256:" not in block]


def test_lock_covers_what_the_project_names() -> None:
    assert not drift(PROJECT, LOCK), "run make lock"


def test_each_locked_package_has_hashes() -> None:
    assert len(pinned(LOCK)) > 20
    assert not unhashed(LOCK)


def test_lock_names_no_index() -> None:
    assert not re.search(r"^\s*--(?!hash=)", LOCK, re.MULTILINE)
    assert "://" not in LOCK


LOCKED = "lz4==4.4.5 \\\n    --hash=sha256:00\n    # via esker (pyproject.toml)\n"


@pytest.mark.parametrize(
    ("dependencies", "lock", "complaints"),
    [
        (["lz4>=4"], LOCKED, 0),
        (["lz4>=5"], LOCKED, 1),
        (["lz4>=4", "zstandard"], LOCKED, 1),
        ([], LOCKED, 1),
    ],
)
def test_drift_is_seen(dependencies: list[str], lock: str, complaints: int) -> None:
    project = {"dependencies": dependencies, "optional-dependencies": {"dev": []}}
    assert len(drift(project, lock)) == complaints


def test_missing_hash_is_seen() -> None:
    assert not unhashed(LOCKED)
    assert unhashed(LOCKED + "zstandard==0.25.0\n") == ["zstandard"]
