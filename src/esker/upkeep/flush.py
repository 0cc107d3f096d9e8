"""Group commit: many appends wait for one fdatasync.

Whoever must not answer before its records are on disk asks for a ticket (`want`). `begin` makes a flight of each log
that somebody waits for, at most one a log; the flight's `run` syncs, anywhere; `end` tells the log and settles the
tickets. Those who come while a flight is on its way share the next one: the slower the disk, the more go together.

    owner                     anywhere
    queue.want(log)
    flights = queue.begin() → flight.run()
    queue.end(flight, …)    ←

A sync that fails settles all that wait for that log with StorageFailed, and whoever ran it takes the log dir offline:
after one failed sync nothing is known of what the file holds, and a second one that succeeds proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import EskerError, Rejected, StorageFailed
from esker.base.kafka_errors import ErrorCode
from esker.upkeep.histogram import Counted, Histogram

if TYPE_CHECKING:
    from esker.log.log import Log
    from esker.log.values import Flush


class Ticket:
    """Somebody waits for everything below `end_offset`. `error` says why it will never be durable."""

    __slots__ = ("end_offset", "error", "is_done")

    def __init__(self, end_offset: int) -> None:
        self.end_offset = end_offset
        self.is_done = False
        self.error: EskerError | None = None

    def settle(self, error: EskerError | None = None) -> None:
        self.error = error
        self.is_done = True


class Flight(NamedTuple):
    """One sync of one log, and who waits for it."""

    log: Log
    flush: Flush
    tickets: list[Ticket]

    def run(self) -> None:
        """May block, needs no lock. Raises OSError."""
        self.flush.run()


class FlushStatistics(NamedTuple):
    """Syncs by their time, and how many tickets they settled: the ratio is what sharing saves."""

    times: Counted
    tickets: int
    failures: int


class FlushQueue:
    """Who waits for what. All calls are the owner's."""

    def __init__(self) -> None:
        self._waiting: dict[Log, list[Ticket]] = {}
        self._flying: set[Log] = set()
        self._flushed_ms: dict[Log, int] = {}
        self._times = Histogram()
        self._tickets = 0
        self._failures = 0

    @property
    def statistics(self) -> FlushStatistics:
        return FlushStatistics(self._times.counted, self._tickets, self._failures)

    @property
    def has_work(self) -> bool:
        """Would `begin` answer a flight?"""
        return any(log not in self._flying for log in self._waiting)

    def want(self, log: Log) -> Ticket:
        """All that is in the log now is to be durable. The ticket may be settled already."""
        ticket = Ticket(log.cursors.log_end.offset)
        if ticket.end_offset <= log.cursors.recovery_point:
            ticket.settle()
        else:
            self._waiting.setdefault(log, []).append(ticket)
        return ticket

    def begin(self) -> list[Flight]:
        """What is to be synced now."""
        ready = [log for log in self._waiting if log not in self._flying]
        return [flight for log in ready if (flight := self._begin(log)) is not None]

    def begin_one(self) -> Flight | None:
        """The next of them, for one of several threads."""
        for log in list(self._waiting):
            if log not in self._flying and (flight := self._begin(log)) is not None:
                return flight
        return None

    def _begin(self, log: Log) -> Flight | None:
        tickets = self._waiting.pop(log)
        if log.out_of_service is not None:
            self._settle_all(tickets, Rejected(ErrorCode.KAFKA_STORAGE_ERROR, log.out_of_service))
            return None
        flush = log.begin_flush()
        if flush is None:
            self._settle(log, tickets)
            return None
        self._flying.add(log)
        return Flight(log, flush, tickets)

    def end(self, flight: Flight, now_ms: int, took_ms: float, error: OSError | None = None) -> None:
        """The flight has run, or failed."""
        log = flight.log
        self._flying.discard(log)
        if error is not None:
            self._failures += 1
            failed = StorageFailed(error.filename or log.place.folder, error)
            self._settle_all([*flight.tickets, *self._waiting.pop(log, [])], failed)
            return
        self._times.add(took_ms)
        self._flushed_ms[log] = now_ms
        try:
            log.flushed(flight.flush)
        except Rejected as refused:  # the log was broken or closed meanwhile
            self._settle_all([*flight.tickets, *self._waiting.pop(log, [])], refused)
            return
        self._settle(log, flight.tickets)

    def _settle(self, log: Log, tickets: list[Ticket]) -> None:
        """Of a flight that a truncation overtook nobody knows what it synced: who waits, waits for the next one."""
        at = log.cursors
        for ticket in tickets:
            if ticket.end_offset <= at.recovery_point:
                ticket.settle()
                self._tickets += 1
            elif ticket.end_offset > at.log_end.offset:
                gone = f"{log.place.folder}: a truncation took offset {ticket.end_offset - 1} before it was flushed"
                ticket.settle(Rejected(ErrorCode.KAFKA_STORAGE_ERROR, gone))
            else:
                self._waiting.setdefault(log, []).append(ticket)

    @staticmethod
    def _settle_all(tickets: list[Ticket], error: EskerError) -> None:
        for ticket in tickets:
            ticket.settle(error)

    # By time.

    def flushed_ms(self, log: Log, since_ms: int) -> int:
        """When the log was last synced; from `since_ms` on where it never was."""
        return self._flushed_ms.setdefault(log, since_ms)

    def forget_gone(self) -> None:
        """Logs that were deleted or whose dir has failed."""
        for log in [log for log in self._flushed_ms if log.out_of_service is not None]:
            del self._flushed_ms[log]
