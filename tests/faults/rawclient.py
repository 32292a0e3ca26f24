"""A client on a raw socket: sends any bytes, reads an answer as it comes, and hangs up when and how it likes."""

from __future__ import annotations

import asyncio
import json
import socket
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

PATIENCE = 15.0
"""Seconds after which a read that nobody answers fails the test."""

CHAT = "/v1/chat/completions"
GEMINI = "/v1beta/models/gemini-x:generateContent"
GEMINI_STREAM = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"


def openai_body(stream: bool = False, text: str = "hello", **more: Any) -> bytes:
    """A valid chat."""
    return json.dumps(
        {"model": "m", "stream": stream, "messages": [{"role": "user", "content": text}], **more}
    ).encode()


def gemini_body(text: str = "hello", **more: Any) -> bytes:
    """A valid chat."""
    return json.dumps({"contents": [{"role": "user", "parts": [{"text": text}]}], **more}).encode()


class Answer:
    """A response. `complete` is false if the connection was cut before its body ended."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes, complete: bool) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.complete = complete

    @property
    def events(self) -> list[str]:
        """The data of every server-sent event, as a client's parser sees them."""
        return sse_events(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The error object: the body's own, or the last event's."""
        text = self.events[-1] if self.headers.get("content-type", "").startswith("text/event-stream") else self.body
        said: Any = json.loads(text)
        if isinstance(said, list):
            said = said[-1]  # pyright: ignore[reportUnknownVariableType] (JSON)
        return said["error"]  # pyright: ignore[reportUnknownVariableType] (JSON)


def sse_events(body: bytes) -> list[str]:
    """The data of the events in `body`; one that no blank line ends does not count (WHATWG)."""
    text = body.decode().replace("\r\n", "\n").replace("\r", "\n")
    found: list[str] = []
    for block in text.split("\n\n")[:-1]:
        data = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if data:
            found.append("\n".join(data))
    return found


class Client:
    """One connection to Foldline."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}
        self._seen = b""

    @classmethod
    async def to(cls, url: str, receive_buffer: int = 0) -> Self:
        """Connect; `receive_buffer` bytes make a client that soon can take no more."""
        where = urlsplit(url)
        sock = socket.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, (where.hostname, where.port))
        except OSError:
            sock.close()
            raise
        return cls(*await asyncio.open_connection(sock=sock, limit=receive_buffer or 2**16))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.reset()

    async def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def post(self, path: str, body: bytes, *lines: str) -> None:
        """One request; `lines` are further header lines."""
        await self.send(request(path, body, *lines))

    async def head(self) -> int:
        """Read status and headers."""
        async with asyncio.timeout(PATIENCE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *rest = head.split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest) if name
        }
        return self.status

    async def until(self, words: bytes, times: int = 1) -> bytes:
        """Read on until the body (undecoded) holds `words` so many times; everything read of it so far."""
        async with asyncio.timeout(PATIENCE):
            while self._seen.count(words) < times:
                data = await self.reader.read(65536)
                assert data, f"the connection ended before {words!r} came: {self._seen[-300:]!r}"
                self._seen += data
        return self._seen

    async def answer(self) -> Answer:
        """Read the whole answer, or as much of it as comes."""
        await self.head()
        return await self.rest()

    async def rest(self) -> Answer:
        """Read the body to its end."""
        async with asyncio.timeout(PATIENCE):
            if self.headers.get("transfer-encoding") == "chunked":
                body, complete = await self._chunks()
            else:
                length = int(self.headers.get("content-length", "0"))
                body = self._seen
                while len(body) < length and (data := await self._some()):
                    body += data
                complete = len(body) == length
        return Answer(self.status, self.headers, body, complete)

    async def _some(self) -> bytes:
        try:
            return await self.reader.read(65536)
        except ConnectionError:
            return b""

    async def _chunks(self) -> tuple[bytes, bool]:
        raw, body = self._seen, bytearray()
        while True:
            size, end, rest = raw.partition(b"\r\n")
            if end and len(rest) >= (length := int(size, 16)) + 2:
                if not length:
                    return bytes(body), True
                body += rest[:length]
                raw = rest[length + 2 :]
                continue
            if not (data := await self._some()):
                return bytes(body), False
            raw += data

    def leave(self) -> None:
        """Hang up at once, as a process that was killed does."""
        self.writer.transport.abort()

    async def reset(self) -> None:
        """Hang up, and let the socket go."""
        self.leave()
        try:
            await self.writer.wait_closed()
        except OSError:
            return


def request(path: str, body: bytes, *lines: str) -> bytes:
    """A POST as bytes."""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nauthorization: Bearer lab\r\n"
    head += "".join(f"{line}\r\n" for line in lines)
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in lines):
        head += f"content-length: {len(body)}\r\n"
    return head.encode("latin-1") + b"\r\n" + body


async def ask(url: str, path: str, body: bytes, *lines: str) -> Answer:
    """One request on a connection of its own, to its end."""
    async with await Client.to(url) as client:
        await client.post(path, body, *lines)
        return await client.answer()


async def get(url: str, path: str) -> Answer:
    """One GET on a connection of its own."""
    async with await Client.to(url) as client:
        await client.send(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        return await client.answer()


def is_refused(answer: Answer, status: int, *words: str) -> bool:
    """Whether it is this status with an error object that holds the words."""
    assert answer.status == status, (answer.status, answer.body[:300])
    assert answer.complete
    message = answer.error["message"]
    for word in words:
        assert word in message, message
    return True
