"""Group commit as values: who waits, who shares, and what becomes of those whose sync failed."""

import errno

import pytest

from esker.base.errors import Rejected, StorageFailed
from esker.log.log import Log
from esker.testing.files import CrashFiles
from esker.upkeep.flush import FlushQueue
from esker.upkeep.histogram import BOUNDS, Histogram
from unit.upkeep.homes import START_MS, append, loaded, made


@pytest.fixture
def log() -> Log:
    return made(loaded(CrashFiles(), paths=["/a"]), "t")


def test_those_who_come_while_a_flight_is_on_its_way_share_the_next_one(log: Log) -> None:
    queue = FlushQueue()
    append(log)
    first = queue.want(log)
    (flight,) = queue.begin()
    append(log)
    second = queue.want(log)
    append(log)
    third = queue.want(log)
    assert queue.begin() == [], "one flight a log"
    flight.run()
    queue.end(flight, START_MS, 1.0)
    assert (first.is_done, second.is_done, third.is_done) == (True, False, False)
    (flight,) = queue.begin()
    queue.end(flight, START_MS, 1.0)
    assert second.is_done
    assert third.is_done
    assert queue.statistics.times.measured == 2
    assert queue.statistics.tickets == 3
    assert log.cursors.recovery_point == 9


def test_what_is_durable_already_needs_no_flight(log: Log) -> None:
    queue = FlushQueue()
    append(log)
    log.flush()
    assert queue.want(log).is_done
    assert not queue.has_work


def test_a_failed_sync_fails_all_that_wait_for_the_log(log: Log) -> None:
    queue = FlushQueue()
    append(log)
    first = queue.want(log)
    flight = queue.begin_one()
    assert flight is not None
    append(log)
    second = queue.want(log)
    queue.end(flight, START_MS, 1.0, OSError(errno.EIO, "no disk", "/a/t-0/log"))
    for ticket in (first, second):
        assert ticket.is_done
        assert isinstance(ticket.error, StorageFailed)
    assert queue.statistics.failures == 1
    assert log.cursors.recovery_point == 0


def test_what_a_truncation_took_is_refused(log: Log) -> None:
    queue = FlushQueue()
    append(log)
    append(log)
    ticket = queue.want(log)
    (flight,) = queue.begin()
    log.truncate_to(3, START_MS)
    flight.run()
    queue.end(flight, START_MS, 1.0)
    assert ticket.is_done
    assert isinstance(ticket.error, Rejected)
    assert "a truncation took offset 5" in str(ticket.error)


def test_a_flight_that_a_truncation_overtook_vouches_for_nothing(log: Log) -> None:
    queue = FlushQueue()
    append(log)
    append(log)
    queue.want(log)
    (flight,) = queue.begin()
    log.truncate_to(3, START_MS)
    append(log)
    late = queue.want(log)
    queue.end(flight, START_MS, 1.0)
    assert log.cursors.recovery_point == 0
    assert not late.is_done
    (flight,) = queue.begin()
    flight.run()
    queue.end(flight, START_MS, 1.0)
    assert late.is_done


def test_a_log_out_of_service_is_told_so(log: Log) -> None:
    queue = FlushQueue()
    append(log)
    ticket = queue.want(log)
    log.out_of_service = "gone"
    assert queue.begin() == []
    assert isinstance(ticket.error, Rejected)


def test_a_log_that_broke_during_its_flight_acknowledges_nothing(log: Log) -> None:
    queue = FlushQueue()
    append(log)
    ticket = queue.want(log)
    (flight,) = queue.begin()
    log.out_of_service = "broken"
    queue.end(flight, START_MS, 1.0)
    assert isinstance(ticket.error, Rejected)


def test_times_are_counted_by_how_long_they_took() -> None:
    histogram = Histogram()
    for ms in (0.05, 0.1, 3.0, 60_000.0):
        histogram.add(ms)
    counted = histogram.counted
    assert (counted.measured, counted.max_ms) == (4, 60_000.0)
    assert counted.mean_ms == pytest.approx(15_000.8, abs=0.1)
    assert counted.buckets[0] == 2
    assert counted.buckets[BOUNDS.index(5.0)] == 1
    assert counted.buckets[-1] == 1
