"""Opening the logs of one log dir with several threads, with progress that anybody may look at.

A log that cannot be opened stays alone outside: the others of its dir are served. An error of the disk is the dir's:
what was not opened by then is left.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import StorageFailed
from esker.base.types import TopicPartition
from esker.log.opening import Opening
from esker.log.segments import Place
from esker.rules.layout import PARTITION_METADATA, FileKind, Folder, parse_segment_file
from esker.storage.checkpoints import read_topic_id, write_topic_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.log.log import Log
    from esker.storage.handles import Handles
    from esker.upkeep.log_dir import LogDir
    from esker.upkeep.settings import World
    from esker.upkeep.topics import KnownTopics

logger = logging.getLogger(__name__)


class Hosted(NamedTuple):
    """A log in its dir. `held` says why retention and cleaning leave it alone; empty when they do not."""

    log: Log
    log_dir: LogDir
    topic_id: bytes | None
    held: str = ""


class NotLoaded(NamedTuple):
    """A folder that is a partition's and could not be opened."""

    folder: Folder
    log_dir: LogDir
    why: str


class Progress(NamedTuple):
    """How far a dir is. Segments and bytes are those that may have to be scanned: none after a clean close, and of a
    log that is being opened only those that it found it has to."""

    path: str
    logs: int
    logs_remaining: int
    segments_remaining: int = 0
    bytes_remaining: int = 0


class Work(NamedTuple):
    """A log to be opened, and how much there is to look at."""

    folder: Folder
    segments: int = 0
    bytes: int = 0


class Loading:
    """The work of one dir."""

    def __init__(self, log_dir: LogDir, folders: Sequence[Folder], opener: Opener) -> None:
        self.log_dir = log_dir
        self.hosted: list[tuple[Folder, Hosted]] = []
        self.not_loaded: list[NotLoaded] = []
        self.failure: OSError | None = None
        self._folders = folders
        self._opener = opener
        self._lock = Lock()
        self._waiting = Progress(log_dir.path, len(folders), len(folders))
        self._running: dict[Folder, Opening] = {}

    @property
    def progress(self) -> Progress:
        """As of now, from any thread."""
        with self._lock:
            lefts = [opening.left for opening in self._running.values()]
            at = self._waiting
        return at._replace(
            segments_remaining=at.segments_remaining + sum(left.segments for left in lefts),
            bytes_remaining=at.bytes_remaining + sum(left.bytes for left in lefts),
        )

    def run(self, threads: int) -> None:
        """All of it. May block for long."""
        work = list(map(self._measured, self._folders))
        with self._lock:
            self._waiting = self._waiting._replace(
                segments_remaining=sum(each.segments for each in work), bytes_remaining=sum(each.bytes for each in work)
            )
        # What is closed cleanly costs Python and no disk: a second thread would only wait for the first.
        count = 1 if self.log_dir.was_clean else threads
        with ThreadPoolExecutor(count, thread_name_prefix="load") as pool:
            for _ in pool.map(self._load, work):
                pass

    def _measured(self, folder: Folder) -> Work:
        if self.log_dir.was_clean or self.failure is not None:
            return Work(folder)
        try:
            return self._opener.measure(self.log_dir, folder)
        except OSError as error:
            self.failure = error
            return Work(folder)

    def _load(self, work: Work) -> None:
        with self._lock:
            at = self._waiting
            self._waiting = at._replace(
                segments_remaining=at.segments_remaining - work.segments,
                bytes_remaining=at.bytes_remaining - work.bytes,
            )
        if self.failure is None:
            self._try(work.folder)
        with self._lock:
            self._running.pop(work.folder, None)
            self._waiting = self._waiting._replace(logs_remaining=self._waiting.logs_remaining - 1)

    def _try(self, folder: Folder) -> None:
        try:
            hosted = self._open(folder)
        except StorageFailed as error:
            self.failure = error.cause
        except OSError as error:
            self.failure = error
        except Exception as error:
            logger.exception("not loaded log_dir=%s folder=%s", self.log_dir.path, folder.name)
            self.not_loaded.append(NotLoaded(folder, self.log_dir, f"{type(error).__name__}: {error}"))
        else:
            self.hosted.append((folder, hosted))

    def _open(self, folder: Folder) -> Hosted:
        place = self._opener.place(self.log_dir, folder)
        topic_id = self._opener.topic_id(place)
        known = self._opener.topics.known(place.topic_partition.topic, topic_id)
        if topic_id is None and known.own_id is not None:
            topic_id = self._opener.write_topic_id(place, known.own_id)
        saved = self.log_dir.saved(place.topic_partition)
        opening = Opening(place, known.config, saved, clean=self.log_dir.was_clean)
        with self._lock:
            self._running[folder] = opening
        opened = opening.run()
        for line in opened.done:
            logger.info("recovery log=%s %s", place.folder, line)
        return Hosted(opened.log, self.log_dir, topic_id, known.held)


class Opener(NamedTuple):
    """What opening a log takes, beside its folder."""

    world: World
    handles: Handles
    topics: KnownTopics

    def measure(self, log_dir: LogDir, folder: Folder) -> Work:
        files, path = self.world.files, f"{log_dir.path}/{folder.name}"
        parsed = ((name, parse_segment_file(name)) for name in files.names(path))
        logs = [name for name, file in parsed if file is not None and file.kind is FileKind.LOG]
        return Work(folder, len(logs), sum(files.size(f"{path}/{name}") for name in logs))

    def topic_id(self, place: Place) -> bytes | None:
        return read_topic_id(self.world.files, f"{place.folder}/{PARTITION_METADATA}")

    def write_topic_id(self, place: Place, topic_id: bytes) -> bytes:
        """What a crash had kept from being written, or another hand has taken away."""
        write_topic_id(self.world.files, f"{place.folder}/{PARTITION_METADATA}", topic_id)
        return topic_id

    def place(self, log_dir: LogDir, folder: Folder) -> Place:
        """Partitions of a topic share its name in memory."""
        topic, partition = folder.topic_partition
        shared = TopicPartition(sys.intern(topic), partition)
        return Place(shared, f"{log_dir.path}/{folder.name}", self.handles, self.world.chance)


def run_all(loadings: Sequence[Loading], threads: int) -> None:
    """All dirs at once, each with so many threads."""
    jobs: list[Callable[[], None]] = [lambda one=each: one.run(threads) for each in loadings]  # type: ignore[misc]
    if len(jobs) == 1:
        jobs[0]()
        return
    with ThreadPoolExecutor(max(1, len(jobs)), thread_name_prefix="load-dir") as pool:
        for future in [pool.submit(job) for job in jobs]:
            future.result()
