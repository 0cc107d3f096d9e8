"""`esker log stats`: what partitions and topics hold, in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.cli.log.check import logs, size
from esker.cli.log.output import Output, Progress
from esker.cli.log.times import when
from esker.ports.files import RealFiles
from esker.storage.listing import Found, FoundFile, FoundLogDir, FoundPartition, look, partition_of
from esker.storage.stats import Stats

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from esker.ports.files import Files
    from esker.storage.findings import Looked


def run(options: argparse.Namespace) -> int:
    """A block or an object for each partition, then one for each topic of several."""
    files = RealFiles()
    found = [one for path in options.path for one in look(files, path)]
    progress = Progress("counted", sum(size(files, file) for one in found for file in logs(one)))
    topics: dict[str, list[Stats]] = {}
    with Output() as output:
        for topic, partition, part in parts(found):
            stats = Stats()
            for looked in counted(files, part, stats):
                progress.add(looked.bytes)
            topics.setdefault(topic, []).append(stats)
            progress.clear()
            show(output, (topic, partition), stats, as_json=options.json)
            output.flush()
        for topic, all_stats in topics.items():
            if len(all_stats) > 1:
                total = Stats()
                for stats in all_stats:
                    total.add(stats)
                show(output, (topic, None), total, as_json=options.json)
    return 0


def parts(found: list[Found]) -> Iterator[tuple[str, int, FoundPartition | FoundFile]]:
    for one in found:
        if isinstance(one, FoundLogDir):
            for partition in one.partitions:
                yield partition.topic, partition.partition, partition
        elif isinstance(one, FoundPartition):
            yield one.topic, one.partition, one
        else:
            topic, number = partition_of(one.path.rpartition("/")[0] or ".")
            yield topic, number, one


def counted(files: Files, part: FoundPartition | FoundFile, stats: Stats) -> Iterator[Looked]:
    return stats.partition(files, part) if isinstance(part, FoundPartition) else stats.log(files, part)


def show(output: Output, name: tuple[str, int | None], stats: Stats, *, as_json: bool) -> None:
    topic, partition = name
    fields = stats.fields()
    if partition is None:
        fields = {name: value for name, value in fields.items() if name not in ("firstOffset", "nextOffset")}
    if as_json:
        output.json({"topic": topic, "partition": None if partition == -1 else partition, **fields})
        return
    label = topic if partition is None or partition < 0 else f"{topic}-{partition}"
    output.line(f"{label}{' (all partitions)' if partition is None else ''}")
    for line in lines(stats, is_total=partition is None):
        output.line(f"  {line}")


def lines(stats: Stats, *, is_total: bool) -> Iterator[str]:
    offsets = "" if is_total else f", offsets {stats.first_offset}-{stats.next_offset - 1}"
    yield f"{stats.bytes:,} bytes in {stats.segments:,} segments{offsets}"
    average = round(stats.bytes / stats.batches) if stats.batches else 0
    yield f"{stats.records:,} records in {stats.batches:,} batches of {average:,} bytes on average"
    if stats.last_timestamp >= 0:
        yield f"from {when(stats.first_timestamp)} to {when(stats.last_timestamp)}"
    codecs = ", ".join(f"{name} {count:,}" for name, count in stats.codecs.most_common())
    magics = ", ".join(f"{name}: {count:,}" for name, count in sorted(stats.magics.items()))
    yield f"batches by codec: {codecs or 'none'}; by magic: {magics or 'none'}; compression ratio {stats.ratio:.2f}"
    yield f"{stats.tombstones:,} tombstones, {stats.keyless:,} records without a key"
    yield f"{stats.transactional:,} transactional and {stats.control:,} control batches"
    if stats.damaged_bytes:
        yield f"{stats.damaged_bytes:,} bytes are damaged: see `esker log check`"
