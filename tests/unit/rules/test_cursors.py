"""The moves of a log's cursors, each at its edges.

In a log of these tests an offset takes ten bytes; the segment at 0 holds offsets 0 to 99, that at 100 the rest.
"""

import pytest

from esker.base.errors import Rejected
from esker.base.kafka_errors import ErrorCode
from esker.rules import cursors as moves
from esker.rules.cursors import Checkpoints, Cursors, OffsetPosition, check


def at(offset: int) -> OffsetPosition:
    base = 0 if offset < 100 else 100
    return OffsetPosition(offset, base, 10 * (offset - base))


def log(start: int, high: int, end: int, recovery: int = 0, unstable: int | None = None) -> Cursors:
    stable = high if unstable is None else min(unstable, high)
    return check(Cursors(start, at(stable), at(high), at(end), recovery, None if unstable is None else at(unstable)))


def offsets(cursors: Cursors) -> tuple[int, int, int, int, int]:
    check(cursors)
    return (
        cursors.log_start,
        cursors.last_stable.offset,
        cursors.high_watermark.offset,
        cursors.log_end.offset,
        cursors.recovery_point,
    )


#    a position                    one before                     bytes between
DISTANCES = [
    (OffsetPosition(9, 0, 900),    OffsetPosition(4, 0, 400),     500),
    (OffsetPosition(9, 0, 900),    OffsetPosition(9, 0, 900),     0),
    (OffsetPosition(109, 100, 90), OffsetPosition(4, 0, 40),      None),
    (OffsetPosition(9),            OffsetPosition(4, 0, 40),      None),
    (OffsetPosition(9, 0, 90),     OffsetPosition(4),             None),
    (OffsetPosition(9),            OffsetPosition(4),             None),
]  # fmt: skip


@pytest.mark.parametrize(("later", "earlier", "distance"), DISTANCES)
def test_positions_of_one_segment_are_subtracted_into_bytes(
    later: OffsetPosition, earlier: OffsetPosition, distance: int | None
) -> None:
    assert later.bytes_after(earlier) == distance


#    first base   saved: start, recovery, high    clean    start  stable  high  end  recovery
LOADS = [
    (0,           (None, None, None),             True,    (0,    0,      0,    150, 150)),
    (0,           (None, None, None),             False,   (0,    0,      0,    150, 0)),
    (0,           (5, 70, 120),                   True,    (5,    120,    120,  150, 150)),
    (0,           (5, 70, 120),                   False,   (5,    120,    120,  150, 70)),
    (10,          (5, 70, 120),                   False,   (10,   120,    120,  150, 70)),
    (10,          (5, 999, 999),                  False,   (10,   150,    150,  150, 150)),
    (10,          (50, 0, 20),                    False,   (50,   50,     50,   150, 0)),
    (10,          (150, 0, None),                 False,   (150,  150,    150,  150, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "saved", "clean", "expected"), LOADS)
def test_a_log_is_loaded_from_its_files_and_checkpoints(
    first: int, saved: tuple[int | None, int | None, int | None], clean: bool, expected: tuple[int, ...]
) -> None:
    assert offsets(moves.load(first, at(150), Checkpoints(*saved), clean=clean)) == expected


def test_a_loaded_high_watermark_is_only_a_number_unless_it_is_the_end() -> None:
    assert moves.load(0, at(150), Checkpoints(high_watermark=50), clean=True).high_watermark == OffsetPosition(50)
    assert moves.load(0, at(150), Checkpoints(high_watermark=150), clean=True).high_watermark == at(150)


def test_a_log_that_ends_before_it_starts_is_not_loaded() -> None:
    with pytest.raises(AssertionError, match="from 151 that ends at 150"):
        moves.load(0, at(150), Checkpoints(log_start=151), clean=True)


#    the move                                        of            start  stable  high  end  recovery
MOVES = [
    (lambda c: moves.append(c, 160, 100, 600),       log(5, 120, 150, 70, 110),   (5,    110,    120,  160, 70)),
    (lambda c: moves.append(c, 160, 100, 600),       log(5, 150, 150),            (5,    150,    150,  160, 0)),
    (lambda c: moves.roll(c, 150),                   log(5, 120, 150, 70),        (5,    120,    120,  150, 70)),
    (lambda c: moves.roll(c, 170),                   log(5, 120, 150, 70),        (5,    120,    120,  150, 70)),
    # Truncation pulls down whatever is above it.
    (lambda c: moves.truncate(c, at(130)),           log(5, 120, 150, 140),       (5,    120,    120,  130, 130)),
    (lambda c: moves.truncate(c, at(110)),           log(5, 120, 150, 70),        (5,    110,    110,  110, 70)),
    (lambda c: moves.truncate(c, at(50)),            log(60, 120, 150, 70),       (50,   50,     50,   50,  50)),
    (lambda c: moves.truncate(c, at(115)),           log(5, 120, 150, 0, 110),    (5,    110,    115,  115, 0)),
    (lambda c: moves.truncate(c, at(110)),           log(5, 120, 150, 0, 110),    (5,    110,    110,  110, 0)),
    (lambda c: moves.restart(c, 500),                log(5, 120, 150, 70, 110),   (500,  500,    500,  500, 70)),
    (lambda c: moves.restart(c, 50),                 log(60, 120, 150, 70),       (50,   50,     50,   50,  50)),
    # The log's start goes forward only.
    (lambda c: moves.advance_log_start(c, 60),       log(5, 120, 150),            (60,   120,    120,  150, 0)),
    (lambda c: moves.advance_log_start(c, 120),      log(5, 120, 150),            (120,  120,    120,  150, 0)),
    (lambda c: moves.advance_log_start(c, 4),        log(5, 120, 150),            (5,    120,    120,  150, 0)),
    (lambda c: moves.advance_log_start(c, 115),      log(5, 120, 150, 0, 110),    (115,  115,    120,  150, 0)),
    (lambda c: moves.advance_log_start(c, 105),      log(5, 120, 150, 0, 110),    (105,  110,    120,  150, 0)),
    # A follower's high watermark goes where it is told, within the log.
    (lambda c: moves.update_high_watermark(c, at(130)), log(5, 120, 150),         (5,    130,    130,  150, 0)),
    (lambda c: moves.update_high_watermark(c, at(90)),  log(5, 120, 150),         (5,    90,     90,   150, 0)),
    (lambda c: moves.update_high_watermark(c, at(999)), log(5, 120, 150),         (5,    150,    150,  150, 0)),
    (lambda c: moves.update_high_watermark(c, at(2)),   log(5, 120, 150),         (5,    5,      5,    150, 0)),
    (lambda c: moves.update_high_watermark(c, at(130)), log(5, 120, 150, 0, 125), (5,    125,    130,  150, 0)),
    (lambda c: moves.update_high_watermark(c, at(110)), log(5, 120, 150, 0, 115), (5,    110,    110,  150, 0)),
    # A leader's only forward.
    (lambda c: moves.increment_high_watermark(c, at(130)), log(5, 120, 150),         (5, 130,    130,  150, 0)),
    (lambda c: moves.increment_high_watermark(c, at(150)), log(5, 120, 150),         (5, 150,    150,  150, 0)),
    (lambda c: moves.increment_high_watermark(c, at(119)), log(5, 120, 150),         (5, 120,    120,  150, 0)),
    (lambda c: moves.increment_high_watermark(c, at(130)), log(5, 120, 150, 0, 125), (5, 125,    130,  150, 0)),
    (lambda c: moves.increment_high_watermark(c, at(125)), log(5, 120, 150, 0, 125), (5, 125,    125,  150, 0)),
    # The last stable offset follows the first unstable one and the high watermark.
    (lambda c: moves.set_first_unstable(c, at(110)), log(5, 120, 150),            (5,    110,    120,  150, 0)),
    (lambda c: moves.set_first_unstable(c, at(120)), log(5, 120, 150),            (5,    120,    120,  150, 0)),
    (lambda c: moves.set_first_unstable(c, at(140)), log(5, 120, 150),            (5,    120,    120,  150, 0)),
    (lambda c: moves.set_first_unstable(c, at(2)),   log(5, 120, 150),            (5,    5,      120,  150, 0)),
    (lambda c: moves.set_first_unstable(c, None),    log(5, 120, 150, 0, 110),    (5,    120,    120,  150, 0)),
    # The recovery point goes forward to what is synced.
    (lambda c: moves.flush(c, 140),                  log(5, 120, 150, 70),        (5,    120,    120,  150, 140)),
    (lambda c: moves.flush(c, 150),                  log(5, 120, 150, 70),        (5,    120,    120,  150, 150)),
    (lambda c: moves.flush(c, 60),                   log(5, 120, 150, 70),        (5,    120,    120,  150, 70)),
]  # fmt: skip


@pytest.mark.parametrize(("move", "before", "expected"), MOVES)
def test_a_move_leaves_every_cursor_where_it_should_be(
    move: object, before: Cursors, expected: tuple[int, ...]
) -> None:
    assert callable(move)
    kept = Cursors(*before)
    assert offsets(move(before)) == expected
    assert before == kept


#    a bug                                                           what it says
BUGS = [
    (lambda c: moves.append(c, 149, 100, 490),                       "an append that ends at 149"),
    (lambda c: moves.append(c, 150, 100, 500),                       "an append that ends at 150"),
    (lambda c: moves.roll(c, 149),                                   "a segment at 149"),
    (lambda c: moves.truncate(c, at(151)),                           "a truncation to 151"),
    (lambda c: moves.increment_high_watermark(c, at(151)),           "a high watermark of 151"),
    (lambda c: moves.flush(c, 151),                                  "a flush up to 151"),
    (lambda c: moves.set_first_unstable(c, at(151)),                 "Cursors"),
]  # fmt: skip


@pytest.mark.parametrize(("move", "sentence"), BUGS)
def test_an_illegal_move_raises(move: object, sentence: str) -> None:
    assert callable(move)
    with pytest.raises(AssertionError, match=sentence):
        move(log(5, 120, 150))


def test_deleting_records_above_the_high_watermark_is_rejected() -> None:
    with pytest.raises(Rejected, match="offset 121 is above the high watermark, 120") as caught:
        moves.advance_log_start(log(5, 120, 150), 121)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_append_moves_the_end_and_its_position_alone() -> None:
    before = log(5, 120, 150, 70, 110)
    assert moves.append(before, 160, 100, 600) == before._replace(log_end=OffsetPosition(160, 100, 600))
    assert type(moves.append(before, 160, 100, 600).log_end) is OffsetPosition
    assert type(moves.append(before, 160, 100, 600)) is Cursors


def test_a_move_that_changes_nothing_gives_the_same_value() -> None:
    before = log(5, 120, 150, 70, 110)
    assert moves.increment_high_watermark(before, at(120)) is before
    assert moves.increment_high_watermark(before, at(100)) is before
    assert moves.increment_high_watermark(before, OffsetPosition(120)) is before
    assert moves.update_high_watermark(before, OffsetPosition(120)) is before
    assert moves.advance_log_start(before, 5) is before
    assert moves.set_first_unstable(before, at(110)) is before
    assert moves.flush(before, 70) is before


def test_a_roll_takes_a_high_watermark_at_the_end_to_the_new_segment() -> None:
    rolled = moves.roll(log(5, 150, 150), 150)
    assert rolled.log_end == rolled.high_watermark == rolled.last_stable == OffsetPosition(150, 150, 0)
    assert moves.roll(log(5, 120, 150), 150).high_watermark == at(120)


def test_a_leaders_high_watermark_moves_to_the_same_offset_on_a_newer_segment() -> None:
    newer, older = OffsetPosition(100, 100, 0), OffsetPosition(100, 0, 1000)
    before = log(5, 90, 150)._replace(high_watermark=older, last_stable=older)
    after = moves.increment_high_watermark(before, newer)
    assert after.high_watermark == after.last_stable == newer
    assert moves.increment_high_watermark(after, older) is after


def test_a_high_watermark_at_the_end_takes_the_ends_position() -> None:
    assert moves.update_high_watermark(log(5, 120, 150), OffsetPosition(150)).high_watermark == at(150)


def test_a_high_watermark_read_once_is_resolved() -> None:
    loaded = moves.load(0, at(150), Checkpoints(high_watermark=120), clean=True)
    resolved = moves.resolve_high_watermark(loaded, at(120))
    assert resolved.high_watermark == resolved.last_stable == at(120)


def test_a_resolved_position_that_comes_too_late_changes_nothing() -> None:
    moved = moves.update_high_watermark(log(5, 120, 150), OffsetPosition(130))
    assert moves.resolve_high_watermark(moved, at(120)) is moved
    known = log(5, 120, 150)
    assert moves.resolve_high_watermark(known, OffsetPosition(120, 0, 7)) is known


def test_a_truncation_forgets_a_transaction_that_began_above_it() -> None:
    assert moves.truncate(log(5, 120, 150, 0, 110), at(110)).first_unstable is None
    assert moves.truncate(log(5, 120, 150, 0, 110), at(111)).first_unstable == at(110)


def test_a_transaction_below_a_new_log_start_counts_from_there() -> None:
    assert moves.advance_log_start(log(5, 120, 150, 0, 60), 70).first_unstable == OffsetPosition(70)


def test_deleting_all_records_leaves_an_open_transaction_at_the_end() -> None:
    assert moves.advance_log_start(log(5, 150, 150, 0, 60), 150).first_unstable == OffsetPosition(150)


def test_of_two_positions_of_one_offset_the_known_one_is_kept() -> None:
    unknown = OffsetPosition(120)
    cursors = moves.set_first_unstable(log(5, 120, 150), unknown)
    assert cursors.last_stable == at(120)
    assert moves.update_high_watermark(cursors, at(120)).last_stable == at(120)
    assert moves.increment_high_watermark(
        log(5, 110, 150, 0, 120)._replace(first_unstable=unknown), at(120)
    ).last_stable == at(120)
    assert moves.advance_log_start(log(5, 120, 150, 0, 60), 60).first_unstable == at(60)
    assert moves.set_first_unstable(log(5, 120, 150), at(5)).first_unstable == at(5)
    assert moves.update_high_watermark(log(5, 120, 150), at(5)).high_watermark == at(5)


BROKEN = [
    Cursors(-1, at(1), at(1), at(1), 0),
    Cursors(2, at(1), at(1), at(1), 0),
    Cursors(0, at(2), at(1), at(3), 0),
    Cursors(0, at(1), at(3), at(2), 0),
    Cursors(0, at(1), at(1), at(1), 2),
    Cursors(0, at(1), at(1), at(1), -1),
    Cursors(0, at(1), at(1), OffsetPosition(1), 0),
    Cursors(1, at(1), at(2), at(3), 0, at(0)),
    Cursors(1, at(2), at(2), at(3), 0, at(4)),
]


@pytest.mark.parametrize("cursors", BROKEN)
def test_cursors_that_contradict_each_other_are_a_bug(cursors: Cursors) -> None:
    with pytest.raises(AssertionError):
        check(cursors)
