"""The promises of tests/conftest.py: skips are named and counted, seeds are printed and taken back."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = (ROOT / "tests" / "conftest.py").read_text()


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder of its own with this conftest, and no seed or profile from the run around it."""
    for name in ("ESKER_SEED", "ESKER_PROFILE", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest(CONFTEST)
    return pytester


def test_skips_are_counted_by_reason_in_the_last_lines(run: pytest.Pytester) -> None:
    run.makepyfile("""
        import pytest
        @pytest.mark.parametrize("n", range(3))
        def test_java(n): pytest.skip("no java on the path")
        @pytest.mark.skip(reason="no mvn on the path")
        def test_maven(): pass
    """)
    result = run.runpytest_subprocess("-n1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*= 4 skipped =*", "*3 × no java on the path", "*1 × no mvn on the path"])


def test_run_without_skips_says_so(run: pytest.Pytester) -> None:
    run.makepyfile("def test_nothing(): pass")
    run.runpytest_subprocess().stdout.fnmatch_lines(["*= 0 skipped =*"])


def test_skip_without_a_reason_fails(run: pytest.Pytester) -> None:
    run.makepyfile("""
        import pytest
        @pytest.mark.skip
        def test_mark(): pass
        def test_call(): pytest.skip()
    """)
    result = run.runpytest_subprocess()
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["*was skipped without a reason*"])


def test_module_skipped_without_a_reason_fails(run: pytest.Pytester) -> None:
    run.makepyfile("import pytest\npytest.skip(allow_module_level=True)")
    result = run.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*was skipped without a reason*"])


RANDOM = """
    import random
    from hypothesis import given, strategies
    def test_chance(seed):
        assert not print("drew", random.Random(seed).random())
        assert False
    @given(strategies.integers())
    def test_property(number):
        print("drew", number)
        assert number < 1000
"""


def test_printed_seed_replays_every_random_test(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    run.makepyfile(RANDOM)
    first = run.runpytest_subprocess("-n1").stdout.str()
    (run.path / ".hypothesis").rename(run.path / "forgotten")
    (seed,) = set(re.findall(r"ESKER_SEED=(\d+)", first))
    monkeypatch.setenv("ESKER_SEED", seed)
    second = run.runpytest_subprocess().stdout.str()
    drawn = re.findall(r"drew .*", first)
    assert len(set(drawn)) > 3
    assert drawn == re.findall(r"drew .*", second)


def test_another_seed_draws_something_else(run: pytest.Pytester) -> None:
    run.makepyfile(RANDOM)
    first, second = (re.findall(r"drew .*", run.runpytest_subprocess().stdout.str())[0] for _ in range(2))
    assert first != second


def test_group_stays_on_one_worker(run: pytest.Pytester) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["addopts"]
    (distribution,) = [setting for setting in settings if setting.startswith("--dist")]
    run.makepyfile("""
        import os, pytest
        @pytest.mark.xdist_group("kafka")
        @pytest.mark.parametrize("n", range(8))
        def test_worker(n):
            pytest.skip(os.environ["PYTEST_XDIST_WORKER"])
    """)
    result = run.runpytest_subprocess("-n2", distribution)
    result.stdout.fnmatch_lines(["*8 × gw?"])


def test_unknown_profile_is_refused(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESKER_PROFILE", "slow")
    result = run.runpytest_subprocess()
    result.stderr.fnmatch_lines(["*ESKER_PROFILE is slow; it may be quick, test, campaign, night*"])
    assert result.ret != 0
