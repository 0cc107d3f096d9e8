"""Make the checkout ready to run: a `.venv` from the lock, and the native kernel if Rust is here.

Run by the system's Python through `make setup`, before anything is installed, so it uses the standard
library only. Each of its two results carries a stamp, the digest of what it was made from: a second run
only compares stamps, and a run that was cut short finds no stamp and starts that result again.

The syntax must parse on Python 3.6, so that an old Python reaches the sentence below.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "Esker needs Python 3.11 or newer, and this is {}.{}. "
        "Install one and name it: make setup PYTHON=python3.12".format(*sys.version_info)
    )
if sys.platform == "win32":
    sys.exit("Esker runs on Linux and macOS; on Windows use it inside WSL.")

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import time
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_STAMP = VENV / "stamp"
LOCK = ROOT / "requirements" / "dev.lock"
NATIVE = ROOT / "native"
LIBRARY = ROOT / "src" / "esker" / "kernel" / "_native.abi3.so"
BUILD = ROOT / "build" / "native"
NATIVE_STAMP = BUILD / "stamp"
PIP_OPTIONS = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary=:all:"]
COMMAND = """\
#!{python}
import sys

from esker.cli import main

sys.exit(main())
"""


def main() -> None:
    """Bring the environment and the native kernel up to date; one process at a time."""
    with Path(__file__).open() as own_source:
        fcntl.flock(own_source, fcntl.LOCK_EX)
        ensure_environment()
        ensure_native()


def ensure_environment() -> None:
    wanted = digest([sys.version, str(ROOT), COMMAND, *PIP_OPTIONS], [LOCK])
    if venv_python().exists() and read_stamp(VENV_STAMP) == wanted:
        return
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("This Python has no venv. On Debian and Ubuntu: apt-get install python3-venv")
    VENV_STAMP.unlink(missing_ok=True)
    with step("making .venv with Python {}.{}.{}".format(*sys.version_info)):
        venv.create(VENV, clear=True, with_pip=True, symlinks=True)
    with step(f"installing {LOCK.relative_to(ROOT)}"):
        run([venv_python(), "-m", "pip", "install", *PIP_OPTIONS, "--requirement", LOCK])
    put_source_on_path()
    write_stamp(VENV_STAMP, wanted)


def put_source_on_path() -> None:
    (site_packages,) = VENV.glob("lib/python*/site-packages")
    (site_packages / "esker.pth").write_text(f"{ROOT / 'src'}\n")
    command = VENV / "bin" / "esker"
    command.write_text(COMMAND.format(python=venv_python()))
    command.chmod(0o755)


def ensure_native() -> None:
    wanted = digest([build_settings()], native_sources())
    if LIBRARY.exists() and read_stamp(NATIVE_STAMP) == wanted:
        return
    lack = cargo_lack()
    if lack:
        explain_reference_only(lack)
    else:
        build_native()
        write_stamp(NATIVE_STAMP, wanted)


def build_settings() -> str:
    """What pyproject.toml says of the wheel; the settings of the linters beside it change no library."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return repr([settings.get("build-system"), settings.get("project"), settings.get("tool", {}).get("maturin")])


def native_sources() -> list[Path]:
    return [path for path in NATIVE.rglob("*") if path.is_file() and NATIVE / "target" not in path.parents]


def cargo_lack() -> str:
    """Say what stands in the way of a build, or nothing if nothing does."""
    cargo = shutil.which(cargo_name())
    if cargo is None:
        return "there is no cargo on the path"
    answer = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"cargo (\d+)\.(\d+)", answer.stdout)
    if found is None:
        return f"{cargo} does not run"
    needed = rust_version()
    if tuple(map(int, found.groups())) < tuple(map(int, needed.split(".")[:2])):
        return f"cargo is {found[1]}.{found[2]} and the kernel needs {needed}"
    return ""


def cargo_name() -> str:
    return os.environ.get("CARGO") or "cargo"


def rust_version() -> str:
    manifest = tomllib.loads((NATIVE / "Cargo.toml").read_text())
    return str(manifest["package"]["rust-version"])


def explain_reference_only(lack: str) -> None:
    stale = LIBRARY.exists()
    LIBRARY.unlink(missing_ok=True)
    NATIVE_STAMP.unlink(missing_ok=True)
    print(
        f"setup: the native kernel was not built ({lack})"
        + ("; an older build of it was removed" if stale else "")
        + ". Everything runs on the plain Python kernel, slower."
        + " To mend it: install Rust from https://rustup.rs, then make setup"
    )


def build_native() -> None:
    """Build the wheel that users get and take its library.

    The library goes to its place in one rename: a process that runs on the old one keeps it.
    """
    NATIVE_STAMP.unlink(missing_ok=True)
    shutil.rmtree(BUILD, ignore_errors=True)
    with step("building the native kernel"):
        run(
            [VENV / "bin" / "maturin", "build", "--release", "--locked", "--quiet", "--out", BUILD],
            {"PATH": cargo_path(), "VIRTUAL_ENV": str(VENV)},
        )
    (wheel,) = BUILD.glob("*.whl")
    fresh = LIBRARY.with_suffix(".fresh")
    with zipfile.ZipFile(wheel) as archive:
        fresh.write_bytes(archive.read(f"esker/kernel/{LIBRARY.name}"))
    fresh.chmod(0o755)
    fresh.replace(LIBRARY)


def cargo_path() -> str:
    """Put the folder of a cargo that was named by CARGO first, so that its rustc is found too."""
    cargo = shutil.which(cargo_name()) or ""
    return os.pathsep.join([str(Path(cargo).parent), os.environ.get("PATH", "")])


def venv_python() -> Path:
    return VENV / "bin" / "python"


def digest(words: Iterable[str], files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for word in words:
        total.update(word.encode() + b"\0")
    for path in sorted(files):
        total.update(str(path.relative_to(ROOT)).encode() + b"\0")
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def read_stamp(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def write_stamp(path: Path, value: str) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_text(value)
    fresh.replace(path)


@contextmanager
def step(title: str) -> Iterator[None]:
    print(f"setup: {title} ...", end=" ", flush=True)
    began = time.monotonic()
    yield
    print(f"{time.monotonic() - began:.1f} s", flush=True)


def run(command: list[str | Path], extra_environment: dict[str, str] | None = None) -> None:
    """Run a command whose words matter only when it fails."""
    environment = {**os.environ, **(extra_environment or {})}
    finished = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if finished.returncode:
        sys.exit(f"failed\n{finished.stdout}\nsetup: {' '.join(map(str, command))} failed; its words are above")


if __name__ == "__main__":
    main()
