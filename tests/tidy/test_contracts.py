"""Every import contract of pyproject.toml catches a break that is planted into a copy of the package.

The copy gets an empty package for each room that the layers name and that is not built yet, so a contract about a
room to come is proved from the day it is written.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS: list[dict[str, Any]] = SETTINGS["contracts"]
LAYERS = [
    [room.strip(" ()") for room in layer.split("|")]
    for contract in CONTRACTS
    for layer in contract.get("layers", [])
    if "__main__" not in layer
]
ROOMS = [room for layer in LAYERS for room in layer]


class Plant(NamedTuple):
    """An import statement in a module of its own, `esker.<room>.<module>`."""

    room: str
    imported: str
    module: str = "planted"

    @property
    def edge(self) -> str:
        return f"esker.{self.room}.{self.module} -> {self.imported}"


# One break for each contract, by the contract's name. It must break this contract and no other.
BREAKS = {
    "Calls go down only": Plant("base", "esker.kernel"),
    "The pure packages touch no world": Plant("records", "os"),
    "The log does not speak the wire protocol": Plant("rules", "esker.protocol"),
    "Copies and Spark reach the wire through the client": Plant("spark", "esker.protocol"),
    "Spark comes in by the two doors, never by the log's insides": Plant("spark", "esker.log"),
    "pyspark and pyarrow stay in spark": Plant("log", "pyarrow"),
    "asyncio stays in the listener and the wiring": Plant("client", "asyncio"),
}

ALLOWED = [
    Plant("spark", "pyarrow"),
    Plant("spark", "pyspark"),
    Plant("spark", "esker.client"),
    Plant("client", "esker.protocol"),
    Plant("server", "asyncio", "listener"),
    Plant("server", "asyncio", "broker"),
    Plant("rules", "esker.records"),
    Plant("kernel", "os", "__init__"),
]


class Verdict(NamedTuple):
    """What the linter said of a copy of the package."""

    broken: set[str]
    report: str


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package's Python files and its contracts, with an empty package for each room to come."""
    package = tmp_path / "src" / "esker"
    shutil.copytree(ROOT / "src" / "esker", package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for room in ROOMS:
        (package / room).mkdir(exist_ok=True)
        (package / room / "__init__.py").touch()
    return tmp_path


def plant(copy: Path, *plants: Plant) -> None:
    for room, imported, module in plants:
        with (copy / "src" / "esker" / room / f"{module}.py").open("a") as target:
            target.write(f"\nimport {imported}\n")


def lint(copy: Path) -> Verdict:
    """Run the real linter on the copy, which stands first on the path."""
    finished = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "300", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    report = finished.stdout + finished.stderr
    broken = set(re.findall(r"^(.+) BROKEN(?: \(.*\))?$", report, re.MULTILINE))
    assert finished.returncode == int(bool(broken)), report
    assert "Contracts:" in report, report
    return Verdict(broken, report)


def test_each_contract_has_a_planted_break() -> None:
    assert {contract["name"] for contract in CONTRACTS} == set(BREAKS)


@pytest.mark.parametrize("name", BREAKS)
def test_planted_break_is_caught_by_its_contract_alone(copy: Path, name: str) -> None:
    plant(copy, BREAKS[name])
    verdict = lint(copy)
    assert verdict.broken == {name}, verdict.report
    assert BREAKS[name].edge in verdict.report


def test_unbroken_copy_passes(copy: Path) -> None:
    verdict = lint(copy)
    assert not verdict.broken, verdict.report


def test_what_the_house_allows_passes(copy: Path) -> None:
    plant(copy, *ALLOWED)
    verdict = lint(copy)
    assert not verdict.broken, verdict.report


def test_undeclared_package_is_caught(copy: Path) -> None:
    shutil.copytree(copy / "src" / "esker" / "base", copy / "src" / "esker" / "attic")
    verdict = lint(copy)
    assert verdict.broken == {"Calls go down only"}, verdict.report
    assert "- esker.attic" in verdict.report


def test_each_import_that_a_contract_forbids_is_caught(copy: Path) -> None:
    plants = [
        Plant(room, imported, f"planted_{number}")
        for number, (room, imported) in enumerate(sorted({*forbidden_imports(), *upward_imports()}))
    ]
    plant(copy, *plants)
    report = lint(copy).report
    missed = [wanted.edge for wanted in plants if f"{wanted.edge} " not in report]
    assert not missed


def forbidden_imports() -> Iterator[tuple[str, str]]:
    """Each room with each name that a `forbidden` contract keeps out of it."""
    for contract in CONTRACTS:
        for source, imported in product(contract.get("source_modules", []), contract.get("forbidden_modules", [])):
            excused = {rule.removeprefix("*.").split(" ")[0] for rule in contract.get("ignore_imports", [])}
            rooms = set(ROOMS) - excused if source == "esker" else {source.removeprefix("*.")}
            yield from ((room, imported.replace("*.", "esker.")) for room in rooms)


def upward_imports() -> Iterator[tuple[str, str]]:
    """Each room with each room of the line above it, and siblings with each other."""
    for upper, lower in pairwise(LAYERS):
        yield from ((room, f"esker.{above}") for room, above in product(lower, upper))
    for layer in LAYERS:
        yield from ((room, f"esker.{sibling}") for room, sibling in product(layer, layer) if room != sibling)
