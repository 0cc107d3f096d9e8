"""Damaged batches, their checksums mended: success or a typed error, and the same from both kernels.

| profile  | mutants    | of them asked of both kernels |
| -------- | ---------- | ----------------------------- |
| quick    | 5,000      | 2,500                         |
| test     | 300,000    | 150,000                       |
| campaign | 1,000,000  | 1,000,000                     |
| night    | 50,000,000 | 10,000,000                    |

The rest is asked of the native kernel alone. Where that is not built, the reference alone gets a third of a run (a
fiftieth of the night's). One mutant costs some 35 µs in the native kernel and 300 µs in both. The numbers of a run
are dealt out to chunks, so that xdist can spread them; the first ones are every cut and every field at its worst,
see `mutate`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from esker.base.errors import KernelMissing
from esker.base.faults import Fault
from esker.kernel import load_native, load_reference
from esker.kernel.contract import Kernel, Record
from esker.kernel.layout import INT32_MAX
from esker.kernel.reference.varint import write_varint
from property.hostile import PROBES, BlackBox, Broken, answer, ask_both, ask_one, mutant_named
from property.mutate import Mutant, mutant, systematic, targets
from property.outcome import finding_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


class Share(NamedTuple):
    """How much of the work a profile does. `both`: each so-many-th mutant goes through both kernels; `alone`: each
    so-many-th through the reference where there is no other."""

    numbers: range
    chunks: int
    both: int
    alone: int


SHARES = {
    "quick": Share(range(0, 300_000, 60), 2, 2, 3),
    "test": Share(range(300_000), 40, 2, 3),
    "campaign": Share(range(1_000_000), 100, 1, 3),
    "night": Share(range(50_000_000), 500, 5, 50),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chunk" in metafunc.fixturenames:
        chunks = range(SHARES[metafunc.config.getoption("hypothesis_profile")].chunks)
        metafunc.parametrize("chunk", chunks, ids=[f"chunk-{number}" for number in chunks])


@pytest.fixture
def black_box(request: pytest.FixtureRequest) -> BlackBox:
    """It is removed by the test that passes, not by the fixture: what fails is to be looked at."""
    return BlackBox(ROOT / "build" / "hostile" / request.node.callspec.id)


def test_mutants_are_refused_or_read_alike(
    reference: Kernel, profile: str, seed: int, chunk: int, black_box: BlackBox
) -> None:
    share = SHARES[profile]
    try:
        native = load_native()
    except KernelMissing:
        ask_reference(reference, share.numbers[chunk :: share.chunks][:: share.alone], seed)
    else:
        ask_kernels(reference, native, share, chunk, seed, black_box)
    black_box.remove()


def ask_reference(reference: Kernel, numbers: range, seed: int) -> None:
    for number in numbers:
        ask_one(reference, mutant(seed, number))


def ask_kernels(reference: Kernel, native: Kernel, share: Share, chunk: int, seed: int, black_box: BlackBox) -> None:
    for turn, number in enumerate(share.numbers[chunk :: share.chunks]):
        one = mutant(seed, number)
        black_box.note(one)
        if turn % share.both:
            ask_one(native, one)
        else:
            ask_both(reference, native, one)


def test_mutants_meet_every_fault(reference: Kernel) -> None:
    """The mutations reach every question that is asked of a batch. Whatever the run's seed is, these are the same."""
    met: set[Fault] = set()
    for number in range(0, len(systematic()) * 3, 23):
        one = mutant(0, number)
        findings = (finding_of(answer(probe, reference, one)) for probe in PROBES)
        met |= {finding.fault for finding in findings if finding}
    assert set(Fault) == met


def test_unharmed_targets_are_read(reference: Kernel) -> None:
    """Else every mutant would be refused for what it was before."""
    whole = [target.before + target.batch + target.after for target in targets()]
    current = [data for data in whole if data[16] == 2]
    assert len(current) > 40
    assert not [data.hex() for data in current if reference.check(data).finding]


def test_every_length_is_set_to_every_worst_value() -> None:
    plain = targets()[0].plain
    begin, end = targets()[0].varints[3]  # the length of the first key
    left = len(plain) - end
    worst = (-1, 0, 1, left - 1, left, left + 1, INT32_MAX)
    assert {plain[:begin] + write_varint(length) + plain[end:] for length in worst} <= {
        each for _, each in systematic()
    }


def drawn_mutants(seed: int) -> Iterator[Mutant]:
    return (mutant(seed, number) for number in count(len(systematic())))


def crc_is_wrong(reference: Kernel, one: Mutant) -> bool:
    """And nothing else: the records unpack."""
    asked = {probe.name: answer(probe, reference, one) for probe in PROBES}
    finding = finding_of(asked["unpack"])
    return finding is not None and finding.fault is Fault.CRC and not finding_of(asked["unpack unchecked"])


def kernel_that(**changed: object) -> Kernel:
    """The reference with a planted bug."""
    whole = {name: getattr(load_reference(), name) for name in load_reference().__all__}  # type: ignore[attr-defined]
    return cast("Kernel", SimpleNamespace(**{**whole, "NAME": "planted", **changed}))


def index_error(*_: object) -> list[Record]:
    raise IndexError("past the end")


def test_other_error_is_reported_with_the_mutant(seed: int) -> None:
    one = mutant(seed, 0)
    with pytest.raises(Broken, match=f"unpack: planted raised IndexError(.|\n)*hostile {one.data.hex()}"):
        ask_one(kernel_that(unpack=index_error), one)


def test_value_error_is_no_answer_to_bytes(seed: int) -> None:
    with pytest.raises(Broken, match="walk: planted raised ValueError"):
        ask_one(kernel_that(walk=lambda _: int("x")), mutant(seed, 0))


def test_unequal_answers_are_reported(reference: Kernel, seed: int) -> None:
    lenient = kernel_that(unpack=lambda data, position, _, limit: reference.unpack(data, position, False, limit))
    one = next(one for one in drawn_mutants(seed) if crc_is_wrong(reference, one))
    with pytest.raises(Broken, match="unpack: reference says"):
        ask_both(reference, lenient, one)


def test_crash_leaves_its_mutant_behind(tmp_path: Path) -> None:
    box = BlackBox(tmp_path / "chunk-0")
    box.note(Mutant(b"a longer one", 5))
    box.note(Mutant(b"the last", 3))
    assert mutant_named([str(tmp_path / "chunk-0")]) == Mutant(b"the last", 3)
    assert mutant_named([b"the last".hex(), "3"]) == Mutant(b"the last", 3)


def test_one_mutant_is_replayed_by_one_command(seed: int) -> None:
    one = mutant(seed, len(systematic()))
    call = [sys.executable, "-m", "property.hostile", one.data.hex(), str(one.position)]
    where = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    run = subprocess.run(call, env=where, capture_output=True, text=True, timeout=60, check=True)
    assert [f"{probe.name}, reference:" in run.stdout for probe in PROBES] == [True] * len(PROBES)
