"""The wheel that set-up built, which is the one that `pip wheel .` gives."""

import shutil
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    shutil.which("cargo") is None, reason="no cargo on the path (install Rust from https://rustup.rs)"
)


@pytest.fixture(scope="module")
def wheel() -> Path:
    (found,) = (ROOT / "build" / "native").glob("*.whl")
    return found


def test_one_wheel_serves_every_python_from_3_11_on(wheel: Path) -> None:
    assert wheel.name.startswith("esker-0.1.0-cp311-abi3-")


def test_wheel_carries_the_library_the_types_and_the_licence(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    assert {"esker/kernel/_native.abi3.so", "esker/py.typed", "esker/kernel/_native.pyi"} <= names
    assert "esker-0.1.0.dist-info/licenses/LICENSE" in names


def test_wheel_carries_nothing_but_the_package(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in ZipFile(wheel).namelist()}
    assert tops == {"esker", "esker-0.1.0.dist-info"}


def test_wheel_asks_for_the_small_packages_only(wheel: Path) -> None:
    metadata = ZipFile(wheel).read("esker-0.1.0.dist-info/METADATA").decode()
    asked = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert sorted(line.split()[1].split(">")[0] for line in asked) == ["cramjam", "crc32c", "lz4", "zstandard"]


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    crate = tomllib.loads((ROOT / "native" / "Cargo.toml").read_text())["package"]["version"]
    package = (ROOT / "src" / "esker" / "__init__.py").read_text()
    assert project == crate
    assert f'__version__ = "{project}"' in package
