"""What the Java programs are told to do, and what they answer."""

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden.contents import Record
from parity.tools import run_java

HERE = Path(__file__).resolve().parent
# One flush is one batch: nothing goes out before it, and all of it fits.
ONE_BATCH = {"linger.ms": "60000", "batch.size": "1500000", "max.request.size": "2000000"}
LONGEST_HEX = 300

Noted = dict[str, Any]


@dataclass
class Answers:
    """By topic: what producers sent, with the offsets and times they were told, what a consumer got, the log's start
    and end, and the numbers of each producer that is listed."""

    sent: dict[str, list[Noted]] = field(default_factory=lambda: defaultdict(list))
    got: dict[str, list[Noted]] = field(default_factory=lambda: defaultdict(list))
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)
    producers: dict[str, list[list[int]]] = field(default_factory=lambda: defaultdict(list))


class Script:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.sends: list[tuple[str, Record, Noted]] = []

    def say(self, *words: str) -> None:
        self.lines.append(" ".join(words))

    def create(self, topic: str, settings: Mapping[str, str]) -> None:
        self.say("create", topic, *_pairs(settings))

    def config(self, topic: str, settings: Mapping[str, str]) -> None:
        self.say("config", topic, *_pairs(settings))

    def producer(self, name: str, settings: Mapping[str, str]) -> None:
        self.say("producer", name, *_pairs(ONE_BATCH | dict(settings)))

    def batch(self, producer: str, topic: str, records: Iterable[Record], **flags: bool) -> None:
        """Send these as one batch; the flags go into the note of each record."""
        for record in records:
            headers = [f"{_word(key.encode())}:{_word(value)}" for key, value in record.headers]
            words = [str(record.timestamp), _word(record.key), _word(record.value)]
            self.say("send", producer, topic, *words, *headers)
            self.sends.append((topic, record, dict(flags)))
        self.say("flush", producer)

    def run(self, bootstrap: str, program: str = "Corpus.java", version: str = "4.3.1") -> Answers:
        with tempfile.NamedTemporaryFile("w", suffix=".script") as file:
            file.write("\n".join(self.lines))
            file.flush()
            output = run_java(HERE / program, version, bootstrap, file.name)
        return self._answers([line.split(" ") for line in output.splitlines()])

    def _answers(self, answers: list[list[str]]) -> Answers:
        found = Answers()
        sent = [words for words in answers if words[0] == "sent"]
        for (topic, record, flags), (_, offset, timestamp) in zip(self.sends, sent, strict=True):
            found.sent[topic].append(_noted_sent(record, int(offset), int(timestamp)) | flags)
        for words in answers:
            if words[0] == "got":
                found.got[words[1]].append(_noted_got(words[2:]))
            elif words[0] == "bounds":
                found.bounds[words[1]] = (int(words[2]), int(words[3]))
            elif words[0] == "producer":
                found.producers[words[1]].append([int(word) for word in words[2:]])
        return found


def noted_bytes(data: bytes | None) -> str | Noted | None:
    """Short ones as hex, long ones as what they repeat, or as their length and SHA-256."""
    if data is None or len(data) <= LONGEST_HEX:
        return None if data is None else data.hex()
    if data == data[:1] * len(data):
        return {"repeat": data[:1].hex(), "times": len(data)}
    return {"sha256": hashlib.sha256(data).hexdigest(), "length": len(data)}


def _noted_sent(record: Record, offset: int, timestamp: int) -> Noted:
    """The time that the producer was told is the broker's if the topic keeps the time of append."""
    return _noted(
        offset,
        timestamp,
        "CreateTime" if timestamp == record.timestamp else "LogAppendTime",
        record.key,
        record.value,
        record.headers,
    )


def _noted_got(words: list[str]) -> Noted:
    offset, timestamp, kind, key, value = words[:5]
    headers = [header.split(":") for header in words[5:]]
    pairs = [((_bytes(name) or b"").decode(), _bytes(data)) for name, data in headers]
    return _noted(int(offset), int(timestamp), kind, _bytes(key), _bytes(value), pairs)


def _noted(
    offset: int,
    timestamp: int,
    kind: str,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]],
) -> Noted:
    return {
        "offset": offset,
        "timestamp": timestamp,
        "timestampType": kind,
        "key": noted_bytes(key),
        "value": noted_bytes(value),
        "headers": [[name, noted_bytes(data)] for name, data in headers],
    }


def _pairs(settings: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in settings.items()]


def _word(data: bytes | None) -> str:
    return "-" if data is None else "x" + data.hex()


def _bytes(word: str) -> bytes | None:
    return None if word == "-" else bytes.fromhex(word[1:])
