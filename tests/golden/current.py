"""The cases that Kafka 4.3.1 writes, all on one broker that is started three times."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from golden.compaction import LET_GO, compacted, second_round
from golden.contents import START_MS, plain
from golden.headers import whole_batches
from golden.plan import NEVER_MS, NO_ID, Topic, topics
from golden.script import Answers, Noted, Script
from parity.broker import Broker, await_true
from parity.jars import KAFKA

Save = Callable[[str, list[Path], Mapping[str, Any]], None]
PROPERTIES = {
    "log.retention.ms": "-1",
    "log.roll.ms": NEVER_MS,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "4194304",
}
EPOCHS = Topic("epochs", "Three batches, the broker restarted between them: three leader epochs.", lambda *_: None)
COMMITS = [
    ("first-group", "classic", "none", 3, "some-metadata"),
    ("second-group", "classic", "none", 5, "x"),
    ("first-group", "classic", "gzip", 2, "y"),
    ("third-group", "consumer", "zstd", 4, "z"),
]
# Positions that go with a transaction, and how that ends.
TRANSACTED = [("fourth-group", "none", 6, "commit"), ("fourth-group", "none", 7, "abort")]
LONGEST_METADATA = 20_000


def make_current(home: Path, save: Save) -> None:
    with Broker(home, PROPERTIES) as broker:
        answers = [_filled(broker)]
        _await_cleaner(broker.data, [topic.name for topic in compacted()])
        answers += [_second_round(broker)]
        _await_cleaner(broker.data, ["compacted-transactional"])
        for epoch in (1, 2):
            broker.restart()
            answers += [_next_epoch(broker, epoch)]
        answers += [_consumed(broker)]
    sent = _together([each.sent for each in answers])
    got = answers[-1].got
    for topic in [*topics(), EPOCHS]:
        save(topic.name, files_of(broker.data / f"{topic.name}-0"), _note(topic, sent[topic.name]))
    for topic in compacted():
        note = _note(topic, got[topic.name], "a Java consumer, read_committed") | {"sent": sent[topic.name]}
        save(topic.name, files_of(broker.data / f"{topic.name}-0"), note)
    _save_internal(broker.data, got, save)


def _filled(broker: Broker) -> Answers:
    script = Script()
    for topic in [*topics(), *compacted()]:
        script.create(topic.name, topic.settings)
        topic.write(script, topic)
    script.create(EPOCHS.name, {})
    script.producer(EPOCHS.name, NO_ID)
    script.batch(EPOCHS.name, EPOCHS.name, plain(START_MS, 3))
    _commit_offsets(script)
    for topic in compacted():
        script.config(topic.name, LET_GO)
    return script.run(broker.bootstrap)


def _commit_offsets(script: Script) -> None:
    for group, protocol, name, offset, metadata in COMMITS:
        script.say("group", group, protocol, name, str(offset), metadata)
    script.producer("mover", {"transactional.id": "internal-mover"})
    script.say("init", "mover")
    for group, name, offset, verb in TRANSACTED:
        script.say("begin", "mover")
        script.say("offsets", "mover", group, name, str(offset))
        script.say(verb, "mover")


def _second_round(broker: Broker) -> Answers:
    script = Script()
    second_round(script, compacted()[-1])
    return script.run(broker.bootstrap)


def _next_epoch(broker: Broker, epoch: int) -> Answers:
    script = Script()
    script.producer(EPOCHS.name, NO_ID)
    script.batch(EPOCHS.name, EPOCHS.name, plain(START_MS + epoch * 1000, 3, first=epoch * 10))
    return script.run(broker.bootstrap)


def _consumed(broker: Broker) -> Answers:
    script = Script()
    for topic in compacted():
        script.say("consume", topic.name, "read_committed")
    for name in ("__consumer_offsets", "__transaction_state"):
        script.say("consume", name, "read_uncommitted")
    return script.run(broker.bootstrap)


def _await_cleaner(data: Path, names: list[str]) -> None:
    """The cleaner has come to the active segment of each when its checkpoint says so."""
    actives = {name: max(int(log.stem) for log in (data / f"{name}-0").glob("*.log")) for name in names}
    checkpoint = data / "cleaner-offset-checkpoint"

    def is_clean() -> bool:
        rows = [line.split() for line in checkpoint.read_text().splitlines()[2:]]
        cleaned = {row[0]: int(row[2]) for row in rows}
        return all(cleaned.get(name, -1) >= active for name, active in actives.items())

    await_true(is_clean, 120, f"the cleaner comes to {actives}")


def _save_internal(data: Path, got: Mapping[str, list[Noted]], save: Save) -> None:
    offsets = (
        "What the coordinator wrote for real consumers: two classic groups, one of the newer protocol, and one whose"
        " positions came with transactions, one committed and one aborted. `commits` says what the clients asked for."
    )
    commits = [dict(zip(("group", "protocol", "topic", "offset", "metadata"), each, strict=True)) for each in COMMITS]
    commits += [dict(zip(("group", "topic", "offset", "end"), each, strict=True)) for each in TRANSACTED]
    states = "The states of every transaction in this corpus, as the coordinator wrote them."
    for name, folder, holds in [
        ("internal-offsets", "__consumer_offsets", offsets),
        ("internal-transactions", "__transaction_state", states),
    ]:
        note = _note(Topic(name, holds, lambda *_: None), got[folder], "a Java consumer, read_uncommitted")
        note |= {"client": "the broker itself"} | ({"commits": commits} if holds is offsets else {})
        save(name, files_of(data / f"{folder}-0"), note)
    _save_metadata(data / "__cluster_metadata-0", save)


def _save_metadata(folder: Path, save: Save) -> None:
    log = next(iter(sorted(folder.glob("*.log"))))
    log.write_bytes(whole_batches(log.read_bytes(), LONGEST_METADATA))
    snapshot = next(iter(sorted(folder.glob("*.checkpoint"))))
    holds = (
        "The beginning of KRaft's metadata log, cut to whole batches, and its first snapshot: control records of"
        " types 2 to 6, several to a batch, and metadata records, which nobody but Kafka reads."
    )
    note = {"kafka": KAFKA, "client": "the controller", "holds": holds, "known_from": "nothing", "records": []}
    save("internal-metadata", [log, snapshot], note)


def files_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if not file.name.endswith(".deleted"))


def _note(topic: Topic, records: list[Noted], known_from: str = "the producer") -> dict[str, Any]:
    return {
        "kafka": KAFKA,
        "client": f"Java {KAFKA}, a flush after each batch",
        "client_settings": topic.producer,
        "topic_settings": topic.settings,
        "holds": topic.holds,
        "known_from": known_from,
        "records": records,
    }


def _together(parts: list[dict[str, list[Noted]]]) -> dict[str, list[Noted]]:
    names = {name for part in parts for name in part}
    return {name: [record for part in parts for record in part.get(name, [])] for name in names}
