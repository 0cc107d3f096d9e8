"""Esker's own store: one file, one transaction a change, readers beside it, and sentences for what is wrong."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from esker.base.errors import EskerError, StorageFailed
from esker.metadata import store as module
from esker.metadata.store import Store, StoreUnusable, Topic, TopicExists, UnknownTopic


def topic(name: str = "t", partitions: int = 3, **settings: str) -> Topic:
    return Topic(name, name.encode().ljust(16, b"\0"), partitions, settings)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "esker.metadata")


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    with Store(path) as made:
        yield made


def test_what_is_created_is_there_when_opened_again(path: str) -> None:
    wanted = [topic("a", 1, x="1", y=""), topic("b", 7)]
    with Store(path) as store:
        for each in wanted:
            store.create_topic(each)
    for read_only in (False, True):
        with Store(path, read_only=read_only) as store:
            assert store.topics() == {each.name: each for each in wanted}
            assert store.topic("a") == wanted[0]
            assert store.topic("c") is None


def test_settings_are_set_changed_and_taken_away(store: Store) -> None:
    store.create_topic(topic(kept="1", changed="2", gone="3"))
    store.create_topic(topic("other", gone="3"))
    store.alter_settings("t", {"changed": "4", "gone": None, "never there": None, "new": "5"})
    assert store.topics() == {
        "t": topic(kept="1", changed="4", new="5"),
        "other": topic("other", gone="3"),
    }


def test_deleted_topic_takes_its_settings_along(store: Store) -> None:
    store.create_topic(topic(a="1"))
    store.delete_topic("t")
    store.create_topic(topic())
    assert store.topics() == {"t": topic()}


def test_partitions_are_only_added(store: Store) -> None:
    store.create_topic(topic(partitions=3))
    store.add_partitions("t", 5)
    assert store.topic("t") == topic(partitions=5)
    with pytest.raises(AssertionError, match="t has 5 partitions and would have 4"):
        store.add_partitions("t", 4)
    assert store.topic("t") == topic(partitions=5)


CHANGES: list[Callable[[Store], None]] = [
    lambda store: store.alter_settings("none", {}),
    lambda store: store.add_partitions("none", 1),
    lambda store: store.delete_topic("none"),
]


@pytest.mark.parametrize("change", CHANGES, ids=["alter", "add", "delete"])
def test_topic_that_is_not_there_is_named(store: Store, change: Callable[[Store], None]) -> None:
    with pytest.raises(UnknownTopic, match="there is no topic none"):
        change(store)


@pytest.mark.parametrize("taken", [topic("t"), Topic("t", bytes(16), 1, {}), topic("t")._replace(name="other")])
def test_name_or_id_that_is_taken_changes_nothing(store: Store, taken: Topic) -> None:
    store.create_topic(topic(a="1"))
    with pytest.raises(TopicExists):
        store.create_topic(taken._replace(settings={"b": "2"}))
    assert store.topics() == {"t": topic(a="1")}


NO_TEXT: Any = {"a": b"1"}
BUGS = [topic()._replace(id=b"short"), topic(partitions=0), topic()._replace(settings=NO_TEXT)]


@pytest.mark.parametrize("bug", BUGS, ids=["id", "partitions", "setting"])
def test_what_breaks_the_tables_is_a_bug_and_changes_nothing(store: Store, bug: Topic) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        store.create_topic(bug)
    assert store.topics() == {}


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """For hundreds of changes on a disk that others keep busy."""
    monkeypatch.setattr(module, "SYNCHRONOUS", "OFF")


@pytest.mark.usefixtures("unsynced")
def test_random_changes_are_those_of_a_dict(path: str, seed: int) -> None:
    random, model = Random(seed), dict[str, Topic]()
    store = Store(path)
    for step in range(300):
        name = random.choice("abcd")
        had = model.get(name)
        if had is None:
            model[name] = Topic(name, random.randbytes(16), random.randrange(1, 5), {"s": str(step)})
            store.create_topic(model[name])
        elif random.random() < 0.2:
            store.delete_topic(name)
            del model[name]
        elif random.random() < 0.2:
            model[name] = had._replace(partitions=had.partitions + 1)
            store.add_partitions(name, had.partitions + 1)
        else:
            setting = random.choice("xyz")
            settings = {**had.settings, setting: str(step)}
            store.alter_settings(name, {setting: str(step), "s": None})
            settings.pop("s", None)
            model[name] = had._replace(settings=settings)
        if random.random() < 0.05:
            store.close()
            store = Store(path)
        assert store.topics() == model
    store.close()


# Readers and a writer.


@pytest.mark.usefixtures("unsynced")
def test_reader_sees_each_change_whole_while_a_writer_goes_on(path: str) -> None:
    """Each change sets two settings to the same number; a reader never sees them differ."""
    seen, errors = list[int](), list[Exception]()
    with Store(path) as store:
        store.create_topic(topic(a="0", b="0"))
        done, turn = threading.Event(), threading.Event()

        def read() -> None:
            try:
                with Store(path, read_only=True) as reader:
                    while not done.is_set():
                        settings = reader.topics()["t"].settings
                        assert settings["a"] == settings["b"]
                        seen.append(int(settings["a"]))
                        turn.set()
            except (AssertionError, EskerError) as error:
                errors.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        for number in range(1, 50):
            turn.clear()
            turn.wait(20)  # the reader got through, and goes on while this is written
            store.alter_settings("t", {"a": str(number), "b": str(number)})
        done.set()
        thread.join()
    assert not errors
    assert seen == sorted(seen)
    assert len(set(seen)) > 5


def test_reader_never_writes(path: str) -> None:
    Store(path).close()
    with Store(path, read_only=True) as reader, pytest.raises(StorageFailed, match="readonly"):
        reader.create_topic(topic())


def test_reader_makes_no_file(path: str) -> None:
    with pytest.raises(StorageFailed, match="No such file"):
        Store(path, read_only=True)
    assert not os.path.exists(path)


def test_writer_in_the_middle_of_a_change_is_named(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.05)
    with Store(path) as store, Store(path) as second:
        store._sql.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnusable, match=r"in use by another process, which did not let go in 0\.05 s"):
            second.create_topic(topic())
        store._sql.execute("ROLLBACK")
        second.create_topic(topic())


# Crashes.

DIES_IN_A_CHANGE = """
import os, sys
from esker.metadata.store import Store, Topic
store = Store(sys.argv[1])
store.create_topic(Topic("done", b"1" * 16, 1, {}))
store._sql.execute("PRAGMA cache_size = 1")
store._sql.execute("BEGIN IMMEDIATE")
for number in range(3000):
    store._sql.execute("INSERT INTO topic VALUES (?, ?, 1)", (f"half-{number}" * 9, number.to_bytes(16)))
os._exit(9)
"""


@pytest.fixture
def crashed(path: str) -> str:
    """The file after a writer's death in the middle of a change that was too large for memory."""
    done = subprocess.run([sys.executable, "-c", DIES_IN_A_CHANGE, path], check=False, timeout=60)
    assert done.returncode == 9
    assert os.path.getsize(path + "-journal") > 0
    return path


def test_change_that_a_crash_cut_short_never_was(crashed: str) -> None:
    with Store(crashed) as store:
        assert list(store.topics()) == ["done"]


def test_reader_says_what_a_crash_left_and_who_mends_it(crashed: str) -> None:
    with pytest.raises(StoreUnusable, match="was left in the middle of a change by a crash: start Esker on it"):
        Store(crashed, read_only=True)
    Store(crashed).close()
    with Store(crashed, read_only=True) as reader:
        assert list(reader.topics()) == ["done"]


def test_change_is_synced_before_it_returns(store: Store) -> None:
    """FULL is 2; a cut journal is synced under it, the folder of a removed one would not be."""
    assert store._rows("PRAGMA synchronous") == [(2,)]
    assert store._rows("PRAGMA journal_mode") == [("truncate",)]
    store.create_topic(topic())
    assert os.path.getsize(store.path + "-journal") == 0


# Damage.


def filled(path: str) -> bytes:
    with Store(path) as store:
        for number in range(200):
            store.create_topic(topic(f"topic-{number}", 1, a="1"))
    return Path(path).read_bytes()


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("position", [0, 100, 4096, 4100, 8192, 12288])
def test_damage_is_told_in_one_sentence(path: str, position: int, read_only: bool) -> None:
    data = bytearray(filled(path))
    data[position : position + 60] = b"\xa5" * 60
    Path(path).write_bytes(data)
    with pytest.raises(StoreUnusable, match=rf"^{path} is (damaged|a database, but not one of Esker's)"):
        Store(path, read_only=read_only)


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + bytes(100)])
def test_file_that_is_no_database_is_damaged(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)
    with pytest.raises(StoreUnusable, match="is damaged"):
        Store(path)


def test_other_database_is_left_alone(path: str) -> None:
    sqlite3.connect(path).executescript("CREATE TABLE mine (a)").close()
    before = Path(path).read_bytes()
    with pytest.raises(StoreUnusable, match="not one of Esker's"):
        Store(path)
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_later_format_is_left_alone_and_named(path: str, read_only: bool) -> None:
    Store(path).close()
    sqlite3.connect(path).executescript("PRAGMA user_version = 2").close()
    before = Path(path).read_bytes()
    with pytest.raises(StoreUnusable, match="has format 2, and this Esker knows format 1 only: use a newer Esker"):
        Store(path, read_only=read_only)
    assert Path(path).read_bytes() == before


def test_folder_that_is_not_there_is_a_failure_of_the_disk(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="unable to open"):
        Store(str(tmp_path / "none" / "esker.metadata"))


@pytest.mark.parametrize("name", ["esker metadata", "a?b#c%20d", "ünï"])
def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    with Store(str(tmp_path / name)) as store:
        store.create_topic(topic())
    with Store(str(tmp_path / name), read_only=True) as reader:
        assert list(reader.topics()) == ["t"]
    assert (tmp_path / name).is_file()
