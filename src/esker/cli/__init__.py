"""The `esker` command: words in, an exit code out. 0 done, 1 something was found, 2 it could not be done."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

import esker
from esker.base.errors import EskerError
from esker.cli import log

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """\
examples:
  esker demo                        a segment written and read here
  esker demo /var/lib/kafka/data    every segment file below a folder, read only
  esker log check /var/lib/kafka/data
"""

INTERRUPTED = 130


def main(words: Sequence[str] | None = None) -> int:
    """Run one command."""
    if sys.platform == "win32":
        print("esker: Windows is not supported: use Linux, macOS, or WSL on this machine", file=sys.stderr)
        return 2
    options = _parser().parse_args(words)
    code = 0
    try:
        if options.command == "log":
            code = log.run(options)
        else:
            from esker.cli import demo

            demo.run(options.path, main)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough. What is still buffered must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (EskerError, OSError) as error:
        print(f"esker: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="esker",
        description="A Kafka-format commit log in Python.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"esker {esker.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    demo = commands.add_parser(
        "demo",
        help="look into segment files, kill a writer and recover its log, and measure the kernel",
        description="Look into segment files, damage one in memory, kill a writer and recover its log, and measure the "
        "kernel. What is shown is only read; what is made goes again.",
    )
    demo.add_argument("path", nargs="*", help="segment files (.log), or folders that hold some")
    log.add(commands)
    return parser
