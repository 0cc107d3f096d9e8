"""A batch that a client might send, and what must be said of it."""

from typing import NamedTuple

from esker.base.faults import Fault
from esker.base.kafka_errors import ErrorCode

Says = Fault | ErrorCode | None


class Row(NamedTuple):
    """`says`: the fault; None when the batch is accepted; the number alone where Esker has no fault for what Kafka
    answers so."""

    name: str
    data: bytes
    says: Says = None
    topic: str = "plain"
