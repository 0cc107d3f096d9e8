"""How far each reader sees, and what it is told elsewhere."""

import pytest

from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode
from esker.rules.cursors import Cursors, OffsetPosition
from esker.rules.read import Isolation, bound, end_position, readable_end, slice_bytes

#    offsets    0....10........20........30........40
#    log           [ start     stable    high      end
STABLE, HIGH, END = OffsetPosition(20, 0, 200), OffsetPosition(30, 30, 0), OffsetPosition(40, 30, 100)
CURSORS = Cursors(10, STABLE, HIGH, END, 0, STABLE)
FOLLOWER, UNCOMMITTED, COMMITTED = Isolation.LOG_END, Isolation.HIGH_WATERMARK, Isolation.LAST_STABLE


def test_each_reader_has_its_bound() -> None:
    assert [bound(CURSORS, isolation) for isolation in (FOLLOWER, UNCOMMITTED, COMMITTED)] == [END, HIGH, STABLE]


#    offset   follower   uncommitted   committed
READS = [
    (10,      END,       HIGH,         STABLE),
    (19,      END,       HIGH,         STABLE),
    (20,      END,       HIGH,         None),
    (29,      END,       HIGH,         None),
    (30,      END,       None,         None),
    (39,      END,       None,         None),
    (40,      None,      None,         None),
]  # fmt: skip


@pytest.mark.parametrize(("offset", "follower", "uncommitted", "committed"), READS)
def test_a_read_ends_at_the_bound_and_is_empty_from_there_on(
    offset: int, follower: OffsetPosition | None, uncommitted: OffsetPosition | None, committed: OffsetPosition | None
) -> None:
    assert readable_end(CURSORS, offset, FOLLOWER) == follower
    assert readable_end(CURSORS, offset, UNCOMMITTED) == uncommitted
    assert readable_end(CURSORS, offset, COMMITTED) == committed


@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize("offset", [-1, 0, 9, 41, 2**63 - 1])
def test_a_read_outside_of_the_log_is_rejected(offset: int, isolation: Isolation) -> None:
    with pytest.raises(Rejected) as caught:
        readable_end(CURSORS, offset, isolation)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert caught.value.message == f"offset {offset} is not in [10, 40], which the log has"


#    segment base   its size   the read may go on to
ENDS = [
    (0,             500,       500),
    (20,            300,       300),
    (30,            100,       0),
    (50,            100,       0),
]  # fmt: skip


@pytest.mark.parametrize(("base", "size", "end"), ENDS)
def test_a_bound_cuts_its_own_segment_and_hides_all_later_ones(base: int, size: int, end: int) -> None:
    assert end_position(HIGH, base, size) == end


def test_a_bound_inside_a_segment_is_its_position() -> None:
    assert end_position(END, 30, 900) == 100


def test_a_bound_that_nobody_looked_up_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        end_position(OffsetPosition(30), 30, 100)


#    available   first batch   max bytes   min one     given
SLICES = [
    (1000,       100,          500,        False,      500),
    (1000,       100,          500,        True,       500),
    (300,        100,          500,        False,      300),
    (1000,       100,          100,        False,      100),
    (1000,       101,          100,        False,      0),
    (1000,       101,          100,        True,       101),
    (1000,       101,          0,          True,       101),
    (1000,       101,          0,          False,      0),
    (100,        100,          50,         True,       100),
]  # fmt: skip


@pytest.mark.parametrize(("available", "first", "max_bytes", "min_one", "given"), SLICES)
def test_a_slice_is_cut_at_the_limit_but_its_first_batch_is_whole_or_missing(
    available: int, first: int, max_bytes: int, min_one: bool, given: int
) -> None:
    assert slice_bytes(available, first, max_bytes, min_one=min_one) == given
