"""What Esker writes, Kafka reads: its dump tool, its broker and its consumer. And what Kafka writes is read here."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from esker.base.errors import KernelMissing
from esker.kernel import load_native, load_reference
from esker.kernel.contract import Kernel
from esker.kernel.layout import HEADER_SIZE
from esker.records import batch, builder, control
from esker.records.batch import batches
from golden.corpus import Case, case, cases
from golden.script import Noted, Script
from parity import crafted
from parity.broker import Broker
from parity.dump import Dump, dump
from parity.made import COORDINATOR_EPOCH, GIVEN_UP, Made, make, sent_again, sent_next
from parity.printed import compare_records, line_of
from parity.wire import Wire

pytestmark = pytest.mark.xdist_group("kafka")  # one worker, one broker at a time
FILE = f"{0:020d}.log"


def files_of(one: Case) -> list[Path]:
    return [*one.logs, *one.folder.glob("*.checkpoint")]


def has_batches(one: Case) -> bool:
    return any(each.header.magic == 2 for file in files_of(one) for each in batches(file.read_bytes()))


CURRENT = [one for one in cases() if has_batches(one)]
golden = pytest.mark.parametrize("one", CURRENT, ids=lambda one: one.name)


class Written(NamedTuple):
    """The files that one kernel wrote: the corpus again, by their originals, and a log of its own."""

    again: dict[Path, Path]
    made: list[Made]
    log: Path


class Told(NamedTuple):
    """All of them by kernel, and what Kafka says of each file and of each original."""

    written: dict[str, Written]
    dumps: dict[Path, Dump]


@pytest.fixture(autouse=True)
def records_by(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """`esker.records` stands on the kernel that is being tested."""
    stand_on(kernel, monkeypatch)


def stand_on(kernel: Kernel, patch: pytest.MonkeyPatch) -> None:
    for module in (batch, builder, control):
        patch.setattr(module, "kernel", kernel)


@pytest.fixture(scope="module")
def told(kafka_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One run of Kafka's tool for everything: starting it costs more than its work."""
    written = {each.NAME: write(each, tmp_path_factory.mktemp(each.NAME)) for each in kernels()}
    files = [file for one in CURRENT for file in files_of(one)]
    for each in written.values():
        files += [*each.again.values(), each.log]
    return Told(written, dump(*files))


def kernels() -> Iterator[Kernel]:
    yield load_reference()
    try:
        yield load_native()
    except KernelMissing:
        return  # the tests of it are skipped by name


def write(kernel: Kernel, home: Path) -> Written:
    with pytest.MonkeyPatch.context() as patch:
        stand_on(kernel, patch)
        again = {file: write_again(file, home / file.parent.name) for one in CURRENT for file in files_of(one)}
        made = make(kernel)
    log = home / FILE
    log.write_bytes(b"".join(each.data for each in made))
    return Written(again, made, log)


def write_again(file: Path, folder: Path) -> Path:
    """Every batch from its records; messages of magic 0 and 1 as they are, since Esker never writes them."""
    folder.mkdir(exist_ok=True)
    found = batches(file.read_bytes())
    again = folder / file.name
    again.write_bytes(b"".join(builder.reencode(b) if b.header.magic == 2 else bytes(b.bytes) for b in found))
    return again


@golden
def test_kafka_says_the_same_of_a_log_written_again(kernel: Kernel, told: Told, one: Case) -> None:
    for file in files_of(one):
        theirs, ours = told.dumps[file], told.dumps[told.written[kernel.NAME].again[file]]
        is_packed = any(line["compresscodec"] != "none" for line in theirs.batches)
        assert [line_of(each, is_packed) for each in ours.batches] == [
            line_of(each, is_packed) for each in theirs.batches
        ]
        assert (ours.gaps, ours.faults, ours.start_offset) == (theirs.gaps, theirs.faults, theirs.start_offset)
        assert all(each["isvalid"] for each in ours.batches)


@golden
def test_kafkas_batches_are_read_here_as_kafka_prints_them(told: Told, one: Case) -> None:
    for file in files_of(one):
        for found, line in zip(batches(file.read_bytes()), told.dumps[file].batches, strict=True):
            compare_records(found.records(), line["records"], found.header.base_offset, found.header.base_sequence)


def test_what_the_broker_packed_or_unpacked_is_the_same_block(kernel: Kernel) -> None:
    """Three cases hold the same records: as the producer sent them, packed by the broker, unpacked by the broker."""
    sent, packed, unpacked = (blocks(kernel, case(name)) for name in ("none", "recompressed-zstd", "recompressed-none"))
    assert packed == sent
    assert unpacked == sent


def blocks(kernel: Kernel, one: Case) -> list[bytes]:
    found = (each for log in one.logs for each in batches(log.read_bytes()))
    return [kernel.decompress(each.header.codec, each.bytes[HEADER_SIZE:]) for each in found]


def test_kafka_prints_a_log_made_from_nothing(kernel: Kernel, told: Told) -> None:
    written = told.written[kernel.NAME]
    found = told.dumps[written.log]
    assert found.gaps == []
    for made, line in zip(written.made, found.batches, strict=True):
        assert line | made.facts == line, f"batch {made.offset}"
        if made.piece.ends is None:
            compare_records(made.records, line["records"], made.offset, made.piece.encoding.base_sequence)
        else:
            marker = f" endTxnMarker: {made.piece.ends.name} coordinatorEpoch: {COORDINATOR_EPOCH}"
            assert [row["text"] for row in line["records"]] == [marker]


class Served(NamedTuple):
    """What a broker makes of our logs: the file after its recovery, and what a Java consumer reads at either level."""

    file: bytes
    uncommitted: list[Noted]
    committed: list[Noted]


@pytest.fixture(scope="module")
def served(kafka_broker: Broker, told: Told) -> dict[str, Served]:
    """Both logs at once, each in place of a topic's own."""
    topics = {name: f"ours-{name}" for name in told.written}
    with Wire(kafka_broker) as wire:
        wire.create({topic: {"retention.ms": "-1"} for topic in topics.values()})
        for topic in topics.values():
            wire.await_leader(topic, crafted.batch(crafted.record()))
    kafka_broker.stop()
    for name, topic in topics.items():
        put_in_place(kafka_broker, topic, told.written[name].log)
    forget_clean_stop(kafka_broker)
    kafka_broker.start()
    return consumed(kafka_broker, topics)


def put_in_place(broker: Broker, topic: str, log: Path) -> None:
    for file in folder_of(broker, topic).iterdir():
        if file.name != "partition.metadata":
            file.unlink()
    (folder_of(broker, topic) / log.name).write_bytes(log.read_bytes())


def folder_of(broker: Broker, topic: str) -> Path:
    return broker.data / f"{topic}-0"


def forget_clean_stop(broker: Broker) -> None:
    """So that it checks every segment."""
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (broker.data / name).unlink(missing_ok=True)


def consumed(broker: Broker, topics: dict[str, str]) -> dict[str, Served]:
    script = Script()
    for topic in topics.values():
        script.say("consume", topic, "read_uncommitted")
        script.say("consume", topic, "read_committed")
    got = script.run(broker.bootstrap).got
    files = {name: (folder_of(broker, topic) / FILE).read_bytes() for name, topic in topics.items()}
    return {name: Served(files[name], *split_where_it_begins_again(got[topic])) for name, topic in topics.items()}


def split_where_it_begins_again(got: list[Noted]) -> tuple[list[Noted], list[Noted]]:
    first = got[0]["offset"]
    at = max(place for place, noted in enumerate(got) if noted["offset"] == first)
    return got[:at], got[at:]


def test_recovery_of_a_broker_finds_nothing_to_cut(kernel: Kernel, told: Told, served: dict[str, Served]) -> None:
    assert served[kernel.NAME].file == told.written[kernel.NAME].log.read_bytes()


def test_java_consumer_reads_all_that_is_ours(kernel: Kernel, told: Told, served: dict[str, Served]) -> None:
    made = told.written[kernel.NAME].made
    assert served[kernel.NAME].uncommitted == [noted for each in made for noted in each.noted]
    kept = [each for each in made if each.piece.encoding.producer_id != GIVEN_UP]
    assert served[kernel.NAME].committed == [noted for each in kept for noted in each.noted]


@pytest.mark.usefixtures("served")
def test_broker_goes_on_where_our_log_ends(kernel: Kernel, told: Told, kafka_broker: Broker) -> None:
    """It has learnt the producer's sequence from our batches: it knows the last one again and takes the next."""
    last = told.written[kernel.NAME].made[-1]
    with Wire(kafka_broker) as wire:
        again = wire.produce(f"ours-{kernel.NAME}", sent_again(kernel))
        after = wire.produce(f"ours-{kernel.NAME}", sent_next(kernel))
    assert (again.code, again.base_offset) == (0, last.offset), again
    assert (after.code, after.base_offset) == (0, last.next_offset), after
