"""The tasks of a process's logs: retention, flushes by time, checkpoints, removals, producers that went silent."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from esker.base.config import LONG_MAX
from esker.rules import layout
from esker.upkeep.background import FAR_MS, Background, Job, Step, Task
from esker.upkeep.settings import TaskSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from esker.upkeep.directories import LogDirectories
    from esker.upkeep.flush import Flight, FlushQueue
    from esker.upkeep.loading import Hosted
    from esker.upkeep.log_dir import LogDir
    from esker.upkeep.removals import Removal

FLUSH_LOOK_MS = 1_000  # flush.ms is never looked for less often than this, where a topic has it

logger = logging.getLogger(__name__)


class Tasks:
    """What each does. All calls are the owner's, but for the jobs that come out."""

    def __init__(self, directories: LogDirectories, queue: FlushQueue, settings: TaskSettings | None = None) -> None:
        self._directories = directories
        self._queue = queue
        self._settings = settings or TaskSettings()
        self._flush_look_ms = min(FLUSH_LOOK_MS, self._settings.flush_scheduler_interval_ms)

    def background(self, now_ms: int) -> Background:
        """The scheduler of all of them."""
        return Background(self._directories, self.all(), now_ms + self._settings.initial_delay_ms)

    def all(self) -> list[Task]:
        given = self._settings
        return [
            Task("retention", lambda: given.retention_check_interval_ms, self._each_retained),
            Task("reserve", lambda: given.retention_check_interval_ms, self._each_reserve),
            Task("flush", lambda: self._flush_look_ms, self._each_unflushed),
            self._checkpoint(layout.RECOVERY_POINTS, given.recovery_point_interval_ms),
            self._checkpoint(layout.LOG_STARTS, given.log_start_interval_ms),
            self._checkpoint(layout.HIGH_WATERMARKS, given.high_watermark_interval_ms),
            Task("expire-producers", lambda: given.producer_check_interval_ms, self._each_with_producers),
            Task("remove", lambda: 0 if len(self._directories.removals) else FAR_MS, self._each_removal),
        ]

    # Retention.

    def _each_retained(self, _now_ms: int) -> Iterator[Step]:
        """Logs with `compact` are the cleaner's, and held ones nobody's. A future log goes with its log."""
        for hosted in self._directories.hosted():
            if not hosted.held and not hosted.log.config.cleanup_compact:
                yield Step(hosted.log.place.folder, hosted.log_dir, partial(self._retain, hosted))

    def _retain(self, hosted: Hosted, now_ms: int) -> list[Job]:
        self._directories.remove_later(hosted.log, hosted.log.retain(now_ms), now_ms)
        return []

    def _each_reserve(self, _now_ms: int) -> Iterator[Step]:
        for log_dir in self._directories.online:
            yield Step(log_dir.path, log_dir, partial(self._fill, log_dir))

    def _fill(self, log_dir: LogDir, _now_ms: int) -> list[Job]:
        return [Job("reserve", log_dir, lambda: _run(log_dir.reserve.fill))]

    # Flushes.

    def _each_unflushed(self, now_ms: int) -> Iterator[Step]:
        """Future logs too. `flush.ms` counts from the log's last flush, and for one that never was from the first look
        that found something to flush."""
        self._queue.forget_gone()
        self._flush_look_ms = min(FLUSH_LOOK_MS, self._settings.flush_scheduler_interval_ms)
        for hosted in self._directories.hosted():
            log, flush_ms = hosted.log, hosted.log.config.flush_ms
            if flush_ms == LONG_MAX:
                continue
            self._flush_look_ms = max(1, min(self._flush_look_ms, flush_ms))
            if log.unflushed_count and now_ms - self._queue.flushed_ms(log, now_ms) >= flush_ms:
                yield Step(log.place.folder, hosted.log_dir, partial(self._flush, hosted))

    def _flush(self, hosted: Hosted, now_ms: int) -> list[Job]:
        self._queue.want(hosted.log)
        return [self._flight_job(flight, now_ms) for flight in self._queue.begin()]

    def _flight_job(self, flight: Flight, now_ms: int) -> Job:
        clock, took_ms = self._directories.world.clock, [0.0]

        def run() -> None:
            began = clock.monotonic()
            flight.run()
            took_ms[0] = (clock.monotonic() - began) * 1000

        def finish(error: OSError | None) -> None:
            self._queue.end(flight, now_ms, took_ms[0], error)

        return Job("flush", self._directories.dir_of(flight.log), run, finish, full_is_failure=True)

    # Checkpoints.

    def _checkpoint(self, name: str, interval_ms: int) -> Task:
        def steps(_now_ms: int) -> Iterator[Step]:
            for log_dir in self._directories.online:
                yield Step(log_dir.path, log_dir, partial(self._write, name, log_dir))

        return Task(name, lambda: interval_ms, steps)

    def _write(self, name: str, log_dir: LogDir, _now_ms: int) -> list[Job]:
        draft = log_dir.draft(name, self._directories.checkpointed(name, log_dir))
        return [] if draft is None else [Job(name, log_dir, partial(log_dir.write, draft))]

    # The rest.

    def _each_with_producers(self, _now_ms: int) -> Iterator[Step]:
        for hosted in self._directories.hosted():
            if hosted.log.producers.entries:
                yield Step(hosted.log.place.folder, hosted.log_dir, partial(self._expire, hosted))

    def _expire(self, hosted: Hosted, now_ms: int) -> list[Job]:
        expired = hosted.log.expire_producers(now_ms, self._settings.producer_expiration_ms)
        if expired:
            logger.info("expired log=%s producers=%d", hosted.log.place.folder, expired)
        return []

    def _each_removal(self, now_ms: int) -> Iterator[Step]:
        for removal in self._directories.removals.due(now_ms):
            yield Step(removal.what, removal.log_dir, partial(self._remove, removal))

    def _remove(self, removal: Removal, _now_ms: int) -> list[Job]:
        return [Job(f"remove {removal.what}", removal.log_dir, partial(_remove, removal))]


def _remove(removal: Removal) -> None:
    """The folder may have got another name meanwhile, and then goes as a whole."""
    with suppress(FileNotFoundError):
        removal.log_dir.reserve.used_for(removal.run)


def _run(action: Callable[[], object]) -> None:
    action()
