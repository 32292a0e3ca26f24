"""Sends a Reply over ASGI: piece by piece, watching for the client to hang up, and cutting the wire when told to.

ASGI has no word for "reset the connection". The server of `running.py` puts its transport into the scope under
TRANSPORT; where it is missing (the app runs under another server), the answer just ends without its proper end.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable

from starlette.types import Receive, Scope, Send

from app.simulator.journal import Exchange
from app.simulator.reply import Reply

TRANSPORT = "foldline.simulator.transport"
_BEFORE_RESET = 0.03  # seconds: a reset throws away what the peer has not read yet, so let it read first
_LINGER_NONE = struct.pack("ii", 1, 0)


class BrokenOffError(Exception):
    """Raised to make a server without our transport drop the connection in the middle of an answer."""


class Closing:
    """Tells waiting answers that the simulator closes, so that it can stop at once."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """End all waits."""
        self._event.set()

    async def within(self, seconds: float | None) -> bool:
        """Wait so long (None: for ever) or until the simulator closes; true if it closes."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True


async def deliver(
    reply: Reply, exchange: Exchange, closing: Closing, scope: Scope, receive: Receive, send: Send
) -> None:
    """Send the reply, and note in the exchange how it ended."""
    exchange.status = reply.status
    sending = asyncio.ensure_future(_send(reply, closing, scope, send))
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        exchange.close(aborted=not sending.done())
    finally:
        leaving.cancel()
        if not sending.done():
            sending.cancel()
        await _quietly(leaving)
        await _quietly(sending)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _quietly(task: Awaitable[None]) -> None:
    try:
        await task
    except (asyncio.CancelledError, OSError):  # cancelled here, or the client is gone: both are expected ends
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise


async def _send(reply: Reply, closing: Closing, scope: Scope, send: Send) -> None:
    if reply.first_seconds and await closing.within(reply.first_seconds):
        return
    if not reply.pieces and reply.end == "hang":
        await closing.within(None)
        return
    if not reply.pieces and reply.end == "reset":
        await _reset(scope)
        return
    await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply)})
    for index, piece in enumerate(reply.pieces):
        if index and reply.pause_seconds and await closing.within(reply.pause_seconds):
            return
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(0)
    match reply.end:
        case "clean":
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        case "hang":
            await closing.within(None)
        case "reset":
            await _reset(scope)


def _headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers]
    if reply.measured:
        pairs.append((b"content-length", str(sum(map(len, reply.pieces))).encode()))
    return pairs


async def _reset(scope: Scope) -> None:
    transport = scope.get("extensions", {}).get(TRANSPORT)
    await asyncio.sleep(_BEFORE_RESET)
    if transport is None:
        raise BrokenOffError("the simulator was told to break off here")
    wire = transport.get_extra_info("socket")
    if wire is not None:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
    transport.abort()
