"""What the log dirs of a process go by, and what they need of the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from esker.base.config import DEFAULT, LONG_MAX, MINUTE_MS, LogConfig
from esker.metadata.store import Store
from esker.ports.chance import Chance, RealChance
from esker.ports.clock import Clock, RealClock
from esker.ports.files import Files, RealFiles


class World(NamedTuple):
    """The doors, and how the store is opened, which SQLite reads and writes by itself."""

    files: Files = RealFiles()
    clock: Clock = RealClock()
    chance: Chance = RealChance()
    open_store: Callable[[str], Store] = Store


@dataclass(frozen=True, slots=True)
class DirectorySettings:
    """`handles_limit` is how many files may be open for logs: half of the process's soft limit is a good number."""

    paths: tuple[str, ...]  # log.dirs
    node_id: int | None = None  # node.id; None: what the dirs say
    cluster_id: str | None = None
    threads_per_dir: int = 2  # num.recovery.threads.per.data.dir
    cordoned: frozenset[str] = frozenset()  # cordoned.log.dirs
    defaults: LogConfig = DEFAULT
    handles_limit: int = 512
    reserve_bytes: int = 4 << 20  # kept on each disk for the day that it is full
    kafka_metadata: str | None = None  # a `__cluster_metadata-0` that lies in none of the dirs


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """How often; Kafka's names and defaults.

    The surprise: Kafka never looks for `flush.ms` unless `log.flush.scheduler.interval.ms` is set. Here a topic's
    `flush.ms` is looked for as often as the shortest one asks, and the setting can only make it more often.
    """

    retention_check_interval_ms: int = 5 * MINUTE_MS  # log.retention.check.interval.ms
    flush_scheduler_interval_ms: int = LONG_MAX  # log.flush.scheduler.interval.ms
    recovery_point_interval_ms: int = MINUTE_MS  # log.flush.offset.checkpoint.interval.ms
    log_start_interval_ms: int = MINUTE_MS  # log.flush.start.offset.checkpoint.interval.ms
    high_watermark_interval_ms: int = 5_000  # replica.high.watermark.checkpoint.interval.ms
    initial_delay_ms: int = 30_000  # log.initial.task.delay.ms
    producer_expiration_ms: int = 86_400_000  # producer.id.expiration.ms
    producer_check_interval_ms: int = 600_000  # producer.id.expiration.check.interval.ms
