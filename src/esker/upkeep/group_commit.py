"""Threads for group commit, for whoever owns logs by a lock and not by a loop.

The owner's lock is held for every call into a log, also here, but never while a disk is waited for: appends go on
while the sync of those before them runs.
"""

from __future__ import annotations

import errno
import logging
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING

from esker.upkeep.flush import FlushQueue

if TYPE_CHECKING:
    from esker.log.log import Log
    from esker.upkeep.directories import LogDirectories
    from esker.upkeep.flush import Flight

logger = logging.getLogger(__name__)


class GroupCommit:
    """`owner` is the lock of all logs. Ended by `close`, which leaves nobody waiting."""

    def __init__(self, directories: LogDirectories, owner: Lock, threads: int = 2) -> None:
        self.queue = FlushQueue()
        self._directories = directories
        self._owner = owner
        self._work = Condition(owner)
        self._done = Condition(owner)
        self._is_closed = False
        self._threads = [Thread(target=self._run, name=f"flush-{each}", daemon=True) for each in range(threads)]
        for thread in self._threads:
            thread.start()

    def flush(self, log: Log) -> None:
        """Everything in the log is durable when this returns. With the owner's lock, which it lets go of while it
        waits. Raises StorageFailed, Rejected."""
        assert not self._is_closed, "the group commit is closed"
        ticket = self.queue.want(log)
        if not ticket.is_done:
            self._work.notify()
            self._done.wait_for(lambda: ticket.is_done)
        if ticket.error is not None:
            raise ticket.error

    def begin(self, log: Log) -> None:
        """Have the log synced without waiting, as after a roll. With the owner's lock."""
        self.queue.want(log)
        self._work.notify()

    def close(self) -> None:
        """Without the owner's lock. What is waited for is still synced."""
        with self._owner:
            self._is_closed = True
            self._work.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        with self._owner:
            while True:
                flight = self.queue.begin_one()
                if flight is not None:
                    self._fly(flight)
                elif self._is_closed:
                    return
                else:
                    self._done.notify_all()  # settled without a flight
                    self._work.wait()

    def _fly(self, flight: Flight) -> None:
        clock = self._directories.world.clock
        failure: OSError | None = None
        self._owner.release()
        began = clock.monotonic()
        try:
            flight.run()
        except OSError as error:
            failure = error
        except Exception as error:  # a bug: nobody may wait for ever, and nothing more is written there
            logger.exception("flush failed log=%s", flight.log.place.folder)
            failure = OSError(errno.EIO, f"{type(error).__name__}: {error}")
        finally:
            took_ms = (clock.monotonic() - began) * 1000
            self._owner.acquire()
        if failure is not None:
            logger.error("flush failed log=%s cause=%r", flight.log.place.folder, str(failure))
            self._directories.fail_log(flight.log, failure)
        self.queue.end(flight, clock.now_ms(), took_ms, failure)
        self._done.notify_all()
        self._work.notify()  # for those who came meanwhile
