"""How a survey goes on behind damage."""

from __future__ import annotations

import pytest

from esker import kernel
from esker.base.faults import Fault
from esker.kernel.contract import Encoding, Rows
from esker.kernel.layout import Codec
from esker.storage.survey import Damage, Survey
from esker.testing.files import CrashFiles

BATCHES = 20
PATH = "/log"


def batch(offset: int, size: int = 50, codec: Codec = Codec.NONE) -> bytes:
    offsets = [offset, offset + 1]
    return kernel.encode(Rows([0, 0], [None] * 2, [b"v" * size] * 2, offsets=offsets), Encoding(codec=codec))


def survey(data: bytes, starts: list[int] | None = None) -> tuple[list[int], list[Damage], Survey]:
    """Base offsets of the good batches, what is damaged, and the totals."""
    files = CrashFiles()
    files.write_new(PATH, data)
    walk = Survey(files.open(PATH), 0, starts or [])
    good: list[int] = []
    damages = []
    for part in walk:
        if isinstance(part, Damage):
            damages.append(part)
        else:
            good += [header.base_offset for header in part.headers]
    return good, damages, walk


def log() -> list[bytes]:
    return [batch(offset) for offset in range(0, 2 * BATCHES, 2)]


def test_good_log_is_one_walk() -> None:
    good, damages, walk = survey(b"".join(log()))
    assert (good, damages) == (list(range(0, 2 * BATCHES, 2)), [])
    assert (walk.batches, walk.records, walk.next_offset) == (BATCHES, 2 * BATCHES, 2 * BATCHES)


def test_empty_log_has_nothing() -> None:
    assert survey(b"")[:2] == ([], [])


@pytest.mark.parametrize("hit", [0, 7, BATCHES - 1])
@pytest.mark.parametrize(
    "place", [8, 11, 16, 18, 40, 70], ids=["size, high", "size, low", "magic", "crc", "header", "record"]
)
def test_one_damaged_batch_costs_that_batch_alone(hit: int, place: int) -> None:
    """Without an index too: the next batch is found by its own bytes."""
    batches = log()
    damaged = bytearray(batches[hit])
    damaged[place] ^= 0x55
    position = sum(map(len, batches[:hit]))
    good, (damage,), walk = survey(b"".join([*batches[:hit], bytes(damaged), *batches[hit + 1 :]]))
    assert good == [offset for offset in range(0, 2 * BATCHES, 2) if offset != 2 * hit]
    assert (damage.position, damage.end) == (position, position + len(damaged))
    assert walk.damaged_bytes == len(damaged)
    if hit < BATCHES - 1:
        assert (damage.base_offset, damage.last_offset) == (2 * hit, 2 * hit + 1)


def test_index_leads_over_what_is_too_far_to_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esker.storage.survey.SEARCH_BYTES", 100)
    batches = log()
    junk = b"\xff" * 5000
    data = b"".join([*batches[:5], junk, *batches[5:]])
    begin = 5 * len(batches[0])
    assert survey(data)[0] == [0, 2, 4, 6, 8]
    good, (damage,), _ = survey(data, [begin, begin + len(junk), begin + len(junk) + 7])
    assert len(good) == BATCHES
    assert (damage.position, damage.end) == (begin, begin + len(junk))


def test_index_that_lies_leads_nowhere() -> None:
    batches = log()
    data = b"".join([*batches[:5], b"\xff" * 300, *batches[5:]])
    good, _, _ = survey(data, [1, 17, 5 * len(batches[0]) + 3, len(data) + 1])
    assert len(good) == BATCHES


def test_value_that_holds_a_batch_is_not_taken_for_one() -> None:
    """A whole good batch stands within a damaged one, with an offset that the log has had."""
    inner = batch(0)
    outer = bytearray(kernel.encode(Rows([0], [None], [inner * 3], offsets=[10])))
    outer[8:12] = b"\x7f\xff\xff\xff"
    good, (damage,), _ = survey(b"".join([*log()[:5], bytes(outer), batch(11)]))
    assert good == [0, 2, 4, 6, 8, 11]
    assert damage.end - damage.position == len(outer)


def test_many_damages_are_all_told() -> None:
    batches = log()
    for hit in range(0, BATCHES, 2):
        batches[hit] = batches[hit][:70] + bytes([batches[hit][70] ^ 1]) + batches[hit][71:]
    good, damages, _ = survey(b"".join(batches))
    assert good == list(range(2, 2 * BATCHES, 4))
    assert [damage.finding.fault for damage in damages] == [Fault.CRC] * (BATCHES // 2)


def test_batch_larger_than_a_window_is_stepped_over() -> None:
    large = bytearray(batch(2, 2 << 20))
    large[-1] ^= 1
    good, (damage,), _ = survey(batch(0) + bytes(large) + batch(4))
    assert (good, damage.end - damage.position) == ([0, 4], len(large))


def test_offsets_that_fall_for_good_are_told_once() -> None:
    data = b"".join([batch(100), batch(0), batch(2), batch(4)])
    good, (damage,), walk = survey(data)
    assert good == [100, 0, 2, 4]
    assert (damage.is_readable, damage.base_offset, damage.finding.fault) == (True, 100, Fault.ORDER)
    assert (walk.damaged_bytes, walk.next_offset) == (0, 6)


def test_negative_offset_does_not_hold_the_walk_up() -> None:
    bad = bytearray(batch(2))
    bad[0] = 0xFF
    good, damages, _ = survey(batch(0) + bytes(bad) + batch(4))
    assert good == [0, 4]
    assert len(damages) == 1
