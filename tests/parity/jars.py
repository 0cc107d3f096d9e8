"""The jars of a real Kafka: fetched once through Maven, kept in the user's cache."""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KAFKA = "4.3.1"
HERE = Path(__file__).resolve().parent


def is_old(version: str) -> bool:
    """Whether this Kafka needs ZooKeeper and writes the old message formats."""
    return int(version.split(".", maxsplit=1)[0]) < 3


def jars(version: str = KAFKA) -> Path:
    """The folder with that version's jars; fetches them if they are not there yet."""
    found = _cached(version)
    return found if found is not None else _fetched(version)


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def missing(version: str = KAFKA) -> str | None:
    """Why a real Kafka cannot be had on this machine, in one sentence; None if it can."""
    lack = _java_lack()
    if lack is None and _cached(version) is None and shutil.which("mvn") is None:
        lack = f"no jars of Kafka {version} in the cache and no mvn on the path (install Maven)"
    return None if lack is None else f"needs a real Kafka: {lack}"


def _java_lack() -> str | None:
    if shutil.which(java()) is None:
        return "no java on the path (install OpenJDK 17 or newer)"
    told = subprocess.run([java(), "-version"], check=False, capture_output=True, text=True, timeout=60).stderr
    number = re.search(r'version "(\d+)', told)
    if number is None:
        return f"java -version answers {told.strip()[:80]!r} (install OpenJDK 17 or newer)"
    if int(number[1]) < 17:
        return f"java is version {number[1]} (install OpenJDK 17 or newer)"
    return None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "esker"


def _cached(version: str) -> Path | None:
    given = os.environ.get("ESKER_KAFKA_JARS")
    for folder in [Path(given)] if given else [], [_cache()]:
        for root in folder:
            if (root / f"kafka-{version}" / "jars").is_dir():
                return root / f"kafka-{version}" / "jars"
    return None


def _fetched(version: str) -> Path:
    home = _cache() / f"kafka-{version}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with _locked(home.with_name(home.name + ".lock")):
        if not home.is_dir():
            _fetch(version, home)
    return home / "jars"


def _fetch(version: str, home: Path) -> None:
    """Fetch beside and rename: a folder of that name is always complete."""
    part = Path(tempfile.mkdtemp(prefix=f"{home.name}.part.", dir=home.parent))
    try:
        _copy_dependencies(version, part / "jars")
        part.chmod(0o755)
        part.rename(home)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy_dependencies(version: str, target: Path) -> None:
    scala = "2.12" if is_old(version) else "2.13"
    profile = "old" if is_old(version) else "current"
    command = ["mvn", "-B", "-q", "-f", str(HERE / "pom.xml"), f"-P{profile}", f"-Dkafka={version}"]
    command += [f"-Dscala={scala}", "dependency:copy-dependencies", "-DincludeScope=runtime"]
    command += [f"-DoutputDirectory={target}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
    if done.returncode != 0 or not (target / f"kafka_{scala}-{version}.jar").is_file():
        raise RuntimeError(f"Maven did not fetch Kafka {version}:\n{(done.stdout + done.stderr)[-2000:]}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
