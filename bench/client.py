"""A client that costs little: HTTP/1.1 keep-alive on a raw asyncio protocol, and what it saw."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field

STAMP = re.compile(rb"t(\d{9,});")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


@dataclass
class Seen:
    """What the clients of one run saw, in seconds."""

    latency: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    transit: list[float] = field(default_factory=list)  # from the upstream's writing of a chunk to its receipt
    errors: int = 0
    sample: str = ""  # the beginning of an answer that was not 200


@dataclass(frozen=True)
class Target:
    """A server on loopback that takes OpenAI chats."""

    port: int
    path: str = "/v1/chat/completions"

    def request(self, body: bytes) -> bytes:
        """The bytes of a whole request."""
        return (
            b"POST %b HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nauthorization: Bearer sk-fake\r\n"
            b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
        ) % (self.path.encode(), self.port, len(body), body)

    async def connect(self, seen: Seen) -> Connection:
        """A new connection."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: Connection(loop, seen), "127.0.0.1", self.port)
        return connection


class Connection(asyncio.Protocol):
    """One connection, one exchange at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seen: Seen) -> None:
        self.loop, self.seen, self.closed = loop, seen, True
        self.done: asyncio.Future[bool] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self.transport = transport
        self.closed = False

    def connection_lost(self, exc: Exception | None) -> None:
        """The server hung up."""
        self.closed = True
        if self.done and not self.done.done():
            if self.head and self.left is None and not self.chunked:
                self._finish()  # a body that ends with its connection
            else:
                self.seen.errors += 1
                self.seen.sample = self.seen.sample or "the server hung up"
                self.done.set_result(False)

    def send(self, request: bytes) -> asyncio.Future[bool]:
        """Sends a request; the result is whether the answer came whole, with status 200."""
        self.head, self.start, self.tail = b"", b"", b""
        self.left: int | None = None
        self.chunked = False
        self.first_at = 0
        self.done = self.loop.create_future()
        self.began = time.monotonic_ns()
        self.transport.write(request)
        return self.done

    def data_received(self, data: bytes) -> None:
        """Some bytes of an answer."""
        now = time.monotonic_ns()
        if self.done is None or self.done.done():
            return
        if not self.head:
            self.start += data
            end = self.start.find(b"\r\n\r\n")
            if end < 0:
                return
            self.head, data = self.start[: end + 2], self.start[end + 4 :]
            self.start = data
            self.chunked = bool(CHUNKED.search(self.head))
            length = LENGTH.search(self.head)
            self.left = int(length[1]) if length else None
        if data and not self.first_at:
            self.first_at = now
        if self.chunked:
            self.seen.transit += [(now - int(stamp)) / 1e9 for stamp in STAMP.findall(data)]
            self.tail = (self.tail + data)[-7:]
            if self.tail.endswith(b"0\r\n\r\n") and (self.tail[:2] == b"\r\n" or len(self.tail) == 5):
                self._finish()
        elif self.left is not None:
            self.left -= len(data)
            if self.left <= 0:
                self._finish()

    def _finish(self) -> None:
        now = time.monotonic_ns()
        good = self.head[9:12] == b"200"
        if good:
            self.seen.latency.append((now - self.began) / 1e9)
            self.seen.first.append(((self.first_at or now) - self.began) / 1e9)
        else:
            self.seen.errors += 1
            self.seen.sample = (self.head + self.start)[:400].decode("utf-8", "replace")
        if CLOSE.search(self.head):
            self.closed = True
            self.transport.close()
        if self.done and not self.done.done():
            self.done.set_result(good)


async def get(port: int, path: str) -> bytes:
    """A small GET; the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET %b HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" % path.encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    length = LENGTH.search(head)
    body = await asyncio.wait_for(reader.readexactly(int(length[1]) if length else 0), 10)
    writer.close()
    return body
