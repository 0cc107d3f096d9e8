"""Real Kafka brokers on loopback: one KRaft node, or an old one with its ZooKeeper."""

import base64
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from parity.jars import KAFKA, is_old
from parity.probe import serves
from parity.tools import java_command, run_tool

# Startup counts here and speed does not: the small compiler alone and the plain collector.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
# On Linux the child asks the kernel to end it with us (PR_SET_PDEATHSIG), even when we are killed, and becomes Java.
LAST_WILL = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execvp(sys.argv[1], sys.argv[1:])"
MORTAL = [sys.executable, "-I", "-S", "-c", LAST_WILL] if sys.platform == "linux" else []


class Server:
    """One JVM that serves until it is told to end; it dies with the process that started it."""

    def __init__(self, version: str, main: str, config: Path, log: Path) -> None:
        self.command = [*java_command(version, "info", *QUICK), main, str(config)]
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        assert not self.alive(), "already running"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*MORTAL, *self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def end(self, sign: signal.Signals, timeout_s: float = 60) -> None:
        if self.process is None:
            return
        self.process.send_signal(sign)
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired as late:
            self.process.kill()
            self.process.wait()
            raise self.failure(f"did not end within {timeout_s} s") from late
        finally:
            self.process = None

    def failure(self, what: str) -> RuntimeError:
        tail = self.log.read_text(errors="replace").splitlines()[-25:]
        return RuntimeError(f"{self.command[-2]} {what}; the end of its log:\n" + "\n".join(tail))


class Broker:
    """A broker and controller in one process. Its files lie under `home`, which may be of an earlier start."""

    def __init__(self, home: Path, properties: Mapping[str, str] | None = None, version: str = KAFKA) -> None:
        self.home = home
        self.version = version
        self.port, self.other_port = free_ports(2)
        self.properties = self.defaults() | dict(properties or {})
        self.config = home / "server.properties"
        self.server = Server(version, "kafka.Kafka", self.config, home / "server.log")

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        return self.home / "data"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, timeout_s: float = 120) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        write_properties(self.config, self.properties)
        self.prepare()
        self.server.launch()
        try:
            await_true(self.answers, timeout_s, "the broker answers")
        except BaseException as error:
            failure = self.server.failure("did not get ready")
            self.kill()
            raise failure from error

    def stop(self) -> None:
        """End it cleanly: it flushes its logs and cuts its indexes to size."""
        self.server.end(signal.SIGTERM)

    def kill(self) -> None:
        self.server.end(signal.SIGKILL)

    def restart(self, properties: Mapping[str, str] | None = None) -> None:
        """Stop cleanly and start on the same data and ports, with these properties laid over the old ones."""
        self.stop()
        self.properties |= dict(properties or {})
        self.start()

    def answers(self) -> bool:
        if not self.server.alive():
            raise RuntimeError("the broker's process is gone")
        return serves(self.port)

    def prepare(self) -> None:
        if (self.data / "meta.properties").exists():
            return
        cluster = base64.urlsafe_b64encode(b"k" + os.urandom(15)).decode()
        args = ("format", "--standalone", "-t", cluster, "-c", str(self.config))
        run_tool("kafka.tools.StorageTool", *args, version=self.version)

    def defaults(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.other_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.other_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            # A killed broker's next life is refused until its old session has run out.
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "200",
        } | self.common()

    def common(self) -> dict[str, str]:
        return {
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }


class OldBroker(Broker):
    """A broker of the generations before KRaft, and the ZooKeeper it needs."""

    def __init__(self, home: Path, properties: Mapping[str, str] | None = None, version: str = "2.0.1") -> None:
        assert is_old(version), f"Kafka {version} needs no ZooKeeper"
        super().__init__(home, properties, version)
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self.keeper = Server(version, main, home / "zookeeper.properties", home / "zookeeper.log")

    @property
    def zookeeper(self) -> str:
        return f"127.0.0.1:{self.other_port}"

    def prepare(self) -> None:
        settings = {"dataDir": str(self.home / "zookeeper"), "clientPort": str(self.other_port)}
        settings |= {"clientPortAddress": "127.0.0.1", "maxClientCnxns": "0"}
        write_properties(self.home / "zookeeper.properties", settings)
        self.keeper.launch()

    def stop(self) -> None:
        try:
            super().stop()
        finally:
            self.keeper.end(signal.SIGTERM)

    def kill(self) -> None:
        super().kill()
        self.keeper.end(signal.SIGKILL)

    def defaults(self) -> dict[str, str]:
        return {
            "broker.id": "1",
            "zookeeper.connect": self.zookeeper,
            "zookeeper.session.timeout.ms": "4000",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
        } | self.common()


def await_true(condition: Callable[[], bool], timeout_s: float, what: str, poll_s: float = 0.05) -> None:
    """Look again and again until the condition holds; a TimeoutError names what never came."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s} s in vain: {what}")
        time.sleep(poll_s)


def free_ports(count: int) -> list[int]:
    """Free ports below the range that outgoing connections use, so that a restart finds them free again."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(20000, 32000)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def _is_free(port: int) -> bool:
    with socket.socket() as sock:
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
