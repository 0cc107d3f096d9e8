"""The files of this checkout, without what .gitignore leaves out. Needs no git: a copied tree is checked as well."""

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tidy.rules import Source

ROOT = Path(__file__).resolve().parents[2]


@cache
def checkout_files() -> list[str]:
    ignored = [".git/", *(ROOT / ".gitignore").read_text().split()]
    return sorted(kept_files(ROOT, ignored))


def kept_files(root: Path, ignored: list[str]) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        inside = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if not is_ignored(f"{inside / name}/", ignored)]
        yield from (path for name in files if not is_ignored(path := str(inside / name), ignored))


def is_ignored(path: str, ignored: Iterable[str]) -> bool:
    """The part of git's rules that our .gitignore uses: `/from/root`, `name/` anywhere, and `*`."""
    return any(fnmatch(f"/{path}", pattern if pattern.startswith("/") else f"*/{pattern}") for pattern in ignored)


@cache
def sources(*suffixes: str) -> list[Source]:
    return [Source(path, (ROOT / path).read_text()) for path in checkout_files() if path.endswith(suffixes)]
