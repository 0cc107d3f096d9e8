"""Ask a broker on loopback whether it serves, with Metadata version 1: every Kafka since 0.10 answers it."""

import socket
import struct


def serves(port: int) -> bool:
    """Whether the broker on this port names at least one broker, which it does once it is registered."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as sock:
            return _brokers(sock) > 0
    except OSError:
        return False


def _brokers(sock: socket.socket) -> int:
    body = struct.pack(">hhih5si", 3, 1, 1, 5, b"probe", 0)
    sock.sendall(struct.pack(">i", len(body)) + body)
    (size,) = struct.unpack(">i", _exactly(sock, 4))
    answer = _exactly(sock, size)
    brokers: int = struct.unpack_from(">i", answer, 4)[0]
    return brokers


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise ConnectionError("the broker closed the connection")
        data += part
    return bytes(data)
