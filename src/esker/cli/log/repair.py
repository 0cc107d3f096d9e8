"""`esker log repair`: what it would do, or with `--yes` does."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from esker.cli.log.output import Output, complain
from esker.cli.log.ranges import BadWords
from esker.ports.files import RealFiles
from esker.storage import repair
from esker.storage.listing import Found, FoundFile, is_live, look
from esker.storage.lock import FolderLock

if TYPE_CHECKING:
    import argparse

    from esker.ports.files import Files


def run(options: argparse.Namespace) -> int:
    """0: nothing is to be done, or all is done; 1: something is to be done, or cannot be; 2: it failed."""
    files = RealFiles()
    found = [one for path in options.path for one in look(files, path)]
    for one in found:
        if isinstance(one, FoundFile):
            raise BadWords(f"{one.path}: a repair is of a whole log: name its folder")
    with Output() as output:
        if options.yes:
            _mend(files, options.path, found, output)
            todo = repair.plan(files, [one for path in options.path for one in look(files, path)])
        else:
            todo = repair.plan(files, found)
            _foretell(files, found, todo, output)
    for finding in todo.left:
        complain(f"this cannot be repaired here: {finding}")
    return 0 if todo.is_empty and not todo.left else 1


def _foretell(files: Files, found: list[Found], todo: repair.Plan, output: Output) -> None:
    for sentence in todo.sentences():
        output.line(f"would {sentence}")
    if todo.is_empty:
        output.line("nothing is to be repaired")
        return
    output.line("nothing was changed; --yes does it")
    for log_dir in sorted(repair.log_dirs(found)):
        if is_live(files, log_dir):
            output.line(f"{log_dir} is in use: stop the broker first")


def _mend(files: Files, paths: list[str], found: list[Found], output: Output) -> None:
    with ExitStack() as locks:
        for log_dir in sorted(repair.log_dirs(found)):
            locks.callback(FolderLock(files, log_dir).release)
        for sentence in repair.mend(files, paths):
            output.line(f"done: {sentence}")
            output.flush()
