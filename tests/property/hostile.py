"""What is asked of the kernels about each mutant, and the command that asks it again about one:

PYTHONPATH=tests .venv/bin/python -m property.hostile 00000000…      (the bytes in hex)
PYTHONPATH=tests .venv/bin/python -m property.hostile build/hostile/chunk-7    (left by a crash)
"""

from __future__ import annotations

import sys
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from esker.base.errors import Corrupt, KernelMissing
from esker.kernel import load_native, load_reference
from esker.kernel.contract import ALL_COLUMNS, Aborted, AppendLimits, Column, Encoding, Kernel, Selection
from esker.kernel.layout import INT64_MAX
from property.mutate import OFFSET, PRODUCER, Mutant
from property.outcome import Refusal, outcome, said
from property.strategies import SOME_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What a mutant may unpack to: a little more than any of them holds unharmed.
ROOM = 1 << 12
TIGHT = 60
ANYTHING = AppendLimits(1 << 20, unpacked_limit=ROOM)
STRICT = AppendLimits(200, keys_required=True, min_timestamp=SOME_TIME, max_timestamp=SOME_TIME + 1)
STAMPED_BY_BROKER = AppendLimits(1 << 20, log_append_time=True, unpacked_limit=TIGHT)
COPIES = Selection(max_bytes=ROOM, unpacked_limit=ROOM)
VIEWS = COPIES._replace(views=True)
BOUNDED = Selection(
    columns=ALL_COLUMNS & ~Column.VALUE,
    first_offset=OFFSET - 9,
    end_offset=OFFSET + 31,
    aborted=[Aborted(PRODUCER, 0, OFFSET - 1)],
    verify_crc=False,
    max_records=3,
    max_bytes=ROOM,
    unpacked_limit=TIGHT,
)
AGAIN = Encoding(leader_epoch=3, batch_bytes=120)
CRASH_ROOM = 1 << 16


class Probe(NamedTuple):
    """One question. `refuses`: the contract lets a kernel answer it with ValueError."""

    name: str
    ask: Callable[[Kernel, Mutant], object]
    refuses: bool = False


def stamp(kernel: Kernel, mutant: Mutant) -> object:
    """Stamped as a leader does, then with its time; what was written before an error counts too."""
    copy = bytearray(mutant.data)
    first = outcome(lambda: kernel.stamp(copy, 1000, 7))
    return first, outcome(lambda: kernel.stamp(copy, 2000, 8, SOME_TIME, True)), bytes(copy)


PROBES = (
    Probe("walk", lambda kernel, mutant: kernel.walk(mutant.data)),
    Probe("check", lambda kernel, mutant: kernel.check(mutant.data, unpacked_limit=ROOM)),
    Probe("check tight", lambda kernel, mutant: kernel.check(mutant.data, mutant.position, 0, True, TIGHT)),
    Probe("check shallow", lambda kernel, mutant: kernel.check(mutant.data, deep=False)),
    Probe("validate", lambda kernel, mutant: kernel.validate(mutant.data, ANYTHING)),
    Probe("validate strict", lambda kernel, mutant: kernel.validate(mutant.data, STRICT)),
    Probe("validate append time", lambda kernel, mutant: kernel.validate(mutant.data, STAMPED_BY_BROKER)),
    Probe("unpack", lambda kernel, mutant: kernel.unpack(mutant.data, mutant.position, True, ROOM)),
    Probe("unpack unchecked", lambda kernel, mutant: kernel.unpack(mutant.data, mutant.position, False, ROOM)),
    Probe("decode", lambda kernel, mutant: kernel.decode(mutant.data, 0, COPIES)),
    Probe("decode views", lambda kernel, mutant: kernel.decode(mutant.data, mutant.position, VIEWS)),
    Probe("decode bounded", lambda kernel, mutant: kernel.decode(mutant.data, 0, BOUNDED)),
    Probe("find offset", lambda kernel, mutant: kernel.find_offset(mutant.data, INT64_MAX)),
    Probe("find timestamp", lambda kernel, mutant: kernel.find_timestamp(mutant.data, SOME_TIME + 1, mutant.position)),
    Probe("stamp", stamp),
    Probe("encode", lambda kernel, mutant: kernel.encode(kernel.decode(mutant.data, 0, COPIES), AGAIN), refuses=True),
)


class Broken(AssertionError):
    """A kernel did what it must not; the words hold the mutant and the command that replays it."""

    def __init__(self, probe: Probe, mutant: Mutant, what: str) -> None:
        super().__init__(
            f"{probe.name}: {what}\nat position {mutant.position} of {len(mutant.data)} bytes; to replay:\n"
            f"PYTHONPATH=tests .venv/bin/python -m property.hostile {mutant.data.hex()} {mutant.position}"
        )


def answer(probe: Probe, kernel: Kernel, mutant: Mutant) -> object:
    """The outcome; Broken for anything that is neither a success nor a typed error."""
    try:
        came = outcome(lambda: probe.ask(kernel, mutant))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a Rust panic is no Exception
        raise Broken(probe, mutant, f"{kernel.NAME} raised {type(error).__name__}: {error}") from error
    if isinstance(came, Refusal) and not probe.refuses:
        raise Broken(probe, mutant, f"{kernel.NAME} raised ValueError")
    return came


def ask_one(kernel: Kernel, mutant: Mutant) -> None:
    """Every question to one kernel alone. No outcome is made of the answers: this is the hot loop of 50 million."""
    for probe in PROBES:
        try:
            probe.ask(kernel, mutant)
        except (Corrupt, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt):
                raise
        except BaseException as error:
            if not (probe.refuses and type(error) is ValueError):
                raise Broken(probe, mutant, f"{kernel.NAME} raised {type(error).__name__}: {error}") from error


def ask_both(kernel: Kernel, other: Kernel, mutant: Mutant) -> None:
    """Every question to both; their answers must be equal."""
    for probe in PROBES:
        expected, found = answer(probe, kernel, mutant), answer(probe, other, mutant)
        if expected != found:
            raise Broken(probe, mutant, f"{kernel.NAME} says {said(expected)}\n{other.NAME} says {said(found)}")


class BlackBox:
    """The mutant being asked about, in a file that outlives the process."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(CRASH_ROOM))
        self.path = path
        with path.open("r+b") as file:
            self.shared = mmap(file.fileno(), CRASH_ROOM)

    def note(self, mutant: Mutant) -> None:
        head = len(mutant.data).to_bytes(4) + mutant.position.to_bytes(4)
        self.shared[: 8 + len(mutant.data)] = head + mutant.data

    def remove(self) -> None:
        self.shared.close()
        self.path.unlink()


def noted(path: Path) -> Mutant:
    kept = path.read_bytes()
    return Mutant(kept[8 : 8 + int.from_bytes(kept[:4])], int.from_bytes(kept[4:8]))


def kernels() -> Iterable[Kernel]:
    yield load_reference()
    try:
        yield load_native()
    except KernelMissing as missing:
        print(missing)


def main(mutant: Mutant) -> int:
    """Print what each kernel says to each question; 1 when something is wrong."""
    wrong = 0
    for probe in PROBES:
        answers = []
        for kernel in kernels():
            try:
                answers.append(answer(probe, kernel, mutant))
            except Broken as broken:
                answers.append(broken)
            print(f"{probe.name}, {kernel.NAME}: {said(answers[-1])}", flush=True)
        wrong += isinstance(answers[0], Broken) or any(one != answers[0] for one in answers[1:])
    return 1 if wrong else 0


def mutant_named(words: list[str]) -> Mutant:
    """From the command line: a file that a crash left, or hex and perhaps the position."""
    try:
        return Mutant(bytes.fromhex(words[0]), int(words[1]) if len(words) > 1 else 0)
    except ValueError:
        return noted(Path(words[0]))


if __name__ == "__main__":
    sys.exit(main(mutant_named(sys.argv[1:])))
