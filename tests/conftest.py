"""What every test gets: the profile, the seed that replays a run, and a count of what was skipped.

`ESKER_PROFILE` says how long random tests run: quick, test, campaign or night. `ESKER_SEED` is the number that
every random test starts from, Hypothesis's among them; the header and each failure print it, and it is taken back.
"""

import os
import random
from collections import Counter
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

EXAMPLES = {"quick": 20, "test": 200, "campaign": 5_000, "night": 100_000}
PROFILE = os.environ.get("ESKER_PROFILE") or "test"
NO_REASON = ("", "unconditional skip")

# Tests share two cores with whatever else runs, so slowness alone fails none of them.
for name, count in EXAMPLES.items():
    settings.register_profile(
        name, max_examples=count, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
    )


@pytest.hookimpl(tryfirst=True)  # before Hypothesis and xdist look at the options
def pytest_configure(config: pytest.Config) -> None:
    if PROFILE not in EXAMPLES:
        raise pytest.UsageError(f"ESKER_PROFILE is {PROFILE}; it may be {', '.join(EXAMPLES)}")
    # xdist's workers inherit the environment, and with it the one seed of the run.
    os.environ["ESKER_SEED"] = str(run_seed())
    config.option.hypothesis_profile = PROFILE
    config.option.hypothesis_seed = str(run_seed())


def run_seed() -> int:
    return int(os.environ.get("ESKER_SEED") or random.SystemRandom().randrange(2**32))


def pytest_report_header() -> str:
    return f"esker: ESKER_PROFILE={PROFILE} ESKER_SEED={run_seed()}"


@pytest.fixture(scope="session")
def profile() -> str:
    """How long to run: quick, test, campaign or night."""
    return PROFILE


@pytest.fixture(scope="session")
def seed() -> int:
    """The number that every random choice of a test must come from."""
    return run_seed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    refuse_silent_skip(report)
    if report.failed:
        report.sections.append(("seed", f"ESKER_SEED={run_seed()} ESKER_PROFILE={PROFILE} replays this run"))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_silent_skip(report)
    return report


def refuse_silent_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and skip_reason(report) in NO_REASON:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped without a reason: name what the machine lacks"


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    assert isinstance(report.longrepr, tuple)
    return report.longrepr[2].removeprefix("Skipped").removeprefix(": ").strip()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(skip_reason(report) for report in terminalreporter.stats.get("skipped", []))
    terminalreporter.section(f"{reasons.total()} skipped")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count:5} × {reason}")
