"""`esker.metadata`: topics, their ids and settings, in one SQLite file in the first log dir.

A change is one transaction: it is there after a crash, or was never begun. Read and write by one thread each; other
processes read meanwhile, and wait while a change is committed.

The crash story: the old pages go to `esker.metadata-journal`, which is synced, then the new ones to the file, which is
synced; then the journal is cut to nothing *and synced*, which is why it is cut and not removed (SQLite syncs a cut
journal under synchronous=FULL, but not the folder of a removed one). So what `create_topic` returned from survives a
power cut, and the topic's first folder is never older than its name here. A journal left behind by a crash is undone
by the next writer; a reader cannot, and says so.

The surprise: SQLite's locks are POSIX locks, which go when *any* handle of the file is closed in this process: nothing
else may open it.
"""

from __future__ import annotations

import errno
import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from esker.base.errors import EskerError, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

FORMAT = 1
# "Eskr": `file` and a person with a hex dump see whose database this is.
APPLICATION_ID = 0x45736B72
SYNCHRONOUS = "FULL"
BUSY_TIMEOUT_S = 10.0
BUSY_POLL_S = 0.002

TABLES = f"""
CREATE TABLE topic (
    name TEXT NOT NULL PRIMARY KEY CHECK (typeof(name) = 'text'),
    id BLOB NOT NULL UNIQUE CHECK (typeof(id) = 'blob' AND length(id) = 16),
    partitions INTEGER NOT NULL CHECK (typeof(partitions) = 'integer' AND partitions > 0)
) WITHOUT ROWID;
CREATE TABLE setting (
    topic TEXT NOT NULL REFERENCES topic ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL CHECK (typeof(value) = 'text'),
    PRIMARY KEY (topic, name)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""

# What SQLite says of a file whose bytes are wrong.
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
TAKEN = (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE)
SYSTEM = {sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_IOERR: errno.EIO, sqlite3.SQLITE_PERM: errno.EACCES}


class Topic(NamedTuple):
    """A topic as it was created; `settings` holds what was set, not the defaults."""

    name: str
    id: bytes
    partitions: int
    settings: Mapping[str, str]


class StoreUnusable(EskerError):
    """The file cannot be used as it is: damaged, of a later Esker, in use, or left in the middle of a change."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} {why}")
        self.path, self.why = path, why

    def __reduce__(self) -> tuple[type[StoreUnusable], tuple[str, str]]:
        return type(self), (self.path, self.why)


class TopicExists(EskerError):
    """The name or the id is taken."""


class UnknownTopic(EskerError):
    """No topic of this name."""


class Store:
    """The open file, made if need be; with `read_only` it must be there, and nothing is ever written."""

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        if read_only and not Path(path).exists():
            raise StorageFailed(path, FileNotFoundError(errno.ENOENT, "No such file or directory", path))
        with self._told():
            mode = "ro" if read_only else "rwc"
            uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
            self._sql = sqlite3.connect(uri, timeout=0, isolation_level=None, uri=True)
        try:
            self._begin_use()
        except BaseException:
            self._sql.close()
            raise

    def _begin_use(self) -> None:
        with self._told():
            self._sql.execute("PRAGMA foreign_keys = ON")
            if not self.read_only:
                self._run("PRAGMA journal_mode = TRUNCATE")
                self._run(f"PRAGMA synchronous = {SYNCHRONOUS}")
                self._create()
            self._verify()

    def _create(self) -> None:
        """Two that begin at once: the second finds what the first has made."""
        with self._change():
            if self._number("application_id") == 0 and not self._rows("SELECT name FROM sqlite_schema"):
                for statement in TABLES.split(";"):
                    self._sql.execute(statement)

    def _verify(self) -> None:
        if self._number("application_id") != APPLICATION_ID:
            raise StoreUnusable(self.path, "is a database, but not one of Esker's")
        version = self._number("user_version")
        if version != FORMAT:
            raise StoreUnusable(
                self.path, f"has format {version}, and this Esker knows format {FORMAT} only: use a newer Esker"
            )
        found = self._rows("PRAGMA quick_check(1)")
        if found != [("ok",)]:
            raise StoreUnusable(self.path, f"is damaged: {found[0][0]}")

    # Reading.

    def topics(self) -> dict[str, Topic]:
        """All of them by name, as of one moment."""
        with self._told():
            return {topic.name: topic for topic in self._topics("")}

    def topic(self, name: str) -> Topic | None:
        with self._told():
            return next(self._topics(" WHERE topic.name = ?", (name,)), None)

    def _topics(self, where: str, given: tuple[str, ...] = ()) -> Iterator[Topic]:
        """One statement, so that no change comes between topics and settings."""
        rows = self._rows(
            "SELECT topic.name, id, partitions, setting.name, value FROM topic"
            f" LEFT JOIN setting ON setting.topic = topic.name{where} ORDER BY topic.name, setting.name",
            given,
        )
        found: dict[str, Topic] = {}
        settings: dict[str, str] = {}
        for name, id_, partitions, setting, value in rows:
            if name not in found:
                settings = {}
                found[name] = Topic(name, id_, partitions, settings)
            if setting is not None:
                settings[setting] = value
        return iter(found.values())

    # Changing. Each is durable when it returns.

    def create_topic(self, topic: Topic) -> None:
        """Raises TopicExists."""
        with self._told(), self._change():
            try:
                self._sql.execute("INSERT INTO topic VALUES (?, ?, ?)", topic[:3])
            except sqlite3.IntegrityError as error:
                if error.sqlite_errorcode not in TAKEN:
                    raise
                raise TopicExists(f"there is a topic {topic.name}, or one of its id {topic.id.hex()}") from error
            self._set(topic.name, topic.settings)

    def alter_settings(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set these, and take away those whose value is None. Raises UnknownTopic."""
        with self._told(), self._change():
            self._require(name)
            gone = [(name, setting) for setting, value in changes.items() if value is None]
            self._sql.executemany("DELETE FROM setting WHERE topic = ? AND name = ?", gone)
            self._set(name, {setting: value for setting, value in changes.items() if value is not None})

    def add_partitions(self, name: str, count: int) -> None:
        """From now on the topic has so many, which may not be fewer. Raises UnknownTopic."""
        with self._told(), self._change():
            self._require(name)
            had = self._rows("SELECT partitions FROM topic WHERE name = ?", (name,))[0][0]
            assert count >= had, f"{name} has {had} partitions and would have {count}"
            self._sql.execute("UPDATE topic SET partitions = ? WHERE name = ?", (count, name))

    def delete_topic(self, name: str) -> None:
        """With its settings. Raises UnknownTopic."""
        with self._told(), self._change():
            self._require(name)
            self._sql.execute("DELETE FROM topic WHERE name = ?", (name,))

    def _set(self, topic: str, settings: Mapping[str, str]) -> None:
        rows = [(topic, name, value) for name, value in settings.items()]
        self._sql.executemany("INSERT OR REPLACE INTO setting VALUES (?, ?, ?)", rows)

    def _require(self, name: str) -> None:
        if not self._rows("SELECT 1 FROM topic WHERE name = ?", (name,)):
            raise UnknownTopic(f"there is no topic {name}")

    # The connection.

    def close(self) -> None:
        self._sql.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _change(self) -> Iterator[None]:
        """All of it or nothing."""
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            if self._sql.in_transaction:
                self._sql.execute("ROLLBACK")
            raise

    def _rows(self, statement: str, given: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        return self._run(statement, tuple(given)).fetchall()

    def _run(self, statement: str, given: tuple[object, ...] = ()) -> sqlite3.Cursor:
        """Wait for other processes' locks. SQLite's own waiting sleeps whole seconds where it was built without
        usleep, and then a reader beside a busy writer hardly ever gets its turn."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        while True:
            try:
                return self._sql.execute(statement, given)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(BUSY_POLL_S)

    def _number(self, pragma: str) -> object:
        return self._rows(f"PRAGMA {pragma}")[0][0]

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite raises, in the words of this house."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise  # a bug: what breaks a rule of the tables was to be refused before
        except sqlite3.DatabaseError as error:
            raise _translated(self.path, error) from error


def _translated(path: str, error: sqlite3.DatabaseError) -> EskerError:
    code = error.sqlite_errorcode
    if code & 0xFF in DAMAGED:
        return StoreUnusable(path, f"is damaged: {error}")
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        return StoreUnusable(path, "was left in the middle of a change by a crash: start Esker on it, which undoes it")
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnusable(path, f"is in use by another process, which did not let go in {BUSY_TIMEOUT_S:g} s")
    return StorageFailed(path, OSError(SYSTEM.get(code & 0xFF, errno.EIO), f"{error}", path))
