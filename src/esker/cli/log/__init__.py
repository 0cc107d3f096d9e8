"""`esker log`: look into log dirs, Esker's and Kafka's, without a broker."""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction

    Commands = _SubParsersAction[ArgumentParser]

PATHS = "a log dir, a partition's folder, a topic within a log dir (dir/topic), or a single file"
EXIT_CODES = "exit code: 0 nothing found, 1 findings, 2 could not look"

DUMP_EXAMPLES = """\
examples:
  esker log dump /var/lib/kafka/data/orders                       all partitions of a topic
  esker log dump /var/lib/kafka/data/orders-0 --offset 100:200    offsets 100 to 199
  esker log dump /var/lib/kafka/data/orders-0 --time -10m         the last ten minutes
  esker log dump orders-0 --time 2026-11-19T08:00:2026-11-19T09:00
  esker log dump orders-0 --json | jq -r '.valueB64 // empty | @base64d'
  esker log dump orders-0 --batches --json                        batch headers under Kafka's names
  esker log dump orders-0/00000000000000000000.timeindex          entries of an index, snapshot or checkpoint"""
CHECK_EXAMPLES = f"""\
examples:
  esker log check /var/lib/kafka/data            every file of every partition
  esker log check /var/lib/kafka/data/orders-0   one partition
  esker log check --json data | jq -r .cause     one finding a line
{EXIT_CODES}"""

REPAIR_EXAMPLES = """\
examples:
  esker log repair data/orders-0          say what would be done
  esker log repair data/orders-0 --yes    do it; the broker must be stopped
  esker log dump data/orders-0/00000000000000000000.log.4096-8192.cut    look at what was cut out
exit code: 0 nothing is left to do, 1 something is, 2 it could not be done"""
STATS_EXAMPLES = """\
examples:
  esker log stats /var/lib/kafka/data             each partition, and topics with several in sum
  esker log stats /var/lib/kafka/data/orders --json | jq .compressionRatio"""
EXPLAIN_EXAMPLES = """\
examples:
  esker log explain-retention data/orders --set retention.ms=86400000
  esker log explain-retention data/orders-0 --set retention.bytes=1073741824 --set cleanup.policy=delete
  esker log explain-retention data/orders-0 --at 2026-12-01   what will go by then
Settings that are not given have Kafka's defaults: a week, and no limit of bytes."""


def add(commands: Commands) -> None:
    """The command and its own commands."""
    log = commands.add_parser(
        "log",
        help="look into data directories: dump, check, repair, stats, explain-retention",
        description="Look into data directories, Esker's and Kafka's, with no broker. Reading takes no lock.",
    )
    below = log.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="log_command")
    _add_dump(below)
    _add_check(below)
    _add_repair(below)
    _add_stats(below)
    _add_explain(below)


def run(options: Namespace) -> int:
    """The module of the command does it; only that one is loaded."""
    module = import_module(f"esker.cli.log.{options.log_module}")
    code: int = module.run(options)
    return code


def _command(below: Commands, name: str, what: str, examples: str) -> ArgumentParser:
    made = below.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(log_module=name.partition("-")[0])
    return made


def _add_dump(below: Commands) -> None:
    dump = _command(below, "dump", "print records, batches, and the entries of all other files", DUMP_EXAMPLES)
    dump.add_argument("path", nargs="+", help=PATHS)
    # argparse takes -10m for an option; -10 it would leave alone.
    dump._negative_number_matcher = re.compile(r"-\s*[0-9]")
    dump.add_argument("--offset", metavar="A[:B]", help="records from offset A on, up to B and without it")
    dump.add_argument("--time", metavar="A[:B]", help="records by timestamp: ISO (UTC), milliseconds, or -10m for ago")
    dump.add_argument("--count", type=int, metavar="N", help="no more than N records")
    dump.add_argument("--json", action="store_true", help="a JSON object a line, keys and values as base64")
    dump.add_argument("--batches", action="store_true", help="the headers of batches, and no records")
    dump.add_argument("--all", action="store_true", help="of a folder also indexes, snapshots and checkpoints")
    dump.add_argument("--cut", type=int, metavar="BYTES", help="show no more of each key and value (text only)")
    dump.add_argument(
        "--decode",
        choices=["offsets", "transactions", "metadata", "none"],
        help="read records as those of one of Kafka's own topics; told by the topic's name unless given",
    )


def _add_check(below: Commands) -> None:
    check = _command(below, "check", "look at every byte and say what does not hold", CHECK_EXAMPLES)
    check.add_argument("path", nargs="+", help=PATHS)
    check.add_argument("--json", action="store_true", help="a JSON object a line")
    check.add_argument("--quiet", action="store_true", help="leave out what is only worth knowing")


def _add_stats(below: Commands) -> None:
    stats = _command(below, "stats", "count what partitions and topics hold", STATS_EXAMPLES)
    stats.add_argument("path", nargs="+", help=PATHS)
    stats.add_argument("--json", action="store_true", help="a JSON object a line")


def _add_explain(below: Commands) -> None:
    what = "say of each segment whether retention takes it, by which rule, and when"
    explain = _command(below, "explain-retention", what, EXPLAIN_EXAMPLES)
    explain.add_argument("path", nargs="+", help="a log dir, a partition's folder, or a topic within a log dir")
    explain.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the topic")
    explain.add_argument("--at", metavar="TIME", help="judge as of this time, not now")
    explain.add_argument("--json", action="store_true", help="a JSON object a line")


def _add_repair(below: Commands) -> None:
    what = "write indexes and checkpoints anew and cut out what is damaged, keeping it aside"
    repair = _command(below, "repair", what, REPAIR_EXAMPLES)
    repair.add_argument("path", nargs="+", help="a log dir, a partition's folder, or a topic within a log dir")
    repair.add_argument("--yes", action="store_true", help="do it, not only say it; needs the lock of the log dir")
