"""Real servers for tests: redis-server alone, as a cluster, and behind a sentinel. Each is a context manager.

with redis_server() as server:
    server.url, server.unix_url, server.port; server.freeze(); server.thaw(); server.kill(); server.start()
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

STARTING = 10.0  # seconds that a server may take to answer


def need_redis() -> str:
    """The path of redis-server. Without one the test is skipped on a developer's machine, and fails in CI."""
    found = shutil.which("redis-server")
    if found is None:
        why = "redis-server is not installed (Debian: apt-get install redis-server)"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    return found


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def until(true: Callable[[], bool], what: str, seconds: float = STARTING) -> None:
    """Wait for something to become true; fail with `what` if it does not."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:g} s: {what}")
        time.sleep(0.01)


class RedisServer:
    """A redis-server process on a free port and a unix socket, with nothing kept on disk unless it is asked for."""

    def __init__(self, directory: Path, *flags: str, binary: str | None = None) -> None:
        self._binary = binary or need_redis()
        self.directory = directory
        self.port = free_port()
        self.socket = directory / "s.sock"
        self._flags = flags
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Over TCP."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def unix_url(self) -> str:
        """Over the unix socket."""
        return f"unix://{self.socket}"

    def launch(self) -> None:
        """Start it, without waiting for it."""
        flags = ["--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", str(self.socket), "--save", ""]
        flags += ["--dir", str(self.directory), "--loglevel", "warning", *self._flags]
        self._process = subprocess.Popen(
            [self._binary, *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.launch()
        until(self.answers, f"redis-server on port {self.port} answers")

    def answers(self) -> bool:
        """Whether it answers PING."""
        return self.command("PING").startswith(b"+PONG")

    def command(self, *words: str, timeout: float = 2.0) -> bytes:
        """Send one command by hand; the first bytes of its reply, empty if there is none."""
        packed = f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout) as sock:
                sock.sendall(packed.encode())
                return sock.recv(65536)
        except OSError:
            return b""

    def freeze(self) -> None:
        """It still accepts, and never answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """As a crash would."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)


@contextmanager
def short_directory() -> Generator[Path]:
    """A directory whose path is short enough for a unix socket."""
    with tempfile.TemporaryDirectory(prefix="fl", dir="/tmp") as name:
        yield Path(name)


@contextmanager
def redis_server(*flags: str) -> Generator[RedisServer]:
    """A server with `flags`, killed at the end."""
    with short_directory() as directory:
        server = RedisServer(directory, *flags)
        try:
            server.start()
            yield server
        finally:
            server.kill()


@contextmanager
def redis_cluster(masters: int = 3) -> Generator[list[RedisServer]]:
    """A cluster of masters without replicas."""
    with ExitStack() as stack:
        servers: list[RedisServer] = []
        for _ in range(masters):
            flags = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", str(free_port()))
            servers.append(stack.enter_context(redis_server(*flags)))
        hosts = [f"127.0.0.1:{server.port}" for server in servers]
        create = ["redis-cli", "--cluster", "create", *hosts, "--cluster-replicas", "0", "--cluster-yes"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30)
        until(
            lambda: all(b"cluster_state:ok" in server.command("CLUSTER", "INFO") for server in servers),
            "every node sees the whole cluster",
        )
        yield servers


@contextmanager
def redis_sentinel(name: str = "main") -> Generator[tuple[RedisServer, RedisServer, int]]:
    """A master, its replica, and a sentinel that calls the master `name`: the two servers and the sentinel's port."""
    with redis_server() as master, redis_server("--replicaof", "127.0.0.1", str(master.port)) as replica:
        until(lambda: b"master_link_status:up" in replica.command("INFO", "replication"), "the replica follows")
        with short_directory() as directory:
            config = directory / "sentinel.conf"
            config.write_text(
                f"sentinel monitor {name} 127.0.0.1 {master.port} 1\n"
                f"sentinel down-after-milliseconds {name} 500\n"
                f"sentinel failover-timeout {name} 2000\n"
            )
            port = free_port()
            process = subprocess.Popen(
                [need_redis(), str(config), "--sentinel", "--port", str(port), "--bind", "127.0.0.1"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                until(lambda: _sentinel_sees_replica(port, name), "the sentinel knows the replica")
                yield master, replica, port
            finally:
                process.kill()
                process.wait()


def _sentinel_sees_replica(port: int, name: str) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as sock:
            sock.sendall(f"SENTINEL REPLICAS {name}\r\n".encode())
            return b"flags" in sock.recv(65536)
    except OSError:
        return False
