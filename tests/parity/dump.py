"""Read what Kafka 4.3.1's DumpLogSegments prints, strictly: a line that is not understood raises."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity.tools import run_tool

Row = dict[str, Any]

_NUMBER = r"-?\d+"
_BATCH = re.compile(
    rf"baseOffset: (?P<baseOffset>{_NUMBER}) lastOffset: (?P<lastOffset>{_NUMBER}) count: (?P<count>{_NUMBER})"
    rf" baseSequence: (?P<baseSequence>{_NUMBER}) lastSequence: (?P<lastSequence>{_NUMBER})"
    rf" producerId: (?P<producerId>{_NUMBER}) producerEpoch: (?P<producerEpoch>{_NUMBER})"
    rf" partitionLeaderEpoch: (?P<partitionLeaderEpoch>{_NUMBER}) isTransactional: (?P<isTransactional>true|false)"
    rf" isControl: (?P<isControl>true|false) deleteHorizonMs: (?P<deleteHorizonMs>OptionalLong\S+)"
    rf" position: (?P<position>\d+) (?P<timestampType>\w+): (?P<timestamp>{_NUMBER}) size: (?P<size>\d+)"
    r" magic: (?P<magic>2) compresscodec: (?P<compresscodec>\w+) crc: (?P<crc>\d+) isvalid: (?P<isvalid>true|false)"
)
_OLD_BATCH = re.compile(
    rf"offset: (?P<lastOffset>\d+) position: (?P<position>\d+) (?P<timestampType>\w+): (?P<timestamp>{_NUMBER})"
    r" size: (?P<size>\d+) magic: (?P<magic>[01]) compresscodec: (?P<compresscodec>\w+) crc: (?P<crc>\d+)"
    r" isvalid: (?P<isvalid>true|false)"
)
_RECORD = re.compile(
    rf"\| offset: (?P<offset>\d+) (?P<timestampType>\w+): (?P<timestamp>{_NUMBER}) keySize: (?P<keySize>{_NUMBER})"
    rf" valueSize: (?P<valueSize>{_NUMBER})"
    rf"(?: sequence: (?P<sequence>{_NUMBER}) headerKeys: \[(?P<headerKeys>.*?)\]"
    r"| isValid: (?P<isValid>true|false) crc: (?P<crc>\d+))"
    r"(?P<text>|(?: (?:key|payload|endTxnMarker|LeaderChange): | \w+ \{).*)"
)
_ENTRY = re.compile(r"\w+: \S+(?: \w+: \S+)*")
_START = re.compile(r"Log starting offset: (\d+)|Snapshot end offset: (\d+), epoch: \d+")
# What ends a run: complaints over a file, each with indented details.
_COMPLAINT = re.compile(r"Non-consecutive offsets in (?P<gaps>.+)|(?:Mismatches|Found [\w ]+) in ?:(?P<faults>.+)")
_TEXTS = {"timestampType", "compresscodec", "text"}


@dataclass
class Dump:
    """One file: batches, each with its `records`, or the entries of an index or snapshot.

    `gaps` are the jumps between record offsets that the tool remarks on, `faults` what it finds wrong in an index.
    """

    batches: list[Row] = field(default_factory=list)
    entries: list[Row] = field(default_factory=list)
    start_offset: int = 0
    gaps: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def records(self) -> list[Row]:
        return [record for batch in self.batches for record in batch["records"]]


def dump(*files: Path) -> dict[Path, Dump]:
    """These files as Kafka reads them, in one JVM."""
    found = parse_dump(dump_log(*files))
    return {file: found[str(file)] for file in files}


def dump_log(*files: Path, flags: tuple[str, ...] = ("--deep-iteration", "--print-data-log")) -> str:
    """What DumpLogSegments prints of these files, its complaints last."""
    names = ",".join(str(file) for file in files)
    args = ("--files", names, *flags)
    return run_tool("org.apache.kafka.tools.DumpLogSegments", *args, with_errors=True)


def parse_dump(output: str, is_decoded: bool = False) -> dict[str, Dump]:
    """`is_decoded`: a decoder of the tool wrote the texts, so the sizes say nothing of their length.

    A record has `key` and `payload` when it has such and the tool could print them as UTF-8; `text` is all that was
    printed of it. `headerKeys` cannot tell one empty key from no header, nor a comma in a key from two keys.
    """
    parser = _Parser(is_decoded)
    for line in output.removesuffix("\n").split("\n"):
        parser.take(line)
    parser.close_record()
    return parser.dumps


class _Parser:
    def __init__(self, is_decoded: bool) -> None:
        self.is_decoded = is_decoded
        self.dumps: dict[str, Dump] = {}
        self.name = ""
        self.open: Row | None = None
        self.complaints: list[str] | None = None

    def take(self, line: str) -> None:
        if self.open is not None and not self._begins(line) and self._is_unfinished(self.open):
            self.open["text"] += "\n" + line  # a value with line ends in it
            return
        self.close_record()
        if not self._took_structure(line) and not self._took_data(line):
            raise ValueError(f"not understood in the dump of {self.name or 'no file yet'}: {line!r}")

    def close_record(self) -> None:
        record, self.open = self.open, None
        if record is None:
            return
        if self._is_unfinished(record) and "\ufffd" not in record["text"]:
            raise ValueError(f"the text of a record of {self.name} has another size than said: {record}")
        record |= _measured(record) or {}

    def _took_structure(self, line: str) -> bool:
        if line.startswith("Dumping "):
            self.name = line.removeprefix("Dumping ")
            self.dumps[self.name] = Dump()
        elif start := _START.fullmatch(line):
            self.dumps[self.name].start_offset = int(start[1] or start[2])
        elif complaint := _COMPLAINT.fullmatch(line):
            self.complaints = self._complaints_of(complaint)
        elif self.complaints is not None and line.startswith("  "):
            self.complaints.append(line.strip())
        else:
            return line in ("", f"{self.name} is empty.")
        return True

    def _complaints_of(self, found: re.Match[str]) -> list[str]:
        of = self.dumps[found["gaps"] or found["faults"]]
        return of.faults if found["gaps"] is None else of.gaps

    def _took_data(self, line: str) -> bool:
        of = self.dumps.get(self.name)
        if of is None:
            return False
        if Path(self.name).suffix not in (".log", ".checkpoint"):
            return self._took_entry(of, line)
        if batch := _BATCH.fullmatch(line) or _OLD_BATCH.fullmatch(line):
            of.batches.append(_row(batch) | {"records": []})
        elif of.batches and (record := _RECORD.fullmatch(line)):
            self.open = _row(record)
            of.batches[-1]["records"].append(self.open)
        else:
            return False
        return True

    def _took_entry(self, of: Dump, line: str) -> bool:
        if _ENTRY.fullmatch(line) is None:
            return False
        pairs = re.findall(r"(\w+): (\S+)", line)
        of.entries.append({key: _value(key, value) for key, value in pairs})
        return True

    def _begins(self, line: str) -> bool:
        shapes = (_BATCH, _OLD_BATCH, _RECORD, _COMPLAINT)
        return line.startswith("Dumping /") or any(shape.fullmatch(line) for shape in shapes)

    def _is_unfinished(self, record: Row) -> bool:
        is_data = record["text"] == "" or record["text"].startswith((" key: ", " payload: "))
        return is_data and not self.is_decoded and _measured(record) is None


def _measured(record: Row) -> Row | None:
    """Key and payload out of the text, if they are as long as said."""
    rest, found = record["text"].encode(), {}
    for name, size in (("key", record["keySize"]), ("payload", record["valueSize"])):
        if size < 0:
            continue
        label = f" {name}: ".encode()
        if not rest.startswith(label) or len(rest) < len(label) + size:
            return None
        part, rest = rest[len(label) : len(label) + size], rest[len(label) + size :]
        found[name] = part.decode(errors="replace")
    return found if not rest else None


def _row(found: re.Match[str]) -> Row:
    return {key: _value(key, value) for key, value in found.groupdict().items() if value is not None}


def _value(key: str, value: str) -> Any:
    if key in _TEXTS:
        return value
    if key == "headerKeys":
        return value.split(",") if value else []
    if value in ("true", "false"):
        return value == "true"
    if optional := re.fullmatch(r"OptionalLong\.empty|OptionalLong\[(\d+)\]", value):
        return None if optional[1] is None else int(optional[1])
    return int(value)
