"""What a header says of its batch, by magic."""

import pytest

from esker.kernel.contract import BatchHeader

EVERY_BIT = 0x78


def header(magic: int) -> BatchHeader:
    return BatchHeader(100, 40, 70, 3, magic, 0, EVERY_BIT, 9, 1000, 2000, -1, -1, -1, 10)


def test_ends_follow_from_starts() -> None:
    assert (header(2).end, header(2).last_offset) == (170, 49)


@pytest.mark.parametrize(
    ("magic", "log_append_time", "transactional", "control", "delete_horizon_ms"),
    [
        (2, True, True, True, 1000),
        (1, True, False, False, None),  # one bit has a meaning
        (0, False, False, False, None),  # none has
    ],
)
def test_bits_mean_what_the_magic_lets_them(
    magic: int, log_append_time: bool, transactional: bool, control: bool, delete_horizon_ms: int | None
) -> None:
    found = header(magic)
    assert (found.log_append_time, found.transactional) == (log_append_time, transactional)
    assert (found.control, found.delete_horizon_ms) == (control, delete_horizon_ms)
