"""Walking through a log; the twin is a look at every header of the whole file at once."""

import errno
from random import Random

import pytest

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Fault, Finding
from esker.records.walk import headers
from esker.storage import data_file
from esker.storage.data_file import DataFile, Slice, WriteNotTakenBack
from esker.storage.handles import Handles
from esker.testing.faults import Failure, FaultyFiles
from esker.testing.files import CrashFiles
from golden.corpus import cases
from unit.storage.made import made_batch

PATH = "/log"
# Smaller and larger than the first window, and one larger than the second.
SIZES = [10, 10, 500, 10, 9000, 10, 40_000, 10, 10, 300_000, 10]
LOG = b"".join(made_batch(2 * at, [1000 + at, 50], size=size // 2).data for at, size in enumerate(SIZES))


def opened(data: bytes) -> DataFile:
    files = CrashFiles()
    files.write_new(PATH, data)
    return DataFile(Handles(files, 8), PATH, len(data))


def every_log() -> list[bytes]:
    return [LOG, *(log.read_bytes() for one in cases() for log in one.logs)]


@pytest.mark.parametrize("window", [61, 200, 4096, 1 << 20])
def test_headers_are_those_of_the_whole_file(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_file, "FIRST_WINDOW", window)
    for data in every_log():
        expected = list(headers(memoryview(data)))
        assert list(opened(data).headers()) == expected
        middle = expected[len(expected) // 2]
        assert list(opened(data).headers(middle.position)) == expected[len(expected) // 2 :]


@pytest.mark.parametrize("window", [61, 200, 4096, 1 << 20])
def test_find_is_the_first_that_a_look_at_all_finds(window: int, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(data_file, "FIRST_WINDOW", window)
    chance = Random(seed)
    for data in every_log():
        log = opened(data)
        every = list(headers(memoryview(data)))
        for _ in range(30):
            start = chance.choice(every).position
            later = [header for header in every if header.position >= start]
            offset = chance.randrange(every[0].base_offset - 1, every[-1].last_offset + 3)
            assert log.find(offset, start) == next((each for each in later if each.last_offset >= offset), None)
            timestamp = chance.choice(every).max_timestamp + chance.choice([-1, 0, 0, 1])
            if timestamp < 2**63:
                found = next((each for each in later if each.max_timestamp >= timestamp), None)
                assert log.find_timestamp(timestamp, start) == found


def test_body_of_a_large_batch_is_not_read() -> None:
    big = made_batch(0, [1], size=1_000_000).data + made_batch(1, [1]).data
    files = FaultyFiles(CrashFiles())
    files.write_new(PATH, big)
    log = DataFile(Handles(files, 8), PATH, len(big))
    assert log.find(1) is not None
    assert files.seen["read"] == 2


@pytest.mark.parametrize("cut", [1, 12, 40, 61, 70])
def test_batch_that_is_cut_off_is_not_there(cut: int) -> None:
    whole = made_batch(0, [1]).data
    log = opened(whole + made_batch(1, [1], size=5000).data[:cut])
    assert [header.base_offset for header in log.headers()] == [0]
    assert log.find(1) is None


def test_zeros_end_the_log() -> None:
    log = opened(made_batch(0, [1]).data + bytes(5000))
    assert [header.base_offset for header in log.headers()] == [0]
    assert log.find(1) is None


@pytest.mark.parametrize("window", [61, 4096])
@pytest.mark.parametrize(
    ("at", "value", "fault"), [(16, 3, Fault.MAGIC), (8, 0x80, Fault.SIZE), (16, 0xFF, Fault.MAGIC)]
)
def test_damage_is_named_with_its_place_in_the_file(
    window: int, at: int, value: int, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_file, "FIRST_WINDOW", window)
    batches = [made_batch(offset, [1]).data for offset in range(5)]
    bad = bytearray(b"".join(batches))
    place = 3 * len(batches[0])
    bad[place + at] = value
    log = opened(bytes(bad))
    for act in (lambda: log.find(4), lambda: log.find_timestamp(99), lambda: list(log.headers())):
        with pytest.raises(Corrupt) as caught:
            act()
        assert caught.value.finding[:2] == Finding(fault, place)[:2]


def test_header_alone_is_that_of_the_whole_batch() -> None:
    for data in every_log():
        for header in headers(memoryview(data)):
            alone = data[header.position : header.end][:61]
            if len(alone) == 61:
                assert data_file.header_at_start(alone, header.position) == header


class TestAppend:
    def appended(self, *failures: Failure) -> tuple[FaultyFiles, DataFile]:
        files = FaultyFiles(CrashFiles())
        files.write_new(PATH, b"good")
        files.failures.extend(failures)
        return files, DataFile(Handles(files, 8), PATH, 4)

    def test_bytes_go_to_the_end(self) -> None:
        files, log = self.appended()
        assert log.append(b"abc", 3) == 4
        assert log.append(b"d", 1) == 7
        assert files.read(PATH) == b"goodabcd"

    def test_failed_write_leaves_nothing(self) -> None:
        files, log = self.appended(Failure("write", errno.ENOSPC, part=2))
        with pytest.raises(OSError, match="No space"):
            log.append(b"abc", 3)
        assert (log.size, files.read(PATH)) == (4, b"good")
        log.append(b"x", 1)
        assert files.read(PATH) == b"goodx"

    def test_failed_write_that_cannot_be_taken_back_is_told_apart(self) -> None:
        _, log = self.appended(Failure("write", errno.ENOSPC, part=2), Failure("truncate", errno.EIO))
        with pytest.raises(WriteNotTakenBack) as caught:
            log.append(b"abc", 3)
        assert (caught.value.errno, caught.value.filename) == (errno.EIO, PATH)

    def test_cut_takes_a_preallocated_tail_along(self) -> None:
        files, log = self.appended()
        files.open(PATH).truncate(1000)
        log.append(b"abc", 3)
        log.cut(7)
        assert files.read(PATH) == b"goodabc"


def test_slice_is_read_when_asked() -> None:
    files = CrashFiles()
    files.write_new(PATH, b"abcdef")
    assert Slice(files.open(PATH), 2, 3).read() == b"cde"


def test_kernel_finds_the_same_in_one_piece() -> None:
    assert opened(LOG).find(9) == kernel.find_offset(LOG, 9)
