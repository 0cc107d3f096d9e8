"""Topics and partitions that come and go: created, adopted, set anew, deleted, set aside.

Crash stories. A topic is in the store before its first folder, and a folder has its topic's id before its first
segment: a folder that a crash left without either is no data anybody was told of. A deleted topic's folders are
renamed before the store forgets it: a crash between leaves a topic that can be deleted again, and never a log that
nobody knows. Both the names and the store's change are durable when the call returns.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from esker.base.config import LogConfig, from_settings
from esker.base.errors import EskerError, Rejected
from esker.base.kafka_errors import ErrorCode
from esker.base.types import TopicPartition
from esker.log import opening
from esker.metadata.store import Topic, TopicExists
from esker.ports.files import is_full_disk
from esker.rules import layout
from esker.rules.layout import FileKind, Folder, FolderKind, is_topic_name
from esker.storage.checkpoints import write_topic_id
from esker.upkeep.loading import Hosted, Opener

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from esker.log.log import Log
    from esker.log.values import Deleted
    from esker.metadata.store import Store
    from esker.upkeep.directories import LogDirectories
    from esker.upkeep.log_dir import LogDir

logger = logging.getLogger(__name__)


class InvalidTopic(EskerError):
    """A name that no topic may have, or one that collides with what is there."""


class NewLog(NamedTuple):
    """A partition to be made. `is_new`: nobody ever had it. `preferred` is the path of a dir."""

    topic_partition: TopicPartition
    topic_id: bytes
    config: LogConfig
    is_new: bool = True
    preferred: str | None = None


def create_topic(directories: LogDirectories, name: str, partitions: int, settings: Mapping[str, str]) -> Topic:
    """A topic of ours and its logs, all durable. Raises InvalidTopic, InvalidConfig, TopicExists, Rejected."""
    if not is_topic_name(name):
        raise InvalidTopic(f"{name!r} may not be a topic's name")
    if name in directories.topics.kafka or any(each.topic == name for each in directories.logs):
        raise TopicExists(f"there is a topic {name} already")
    config = from_settings(settings, directories.settings.defaults)
    topic = Topic(name, directories.world.chance.uuid(), partitions, dict(settings))
    _store(directories).create_topic(topic)
    directories.topics.own[name] = topic
    create_logs(directories, [NewLog(TopicPartition(name, each), topic.id, config) for each in range(partitions)])
    logger.info("created topic=%s partitions=%d", name, partitions)
    return topic


def create_logs(directories: LogDirectories, wanted: Iterable[NewLog]) -> list[Log]:
    """New, empty logs whose folders are durable when this returns. Raises Rejected when no dir can take one."""
    hosted = []
    try:
        for new in wanted:
            hosted.append(_create_log(directories, new))  # noqa: PERF401 - those that were made are synced
    finally:
        for log_dir in {each.log_dir.path: each.log_dir for each in hosted}.values():
            _or_fail(directories, log_dir, log_dir.sync)
    return [each.log for each in hosted]


def _or_fail(directories: LogDirectories, log_dir: LogDir, action: Callable[[], None]) -> None:
    """With the room of the reserve, if need be; an error of the disk takes the dir offline and is Rejected."""
    try:
        log_dir.reserve.used_for(action)
    except OSError as error:
        directories.fail(log_dir, error)
        raise Rejected(ErrorCode.KAFKA_STORAGE_ERROR, f"{log_dir.path}: {error}") from error


def _create_log(directories: LogDirectories, new: NewLog) -> Hosted:
    topic_partition = new.topic_partition
    assert topic_partition not in directories.logs, f"{topic_partition} is there"
    left_out = any(each.folder.topic_partition == topic_partition for each in directories.not_loaded)
    lost = not new.is_new and len(directories.online) < len(directories.dirs)
    if left_out or lost:
        why = "it could not be loaded" if left_out else "it may lie in a log dir that is offline"
        raise Rejected(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic_partition}: {why}")
    for log_dir in placement(directories, new.preferred):
        try:
            hosted = _make(directories, log_dir, new)
        except OSError as error:
            logger.warning("no folder log=%s log_dir=%s cause=%r", topic_partition, log_dir.path, str(error))
            if not is_full_disk(error):
                directories.fail(log_dir, error)
            continue
        directories.logs[topic_partition] = hosted
        return hosted
    raise Rejected(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic_partition}: no log dir can take it")


def placement(directories: LogDirectories, preferred: str | None = None) -> list[LogDir]:
    """Where a new log may go, best first: the dir that is asked for by its path, then those with the fewest logs."""
    counts = {each.path: 0 for each in directories.online if each.path not in directories.settings.cordoned}
    for hosted in directories.hosted():
        if hosted.log_dir.path in counts:
            counts[hosted.log_dir.path] += 1
    usable = [each for each in directories.online if each.path in counts]
    return sorted(usable, key=lambda each: (each.path != preferred, counts[each.path]))


def _make(directories: LogDirectories, log_dir: LogDir, new: NewLog) -> Hosted:
    files = directories.world.files
    opener = Opener(directories.world, directories.handles, directories.topics)
    place = opener.place(log_dir, Folder(new.topic_partition))
    files.make_folder(place.folder)
    write_topic_id(files, f"{place.folder}/{layout.PARTITION_METADATA}", new.topic_id)
    return Hosted(opening.create(place, new.config), log_dir, new.topic_id)


# Settings.


def alter_topic(directories: LogDirectories, name: str, changes: Mapping[str, str | None]) -> LogConfig:
    """Settings of a topic of ours, at once in force; None takes one away. Raises InvalidConfig, UnknownTopic."""
    topic = directories.topics.own.get(name)
    settings = {**({} if topic is None else topic.settings), **changes}
    kept = {setting: value for setting, value in settings.items() if value is not None}
    config = from_settings(kept, directories.settings.defaults)
    _store(directories).alter_settings(name, changes)
    if topic is not None:
        directories.topics.own[name] = topic._replace(settings=kept)
    _configure(directories, name, config)
    return config


def adopt_topic(directories: LogDirectories, name: str, settings: Mapping[str, str]) -> Topic:
    """Say what the settings of held logs are: the topic is ours from now on, under the id that its folders have.
    Raises InvalidConfig, InvalidTopic, TopicExists."""
    found = {each: hosted for each, hosted in directories.logs.items() if each.topic == name}
    ids = {hosted.topic_id for hosted in found.values() if hosted.topic_id is not None}
    if not found or len(ids) > 1:
        raise InvalidTopic(f"{name}: {'its partitions have different topic ids' if found else 'no such log is here'}")
    config = from_settings(settings, directories.settings.defaults)
    topic_id = next(iter(ids), None) or directories.world.chance.uuid()
    topic = Topic(name, topic_id, 1 + max(each.partition for each in found), dict(settings))
    _store(directories).create_topic(topic)
    directories.topics.own[name] = topic
    for each, hosted in found.items():
        if hosted.topic_id is None:
            path = f"{hosted.log.place.folder}/{layout.PARTITION_METADATA}"
            write_topic_id(directories.world.files, path, topic_id)
        directories.logs[each] = hosted._replace(topic_id=topic_id, held="")
    _configure(directories, name, config)
    return topic


def _configure(directories: LogDirectories, name: str, config: LogConfig) -> None:
    for hosted in directories.hosted():
        if hosted.log.place.topic_partition.topic == name and not hosted.held:
            hosted.log.configure(config)


def _store(directories: LogDirectories) -> Store:
    store = directories.open_store()
    if store is None:
        path = directories.dirs[0].path
        raise Rejected(ErrorCode.KAFKA_STORAGE_ERROR, f"{path}, where topics are kept, is offline")
    return store


# Away with it.


def delete_topic(directories: LogDirectories, name: str) -> None:
    """Its logs are out of service at once; their files go later. Raises UnknownTopic."""
    for topic_partition in [each for each in directories.logs if each.topic == name]:
        delete_log(directories, topic_partition)
    if name in directories.topics.own or name not in directories.topics.kafka:
        directories.dirs[0].reserve.used_for(partial(_store(directories).delete_topic, name))
        directories.topics.own.pop(name, None)
    logger.info("deleted topic=%s", name)


def delete_log(directories: LogDirectories, topic_partition: TopicPartition) -> None:
    """One partition's log, wherever it is, and its copy on the way to another dir."""
    for logs in (directories.logs, directories.futures):
        hosted = logs.pop(topic_partition, None)
        if hosted is not None and hosted.log_dir.is_online:
            directories.remove_folder_later(hosted.log_dir, _set_aside(directories, hosted, FolderKind.DELETED))


def strays(directories: LogDirectories, assigned: Mapping[TopicPartition, bytes]) -> list[TopicPartition]:
    """Logs that are not this process's by the word of who knows: `assigned` has the topic id of each that is."""
    return [
        topic_partition
        for topic_partition, hosted in directories.logs.items()
        if hosted.topic_id is None or assigned.get(topic_partition) != hosted.topic_id
    ]


def set_aside_stray(directories: LogDirectories, topic_partition: TopicPartition) -> str:
    """It is served no longer; its files stay, under the name that is answered."""
    hosted = directories.logs.pop(topic_partition)
    name = _set_aside(directories, hosted, FolderKind.STRAY)
    logger.warning("stray log=%s folder=%s", topic_partition, name)
    return name


def _set_aside(directories: LogDirectories, hosted: Hosted, kind: FolderKind) -> str:
    """Out of service and renamed, which is durable; answers the new name."""
    log, log_dir = hosted.log, hosted.log_dir
    folder, uuid = log.place.folder, directories.world.chance.uuid().hex()
    log.out_of_service = f"{folder}: the log was {'deleted' if kind is FolderKind.DELETED else 'set aside'}"
    for segment in log.segments:
        for each in FileKind:
            directories.handles.forget(segment.path(each))
    directories.removals.forget(folder)
    name = Folder(log.place.topic_partition, kind, uuid).name
    _or_fail(directories, log_dir, partial(directories.world.files.replace, folder, f"{log_dir.path}/{name}"))
    _or_fail(directories, log_dir, log_dir.sync)
    return name


def truncate_to(directories: LogDirectories, log: Log, offset: int) -> list[Deleted]:
    """As `Log.truncate_to`; the checkpoint of recovery points follows before anything is appended again, as otherwise
    it would vouch for bytes that nobody synced."""
    now_ms = directories.world.clock.now_ms()
    gone = log.truncate_to(offset, now_ms)
    directories.remove_later(log, gone, now_ms)
    log_dir = directories.dir_of(log)
    _or_fail(directories, log_dir, partial(directories.checkpoint, layout.RECOVERY_POINTS, log_dir))
    return gone
