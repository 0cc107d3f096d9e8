"""The cases that a 4.3.1 broker writes in one go: a topic each, and how it is filled."""

from collections.abc import Callable
from dataclasses import dataclass, field

from golden.contents import DAY_MS, START_MS, Record, large, mixed, plain
from golden.script import Script

NO_ID = {"enable.idempotence": "false"}
NEVER_MS = "9223372036854775807"


@dataclass(frozen=True)
class Topic:
    """A case that is one topic. `wrote` is for readers, `settings` and `producer` go to Kafka as they are."""

    name: str
    holds: str
    write: Callable[[Script, "Topic"], None]
    producer: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


def topics() -> list[Topic]:
    return [*_codecs(), *_levels(), *_encoded_by_broker(), *_timed(), *_odd(), *_producers()]


def _codecs() -> list[Topic]:
    holds = (
        "Five batches with every odd kind of key, value and header, one of 150 KB (several 32 KiB snappy and 64 KiB lz4"
        " blocks), one of a single record: the everyday bytes of this codec."
    )
    names = ["none", "gzip", "snappy", "lz4", "zstd"]
    return [Topic(name, holds, _everything, {"compression.type": name} | NO_ID) for name in names]


def _levels() -> list[Topic]:
    holds = "Another level of the codec: other bytes than the default's, above all lz4's high compressor."
    return [
        Topic(
            f"levels-{codec}",
            f"{holds} Here {codec} {level}.",
            _everything,
            {"compression.type": codec, f"compression.{codec}.level": level} | NO_ID,
        )
        for codec, level in [("gzip", "9"), ("lz4", "17"), ("zstd", "19")]
    ]


def _encoded_by_broker() -> list[Topic]:
    up = "The producer sent it uncompressed, the topic says zstd: encoded by the broker, one batch in, one batch out."
    down = "The producer sent gzip, the topic says uncompressed: unpacked by the broker."
    return [
        Topic("recompressed-zstd", up, _everything, {"compression.type": "none"} | NO_ID, {"compression.type": "zstd"}),
        Topic(
            "recompressed-none",
            down,
            _everything,
            {"compression.type": "gzip"} | NO_ID,
            {"compression.type": "uncompressed"},
        ),
    ]


def _timed() -> list[Topic]:
    stamped = "LogAppendTime: the broker's clock is the batch's max timestamp and counts for every record in it."
    jumps = (
        "Timestamps that fall and jump inside a batch: negative deltas, 0, two weeks forth and back, the year 9999, and"
        " the largest int64."
    )
    settings = {"message.timestamp.type": "LogAppendTime"}
    return [
        Topic("append-time-none", stamped, _everything_small, dict(NO_ID), settings),
        Topic("append-time-lz4", stamped, _everything_small, {"compression.type": "lz4"} | NO_ID, settings),
        Topic("timestamps", jumps, _timestamps, dict(NO_ID), {"message.timestamp.after.max.ms": NEVER_MS}),
    ]


def _odd() -> list[Topic]:
    tiny = "Two batches of one record: null key and empty value; key and value both null. The smallest there are."
    room = {"max.message.bytes": "2000000"}
    gzip, zstd = ({"compression.type": codec} | NO_ID for codec in ("gzip", "zstd"))
    return [
        Topic("tiny", tiny, _tiny, dict(NO_ID)),
        Topic("big-none", "One record of 100 KB, uncompressed.", _big(100_000), dict(NO_ID)),
        Topic("big-zstd", "One record of 1 MB in a few bytes of zstd.", _big(1_000_000), zstd, room),
        Topic("big-gzip", "One record of 1 MB in a few bytes of gzip.", _big(1_000_000), gzip, room),
        Topic("many-headers", "A record with 300 headers, every third of them null.", _many_headers, dict(NO_ID)),
    ]


def _producers() -> list[Topic]:
    idempotent = (
        "Two idempotent producers by turns, then the first once more under a new id: sequences that go on per producer."
    )
    transactional = (
        "Two producers' transactions across each other, one aborted and one committed, plain records between them, then"
        " one more of each; the txnindex has both aborted ones. Offsets without a record are the markers'."
    )
    return [
        Topic("idempotent", idempotent, _idempotent, {"enable.idempotence": "true"}),
        Topic("transactional", transactional, _transactional, {"compression.type": "none"}),
        Topic("transactional-lz4", transactional, _transactional, {"compression.type": "lz4"}),
    ]


def _everything(script: Script, topic: Topic) -> None:
    script.producer(topic.name, topic.producer)
    script.batch(topic.name, topic.name, mixed(START_MS))
    script.batch(topic.name, topic.name, large(START_MS + 60_000))
    script.batch(topic.name, topic.name, plain(START_MS + 120_000, 1))
    script.batch(topic.name, topic.name, plain(START_MS + 180_000, 12, first=1))
    script.batch(topic.name, topic.name, mixed(START_MS + 240_000))


def _everything_small(script: Script, topic: Topic) -> None:
    script.producer(topic.name, topic.producer)
    for i in range(3):
        script.batch(topic.name, topic.name, mixed(START_MS + i * 60_000))
        script.batch(topic.name, topic.name, plain(START_MS + i * 60_000 + 30_000, 4, first=i * 4))


def _timestamps(script: Script, topic: Topic) -> None:
    script.producer(topic.name, topic.producer)
    year_9999 = 253_402_300_799_000
    for stamps in [
        [START_MS, START_MS - 5_000, START_MS + 1, START_MS - 5_001],
        [0],
        [START_MS, START_MS + 14 * DAY_MS, START_MS - 14 * DAY_MS, 0, START_MS],
        [year_9999, 0, year_9999],
        [9_223_372_036_854_775_807],
        [START_MS],
    ]:
        script.batch(topic.name, topic.name, [Record(at, b"at", str(at).encode()) for at in stamps])


def _tiny(script: Script, topic: Topic) -> None:
    script.producer(topic.name, topic.producer)
    script.batch(topic.name, topic.name, [Record(START_MS, None, b"")])
    script.batch(topic.name, topic.name, [Record(START_MS + 1, None, None)])


def _big(size: int) -> Callable[[Script, Topic], None]:
    def write(script: Script, topic: Topic) -> None:
        script.producer(topic.name, topic.producer)
        script.batch(topic.name, topic.name, [Record(START_MS, b"big", b"a" * size)])

    return write


def _many_headers(script: Script, topic: Topic) -> None:
    headers = tuple((f"header-{i}", None if i % 3 == 0 else b"%d" % i) for i in range(300))
    script.producer(topic.name, topic.producer)
    script.batch(topic.name, topic.name, [Record(START_MS, b"key", b"value", headers)])


def _idempotent(script: Script, topic: Topic) -> None:
    for name in ("one", "two"):
        script.producer(name, topic.producer)
    for i, name in enumerate(["one", "two", "one", "one", "two", "one", "one", "one"]):
        script.batch(name, topic.name, plain(START_MS + i * 1000, 1 + i % 3, first=i * 10))
    script.say("close", "one")
    script.producer("one", topic.producer)
    script.batch("one", topic.name, plain(START_MS + 9000, 2, first=90))


def _transactional(script: Script, topic: Topic) -> None:
    script.producer("plain", topic.producer | NO_ID)
    for name in ("left", "right"):
        script.producer(name, topic.producer | {"transactional.id": f"{topic.name}-{name}"})
        script.say("init", name)
    script.batch("plain", topic.name, plain(START_MS, 2))
    for i, (name, aborted) in enumerate([("left", False), ("right", True)]):
        script.say("begin", name)
        script.batch(
            name, topic.name, plain(START_MS + 1000 + i, 2, first=10 + i * 10), transactional=True, aborted=aborted
        )
    script.batch("left", topic.name, plain(START_MS + 2000, 2, first=30), transactional=True, aborted=False)
    script.batch("plain", topic.name, plain(START_MS + 2001, 1, first=40))
    script.batch("right", topic.name, plain(START_MS + 2002, 1, first=50), transactional=True, aborted=True)
    end_transaction(script, topic.name, "abort", "right", 11)
    script.batch("plain", topic.name, plain(START_MS + 3000, 1, first=60))
    end_transaction(script, topic.name, "commit", "left", 13)
    for i, (name, verb) in enumerate([("left", "abort"), ("right", "commit")]):
        script.say("begin", name)
        records = plain(START_MS + 4000 + i, 3, first=70 + i * 10)
        script.batch(name, topic.name, records, transactional=True, aborted=verb == "abort")
        end_transaction(script, topic.name, verb, name, 17 + i * 4)
    script.batch("plain", topic.name, plain(START_MS + 5000, 1, first=90))


def end_transaction(script: Script, topic: str, verb: str, producer: str, offset: int) -> None:
    """End a transaction and wait for its marker, so that nothing overtakes it."""
    script.say(verb, producer)
    script.say("end", topic, str(offset))
