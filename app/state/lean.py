"""The lean link to one server: redis-py connects, signs in and names itself; then hiredis packs and reads.

redis-py's own pipeline costs several times the CPU of the trip itself. So its `Connection` is used for what it does
well (TCP, TLS, unix sockets, AUTH, SELECT, CLIENT SETNAME), and its transport is handed to a protocol of a few lines. A
connection serves one trip at a time and is dropped on any error, timeout or cancellation: no reply can ever reach the
wrong caller.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import hiredis
from redis import exceptions as errors
from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection

from app.state.link import ERRORS, BusyError, Command, no_lost_cancellation

CONNECTIONS = 64
POOL_WAIT = 0.2  # seconds
# Load balancers and NAT drop what is silent for some minutes, often without a word: a shorter life never meets that.
IDLE_SECONDS = 60.0

_NOTHING = object()
_pack: Callable[[Command], bytes] = hiredis.pack_command  # pyright: ignore - its stub says a tuple of one, and no result


class Handover(AbstractConnection):
    """A redis-py connection whose transport somebody else goes on with."""

    async def hand_over(self) -> asyncio.StreamWriter:
        """Connect with the whole handshake, and give the connection away."""
        try:
            with no_lost_cancellation():
                await self.connect()
            writer = self._writer
            if writer is None:
                raise errors.ConnectionError("the connection closed at once")
            self._reader = self._writer = None
            return writer
        except BaseException:
            await self.disconnect(nowait=True)
            raise


class TcpHandover(Handover, Connection):
    """redis://"""


class TlsHandover(Handover, SSLConnection):
    """rediss://"""


class UnixHandover(Handover, UnixDomainSocketConnection):
    """unix:// and embedded://"""


Connector = Callable[[], Awaitable[Handover]]


class Line(asyncio.Protocol):
    """One open connection, taken over from the stream that opened it."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._loop = asyncio.get_running_loop()
        self._stream = stream  # kept, as a stream that is collected closes its transport
        self._transport = stream.transport
        self._reader = hiredis.Reader(
            protocolError=errors.InvalidResponse, replyError=self._refusal, notEnoughData=_NOTHING
        )
        self._waiter: asyncio.Future[list[Any]] | None = None
        self._replies: list[Any] = []
        self._wanted = 0
        self.alive = True
        self.used = False
        self.heard = False
        self.read_only = False
        self.idle_since = 0.0
        self._transport.set_protocol(self)

    async def trip(self, packed: bytes, wanted: int, within: float) -> list[Any]:
        """Send `packed`, return `wanted` replies. Anything but success closes the line."""
        self._replies, self._wanted, self.heard = [], wanted, False
        self._waiter = waiter = self._loop.create_future()
        timer = self._loop.call_later(within, self._expire, waiter)
        try:
            self._transport.write(packed)
            return await waiter
        except BaseException:
            self.drop()
            raise
        finally:
            timer.cancel()
            self._waiter = None
            self.used = True

    def drop(self) -> None:
        """Close at once; what is still under way is lost."""
        self.alive = False
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """asyncio: bytes have come."""
        waiter = self._waiter
        if waiter is None:
            self.drop()  # nobody asked: this connection is out of step
            return
        self.heard = True
        try:
            self._reader.feed(data)
            while len(self._replies) < self._wanted:
                reply = self._reader.gets()
                if reply is _NOTHING:
                    return
                self._replies.append(reply)
            if self._reader.has_data():
                raise errors.InvalidResponse("more replies than commands")
        except errors.RedisError as error:
            self.drop()
            _fail(waiter, error)
            return
        if not waiter.done():
            waiter.set_result(self._replies)

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio: the connection is gone."""
        self.alive = False
        if self._waiter is not None:
            _fail(self._waiter, errors.ConnectionError("the server closed the connection"))

    def _expire(self, waiter: asyncio.Future[list[Any]]) -> None:
        _fail(waiter, errors.TimeoutError("the server did not answer in time"))

    def _refusal(self, text: str) -> errors.RedisError:
        kind = ERRORS.get(text.partition(" ")[0], errors.ResponseError)
        if kind is errors.ReadOnlyError:
            self.read_only = True
        return kind(text)


def _fail(waiter: asyncio.Future[list[Any]], error: Exception) -> None:
    if not waiter.done():
        waiter.set_exception(error)


class LeanLink:
    """A `Link` to one server, or to whoever is a sentinel's master now.

    Args:
        connector: makes an unconnected connection; asks the sentinels first, if there are any.
        place: what `describe` says.
        timeout: seconds for a trip, unless `run` is told otherwise.
        connections: at most so many are open.
        on_close: what else ends with this link.
    """

    def __init__(
        self,
        connector: Connector,
        place: str,
        *,
        timeout: float,
        connections: int = CONNECTIONS,
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._connector = connector
        self._place = place
        self._timeout = timeout
        self._slots = asyncio.Semaphore(connections)
        self._idle: list[Line] = []
        self._on_close = on_close
        self._closed = False

    async def run(self, *commands: Command, within: float | None = None) -> list[Any]:
        """See `Link`. A line that had been used before may turn out dead: then, once, a fresh one is tried."""
        limit = self._timeout if within is None else within
        packed = b"".join([_pack(command) for command in commands])
        if self._slots.locked():
            deadline = time.monotonic() + limit
            await self._wait_for_slot(min(POOL_WAIT, limit))
            limit = max(deadline - time.monotonic(), 0.001)
        else:
            await self._slots.acquire()
        try:
            return await self._attempt(packed, len(commands), limit)
        finally:
            self._slots.release()

    async def _attempt(self, packed: bytes, wanted: int, limit: float) -> list[Any]:
        line = self._take()
        if line is None:
            return await self._afresh(packed, wanted, limit)
        began = time.monotonic()
        try:
            replies = await line.trip(packed, wanted, limit)
        except errors.TimeoutError:
            raise
        except errors.ConnectionError:
            if line.heard:
                raise
        else:
            if not line.read_only:
                self._put(line)
                return replies
            self._distrust(line)
        return await self._afresh(packed, wanted, max(limit - (time.monotonic() - began), 0.001))

    async def _afresh(self, packed: bytes, wanted: int, limit: float) -> list[Any]:
        began = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                line = Line(await (await self._connector()).hand_over())
        except TimeoutError:
            raise errors.TimeoutError("connecting took too long") from None
        replies = await line.trip(packed, wanted, max(limit - (time.monotonic() - began), 0.001))
        if line.read_only:
            self._distrust(line)
        else:
            self._put(line)
        return replies

    async def _wait_for_slot(self, limit: float) -> None:
        try:
            async with asyncio.timeout(limit):
                await self._slots.acquire()
        except TimeoutError:
            raise BusyError("all connections to the store are in use") from None

    def _take(self) -> Line | None:
        # The last one used is the warmest, and lets the others grow old enough to be closed.
        while self._idle:
            line = self._idle.pop()
            if line.alive:
                return line
        return None

    def _put(self, line: Line) -> None:
        if self._closed:
            line.drop()
        if not line.alive:
            return
        line.idle_since = now = time.monotonic()
        self._idle.append(line)
        if now - self._idle[0].idle_since > IDLE_SECONDS:
            self._idle.pop(0).drop()

    def _distrust(self, line: Line) -> None:
        """A master that became a replica: every line leads to it, and a new one may lead to the new master."""
        line.drop()
        while self._idle:
            self._idle.pop().drop()

    async def ping(self, within: float | None = None) -> None:
        """See `Link`."""
        reply = (await self.run(("PING",), within=within))[0]
        if isinstance(reply, errors.RedisError):
            raise reply

    async def scan(self, pattern: str) -> AsyncIterator[bytes]:
        """See `Link`."""
        cursor = b"0"
        while True:
            reply = (await self.run(("SCAN", cursor, "MATCH", pattern, "COUNT", 500)))[0]
            if isinstance(reply, errors.RedisError):
                raise reply
            cursor, keys = reply
            for key in keys:
                yield key
            if cursor == b"0":
                return

    async def close(self) -> None:
        """See `Link`. A trip that is under way ends as it would, and its connection with it."""
        self._closed = True
        while self._idle:
            self._idle.pop().drop()
        if self._on_close is not None:
            await self._on_close()

    def describe(self) -> str:
        """See `Link`."""
        return self._place
