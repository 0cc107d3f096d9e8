"""From header to header through a buffer of any size, a few headers at a time.

The surprise: every end but that of the bytes is an error here. Which of them are harmless (the tail that is not yet
written, the zeros of a preallocated file) is for the caller to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker import kernel
from esker.base.errors import Corrupt
from esker.base.faults import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esker.kernel.contract import BatchHeader

# A segment may hold millions of batches: their headers are not all kept at once.
STRIDE = 1024


def headers(data: memoryview, position: int = 0) -> Iterator[BatchHeader]:
    """The header of each batch or message from `position` on; Corrupt where the bytes cannot be stepped over."""
    while position < len(data):
        walk = kernel.walk(data, position, STRIDE)
        yield from walk.headers
        if walk.fault is not None:
            raise Corrupt(Finding(walk.fault, walk.end))
        position = walk.end
