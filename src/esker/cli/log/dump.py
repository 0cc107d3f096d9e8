"""`esker log dump`: records, batches and the entries of all other files, as text or as JSON lines.

Of a log only a window is in memory at a time. Damage does not end the dump: it is named on stderr, and what is good
behind it is shown.
"""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import BadFile, Corrupt
from esker.cli.log import jsonl, text
from esker.cli.log.decode import BY_WORD, decoder
from esker.cli.log.output import Output, complain, safe
from esker.cli.log.ranges import Window, window
from esker.cli.log.rows import rows
from esker.kernel.layout import Codec
from esker.ports.files import RealFiles
from esker.records.batch import Batch
from esker.rules.layout import Suffix
from esker.storage.checks.entries import batch_starts
from esker.storage.listing import (
    HOLDS_BATCHES,
    Found,
    FoundFile,
    FoundLogDir,
    FoundPartition,
    Kind,
    look,
    partition_of,
)
from esker.storage.seek import seek
from esker.storage.survey import Damage, Survey

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from esker.kernel.contract import BatchHeader
    from esker.ports.files import Files
    from esker.records.record import LogRecord
    from esker.storage.scan import Stretch


class Wish(NamedTuple):
    """What is to be shown, and how."""

    window: Window
    as_json: bool
    batches_alone: bool
    everything: bool
    cut: int
    decode: str | None
    limit: int


class Enough(Exception):
    """As many records as were asked for have been shown."""


def run(options: argparse.Namespace) -> int:
    files = RealFiles()
    wish = Wish(
        window=window(options.offset, options.time, time.time_ns() // 1_000_000),
        as_json=options.json,
        batches_alone=options.batches,
        everything=options.all,
        cut=options.cut or text.WHOLE,
        decode=options.decode,
        limit=options.count or 1 << 62,
    )
    found = [one for path in options.path for one in look(files, path)]
    gc.disable()  # nothing here makes cycles, and millions of short-lived tuples would have them looked for
    with Output() as output:
        dump = Dump(files, wish, output)
        try:
            for one in found:
                dump.show(one)
        except Enough:
            pass
    return 1 if dump.is_damaged else 0


class Dump:
    """One run."""

    def __init__(self, files: Files, wish: Wish, output: Output) -> None:
        self._files = files
        self._wish = wish
        self._output = output
        self._left = wish.limit
        self.is_damaged = False

    def show(self, found: Found) -> None:
        if isinstance(found, FoundLogDir):
            if self._wish.everything:
                for file in found.files:
                    self._rows(file)
            for partition in found.partitions:
                self._partition(partition)
        elif isinstance(found, FoundPartition):
            self._partition(found)
        elif found.kind in HOLDS_BATCHES:
            topic, number = partition_of(found.path.rpartition("/")[0] or ".")
            self._log(found, topic, number)
        else:
            self._rows(found)

    def _partition(self, partition: FoundPartition) -> None:
        logs = partition.of_kind(Kind.LOG)
        window = self._wish.window
        for place, log in enumerate(logs):
            ends = logs[place + 1].base_offset if place + 1 < len(logs) else None
            if (ends is None or ends > window.first_offset) and log.base_offset < window.end_offset:
                self._log(log, partition.topic, partition.partition)
        if self._wish.everything:
            for file in partition.files:
                if file.kind not in HOLDS_BATCHES and file.suffix is Suffix.IN_PLACE:
                    self._rows(file)

    def _rows(self, file: FoundFile) -> None:
        self._title(file.path)
        try:
            for row in rows(self._files, file):
                if self._wish.as_json:
                    self._output.json({"file": file.path, **row})
                else:
                    self._output.line(" ".join(f"{name}={said(value)}" for name, value in row.items()))
        except BadFile as bad:
            self._complain(str(bad))

    def _log(self, log: FoundFile, topic: str, partition: int) -> None:
        self._title(log.path)
        index = log.path.removesuffix(".log") + ".index"
        starts = batch_starts(self._files.open(index)) if self._files.exists(index) else []
        window = self._wish.window
        position = seek(self._files, log, window.first_offset, window.first_ms) if log.kind is Kind.LOG else 0
        survey = Survey(self._files.open(log.path), 0, starts, deep=False, position=position)
        printer = self._printer(topic, partition)
        for part in survey:
            if isinstance(part, Damage):
                self._damage(log.path, part)
            elif not self._stretch(log.path, part, printer):
                return

    def _printer(self, topic: str, partition: int) -> Printer:
        asked = self._wish.decode
        decode = None if asked == "none" else decoder(BY_WORD[asked] if asked else topic)
        return JsonPrinter(topic, partition, decode) if self._wish.as_json else TextPrinter(self._wish.cut, decode)

    def _stretch(self, path: str, stretch: Stretch, printer: Printer) -> bool:
        """False: nothing that comes later is wanted."""
        window = self._wish.window
        for header in stretch.headers:
            if header.last_offset < window.first_offset or header.max_timestamp < window.first_ms:
                continue
            if first_offset(header) >= window.end_offset:
                return False
            try:
                self._batch(Batch(header, stretch.data), stretch.position + header.position, printer)
            except Corrupt as error:
                at = stretch.position + error.finding.position
                self._complain(f"{path}: {error.finding._replace(position=at)}")
        return True

    def _batch(self, batch: Batch, position: int, printer: Printer) -> None:
        output, window = self._output, self._wish.window
        if self._wish.batches_alone:
            output.write(printer.batch(batch, position))
            return
        if is_inside(batch.header, window) and batch.header.record_count <= self._left and not printer.decode:
            lines = printer.fast(batch)
            if lines is not None:
                output.write(self._title_of(batch, position, printer) + lines)
                self._take(batch.header.record_count)
                return
        found = [record for record in batch.records() if is_wanted(record, window)][: self._left]
        if found or is_inside(batch.header, window):
            output.write(self._title_of(batch, position, printer) + printer.records(batch, found))
            self._take(len(found))

    def _title_of(self, batch: Batch, position: int, printer: Printer) -> bytes:
        """In JSON each record says which batch it is from."""
        return b"" if self._wish.as_json else printer.batch(batch, position)

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left <= 0:
            raise Enough

    def _title(self, path: str) -> None:
        if not self._wish.as_json:
            self._output.line(f"# {path}")

    def _damage(self, path: str, damage: Damage) -> None:
        rest = f"; goes on at {damage.end}" if not damage.is_readable else ""
        self._complain(f"{path}: {damage.finding}{rest}")

    def _complain(self, sentence: str) -> None:
        self.is_damaged = True
        self._output.flush()
        complain(sentence)


class TextPrinter:
    def __init__(self, cut: int, decode: Callable[[LogRecord], object] | None) -> None:
        self._cut = cut
        self.decode = decode

    def batch(self, batch: Batch, position: int) -> bytes:
        return text.batch_line(batch, position)

    def fast(self, batch: Batch) -> bytes | None:
        return text.fast_lines(batch, self._cut)

    def records(self, batch: Batch, found: list[LogRecord]) -> bytes:
        if self.decode is None or (batch.header.magic > 1 and batch.header.control):
            return text.record_lines(batch, found, self._cut)
        return b"".join(self._decoded(batch, record) for record in found)

    def _decoded(self, batch: Batch, record: LogRecord) -> bytes:
        assert self.decode is not None
        line = text.record_lines(batch, [record], self._cut)
        decoded = self.decode(record)
        return line if decoded is None else line[:-1] + b" decoded=" + json.dumps(decoded).encode() + b"\n"


class JsonPrinter:
    def __init__(self, topic: str, partition: int, decode: Callable[[LogRecord], object] | None) -> None:
        self._lines = jsonl.JsonLines(topic, partition)
        self.decode = decode

    def batch(self, batch: Batch, position: int) -> bytes:
        return self._lines.batch(batch, position)

    def fast(self, batch: Batch) -> bytes | None:
        return self._lines.fast(batch)

    def records(self, batch: Batch, found: list[LogRecord]) -> bytes:
        is_control = batch.header.magic > 1 and batch.header.control
        return self._lines.records(batch, found, self.decode if self.decode and not is_control else lambda _: None)


Printer = TextPrinter | JsonPrinter


def first_offset(header: BatchHeader) -> int:
    """The least that a record in the batch can have; of a compressed message only its last one is known."""
    return 0 if header.magic < 2 and header.codec != Codec.NONE else header.base_offset


def is_inside(header: BatchHeader, window: Window) -> bool:
    """Does all of the batch lie within what is wanted?"""
    if window.is_timed or (header.magic < 2 and header.codec != Codec.NONE):
        return window == Window()
    return window.first_offset <= header.base_offset and header.last_offset < window.end_offset


def is_wanted(record: LogRecord, window: Window) -> bool:
    return (
        window.first_offset <= record.offset < window.end_offset and window.first_ms <= record.timestamp < window.end_ms
    )


def said(value: object) -> str:
    return "none" if value is None else safe(str(value))
