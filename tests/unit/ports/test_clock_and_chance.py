import time
from collections import Counter
from uuid import UUID

from esker.ports.chance import RealChance
from esker.ports.clock import RealClock


def test_clock_tells_milliseconds() -> None:
    before = time.time()
    assert before - 0.002 <= RealClock().now_ms() / 1000 <= time.time()


def test_monotonic_time_does_not_go_back() -> None:
    clock = RealClock()
    assert clock.monotonic() <= clock.monotonic()


def test_all_numbers_below_come_up() -> None:
    chance = RealChance(1)
    seen = Counter(chance.below(4) for _ in range(400))
    assert sorted(seen) == [0, 1, 2, 3]
    assert min(seen.values()) > 50


def test_uuid_is_a_random_one() -> None:
    drawn = RealChance().uuid()
    assert UUID(bytes=drawn).version == 4
    assert drawn != RealChance().uuid()


def test_seed_gives_the_same_again() -> None:
    one, other = RealChance(7), RealChance(7)
    assert [one.below(1000), one.uuid()] == [other.below(1000), other.uuid()]
    assert RealChance(8).uuid() != RealChance(7).uuid()
