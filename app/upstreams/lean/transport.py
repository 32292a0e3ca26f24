"""The lean transport: HTTP/1.1 with keep-alive over connections of our own.

It does what the byte path needs and nothing else: no redirects (they could carry a key elsewhere), no cookies, no
pipelining, no proxies. Connections that rest are kept by whom they lead to, and the one used last is used next, so that
opening the thousandth stream costs what the first one cost.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping

from app.upstreams.lean.answer import LeanAnswer
from app.upstreams.lean.connection import Connection
from app.upstreams.lean.dialling import Dialler
from app.upstreams.lean.request import Origin, head, placed
from app.upstreams.transport import Timeouts

REST = 30.0
"""Seconds that a connection may rest: less than the load balancers in front of providers allow."""


class LeanTransport:
    """See `Transport`.

    Args:
        timeouts: to connect, to the first byte, and between two.
        trust: certificates that are trusted, in place of the system's.
    """

    reaches_out = True

    def __init__(self, timeouts: Timeouts, trust: ssl.SSLContext | None = None) -> None:
        self._timeouts = timeouts
        self._dialler = Dialler(timeouts.connect, trust)
        self._resting: dict[Origin, dict[Connection, None]] = {}  # in the order in which they went to rest
        self._all: set[Connection] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._closed = False

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> LeanAnswer:
        """Send; see `Transport`."""
        place = placed(url)
        said = head(place, headers, len(body))
        connection = self._take(place.origin) or await self._dial(place.origin)
        answer = LeanAnswer(connection, self._timeouts)
        try:
            connection.send(answer, said, body)
            await answer.begun()
        except BaseException:
            answer.close()
            raise
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in tuple(self._all):
            connection.hang_up()
        self._resting.clear()
        await asyncio.sleep(0)  # the loop tells each that it is gone

    async def _dial(self, origin: Origin) -> Connection:
        def made(wire: socket.socket) -> Connection:
            return Connection(origin, wire, self._rest, self._lost)

        connection = await self._dialler.dial(origin, made)
        self._all.add(connection)
        return connection

    def _take(self, origin: Origin) -> Connection | None:
        resting = self._resting.get(origin)
        now = asyncio.get_running_loop().time() if resting else 0
        while resting:
            connection, _ = resting.popitem()
            if connection.usable(now):
                return connection
            connection.drop()
        return None

    def _rest(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.resting_since = loop.time()
        connection.rest_seconds = min(REST, connection.rest_seconds)
        self._resting.setdefault(connection.origin, {})[connection] = None
        if self._sweeping is None:
            self._sweeping = loop.call_later(REST / 2, self._sweep)

    def _lost(self, connection: Connection) -> None:
        self._all.discard(connection)
        if resting := self._resting.get(connection.origin):
            resting.pop(connection, None)

    def _sweep(self) -> None:
        """Hang up where a connection rested too long."""
        self._sweeping = None
        now = asyncio.get_running_loop().time()
        for origin, resting in tuple(self._resting.items()):
            for connection in tuple(resting):
                if now - connection.resting_since <= connection.rest_seconds:
                    break
                del resting[connection]
                connection.drop()
            if not resting:
                del self._resting[origin]
        if self._resting:
            self._sweeping = asyncio.get_running_loop().call_later(REST / 2, self._sweep)
