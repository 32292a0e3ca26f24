"""A scripted provider on a raw socket: says exactly the bytes it is told to, and notes when its peer hung up.

    async with raw_server(script) as provider:
        provider.url, provider.asked, provider.connections

A script is a coroutine that gets the `Peer`, once for every request. What it does not say, nobody says.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

Script = Callable[["Peer"], Awaitable[None]]


class Request:
    """What came in: request line, headers by lower-case name, body."""

    def __init__(self, head: bytes, body: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = first.split(" ", 2)
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.body = body


class Peer(asyncio.Protocol):
    """One connection, seen from the provider."""

    def __init__(self, server: RawServer) -> None:
        self._server = server
        self._held = b""
        self._writable = asyncio.Event()
        self._writable.set()
        self.request = Request(b"NONE / HTTP/1.1", b"")
        self.gone = asyncio.Event()
        self.gone_at = 0.0
        self.said = 0
        self.tasks: list[asyncio.Task[None]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio: somebody connected."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        self._server.connections.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio: the peer hung up, or we did."""
        self.gone_at = time.monotonic()
        self.gone.set()
        self._writable.set()

    def pause_writing(self) -> None:
        """asyncio: the peer takes no more."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """asyncio: it takes more again."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """asyncio: bytes came."""
        self._held += data
        head, end, rest = self._held.partition(b"\r\n\r\n")
        if not end:
            return
        request = Request(head, b"")
        length = int(request.headers.get("content-length", "0"))
        if len(rest) < length:
            return
        request.body, self._held = rest[:length], rest[length:]
        self.request = request
        if request.method == "GET":  # what its models take, asked in the background: no turn's request
            self.transport.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return
        self._server.asked.append(request)
        self._server.arrived.set()
        self.tasks.append(asyncio.get_running_loop().create_task(self._play()))

    async def _play(self) -> None:
        await self._server.script(self)

    async def say(self, *pieces: bytes) -> None:
        """Send bytes, piece by piece; waits while the peer takes no more."""
        for piece in pieces:
            self.transport.write(piece)
            self.said += len(piece)
            await asyncio.sleep(0)
            await self._writable.wait()

    async def answer(self, status: int, body: bytes, content_type: str = "application/json", more: bytes = b"") -> None:
        """A whole response; `more` are further header lines."""
        head = b"HTTP/1.1 %d X\r\ncontent-type: %s\r\n%scontent-length: %d\r\n\r\n"
        await self.say(head % (status, content_type.encode(), more, len(body)) + body)

    async def stream(self, *pieces: bytes) -> None:
        """Head and pieces of a stream that does not end."""
        await self.say(STREAM, *(chunk(piece) for piece in pieces))

    async def stream_more(self, *pieces: bytes) -> None:
        """Further pieces of a stream that has begun."""
        await self.say(*(chunk(piece) for piece in pieces))

    async def whole_stream(self, *pieces: bytes) -> None:
        """A stream that ends well."""
        await self.stream(*pieces)
        await self.say(LAST)

    def close(self) -> None:
        """An orderly end of the connection."""
        self.transport.close()

    def reset(self) -> None:
        """The connection breaks off."""
        self.transport.abort()


class RawServer:
    """Where the scripted provider listens, what it was asked, and by whom."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Request] = []
        self.connections: list[Peer] = []
        self.arrived = asyncio.Event()
        self.port = 0
        self.url = ""

    @property
    def open(self) -> int:
        """Connections that are open now."""
        return sum(not peer.gone.is_set() for peer in self.connections)

    async def next_request(self) -> Peer:
        """The connection whose request arrives next; one that has arrived already counts."""
        async with asyncio.timeout(10):
            await self.arrived.wait()
        self.arrived.clear()
        return next(peer for peer in reversed(self.connections) if peer.request is self.asked[-1])


@asynccontextmanager
async def raw_server(
    script: Script, tls: ssl.SSLContext | None = None, at: socket.socket | None = None
) -> AsyncGenerator[RawServer]:
    """Listens on a free port of loopback, or where `at` listens already (that one stays open)."""
    server = RawServer(script)
    sock = at.dup() if at else socket.create_server(("127.0.0.1", 0), backlog=1024)
    listener = await asyncio.get_running_loop().create_server(lambda: Peer(server), sock=sock, ssl=tls, backlog=1024)
    server.port = listener.sockets[0].getsockname()[1]
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{server.port}"
    try:
        yield server
    finally:
        listener.close()
        tasks = [task for peer in server.connections for task in peer.tasks]
        for peer in server.connections:
            peer.reset()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listener.wait_closed()


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def _chunk_of_openai(choice: bytes) -> bytes:
    head = b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'
    return head + choice + b"}]}\n\n"


def _said_by_gemini(text: str, end: bytes = b"") -> bytes:
    content = b'{"candidates":[{"content":{"role":"model","parts":[{"text":"%s"}]},%s"index":0}],"modelVersion":"g"}'
    return content % (text.encode(), end)


def delta(text: str) -> bytes:
    """An OpenAI chunk that says `text`."""
    return _chunk_of_openai(b'"delta":{"content":"%s"},"finish_reason":null' % text.encode())


def gemini_delta(text: str) -> bytes:
    """A Gemini chunk that says `text`."""
    return b"data: " + _said_by_gemini(text) + b"\r\n\r\n"


END = _chunk_of_openai(b'"delta":{},"finish_reason":"stop"') + b"data: [DONE]\n\n"
WHOLE = (
    b'{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"hi"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
)
GEMINI_WHOLE = _said_by_gemini("hi", b'"finishReason":"STOP",')
GEMINI_END = b"data: " + _said_by_gemini(".", b'"finishReason":"STOP",') + b"\r\n\r\n"


async def says_hi(peer: Peer) -> None:
    """Answers every request well, in the format and the manner that it asks for."""
    gemini = "models/" in peer.request.path
    if "streamGenerateContent" in peer.request.path:
        await peer.whole_stream(gemini_delta("hi"), GEMINI_END)
    elif b'"stream":true' in peer.request.body.replace(b" ", b""):
        await peer.whole_stream(delta("hi"), END)
    else:
        await peer.answer(200, GEMINI_WHOLE if gemini else WHOLE)


async def says_nothing(peer: Peer) -> None:
    """Takes the request and is silent for ever."""
    await peer.gone.wait()
