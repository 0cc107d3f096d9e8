"""Two requests of Kafka's protocol, written out by hand: what is sent is what stands here, no client mends it first.

Both in the last version without tagged fields. Produce version 8 is the first whose answer names records.
"""

import socket
from struct import pack, unpack_from
from types import TracebackType
from typing import NamedTuple, Self

from parity.broker import Broker, await_true

PRODUCE, CREATE_TOPICS = (0, 8), (19, 4)
TIMEOUT_MS = 30_000
ALREADY_THERE = 36
NOT_YET = (3, 5, 6)  # unknown topic, no leader, not the leader: a new topic's first moments


class Produced(NamedTuple):
    """The answer for one partition. `records` are the places in the batch that `record_errors` names."""

    code: int
    base_offset: int
    append_time: int
    records: list[int]
    message: str


class Wire:
    """One connection to a broker; a request and its answer at a time."""

    def __init__(self, broker: Broker) -> None:
        self.socket = socket.create_connection(("127.0.0.1", broker.port), timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def ask(self, api: tuple[int, int], body: bytes) -> "Answer":
        request = pack(">hhi", *api, 1) + string("parity") + body
        self.socket.sendall(pack(">i", len(request)) + request)
        (size,) = unpack_from(">i", self._exactly(4))
        return Answer(self._exactly(size)[4:])

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the broker closed the connection")
            data += part
        return bytes(data)

    def create(self, topics: dict[str, dict[str, str]]) -> None:
        """Topics of one partition on one broker, by name and settings, if they are not there."""
        body = pack(">i", len(topics))
        for name, settings in topics.items():
            body += string(name) + pack(">ihii", 1, 1, 0, len(settings))
            body += b"".join(string(key) + string(value) for key, value in settings.items())
        answer = self.ask(CREATE_TOPICS, body + pack(">i?", TIMEOUT_MS, False))
        answer.number("i")  # throttle time
        for _ in range(answer.number("i")):
            name, code, message = answer.string(), answer.number("h"), answer.string()
            assert code in (0, ALREADY_THERE), f"topic {name} was not created: {code} {message}"

    def produce(self, topic: str, data: bytes, acks: int = -1, transactional_id: str | None = None) -> Produced:
        """Send these bytes as the records of partition 0."""
        head = string(transactional_id) + pack(">hii", acks, TIMEOUT_MS, 1)
        answer = self.ask(PRODUCE, head + string(topic) + pack(">iii", 1, 0, len(data)) + data)
        assert (answer.number("i"), answer.string(), answer.number("i"), answer.number("i")) == (1, topic, 1, 0)
        code, base_offset, append_time, _log_start = (answer.number(kind) for kind in "hqqq")
        named = [(answer.number("i"), answer.string()) for _ in range(answer.number("i"))]
        said = [answer.string(), *(message for _, message in named)]
        return Produced(code, base_offset, append_time, [place for place, _ in named], "; ".join(filter(None, said)))

    def await_leader(self, topic: str, data: bytes) -> None:
        """Send this good batch until the new topic takes it."""

        def is_taken() -> bool:
            answer = self.produce(topic, data)
            assert answer.code in (0, *NOT_YET), answer
            return answer.code == 0

        await_true(is_taken, 30, f"{topic} has a leader")


class Answer:
    """The body of a response, read from its front."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, kind: str) -> int:
        number: int = unpack_from(f">{kind}", self.data, self.at)[0]
        self.at += {"h": 2, "i": 4, "q": 8}[kind]
        return number

    def string(self) -> str:
        size = max(self.number("h"), 0)
        self.at += size
        return self.data[self.at - size : self.at].decode()


def string(text: str | None) -> bytes:
    return pack(">h", -1) if text is None else pack(">h", len(text.encode())) + text.encode()
