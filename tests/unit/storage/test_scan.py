from random import Random

import pytest

from esker.base.faults import Fault, Finding
from esker.kernel.layout import CRC_AT
from esker.storage import scan as scan_module
from esker.storage.scan import Scan
from esker.testing.files import CrashFiles
from golden.corpus import case
from unit.storage.made import made_batch

PATH = "/log"
GOOD = b"".join(made_batch(offset, [1000 + offset, 900], size=40).data for offset in range(0, 40, 2))
ONE = len(GOOD) // 20


def scanned(data: bytes, **settings: int | bool) -> Scan:
    files = CrashFiles()
    files.write_new(PATH, data)
    return Scan(files.open(PATH), **settings).run()  # type: ignore[arg-type]


@pytest.fixture(params=[16, ONE - 1, ONE, ONE + 1, 3 * ONE, 1 << 20])
def window(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The answers are the same whatever the windows are."""
    size: int = request.param
    monkeypatch.setattr(scan_module, "WINDOW", size)
    return size


def test_totals_are_those_of_the_file(window: int) -> None:
    scan = scanned(GOOD)
    assert (scan.batches, scan.records, scan.end, scan.next_offset) == (20, 40, len(GOOD), 40)
    assert (scan.largest_timestamp, scan.largest_timestamp_offset) == (1038, 39)
    assert (scan.finding, scan.has_zero_tail) == (None, False)


def test_headers_come_with_their_places_and_their_bytes(window: int) -> None:
    files = CrashFiles()
    files.write_new(PATH, GOOD)
    found = []
    for stretch in Scan(files.open(PATH)):
        for header in stretch.headers:
            assert (
                stretch.data[header.position : header.end] == GOOD[stretch.position + header.position :][: header.size]
            )
            found.append((stretch.position + header.position, header.base_offset))
    assert found == [(ONE * at, 2 * at) for at in range(20)]


def test_empty_file_is_good(window: int) -> None:
    scan = scanned(b"", next_offset=7)
    assert (scan.end, scan.next_offset, scan.finding, scan.largest_timestamp) == (0, 7, None, -1)


@pytest.mark.parametrize("zeros", [1, 11, 12, 16, 17, 61, 5000])
def test_zeros_to_the_end_are_no_damage(window: int, zeros: int) -> None:
    scan = scanned(GOOD + bytes(zeros))
    assert (scan.end, scan.finding, scan.has_zero_tail) == (len(GOOD), None, True)


def test_zeros_before_other_bytes_are_damage(window: int) -> None:
    scan = scanned(GOOD + bytes(100) + b"x")
    assert (scan.finding, scan.has_zero_tail) == (Finding(Fault.ZEROS, len(GOOD)), False)


@pytest.mark.parametrize("left", [12, 17, 60, ONE - 1])
def test_batch_that_is_cut_off_is_named(window: int, left: int) -> None:
    scan = scanned(GOOD + GOOD[:left])
    assert (scan.end, scan.finding) == (len(GOOD), Finding(Fault.PARTIAL, len(GOOD)))


def test_damage_is_named_with_its_place_in_the_file(window: int) -> None:
    bad = bytearray(GOOD)
    bad[5 * ONE + CRC_AT] ^= 1
    scan = scanned(bytes(bad))
    assert (scan.batches, scan.end, scan.next_offset) == (5, 5 * ONE, 10)
    assert scan.finding is not None
    assert (scan.finding.fault, scan.finding.position) == (Fault.CRC, 5 * ONE)


def test_offsets_must_rise_from_where_it_is_said(window: int) -> None:
    assert scanned(GOOD, next_offset=1).finding == Finding(Fault.ORDER, 0, -1, 1, 0)
    twice = scanned(GOOD + GOOD)
    assert twice.finding == Finding(Fault.ORDER, len(GOOD), -1, 40, 0)


def test_size_that_the_file_does_not_have_takes_no_room(window: int) -> None:
    lying = GOOD + GOOD[:8] + (2**31 - 1).to_bytes(4, "big") + GOOD[12:ONE]
    assert scanned(lying).finding == Finding(Fault.PARTIAL, len(GOOD))


def test_shallow_scan_leaves_the_records_alone(window: int) -> None:
    assert scanned(GOOD, deep=False).records == 40


def test_scan_may_start_anywhere(window: int) -> None:
    scan = scanned(GOOD, position=3 * ONE, next_offset=6)
    assert (scan.batches, scan.end) == (17, len(GOOD))


def test_file_that_is_cut_meanwhile_ends_partial() -> None:
    files = CrashFiles()
    files.write_new(PATH, GOOD)
    scan = Scan(files.open(PATH))
    files.open(PATH).truncate(2 * ONE)
    assert scan.run().finding == Finding(Fault.PARTIAL, 2 * ONE)


@pytest.mark.parametrize("name", ["magic0-then-1", "magic1-then-2-2.0.1", "big-none", "compacted-none"])
def test_logs_of_every_age_are_good(window: int, name: str) -> None:
    for log in case(name).logs:
        scan = scanned(log.read_bytes(), next_offset=int(log.stem))
        assert (scan.finding, scan.end) == (None, log.stat().st_size)
        assert scan.batches > 0


def test_answers_do_not_depend_on_windows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    for _ in range(50):
        data = bytearray(GOOD[: chance.randrange(len(GOOD))] + bytes(chance.choice([0, 0, 30])))
        for _ in range(chance.randrange(2)):
            if data:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        answers = set()
        for size in (16, chance.randrange(16, 500), 1 << 20):
            monkeypatch.setattr(scan_module, "WINDOW", size)
            scan = scanned(bytes(data))
            answers.add((scan.batches, scan.records, scan.end, scan.next_offset, scan.finding, scan.has_zero_tail))
        assert len(answers) == 1
