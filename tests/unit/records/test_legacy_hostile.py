"""Whatever the bytes of a legacy message say: records, or Corrupt, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from esker.base.errors import Corrupt
from esker.kernel.layout import Codec
from esker.records.batch import batches, check
from esker.records.legacy import to_batches
from esker.records.text import lines
from unit.records.samples import LOG_APPEND_TIME, message, remade, wrapper

MAGICS = st.sampled_from([0, 1])
CONTENTS = st.none() | st.binary(max_size=20)
OFFSETS = st.integers(0, 10) | st.integers(-(2**63), 2**63 - 1)
BITS = st.sampled_from([0, LOG_APPEND_TIME, 0x70])
MESSAGES = st.builds(message, OFFSETS, CONTENTS, CONTENTS, MAGICS, BITS, st.integers(-1, 2**40))
SETS = st.lists(MESSAGES, max_size=4).map(b"".join)
CODECS = st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
WRAPPERS = st.builds(wrapper, OFFSETS, SETS | st.builds(wrapper, OFFSETS, SETS, CODECS, MAGICS), CODECS, MAGICS, BITS)
ONES = MESSAGES | WRAPPERS
CHANGES = st.lists(st.tuples(st.integers(0, 200), st.binary(min_size=1, max_size=8)), max_size=3)


def outcome(data: bytes) -> bool:
    """Are there records? What is read can be checked, shown and converted or is refused."""
    try:
        for batch in batches(data):
            assert len(list(lines(batch))) == 1 + len(batch.records(unpacked_limit=1 << 20))
    except Corrupt:
        return False
    checked = check(data)
    try:
        converted = to_batches(data)
    except Corrupt:
        assert checked.finding is not None
    else:
        assert checked.finding is None or checked.end > 0
        assert sum(len(batch.records()) for batch in batches(converted)) >= checked.records
    return True


@given(ONES)
def test_well_made_messages(data: bytes) -> None:
    outcome(data)


@given(ONES, CHANGES)
def test_changed_bytes(data: bytes, changes: list[tuple[int, bytes]]) -> None:
    for at, change in changes:
        data = data[:at] + change + data[at + len(change) :]
    outcome(data)


@given(ONES, CHANGES)
def test_changed_bytes_under_a_right_checksum(data: bytes, changes: list[tuple[int, bytes]]) -> None:
    for at, change in changes:
        place = 16 + at % (len(data) - 16)  # from the magic on, the checksum covers all
        data = remade(data, place, change[: len(data) - place])
    outcome(data)


@given(st.binary(max_size=100))
def test_no_message_at_all(data: bytes) -> None:
    outcome(data)


@given(SETS, CHANGES, CODECS, MAGICS)
def test_changed_bytes_inside_a_wrapper(data: bytes, changes: list[tuple[int, bytes]], codec: int, magic: int) -> None:
    for at, change in changes:
        data = data[:at] + change + data[at + len(change) :]
    outcome(wrapper(50, data, codec, magic))
