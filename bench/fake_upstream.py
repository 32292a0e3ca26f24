"""An OpenAI chat upstream so cheap that it is never what limits a run.

    python -m bench.fake_upstream --port 9101

HTTP/1.1 keep-alive on a raw asyncio protocol. The last `[[fake chunks=50 delay_ms=10 hold_s=0]]` in the body says how
to stream. Every chunk has its sending time in its text as `t<nanoseconds>;` (CLOCK_MONOTONIC, which all processes of
one machine share). `GET /bench/closed` tells when streams were hung up on, `GET /bench/received` how many chats came
since it was last asked, and their bytes. Loopback only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time

from bench.payloads import ANSWER

DIRECTIVE = re.compile(rb"\[\[fake chunks=(\d+) delay_ms=([\d.]+) hold_s=([\d.]+)\]\]")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
STREAM = re.compile(rb'"stream": *true')
USAGE = {"prompt_tokens": 100, "completion_tokens": 80, "total_tokens": 180}


def _answer(body: object, status: bytes = b"200 OK") -> bytes:
    raw = json.dumps(body).encode()
    return b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (status, len(raw), raw)


def _event(choices: list[object], **more: object) -> bytes:
    head = {"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1700000000, "model": "gpt-4.1"}
    return b"data: %b\n\n" % json.dumps({**head, "choices": choices, **more}, separators=(",", ":")).encode()


def _frame(event: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(event), event)


CHOICE = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
PLAIN = _answer(
    {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "gpt-4.1",
        "choices": [CHOICE],
        "usage": USAGE,
    }
)
MODELS = _answer({"object": "list", "data": [{"id": "gpt-4.1", "object": "model", "owned_by": "fake"}]})
NOT_FOUND = _answer({"error": {"message": "no such path"}}, b"404 Not Found")
DELTA = _event([{"index": 0, "delta": {"content": "t%d; word"}, "finish_reason": None}])
END = _frame(
    _event([{"index": 0, "delta": {}, "finish_reason": "stop"}]) + _event([], usage=USAGE) + b"data: [DONE]\n\n"
)
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LAST = b"0\r\n\r\n"


class Upstream(asyncio.Protocol):
    """One connection."""

    closed: list[int] = []  # noqa: RUF012 - shared by the connections on purpose: when streams were cut by their client

    received = [0, 0]  # noqa: RUF012 - the same: chats, and their bytes

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.parts: list[bytes] = []
        self.got = self.need = 0
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A proxy has connected."""
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """The proxy has gone; if it was in the middle of a stream, note when."""
        if self.timer:
            self.timer.cancel()
            self.closed.append(time.monotonic_ns())

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, joined only once it is whole: a megabyte comes in many pieces."""
        self.parts.append(data)
        self.got += len(data)
        while self.got and self.got >= self.need:
            whole = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
            self.parts = [whole]
            end = whole.find(b"\r\n\r\n") + 4
            if end < 4:
                return
            if length := LENGTH.search(whole, 0, end):
                self.need = end + int(length[1])
            elif CHUNKED.search(whole, 0, end):
                stop = whole.find(b"\r\n0\r\n\r\n", end - 2)
                self.need = stop + 7 if stop >= 0 else 0
                if stop < 0:
                    return
            else:
                self.need = end
            if self.got < self.need:
                return
            self._answer(whole[:end], whole[end : self.need])
            rest = whole[self.need :]
            self.parts, self.got, self.need = ([rest] if rest else []), len(rest), 0

    def _answer(self, head: bytes, body: bytes) -> None:
        method, path = head.split(b" ", 2)[:2]
        if path == b"/bench/closed":
            self.transport.write(_answer(self.closed))
            self.closed.clear()
        elif path == b"/bench/received":
            self.transport.write(_answer(self.received))
            self.received[:] = 0, 0
        elif method == b"GET" and b"/models" in path:
            self.transport.write(MODELS)
        elif not path.split(b"?")[0].endswith(b"/chat/completions"):
            self.transport.write(NOT_FOUND)
        else:
            self.received[0] += 1
            self.received[1] += len(body)
            if STREAM.search(body):
                self._stream(body)
            else:
                self.transport.write(PLAIN)

    def _stream(self, body: bytes) -> None:
        chunks, delay, hold = 50, 0.0, 0.0
        at = body.rfind(b"[[fake ")
        if at >= 0 and (found := DIRECTIVE.match(body, at)):
            chunks, delay, hold = int(found[1]), float(found[2]) / 1000, float(found[3])
        self.transport.write(HEAD)
        self._tick(chunks, delay, hold, self.loop.time())

    def _tick(self, left: int, delay: float, hold: float, due: float) -> None:
        self.timer = None
        if left:
            self.transport.write(_frame(DELTA % time.monotonic_ns()))
            due += hold if left == 1 and hold else delay
            self.timer = self.loop.call_at(due, self._tick, left - 1, delay, hold, due)
        else:
            self.transport.write(END + LAST)


async def serve(port: int) -> None:
    """Serves until it is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Upstream(loop), "127.0.0.1", port, backlog=4096)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    uvloop.run(serve(options.parse_args().port))
