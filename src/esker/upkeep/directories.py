"""The log dirs of one process and the logs in them: opened, created, deleted, checkpointed and closed.

One dir that fails goes offline and takes its logs out of service; the others serve. Each is locked: one process alone
works in a dir.

Order at start: lock, identity, marker noted and removed, checkpoints, topics, then all logs. Order at close: logs,
checkpoints, marker, lock. A topic is known in the store before its first folder is made, and a folder has its topic's
id before its first segment.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from esker.base.errors import BadFile, EskerError, Rejected, StorageFailed
from esker.rules import layout
from esker.rules.layout import FolderKind
from esker.rules.recovery import sort_folders
from esker.storage.handles import Handles
from esker.upkeep import identity
from esker.upkeep.loading import Hosted, Loading, NotLoaded, Opener, Progress, run_all
from esker.upkeep.log_dir import CHECKPOINTS, LogDir, offsets_of
from esker.upkeep.removals import Removals
from esker.upkeep.settings import DirectorySettings, World
from esker.upkeep.topics import KnownTopics, kafka_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from esker.base.types import TopicPartition
    from esker.log.log import Log
    from esker.log.values import Deleted
    from esker.metadata.store import Store
    from esker.rules.layout import Folder
    from esker.rules.recovery import Folders

logger = logging.getLogger(__name__)

T = TypeVar("T")


class NoneOnline(EskerError):
    """Every log dir has failed: there is nothing left to serve."""


class LogDirectories:
    """See the module. `load` comes first. `futures` are the logs that are on their way to another dir."""

    def __init__(self, settings: DirectorySettings, world: World | None = None) -> None:
        assert settings.paths, "no log dir"
        self.settings = settings
        self.world = world or World()
        self.handles = Handles(self.world.files, settings.handles_limit)
        self.topics = KnownTopics(settings.defaults)
        paths = [path.rstrip("/") for path in settings.paths]
        self.dirs = [LogDir(self.world.files, path, settings.reserve_bytes) for path in paths]
        self.logs: dict[TopicPartition, Hosted] = {}
        self.futures: dict[TopicPartition, Hosted] = {}
        self.not_loaded: list[NotLoaded] = []
        self.removals = Removals()
        self.store: Store | None = None
        self._loadings: list[Loading] = []

    # What is there.

    @property
    def online(self) -> list[LogDir]:
        return [log_dir for log_dir in self.dirs if log_dir.is_online]

    @property
    def progress(self) -> list[Progress]:
        """Of `load`, from any thread."""
        return [loading.progress for loading in self._loadings]

    def log(self, topic_partition: TopicPartition) -> Log | None:
        """The log as it is served; one whose dir has failed answers KAFKA_STORAGE_ERROR by itself."""
        hosted = self.logs.get(topic_partition)
        return None if hosted is None else hosted.log

    def hosted(self) -> Iterator[Hosted]:
        """All logs, the future ones last."""
        yield from list(self.logs.values())
        yield from list(self.futures.values())

    def dir_of(self, log: Log) -> LogDir:
        return next(each for each in self.dirs if log.place.folder.startswith(f"{each.path}/"))

    def require_online(self) -> None:
        """Raises NoneOnline."""
        if not self.online:
            raise NoneOnline("; ".join(f"{each.path}: {each.offline}" for each in self.dirs))

    # Start.

    def load(self) -> None:
        """Lock the dirs and open every log. May block for long. Raises Locked, DirectoriesDisagree, NoneOnline."""
        try:
            for log_dir in self.dirs:
                self._try(log_dir, log_dir.take)
            self._identify()
            names = {each.path: self._try(each, each.begin) or [] for each in self.online}
            self._learn_topics()
            self._load_logs({path: sort_folders(found) for path, found in names.items()})
            for log_dir in self.online:
                self._try(log_dir, log_dir.reserve.fill)
            self.require_online()
        except BaseException:
            self._let_go()
            raise

    def _try(self, log_dir: LogDir, action: Callable[[], T]) -> T | None:
        """Do this for the dir; an error of its disk takes it offline."""
        try:
            return action()
        except BadFile as error:
            log_dir.go_offline(str(error))
        except (OSError, StorageFailed) as error:
            self.fail(log_dir, error)
        return None

    def _identify(self) -> None:
        found = {each.path: self._try(each, each.read_identity) for each in self.online}
        found = {each.path: found[each.path] for each in self.online}
        for path, meta in identity.agree(found, self.settings, self.world.chance).items():
            log_dir = next(each for each in self.dirs if each.path == path)
            self._try(log_dir, partial(log_dir.write_identity, meta, self.world.clock.now_ms()))

    def _learn_topics(self) -> None:
        if self._store_dir.is_online and self.world.files.exists(self._store_path):
            self.open_store()
        paths = [each.path for each in self.online]
        metadata = kafka_metadata(self.world.files, paths, self.settings.kafka_metadata)
        if metadata is not None:
            self.topics.take_kafka(metadata, self._node_id)

    @property
    def _node_id(self) -> int | None:
        return next((each.meta.node_id for each in self.dirs if each.meta), None)

    @property
    def _store_dir(self) -> LogDir:
        return self.dirs[0]

    @property
    def _store_path(self) -> str:
        return f"{self._store_dir.path}/{layout.STORE}"

    def open_store(self) -> Store | None:
        """The store of topics, made if it is not there yet; None while its dir is offline."""
        if self.store is None and self._store_dir.is_online:
            self.store = self._try(self._store_dir, lambda: self.world.open_store(self._store_path))
            self.topics.own = {} if self.store is None else self.store.topics()
        return self.store

    def _load_logs(self, folders: Mapping[str, Folders]) -> None:
        opener = Opener(self.world, self.handles, self.topics)
        self._loadings = [
            Loading(each, [*folders[each.path].load, *folders[each.path].load_as_future], opener)
            for each in self.online
        ]
        run_all(self._loadings, self.settings.threads_per_dir)
        for loading in self._loadings:
            self._take_in(loading)
            for folder in folders[loading.log_dir.path].remove:
                self.remove_folder_later(loading.log_dir, folder.name)

    def _take_in(self, loading: Loading) -> None:
        log_dir = loading.log_dir
        for folder, hosted in loading.hosted:
            self._add(folder, hosted)
        for each in loading.not_loaded:
            self._leave_out(each)
        if loading.failure is not None:
            self.fail(log_dir, loading.failure)
        logger.info("loaded log_dir=%s logs=%d clean=%s", log_dir.path, len(loading.hosted), log_dir.was_clean)

    def _add(self, folder: Folder, hosted: Hosted) -> None:
        """Of two folders of one partition neither is served: nobody can say here which one is right."""
        logs = self.futures if folder.kind is FolderKind.FUTURE else self.logs
        topic_partition = hosted.log.place.topic_partition
        other = logs.pop(topic_partition, None)
        if other is None:
            logs[topic_partition] = hosted
            self._tell_held(hosted)
            return
        for each, path in ((hosted, other.log.place.folder), (other, hosted.log.place.folder)):
            each.log.out_of_service = f"{each.log.place.folder}: {path} is the same partition"
            self._leave_out(NotLoaded(folder, each.log_dir, each.log.out_of_service))

    def _leave_out(self, each: NotLoaded) -> None:
        self.not_loaded.append(each)
        each.log_dir.all_loaded = False
        logger.error("left out log_dir=%s folder=%s why=%r", each.log_dir.path, each.folder.name, each.why)

    def _tell_held(self, hosted: Hosted) -> None:
        if hosted.held:
            logger.warning(
                "held log=%s why=%r mend='say what its settings are: adopt_topic'",
                hosted.log.place.folder,
                hosted.held,
            )

    # A dir that fails.

    def fail(self, log_dir: LogDir, error: OSError | StorageFailed) -> None:
        """The disk of this dir cannot be used any more: its logs answer KAFKA_STORAGE_ERROR from now on."""
        if not log_dir.is_online:
            return
        log_dir.go_offline(str(error))
        for hosted in self.hosted():
            if hosted.log_dir is log_dir:
                hosted.log.out_of_service = f"{log_dir.path} is offline: {error}"
        self.handles.clear()

    def fail_log(self, log: Log, error: OSError | StorageFailed) -> None:
        """The same, told by a log that met the error."""
        self.fail(self.dir_of(log), error)

    # What goes later.

    def remove_folder_later(self, log_dir: LogDir, name: str) -> None:
        """A folder that was renamed to be deleted."""
        path = f"{log_dir.path}/{name}"
        due_ms = self.world.clock.now_ms() + self.settings.defaults.file_delete_delay_ms
        self.removals.add(due_ms, log_dir, path, partial(self._remove_folder, path))

    def _remove_folder(self, path: str) -> None:
        if self.world.files.exists(path):
            self.world.files.remove_tree(path)

    def remove_later(self, log: Log, deleted: Sequence[Deleted], now_ms: int) -> None:
        """Segments that are no longer part of the log; each deletion is logged with its reason."""
        log_dir, folder = self.dir_of(log), log.place.folder
        for each in deleted:
            base = each.segment.base_offset
            logger.info("deleted log=%s segment=%d bytes=%d reason=%r", folder, base, each.size, str(each.reason))
            due_ms = now_ms + log.config.file_delete_delay_ms
            self.removals.add(due_ms, log_dir, f"{folder}/{base}", partial(each.remove, self.world.files))

    # Checkpoints.

    def checkpoint(self, name: str, log_dir: LogDir) -> None:
        """Write one, if it would say anything new. May block; raises OSError."""
        draft = log_dir.draft(name, self.checkpointed(name, log_dir))
        if draft is not None:
            log_dir.write(draft)

    def checkpointed(self, name: str, log_dir: LogDir) -> dict[TopicPartition, int]:
        """What a checkpoint is to say now. Of a log that could not be loaded it goes on saying what it said."""
        left_out = [each.folder.topic_partition for each in self.not_loaded if each.log_dir is log_dir]
        logs = [hosted.log for hosted in self.hosted() if hosted.log_dir is log_dir]
        return log_dir.said(name, left_out) | offsets_of(name, logs)

    # The end.

    def close(self) -> None:
        """Sync and close every log, write the checkpoints, and mark the dirs clean whose logs were all loaded. May
        block."""
        try:
            for log_dir in self.online:
                self._try(log_dir, partial(self._close_dir, log_dir))
        finally:
            self._let_go()

    def _close_dir(self, log_dir: LogDir) -> None:
        hosted = [each for each in self.hosted() if each.log_dir is log_dir]
        with ThreadPoolExecutor(self.settings.threads_per_dir, thread_name_prefix="close") as pool:
            closed = list(pool.map(self._close_log, hosted))
        for name in CHECKPOINTS:
            self.checkpoint(name, log_dir)
        if all(closed) and log_dir.all_loaded:
            log_dir.mark_clean()
        logger.info("closed log_dir=%s logs=%d clean=%s", log_dir.path, sum(closed), all(closed) and log_dir.all_loaded)

    def _close_log(self, hosted: Hosted) -> bool:
        """A log that a full disk keeps from closing gets the room of the reserve. Raises StorageFailed."""
        for _ in range(2):
            try:
                hosted.log.close()
                return True
            except Rejected as error:
                if hosted.log.out_of_service is not None or not hosted.log_dir.reserve.release():
                    logger.error("not closed log=%s cause=%r", hosted.log.place.folder, str(error))
                    return False
            except AssertionError:
                logger.exception("not closed log=%s", hosted.log.place.folder)
                return False
        return False

    def _let_go(self) -> None:
        if self.store is not None:
            self.store.close()
            self.store = None
        self.handles.clear()
        for log_dir in self.dirs:
            log_dir.release()
