"""What tools/setup.py promises, on a small checkout of its own: an empty lock, a kernel that nothing builds."""

import ast
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = (ROOT / "tools" / "setup.py").read_text()
STALE = "an older build of it was removed"


class Checkout:
    """A folder with what the set-up reads, and a PATH that has no cargo but the one a test plants."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools = root / "bin"
        self.library = root / "src" / "esker" / "kernel" / "_native.abi3.so"
        self.write("tools/setup.py", SETUP)
        self.write("requirements/dev.lock", "")
        self.write("pyproject.toml", "")
        self.write("native/Cargo.toml", '[package]\nrust-version = "1.80"\n')
        self.write("native/src/lib.rs", "")
        self.write("src/esker/__init__.py", "")
        self.write("src/esker/kernel/__init__.py", "")
        self.write("src/esker/cli/__init__.py", "def main() -> int:\n    print('esker runs')\n    return 3\n")

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def plant_cargo(self, version: str) -> None:
        self.write("bin/cargo", f"#!/bin/sh\necho 'cargo {version} (0 2020-01-01)'\n").chmod(0o755)

    def set_up(self) -> str:
        environment = {"PATH": str(self.tools), "HOME": str(self.root), "CARGO": "cargo"}
        return run([sys.executable, str(self.root / "tools" / "setup.py")], environment)


def run(command: list[str], environment: dict[str, str]) -> str:
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, str]:
    """A checkout that was set up once without cargo, and what that said."""
    checkout = Checkout(tmp_path_factory.mktemp("checkout"))
    return checkout, checkout.set_up()


@pytest.fixture
def checkout(made: tuple[Checkout, str]) -> Iterator[Checkout]:
    checkout, _ = made
    yield checkout
    shutil.rmtree(checkout.tools, ignore_errors=True)


pytestmark = pytest.mark.xdist_group("setup")


def test_missing_cargo_is_one_line_with_its_mending(made: tuple[Checkout, str]) -> None:
    _, said = made
    (line,) = [line for line in said.splitlines() if "native kernel" in line]
    assert "there is no cargo on the path" in line
    assert "plain Python kernel" in line
    assert "https://rustup.rs, then make setup" in line
    assert STALE not in line


def test_source_is_on_the_path_of_the_environment(checkout: Checkout) -> None:
    python = str(checkout.root / ".venv" / "bin" / "python")
    place = run([python, "-c", "import esker; print(esker.__file__)"], {})
    assert place.strip() == str(checkout.root / "src" / "esker" / "__init__.py")


def test_esker_command_runs_and_hands_on_its_exit_code(checkout: Checkout) -> None:
    finished = subprocess.run([checkout.root / ".venv" / "bin" / "esker"], capture_output=True, text=True, check=False)
    assert (finished.stdout, finished.returncode) == ("esker runs\n", 3)


def test_second_set_up_is_done_in_a_moment(checkout: Checkout) -> None:
    began = time.monotonic()
    said = checkout.set_up()
    assert time.monotonic() - began < 2
    assert "making" not in said
    assert "installing" not in said


def test_interrupted_set_up_starts_again(checkout: Checkout) -> None:
    (checkout.root / ".venv" / "stamp").unlink()
    (checkout.root / ".venv" / "bin" / "esker").unlink()
    assert "making .venv" in checkout.set_up()
    test_esker_command_runs_and_hands_on_its_exit_code(checkout)


def test_environment_whose_python_went_away_is_made_anew(checkout: Checkout) -> None:
    (checkout.root / ".venv" / "bin" / "python").unlink()
    assert "making .venv" in checkout.set_up()


def test_changed_lock_makes_the_environment_anew(checkout: Checkout) -> None:
    checkout.write("requirements/dev.lock", "# changed\n")
    assert "making .venv" in checkout.set_up()


def test_library_of_other_sources_is_removed_where_nothing_can_build(checkout: Checkout) -> None:
    checkout.library.write_text("built from other sources")
    assert STALE in checkout.set_up()
    assert not checkout.library.exists()


def test_old_cargo_counts_as_none(checkout: Checkout) -> None:
    checkout.plant_cargo("1.79.0")
    assert "cargo is 1.79 and the kernel needs 1.80" in checkout.set_up()


def test_broken_cargo_counts_as_none(checkout: Checkout) -> None:
    checkout.write("bin/cargo", "#!/bin/sh\nexit 1\n").chmod(0o755)
    assert "cargo does not run" in checkout.set_up()


# Stands in for maturin: writes the wheel that a build would, with the words of the sources as the library.
MATURIN = """\
#!{python}
import pathlib, sys, zipfile

build = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
build.mkdir(parents=True)
with zipfile.ZipFile(build / "esker.whl", "w") as wheel:
    wheel.write("native/src/lib.rs", "esker/kernel/_native.abi3.so")
"""


def test_library_follows_its_sources(checkout: Checkout) -> None:
    checkout.plant_cargo("1.80.0")
    checkout.write(".venv/bin/maturin", MATURIN.format(python=sys.executable)).chmod(0o755)
    checkout.write("native/src/lib.rs", "// first")
    assert "building the native kernel" in checkout.set_up()
    assert checkout.library.read_text() == "// first"
    assert checkout.set_up() == ""
    checkout.write("native/src/lib.rs", "// second")
    checkout.set_up()
    assert checkout.library.read_text() == "// second"
    # The cargo goes away: what was built from these very sources stays in use, and there is nothing to say.
    shutil.rmtree(checkout.tools)
    assert checkout.set_up() == ""
    checkout.write("native/src/lib.rs", "// third")
    assert STALE in checkout.set_up()


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13)])
def test_old_python_is_told_what_to_install(version: tuple[int, int, int]) -> None:
    code = f"import sys; sys.version_info = {version}; exec(open('tools/setup.py').read())"
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    assert finished.stderr == (
        f"Esker needs Python 3.11 or newer, and this is {version[0]}.{version[1]}. "
        "Install one and name it: make setup PYTHON=python3.12\n"
    )


def test_old_python_can_parse_the_script() -> None:
    ast.parse(SETUP, feature_version=(3, 7))


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo on the path (install Rust from https://rustup.rs)")
def test_native_kernel_is_built_where_cargo_is() -> None:
    assert (ROOT / "src" / "esker" / "kernel" / "_native.abi3.so").exists()
