"""Settings of a topic, held against Kafka 4.3.1's own table."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.base.config import (
    BROKER_SETTINGS,
    DEFAULT,
    GONE,
    SETTINGS,
    TIERING,
    LogConfig,
    from_broker_settings,
    from_foreign_settings,
    from_settings,
)
from esker.base.errors import InvalidConfig

INT = str(2**31 - 1)
LONG = str(2**63 - 1)
LOWEST = str(-(2**63))
HOUR = 3_600_000

#    name                                       default        taken                     refused
TABLE = [
    ("cleanup.policy",                           "delete",      "|compact|delete",        "Compact|keep|delete;"),
    ("compression.gzip.level",                   "-1",          "-1|1|9",                 "-2|0|10|"),
    ("compression.lz4.level",                    "9",           "1|17",                   "0|18"),
    ("compression.type",                         "producer",    "uncompressed|zstd|lz4|snappy|gzip", "none|GZIP|"),
    ("compression.zstd.level",                   "3",           "-131072|22",             "-131073|23"),
    ("delete.retention.ms",                      "86400000",    f"0|{LONG}",              f"-1|{LONG}0"),
    ("file.delete.delay.ms",                     "60000",       f"0|{LONG}",              "-1"),
    ("flush.messages",                           LONG,          f"1|{LONG}",              "0|9223372036854775808"),
    ("flush.ms",                                 LONG,          f"0|{LONG}",              "-1"),
    ("follower.replication.throttled.replicas",  "",            "|*|0:1|0:1,12:101",      "0|a:b|0:1,*|:|0:1,"),
    ("index.interval.bytes",                     "4096",        f"0|{INT}",               "-1|2147483648"),
    ("leader.replication.throttled.replicas",    "",            "|*|0:1|0:1,12:101",      "0|a:b|0:1,*|:"),
    ("local.retention.bytes",                    "-2",          f"-2|-1|{LONG}",          "-3"),
    ("local.retention.ms",                       "-2",          f"-2|-1|{LONG}",          "-3"),
    ("max.compaction.lag.ms",                    LONG,          f"1|{LONG}",              "0"),
    ("max.message.bytes",                        "1048588",     f"0|{INT}",               "-1|2147483648"),
    ("message.timestamp.after.max.ms",           "3600000",     f"0|{LONG}",              "-1"),
    ("message.timestamp.before.max.ms",          LONG,          f"0|{LONG}",              "-1"),
    ("message.timestamp.type",                   "CreateTime",  "CreateTime|LogAppendTime", "createtime|"),
    ("min.cleanable.dirty.ratio",                "0.5",         "0.0|0.25|1.0",           "-0.1|1.01|nan|half|1_0"),
    ("min.compaction.lag.ms",                    "0",           f"0|{LONG}",              "-1"),
    ("min.insync.replicas",                      "1",           f"1|{INT}",               "0|2147483648"),
    ("preallocate",                              "false",       "true|false",             "yes|1|"),
    ("remote.log.copy.disable",                  "false",       "true|false",             "yes"),
    ("remote.log.delete.on.disable",             "false",       "true|false",             "yes"),
    ("remote.storage.enable",                    "false",       "true|false",             "yes"),
    ("retention.bytes",                          "-1",          f"{LOWEST}|0|{LONG}",     "1.0|-9223372036854775809"),
    ("retention.ms",                             "604800000",   f"-1|0|{LONG}",           "-2|٣|1_000|0x10|"),
    ("segment.bytes",                            "1073741824",  f"1048576|{INT}",         "1048575|14|2147483648"),
    ("segment.index.bytes",                      "10485760",    f"4|{INT}",               "3"),
    ("segment.jitter.ms",                        "0",           f"0|{LONG}",              "-1"),
    ("segment.ms",                               "604800000",   f"1|{LONG}",              "0"),
    ("unclean.leader.election.enable",           "false",       "true|false",             "yes"),
]  # fmt: skip
NAMES = [row[0] for row in TABLE]
TAKEN = [(name, value) for name, _, taken, _ in TABLE for value in taken.split("|")]
REFUSED = [(name, value) for name, _, _, refused in TABLE for value in refused.split("|")]


def refusal(settings: dict[str, str], defaults: LogConfig = DEFAULT) -> str:
    with pytest.raises(InvalidConfig) as caught:
        from_settings(settings, defaults)
    return str(caught.value)


def test_defaults_are_kafkas() -> None:
    assert DEFAULT.to_settings() == {name: default for name, default, _, _ in TABLE}


def test_each_field_has_its_name_in_the_table() -> None:
    named = {each.field for each in SETTINGS} - {"cleanup_policy"} | {"cleanup_compact", "cleanup_delete"}
    assert named == {field.name for field in fields(LogConfig)}


@pytest.mark.parametrize(("name", "value"), TAKEN)
def test_a_value_in_range_is_taken_and_changes_nothing_else(name: str, value: str) -> None:
    assert from_settings({name: value}).to_settings() == {**DEFAULT.to_settings(), name: value}


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_value_out_of_range_is_refused_by_name_value_and_range(name: str, value: str) -> None:
    allowed = next(each.kind.allowed for each in SETTINGS if each.name == name)
    assert refusal({name: value}) == f"{name} is {value!r}, but it must be {allowed}"


@given(st.sampled_from(NAMES), st.text())
def test_no_text_does_worse_than_be_refused(name: str, value: str) -> None:
    config, refused = from_foreign_settings({name: value}, DEFAULT)
    assert config == DEFAULT or not refused


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9)))
def test_what_settings_make_they_make_again(choices: dict[str, int]) -> None:
    taken = {name: values.split("|") for name, _, values, _ in TABLE}
    settings = {name: taken[name][choice % len(taken[name])] for name, choice in choices.items()}
    config, _ = from_foreign_settings(settings, DEFAULT)
    assert from_foreign_settings(config.to_settings(), DEFAULT)[0] == config
    assert config.to_settings() == DEFAULT.to_settings() | settings


def test_a_refusal_reads_as_a_sentence() -> None:
    assert refusal({"segment.bytes": "10"}) == (
        "segment.bytes is '10', but it must be a whole number from 1048576 to 2147483647"
    )


def test_a_long_value_is_shown_in_part() -> None:
    assert len(refusal({"segment.ms": "9" * 10_000})) < 200


def test_an_unknown_name_is_refused() -> None:
    assert refusal({"no.such": "1"}) == "no.such is not a setting of a topic"


@pytest.mark.parametrize("name", sorted(GONE))
def test_a_name_that_kafka_dropped_is_refused_as_such(name: str) -> None:
    assert refusal({name: "1"}) == f"{name} is gone since Kafka 4.0"


def test_a_brokers_name_is_not_a_topics() -> None:
    assert refusal({"log.retention.ms": "1"}) == "log.retention.ms is not a setting of a topic"


def test_white_space_around_a_value_and_its_parts_is_dropped() -> None:
    config = from_settings({"segment.ms": " 5\n", "cleanup.policy": " delete , compact "})
    assert (config.segment_ms, config.cleanup_policy) == (5, ("compact", "delete"))


def test_a_repeated_policy_counts_once() -> None:
    assert from_settings({"cleanup.policy": "compact,compact"}).cleanup_policy == ("compact",)


def test_flags_are_read_in_any_case() -> None:
    assert from_settings({"preallocate": "TRUE"}).preallocate


def test_a_plus_sign_is_a_sign() -> None:
    assert from_settings({"segment.ms": "+5"}).segment_ms == 5


def test_own_settings_stand_before_the_defaults() -> None:
    defaults = replace(DEFAULT, retention_ms=5, segment_ms=6)
    assert from_settings({"retention.ms": "7"}, defaults) == replace(defaults, retention_ms=7)


def test_without_settings_the_defaults_themselves_come_back() -> None:
    assert from_settings({}, DEFAULT) is DEFAULT


def test_the_internal_name_takes_smaller_segments_and_wins() -> None:
    config = from_settings({"internal.segment.bytes": "100", "segment.bytes": "1048576"})
    assert config.segment_bytes == 100
    assert "segment.bytes" not in config.to_settings()
    assert from_settings(config.to_settings()) == config


#    settings                                                                      the sentence
CONFLICTS = [
    ({"min.compaction.lag.ms": "11", "max.compaction.lag.ms": "10"},
     "min.compaction.lag.ms is 11, which may not be above max.compaction.lag.ms, 10"),
    ({"remote.storage.enable": "true", "local.retention.ms": "11", "retention.ms": "10"},
     "local.retention.ms is 11, which may not be above retention.ms, 10"),
    ({"remote.storage.enable": "true", "local.retention.bytes": "-1", "retention.bytes": "10"},
     "local.retention.bytes is -1, which may not be above retention.bytes, 10"),
    ({"remote.storage.enable": "true", "local.retention.ms": "-1", "retention.ms": "0"},
     "local.retention.ms is -1, which may not be above retention.ms, 0"),
    ({"remote.storage.enable": "true", "cleanup.policy": "compact,delete"},
     "remote.storage.enable is true, which a cleanup.policy with compact does not allow"),
]  # fmt: skip

ALLOWED_TOGETHER = [
    {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "10"},
    {"local.retention.ms": "11", "retention.ms": "10"},
    {"remote.storage.enable": "true", "local.retention.ms": "10", "retention.ms": "10"},
    {"remote.storage.enable": "true", "local.retention.ms": "-1", "retention.ms": "-1"},
    {"remote.storage.enable": "true", "local.retention.bytes": "10", "retention.bytes": "-1"},
    {"remote.storage.enable": "true", "cleanup.policy": ""},
]


@pytest.mark.parametrize(("settings", "sentence"), CONFLICTS)
def test_settings_at_odds_are_refused(settings: dict[str, str], sentence: str) -> None:
    assert refusal(settings) == sentence


@pytest.mark.parametrize("settings", ALLOWED_TOGETHER)
def test_settings_that_go_together_are_taken(settings: dict[str, str]) -> None:
    assert from_settings(settings).to_settings() == DEFAULT.to_settings() | settings


def test_a_setting_at_odds_with_a_default_is_refused() -> None:
    assert "above" in refusal({"min.compaction.lag.ms": "11"}, replace(DEFAULT, max_compaction_lag_ms=10))


def test_foreign_settings_are_taken_as_far_as_they_go() -> None:
    settings = {"message.format.version": "3.0", "segment.bytes": "14", "retention.ms": "5", "flush.ms": "x"}
    config, refused = from_foreign_settings(settings, DEFAULT)
    assert config == replace(DEFAULT, retention_ms=5)
    assert sorted(str(each).split()[0] for each in refused) == ["flush.ms", "message.format.version", "segment.bytes"]


def test_tiering_is_these_names() -> None:
    assert {
        "local.retention.bytes",
        "local.retention.ms",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
    } == TIERING


#    a broker's settings                                                     field                       value
BROKER = [
    ({"log.retention.hours": "1"},                                           "retention_ms",             HOUR),
    ({"log.retention.minutes": "1", "log.retention.hours": "1"},             "retention_ms",             60_000),
    ({"log.retention.ms": "1", "log.retention.minutes": "1"},                "retention_ms",             1),
    ({"log.retention.hours": "-7"},                                          "retention_ms",             -1),
    ({"log.retention.ms": "-7"},                                             "retention_ms",             -1),
    ({"log.roll.hours": "2"},                                                "segment_ms",               2 * HOUR),
    ({"log.roll.ms": "5", "log.roll.hours": "2"},                            "segment_ms",               5),
    ({"log.roll.jitter.hours": "2"},                                         "segment_jitter_ms",        2 * HOUR),
    ({"log.roll.jitter.ms": "0", "log.roll.jitter.hours": "2"},              "segment_jitter_ms",        0),
    ({"log.flush.scheduler.interval.ms": "9"},                               "flush_ms",                 9),
    ({"log.flush.interval.ms": "8", "log.flush.scheduler.interval.ms": "9"}, "flush_ms",                 8),
    ({"log.cleanup.policy": "compact"},                                      "cleanup_policy",           ("compact",)),
    ({"message.max.bytes": "99"},                                            "max_message_bytes",        99),
    ({"log.index.size.max.bytes": "99"},                                     "segment_index_bytes",      99),
    ({"log.segment.delete.delay.ms": "99"},                                  "file_delete_delay_ms",     99),
    ({"log.cleaner.min.cleanable.ratio": "1"},                               "min_cleanable_dirty_ratio", 1.0),
    ({"log.message.timestamp.type": "LogAppendTime"},                        "log_append_time",          True),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "field", "value"), BROKER)
def test_a_brokers_setting_is_its_topics_default(settings: dict[str, str], field: str, value: object) -> None:
    assert getattr(from_broker_settings(settings), field) == value


def test_a_brokers_other_settings_are_passed_over() -> None:
    assert from_broker_settings({"num.io.threads": "8", "segment.ms": "5", "log.dirs": "/a", "": "x"}) == DEFAULT


BROKER_REFUSED = [
    ("log.retention.ms", "0"),
    ("log.retention.minutes", "0"),
    ("log.retention.hours", "0"),
    ("log.retention.hours", LONG),
    ("log.roll.hours", "0"),
    ("log.roll.jitter.hours", "-1"),
    ("log.segment.bytes", "1048575"),
]


@pytest.mark.parametrize(("name", "value"), BROKER_REFUSED)
def test_a_broker_is_refused_by_its_own_name(name: str, value: str) -> None:
    with pytest.raises(InvalidConfig, match=rf"^{name} is '{value}', but it must be a whole number "):
        from_broker_settings({name: value})


def test_a_brokers_settings_are_checked_together() -> None:
    with pytest.raises(InvalidConfig, match="may not be above"):
        from_broker_settings({"log.cleaner.min.compaction.lag.ms": "2", "log.cleaner.max.compaction.lag.ms": "1"})


def test_each_topics_default_can_be_set_at_the_broker_but_for_these() -> None:
    without = {each.name for each in SETTINGS} - {each.name for each in SETTINGS if each.broker_name}
    assert without == {
        "follower.replication.throttled.replicas",
        "internal.segment.bytes",
        "leader.replication.throttled.replicas",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
    }
    assert {each.field for each in BROKER_SETTINGS} == {each.field for each in SETTINGS if each.broker_name}
