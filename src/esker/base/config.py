"""Settings of a topic: Kafka's names, types, ranges and defaults, and the broker's settings that stand behind them.

One table, `SETTINGS`, has all of a name. A value is checked where it comes in as text, and nowhere again.

What would surprise: `internal.segment.bytes` is Kafka's own way around the lower limit of `segment.bytes`, so a
smaller segment goes by that name. The settings in `TIERING` are known, checked and carried, and do nothing here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from esker.base.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1  # Kafka's "never" and "no limit"
SEGMENT_BYTES_MIN = 1 << 20
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
THROTTLED = re.compile(r"[0-9]+:[0-9]+")
SHOWN = 60  # characters of a value that is refused

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What the log of one partition goes by. Sizes in bytes, times in ms; a negative retention keeps everything."""

    cleanup_compact: bool = False
    cleanup_delete: bool = True
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = DAY_MS
    file_delete_delay_ms: int = MINUTE_MS
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    follower_throttled_replicas: tuple[str, ...] = ()
    index_interval_bytes: int = 4096
    leader_throttled_replicas: tuple[str, ...] = ()
    local_retention_bytes: int = -2
    local_retention_ms: int = -2
    log_append_time: bool = False
    max_compaction_lag_ms: int = LONG_MAX
    max_message_bytes: int = 1_048_588
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False
    remote_storage_enable: bool = False
    retention_bytes: int = -1
    retention_ms: int = 7 * DAY_MS
    segment_bytes: int = 1 << 30
    segment_index_bytes: int = 10 << 20
    segment_jitter_ms: int = 0
    segment_ms: int = 7 * DAY_MS
    timestamp_after_max_ms: int = HOUR_MS
    timestamp_before_max_ms: int = LONG_MAX
    unclean_leader_election_enable: bool = False

    @property
    def cleanup_policy(self) -> tuple[str, ...]:
        policies = (("compact", self.cleanup_compact), ("delete", self.cleanup_delete))
        return tuple(name for name, chosen in policies if chosen)

    def to_settings(self) -> dict[str, str]:
        """Every setting by Kafka's name; `from_settings` makes the same config of them."""
        small = self.segment_bytes < SEGMENT_BYTES_MIN
        left_out = "segment.bytes" if small else "internal.segment.bytes"
        shown = (each for each in SETTINGS if each.name != left_out)
        return {each.name: each.kind.write(getattr(self, each.field)) for each in shown}


DEFAULT = LogConfig()


class Kind(NamedTuple):
    """A type and its range. `read` raises ValueError at what is not `allowed`."""

    allowed: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


class Setting(NamedTuple):
    """One name, the field of LogConfig that it sets, and the broker's setting that it takes its default from."""

    name: str
    field: str
    kind: Kind
    broker_name: str = ""


def _whole(low: int, high: int, unit: int = 1) -> Kind:
    return Kind(f"a whole number from {low} to {high}", lambda text: unit * _within(_number(text), low, high))


def _broker_retention(unit: int) -> Kind:
    """Any negative one means -1 here, and 0, which would empty every log, is refused."""

    def read(text: str) -> int:
        value = _number(text)
        return unit * _within(value, 1, LONG_MAX // unit) if value >= 0 else -1

    return Kind(f"a whole number from 1 to {LONG_MAX // unit}, or a negative one to keep everything", read)


def _choice(values: Mapping[str, object]) -> Kind:
    names = {value: name for name, value in values.items()}
    return Kind(f"one of {', '.join(values)}", lambda text: values[_member(text, values)], names.__getitem__)


def _gzip_level(text: str) -> int:
    level = _number(text)
    return level if level == -1 else _within(level, 1, 9)


def _ratio(text: str) -> float:
    if not DECIMAL.fullmatch(text):
        raise ValueError(text)
    return _within(float(text), 0, 1)


def _policies(text: str) -> tuple[str, ...]:
    return tuple(_member(part, ("compact", "delete")) for part in _parts(text))


def _replicas(text: str) -> tuple[str, ...]:
    given = _parts(text)
    if given != ("*",) and not all(map(THROTTLED.fullmatch, given)):
        raise ValueError(text)
    return given


def _parts(text: str) -> tuple[str, ...]:
    """A list as Kafka reads one: its parts are trimmed, and a repeated one counts once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(","))) if text else ()


def _number(text: str) -> int:
    if not WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _within(value: Number, low: int, high: int) -> Number:
    if not low <= value <= high:
        raise ValueError(value)
    return value


def _member(text: str, allowed: Iterable[str]) -> str:
    if text not in allowed:
        raise ValueError(text)
    return text


FLAG = Kind(
    "true or false", lambda text: _member(text.lower(), ("true", "false")) == "true", lambda flag: str(flag).lower()
)
RATIO = Kind("a number from 0 to 1", _ratio)
GZIP_LEVEL = Kind("a whole number from 1 to 9, or -1", _gzip_level)
POLICIES = Kind("a list of compact and delete, with commas, which may be empty", _policies, ",".join)
REPLICAS = Kind("* or a list of partition:broker, with commas", _replicas, ",".join)
CODECS = _choice({name: name for name in ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")})
TIMESTAMP_TYPES = _choice({"CreateTime": False, "LogAppendTime": True})
ANY = _whole(-LONG_MAX - 1, LONG_MAX)
FROM_MINUS_2 = _whole(-2, LONG_MAX)
FROM_MINUS_1 = _whole(-1, LONG_MAX)
FROM_0 = _whole(0, LONG_MAX)
FROM_1 = _whole(1, LONG_MAX)
INT_FROM_0 = _whole(0, INT_MAX)
INT_FROM_1 = _whole(1, INT_MAX)

SETTINGS = (
    Setting("cleanup.policy", "cleanup_policy", POLICIES, "log.cleanup.policy"),
    Setting("compression.gzip.level", "compression_gzip_level", GZIP_LEVEL, "compression.gzip.level"),
    Setting("compression.lz4.level", "compression_lz4_level", _whole(1, 17), "compression.lz4.level"),
    Setting("compression.type", "compression_type", CODECS, "compression.type"),
    Setting("compression.zstd.level", "compression_zstd_level", _whole(-131072, 22), "compression.zstd.level"),
    Setting("delete.retention.ms", "delete_retention_ms", FROM_0, "log.cleaner.delete.retention.ms"),
    Setting("file.delete.delay.ms", "file_delete_delay_ms", FROM_0, "log.segment.delete.delay.ms"),
    Setting("flush.messages", "flush_messages", FROM_1, "log.flush.interval.messages"),
    Setting("flush.ms", "flush_ms", FROM_0, "log.flush.interval.ms"),
    Setting("follower.replication.throttled.replicas", "follower_throttled_replicas", REPLICAS),
    Setting("index.interval.bytes", "index_interval_bytes", INT_FROM_0, "log.index.interval.bytes"),
    Setting("leader.replication.throttled.replicas", "leader_throttled_replicas", REPLICAS),
    Setting("local.retention.bytes", "local_retention_bytes", FROM_MINUS_2, "log.local.retention.bytes"),
    Setting("local.retention.ms", "local_retention_ms", FROM_MINUS_2, "log.local.retention.ms"),
    Setting("max.compaction.lag.ms", "max_compaction_lag_ms", FROM_1, "log.cleaner.max.compaction.lag.ms"),
    Setting("max.message.bytes", "max_message_bytes", INT_FROM_0, "message.max.bytes"),
    Setting("message.timestamp.after.max.ms", "timestamp_after_max_ms", FROM_0, "log.message.timestamp.after.max.ms"),
    Setting(
        "message.timestamp.before.max.ms", "timestamp_before_max_ms", FROM_0, "log.message.timestamp.before.max.ms"
    ),
    Setting("message.timestamp.type", "log_append_time", TIMESTAMP_TYPES, "log.message.timestamp.type"),
    Setting("min.cleanable.dirty.ratio", "min_cleanable_dirty_ratio", RATIO, "log.cleaner.min.cleanable.ratio"),
    Setting("min.compaction.lag.ms", "min_compaction_lag_ms", FROM_0, "log.cleaner.min.compaction.lag.ms"),
    Setting("min.insync.replicas", "min_insync_replicas", INT_FROM_1, "min.insync.replicas"),
    Setting("preallocate", "preallocate", FLAG, "log.preallocate"),
    Setting("remote.log.copy.disable", "remote_log_copy_disable", FLAG),
    Setting("remote.log.delete.on.disable", "remote_log_delete_on_disable", FLAG),
    Setting("remote.storage.enable", "remote_storage_enable", FLAG),
    Setting("retention.bytes", "retention_bytes", ANY, "log.retention.bytes"),
    Setting("retention.ms", "retention_ms", FROM_MINUS_1, "log.retention.ms"),
    Setting("segment.bytes", "segment_bytes", _whole(SEGMENT_BYTES_MIN, INT_MAX), "log.segment.bytes"),
    Setting("segment.index.bytes", "segment_index_bytes", _whole(4, INT_MAX), "log.index.size.max.bytes"),
    Setting("segment.jitter.ms", "segment_jitter_ms", FROM_0, "log.roll.jitter.ms"),
    Setting("segment.ms", "segment_ms", FROM_1, "log.roll.ms"),
    Setting("unclean.leader.election.enable", "unclean_leader_election_enable", FLAG, "unclean.leader.election.enable"),
    # Last, as it wins over segment.bytes.
    Setting("internal.segment.bytes", "segment_bytes", INT_FROM_1),
)
BY_NAME = {each.name: each for each in SETTINGS}

# Of several for one field, the last one that is set wins.
BROKER_SETTINGS = (
    Setting("log.flush.scheduler.interval.ms", "flush_ms", FROM_0),
    Setting("log.roll.hours", "segment_ms", _whole(1, INT_MAX, HOUR_MS)),
    Setting("log.roll.jitter.hours", "segment_jitter_ms", _whole(0, INT_MAX, HOUR_MS)),
    *(
        Setting(each.broker_name, each.field, each.kind)
        for each in SETTINGS
        if each.broker_name not in ("", "log.retention.ms")
    ),
    Setting("log.retention.hours", "retention_ms", _broker_retention(HOUR_MS)),
    Setting("log.retention.minutes", "retention_ms", _broker_retention(MINUTE_MS)),
    Setting("log.retention.ms", "retention_ms", _broker_retention(1)),
)

TIERING = frozenset(name for name in BY_NAME if name.startswith(("local.retention.", "remote.")))

GONE = frozenset({"message.format.version", "message.downconversion.enable", "message.timestamp.difference.max.ms"})


def from_settings(settings: Mapping[str, str], defaults: LogConfig = DEFAULT) -> LogConfig:
    """What a topic's own settings make of the defaults. Raises InvalidConfig."""
    config, refused = from_foreign_settings(settings, defaults)
    if refused:
        raise refused[0]
    return config


def from_foreign_settings(
    settings: Mapping[str, str], defaults: LogConfig = DEFAULT
) -> tuple[LogConfig, list[InvalidConfig]]:
    """The same of settings that another release may have written: what can be taken is, and each refusal is told.
    Whether a log may be deleted from by what is left is for the caller to say."""
    if not settings:
        return defaults, []
    fields, refused = _read(settings, SETTINGS)
    config = replace(defaults, **fields)
    unknown = [_unknown(name) for name in settings if name not in BY_NAME]
    return config, [*unknown, *refused, *map(InvalidConfig, _conflicts(config))]


def from_broker_settings(settings: Mapping[str, str], defaults: LogConfig = DEFAULT) -> LogConfig:
    """The defaults that a broker's own settings make for its topics; names of other parts are passed over. Raises
    InvalidConfig."""
    fields, refused = _read(settings, BROKER_SETTINGS)
    config = replace(defaults, **fields)
    for each in (*refused, *map(InvalidConfig, _conflicts(config))):
        raise each
    return config


def _read(settings: Mapping[str, str], table: Iterable[Setting]) -> tuple[dict[str, Any], list[InvalidConfig]]:
    """The fields that are set, the table's last word counting."""
    fields: dict[str, Any] = {}
    refused = []
    for each in table:
        if each.name not in settings:
            continue
        try:
            fields[each.field] = each.kind.read(settings[each.name].strip())
        except ValueError:
            refused.append(_out_of_range(each, settings[each.name]))
    chosen = fields.pop("cleanup_policy", None)
    if chosen is not None:
        fields.update(cleanup_compact="compact" in chosen, cleanup_delete="delete" in chosen)
    return fields, refused


def _conflicts(config: LogConfig) -> Iterator[str]:
    """What Kafka checks of two settings together; those of tiering only where a topic has it."""
    least, most = config.min_compaction_lag_ms, config.max_compaction_lag_ms
    if least > most:
        yield f"min.compaction.lag.ms is {least}, which may not be above max.compaction.lag.ms, {most}"
    if not config.remote_storage_enable:
        return
    if config.cleanup_compact:
        yield "remote.storage.enable is true, which a cleanup.policy with compact does not allow"
    for unit in ("bytes", "ms"):
        local, whole = getattr(config, f"local_retention_{unit}"), getattr(config, f"retention_{unit}")
        if whole >= 0 and (local == -1 or local > whole):
            yield f"local.retention.{unit} is {local}, which may not be above retention.{unit}, {whole}"


def _out_of_range(setting: Setting, value: str) -> InvalidConfig:
    shown = value if len(value) <= SHOWN else value[:SHOWN] + "…"
    return InvalidConfig(f"{setting.name} is {shown!r}, but it must be {setting.kind.allowed}")


def _unknown(name: str) -> InvalidConfig:
    why = "is gone since Kafka 4.0" if name in GONE else "is not a setting of a topic"
    return InvalidConfig(f"{name[:SHOWN]} {why}")
