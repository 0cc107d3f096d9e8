"""The `esker` command: words in, an exit code out. 0 done, 1 something was found, 2 it could not be done."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

import esker
from esker.base.errors import EskerError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """\
examples:
  esker demo                        a segment written and read here
  esker demo /var/lib/kafka/data    every segment file below a folder, read only
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command."""
    options = _parser().parse_args(words)
    try:
        from esker.cli import demo

        demo.run(options.path)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough. What is still buffered must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (EskerError, OSError) as error:
        print(f"esker: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="esker",
        description="A Kafka-format commit log in Python.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"esker {esker.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="look into segment files, damage one in memory, and measure the kernel",
        description="Look into segment files, damage one in memory, and measure the kernel. Nothing is written.",
    )
    demo.add_argument("path", nargs="*", help="segment files (.log), or folders that hold some")
    return parser
