"""The cases for the cleaner: written with it held back, so that one round sees all of it, then let go."""

from golden.contents import START_MS, keyed
from golden.plan import NEVER_MS, Topic, end_transaction
from golden.script import Script

HOUR_MS = 3_600_000
YEAR_MS = 31_536_000_000
# No log is dirtier than 1.0; what is to go stays ten years under its delete horizon.
HELD_BACK = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "1.0",
    "delete.retention.ms": str(10 * YEAR_MS),
    "file.delete.delay.ms": "0",
}
LET_GO = {"min.cleanable.dirty.ratio": "0.001"}


def compacted() -> list[Topic]:
    """Filled with the cleaner held back, so that one round sees all of it. A segment ends where the hour changes."""
    timed = HELD_BACK | {"segment.ms": "600000"}
    ages = HELD_BACK | {"segment.ms": str(100 * YEAR_MS), "message.timestamp.after.max.ms": NEVER_MS}
    holds = (
        "After the cleaner: missing offsets between batches and inside them, batches kept empty for their producer, and"
        " tombstones under a delete horizon ten years ahead."
    )
    transactional = (
        "After two rounds of the cleaner: aborted records gone, and markers whose data is gone, of both kinds, under a"
        " delete horizon (attribute bits 4, 5 and 6)."
    )
    return [
        Topic("compacted-none", holds, _compacted, {"compression.type": "none"}, timed),
        Topic("compacted-zstd", holds, _compacted, {"compression.type": "zstd"}, timed),
        Topic("compacted-transactional", transactional, _transactions, {}, ages),
    ]


def _compacted(script: Script, topic: Topic) -> None:
    for name in ("one", "two", "three"):
        script.producer(name, topic.producer)
    hour = [START_MS + i * HOUR_MS for i in range(4)]
    script.batch("one", topic.name, keyed(hour[0], "a b c d e f", "first"))
    script.batch("two", topic.name, keyed(hour[0] + 100, "b d g h", "first"))
    script.batch("one", topic.name, keyed(hour[0] + 200, "a c", "second"))
    script.batch("three", topic.name, keyed(hour[0] + 300, "once-1 once-2 once-3", "only"))
    script.batch("two", topic.name, keyed(hour[1], "b i h j", "second"))
    script.batch("two", topic.name, keyed(hour[1] + 100, "e g", None) + keyed(hour[1] + 102, "k", "first"))
    script.batch("three", topic.name, keyed(hour[2], "a c d", "third") + keyed(hour[2] + 3, "i", None))
    script.batch("three", topic.name, keyed(hour[3], "a z", "in the active segment"))


def _transactions(script: Script, topic: Topic) -> None:
    """Markers carry the broker's clock, so here a segment lasts a hundred years and plain records leap to the next."""
    name = topic.name
    for producer in ("left", "right"):
        script.producer(producer, {"transactional.id": f"{name}-{producer}"})
        script.say("init", producer)
    offset = 0
    for producer, verb, keys in [
        ("left", "commit", "a b"),
        ("right", "abort", "c d"),
        ("left", "commit", "a b c"),
        ("right", "commit", "d e"),
        ("left", "abort", "f"),
        ("left", "commit", "g"),
    ]:
        records = keyed(START_MS + offset, keys, f"transaction at {offset}")
        script.say("begin", producer)
        script.batch(producer, name, records, transactional=True, aborted=verb == "abort")
        offset += len(records) + 1
        end_transaction(script, name, verb, producer, offset)
    script.producer("plain", {})
    script.batch("plain", name, keyed(START_MS + 1000, "d e", "plain"))
    script.batch("plain", name, keyed(START_MS + 110 * YEAR_MS, "a z", "second segment"))


def second_round(script: Script, topic: Topic) -> None:
    """Enough to make the cleaner come again: it now finds markers whose data is gone."""
    script.producer("again", {})
    script.batch("again", topic.name, keyed(START_MS + 110 * YEAR_MS + 1, "k", "second segment"))
    script.batch("again", topic.name, keyed(START_MS + 220 * YEAR_MS, "w", "third segment"))
