"""The bench's own promises: order of the rounds, direction of the ratio, the line, the report, the command."""

import gc
import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from bench import __main__ as command
from bench.measure import ROUNDS, Measured, measure, short
from bench.report import content
from bench.row import Contest, Row, Side, Skipped, seconds, speed
from bench.rows import ROWS
from bench.rows import kernel as kernel_rows
from esker.base.errors import KernelMissing

LINE = re.compile(r"[\w-]+ esker=[\d.e+]+ peer=[\d.e+]+ ratio=\d+\.\d\d limit=[\d.e+]+ unit=\S+")


def side(log: list[str], name: str, figures: Iterator[float]) -> Side:
    def work() -> float:
        log.append(name)
        return next(figures)

    return work


def contest(log: list[str], esker: float = 6.0, peer: float = 2.0) -> Contest:
    """Each side's first figure, its warm-up, is far off; then they rise by one."""
    starts = {"esker": esker, "peer": peer, "limit": 10.0, "other": 1.0}
    sides = {name: side(log, name, iter([999.0, *(at + each for each in range(9))])) for name, at in starts.items()}
    return Contest(sides["esker"], sides["peer"], sides["limit"], {"other": sides["other"]}, {"peer": "pear 1.0"})


def row(*, larger_is_better: bool = True) -> Row:
    return Row("ride", "km/h", "rides", lambda: contest([]), larger_is_better)


def test_sides_take_turns_after_a_warm_up_each() -> None:
    log: list[str] = []
    measure(row(), contest(log), rounds=2)
    assert log == ["esker", "peer", "limit", "other"] * 3


def test_five_rounds_are_run_unless_asked_otherwise() -> None:
    assert {len(runs) for runs in measure(row(), contest([])).runs.values()} == {ROUNDS} == {5}


def test_warm_up_is_not_among_the_runs() -> None:
    assert measure(row(), contest([])).runs["esker"] == [6, 7, 8, 9, 10]


def test_figure_is_the_median() -> None:
    measured = Measured(row(), {"esker": [1, 50, 2, 60, 3], "peer": [1.0], "limit": [1.0]})
    assert measured.figure("esker") == 3


@pytest.mark.parametrize(("larger_is_better", "ratio"), [(True, 4.0), (False, 0.25)])
def test_ratio_above_one_means_esker_is_better(*, larger_is_better: bool, ratio: float) -> None:
    assert row(larger_is_better=larger_is_better).ratio(esker=8, peer=2) == ratio


def test_line_has_the_promised_form() -> None:
    line = measure(row(), contest([])).line()
    assert line == "ride esker=8 peer=4 ratio=2.00 limit=12 unit=km/h"
    assert LINE.fullmatch(line)


@pytest.mark.parametrize(
    ("figure", "text"), [(12345.6, "12346"), (99.95, "100"), (12.34, "12.3"), (0.001234, "0.00123")]
)
def test_figures_are_short(figure: float, text: str) -> None:
    assert short(figure) == text


def test_report_has_runs_machine_and_what_ran() -> None:
    kept = json.loads(json.dumps(content(measure(row(), contest([])), {"peer": "pear 1.0"})))
    assert kept["runs"]["peer"] == [2, 3, 4, 5, 6]
    assert kept["medians"] == {"esker": 8, "peer": 4, "limit": 12, "other": 3}
    assert (kept["ratio"], kept["unit"], kept["better"]) == (2, "km/h", "larger")
    assert kept["about"] == {"peer": "pear 1.0"}
    assert {"cores", "cpu", "python"} <= set(kept["machine"])


def test_time_is_taken_without_the_garbage_collector() -> None:
    seen: list[bool] = []
    assert seconds(lambda: seen.append(gc.isenabled())) >= 0
    assert (seen, gc.isenabled()) == ([False], True)


def test_speed_is_amount_by_second(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(0, 2)
    monkeypatch.setattr("bench.row.perf_counter", lambda: next(ticks))
    assert speed(100, lambda: None)() == 50


@pytest.fixture
def ride(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROWS, "ride", row())


@pytest.mark.usefixtures("ride")
def test_command_prints_a_line_and_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["ride", "--reports", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "ride esker=8 peer=4 ratio=2.00 limit=12 unit=km/h\n"
    assert json.loads((tmp_path / "ride.json").read_text())["name"] == "ride"


def test_unknown_row_is_one_sentence_that_lists_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["kernel-check,walk"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"there is no row 'walk': the rows are {', '.join(ROWS)}"


def test_row_that_lacks_something_is_skipped_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def set_up() -> Contest:
        raise Skipped("no wheels on this machine")

    monkeypatch.setitem(ROWS, "ride", row()._replace(set_up=set_up))
    assert command.main(["ride", "--reports", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "ride skipped: no wheels on this machine\n"
    assert not list(tmp_path.iterdir())


def test_kernel_rows_are_skipped_without_the_native_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise KernelMissing("the native kernel is not built")

    monkeypatch.setattr(kernel_rows, "load_native", missing)
    for name in ("kernel-check", "kernel-decode-1k", "kernel-encode"):
        with pytest.raises(Skipped, match="the native kernel is not built"):
            ROWS[name].set_up()


def test_rows_are_those_that_are_documented() -> None:
    names = ["kernel-check", "kernel-decode", "kernel-encode"]
    assert {row.name for row in kernel_rows.ROWS} == {each + twin for each in names for twin in ("", "-1k")}
    assert all(row.what and row.unit == "MB/s" for row in kernel_rows.ROWS)
    assert {row.name for row in ROWS.values() if row.needs_kafka} == {"log-check", "log-check-1k", "log-dump"}


def test_rows_beside_a_real_kafka_run_only_when_asked_for() -> None:
    assert not any(row.needs_kafka for row in command.chosen("all"))
    assert all(row.needs_kafka for row in command.chosen("all", with_kafka=True))
    assert [row.name for row in command.chosen("log-check")] == ["log-check"]


def test_rows_beside_a_real_kafka_are_skipped_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("JAVA_HOME", "ESKER_KAFKA_JARS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Skipped, match="no java on the path"):
        ROWS["log-check"].set_up()


def test_list_says_what_each_row_measures(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    shown = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert shown == [name for name, row in ROWS.items() if not row.needs_kafka]


def test_small_load_is_built_alike_by_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides of `kernel-encode` do the same work, and aiokafka's compiled classes are the ones that do it."""
    monkeypatch.setattr(kernel_rows, "SEGMENT_BYTES", 100_000)
    try:
        load = kernel_rows.make_load(kernel_rows.SMALL)
    except Skipped as missing:
        pytest.skip(str(missing))
    peer = kernel_rows.compiled_peer()
    assert kernel_rows.same_but_offsets(load, kernel_rows.build(peer, load))
    assert peer.DefaultRecordBatchBuilder.__module__.startswith("aiokafka.record._crecords")
    kernel_rows.collect(peer, load)
