"""What has to be done again and again: one scheduler, which is told the time and looks at no clock.

A task's `begin` is the owner's: it decides, changes the logs, and answers jobs, which may block and need no lock. A
job is run anywhere and told back to the owner. One log that fails does not keep the task from the others: an error of
the disk takes its dir offline, anything else is logged once for that log and task, which then passes over it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import Rejected, StorageFailed
from esker.ports.files import is_full_disk

if TYPE_CHECKING:
    from esker.ports.clock import Clock
    from esker.upkeep.directories import LogDirectories
    from esker.upkeep.log_dir import LogDir

FAR_MS = 1 << 62

logger = logging.getLogger(__name__)


class Job(NamedTuple):
    """Blocking work for one log or dir. `finish` is the owner's again; it is told the error, if there was one. A disk
    that is full fails the job, and the dir only if `full_is_failure`."""

    what: str
    log_dir: LogDir
    run: Callable[[], None]
    finish: Callable[[OSError | None], None] | None = None
    full_is_failure: bool = False


class Step(NamedTuple):
    """A task's part for one log or dir: it answers the jobs that are left to do."""

    what: str
    log_dir: LogDir
    begin: Callable[[int], Iterable[Job]]


class Task(NamedTuple):
    """`steps` are gone through when the task is due. `interval_ms` is asked anew each time."""

    name: str
    interval_ms: Callable[[], int]
    steps: Callable[[int], Iterable[Step]]


class Background:
    """All calls are the owner's."""

    def __init__(self, directories: LogDirectories, tasks: Iterable[Task], begin_ms: int) -> None:
        """The first run of each task is `begin_ms`, or after its interval where that is longer."""
        self._directories = directories
        self._tasks = {task.name: task for task in tasks}
        self._ran_ms = {name: begin_ms - task.interval_ms() for name, task in self._tasks.items()}
        self._now_ms = begin_ms
        self._given_up: set[tuple[str, str]] = set()

    @property
    def due_ms(self) -> int:
        """When something is to be done next."""
        return min((self._due_ms(each) for each in self._tasks.values()), default=FAR_MS)

    def _due_ms(self, task: Task) -> int:
        return min(self._ran_ms[task.name] + task.interval_ms(), FAR_MS)

    def run_due(self, now_ms: int) -> list[str]:
        """All that is due, here and now; answers the names of the tasks. May block."""
        names = [task.name for task in self._due(now_ms)]
        for job in self.begin_due(now_ms):
            self.finish(job, run(job))
        return names

    def begin_due(self, now_ms: int) -> list[Job]:
        """The owner's part of all that is due, and the jobs that are left: to be run, and told to `finish`."""
        jobs = []
        for task in self._due(now_ms):
            self._ran_ms[task.name] = now_ms
            for step in task.steps(now_ms):
                jobs += self._begin(task, step, now_ms)
        return jobs

    def finish(self, job: Job, error: OSError | None) -> None:
        """The job was run. Raises NoneOnline when that was the last dir."""
        if error is not None and job.log_dir.is_online:
            logger.error("failed job=%s log_dir=%s cause=%r", job.what, job.log_dir.path, str(error))
            if job.full_is_failure or not is_full_disk(error):
                self._directories.fail(job.log_dir, error)
        if job.finish is not None:
            job.finish(error)
        self._directories.require_online()

    def _due(self, now_ms: int) -> list[Task]:
        """When the clock has jumped back, every task keeps the time that it still had to wait."""
        back_ms = self._now_ms - now_ms
        if back_ms > 0:
            self._ran_ms = {name: ran_ms - back_ms for name, ran_ms in self._ran_ms.items()}
        self._now_ms = now_ms
        return [task for task in self._tasks.values() if self._due_ms(task) <= now_ms]

    def _begin(self, task: Task, step: Step, now_ms: int) -> list[Job]:
        if (task.name, step.what) in self._given_up or not step.log_dir.is_online:
            return []
        try:
            return list(step.begin(now_ms))
        except Rejected as error:
            logger.debug("passed over task=%s what=%s why=%r", task.name, step.what, str(error))
        except (OSError, StorageFailed) as error:
            self._directories.fail(step.log_dir, error)
        except Exception:
            self._given_up.add((task.name, step.what))
            logger.exception("given up task=%s what=%s", task.name, step.what)
        return []


def run(job: Job) -> OSError | None:
    """Anywhere."""
    try:
        job.run()
    except OSError as error:
        return error
    return None


class BackgroundThread:
    """Calls the scheduler when something is due, with the owner's lock but for the jobs."""

    def __init__(self, background: Background, owner: Lock, clock: Clock, poll_ms: int = 100) -> None:
        self._background = background
        self._owner = owner
        self._clock = clock
        self._poll_s = poll_ms / 1000
        self._end = Event()
        self.failure: Exception | None = None
        self._thread = Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Without the owner's lock; returns when the job that runs is done."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(self._poll_s):
            try:
                self._round()
            except Exception as error:
                logger.exception("background ends")
                self.failure = error
                return

    def _round(self) -> None:
        with self._owner:
            jobs = self._background.begin_due(self._clock.now_ms())
        for job in jobs:
            error = run(job)
            with self._owner:
                self._background.finish(job, error)
