"""`esker log explain-retention`: of each segment, whether it goes, by which rule, and until when it stays."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from esker.base.config import LogConfig, from_settings
from esker.cli.log.output import Output, complain
from esker.cli.log.ranges import BadWords, parse_time
from esker.cli.log.times import span, when
from esker.ports.files import RealFiles
from esker.rules.retention import KeepReason, Verdict, explain
from esker.storage.held import HeldLog, read_held
from esker.storage.listing import Found, FoundLogDir, FoundPartition, look

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


class Ask(NamedTuple):
    config: LogConfig
    now_ms: int


def run(options: argparse.Namespace) -> int:
    files = RealFiles()
    now_ms = time.time_ns() // 1_000_000
    if options.at is not None:
        at_ms = parse_time(options.at, now_ms)
        if at_ms is None:
            raise BadWords(f"{options.at!r} is no time: use 2026-11-19T08:00 or milliseconds")
        now_ms = at_ms
    ask = Ask(from_settings(settings(options.set)), now_ms)
    found = [one for path in options.path for one in look(files, path)]
    with Output() as output:
        for partition in partitions(found):
            held = read_held(files, partition)
            if held is None:
                complain(f"{partition.path}: no segment is there")
            elif options.json:
                for fields in as_json(partition, held, ask):
                    output.json(fields)
            else:
                for line in lines(partition, held, ask):
                    output.line(line)
    return 0


def settings(words: list[str]) -> dict[str, str]:
    """`retention.ms=1000`, each."""
    for word in words:
        if "=" not in word:
            raise BadWords(f"{word!r} is no setting: say it as retention.ms=86400000")
    return {name.strip(): value.strip() for name, _, value in (word.partition("=") for word in words)}


def partitions(found: list[Found]) -> Iterator[FoundPartition]:
    for one in found:
        if isinstance(one, FoundLogDir):
            yield from one.partitions
        elif isinstance(one, FoundPartition):
            yield one
        else:
            raise BadWords(f"{one.path}: retention is of a whole log: name its folder")


def lines(partition: FoundPartition, held: HeldLog, ask: Ask) -> Iterator[str]:
    limits = f"retention.ms={ask.config.retention_ms} retention.bytes={ask.config.retention_bytes}"
    policy = ",".join(ask.config.cleanup_policy) or "none"
    cursors = held.cursors
    yield f"{partition.label} at {when(ask.now_ms)}, cleanup.policy={policy} {limits}"
    yield (
        f"  log start {cursors.log_start}, high watermark {cursors.high_watermark.offset}, end {cursors.log_end.offset}"
    )
    verdicts = explain(held.segments, ask.config, cursors, ask.now_ms)
    for segment, verdict in zip(held.segments, verdicts, strict=True):
        newest = f"newest record {when(segment.max_timestamp)}"
        if segment.max_timestamp < 0:
            newest = f"no timestamp, file changed {when(segment.modified_ms)}"
        yield f"  {segment.base_offset:020d} {segment.size:>13,} bytes, {newest}: {said(verdict, ask)}"


def said(verdict: Verdict, ask: Ask) -> str:
    if verdict.goes:
        return f"goes by {verdict.reason}"
    if verdict.until_ms is None:
        return f"stays, {verdict.reason}{_sooner(verdict, ask.config)}"
    if verdict.until_ms <= ask.now_ms:
        return f"stays, {verdict.reason}"
    left = span(verdict.until_ms - ask.now_ms)
    return f"stays, {verdict.reason}, until {when(verdict.until_ms)} (in {left})"


def _sooner(verdict: Verdict, config: LogConfig) -> str:
    """What would have to be the case for it to go."""
    if verdict.reason is KeepReason.LIMITS and config.retention_ms < 0:
        return "; without retention.ms only retention.bytes takes it"
    if verdict.reason is KeepReason.POLICY:
        return "; the cleaner compacts it instead" if config.cleanup_compact else ""
    return ""


def as_json(partition: FoundPartition, held: HeldLog, ask: Ask) -> Iterator[dict[str, object]]:
    verdicts = explain(held.segments, ask.config, held.cursors, ask.now_ms)
    for segment, verdict in zip(held.segments, verdicts, strict=True):
        yield {
            "topic": partition.topic,
            "partition": None if partition.partition < 0 else partition.partition,
            "baseOffset": segment.base_offset,
            "size": segment.size,
            "largestTimestamp": segment.max_timestamp,
            "goes": verdict.goes,
            "reason": verdict.reason.value,
            "untilMs": verdict.until_ms,
        }
