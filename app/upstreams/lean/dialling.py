"""Opening a connection within a deadline: looking up the name, trying its addresses (happy eyeballs), TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import aiohappyeyeballs

from app.errors import UpstreamError
from app.upstreams.lean.request import Origin

REMEMBERED = 60.0
"""Seconds that a name's addresses are believed."""
NEXT_ADDRESS = 0.25
"""Seconds until the next address is tried beside one that has not answered (RFC 8305)."""

Addresses = list[Any]  # of what getaddrinfo gives
_connected: Callable[..., Awaitable[socket.socket]] = aiohappyeyeballs.start_connection  # pyright: ignore - half typed
Opened = TypeVar("Opened", bound=asyncio.Protocol)


class Dialler:
    """Opens connections.

    Args:
        seconds: how long one may take to open, all of it together.
        trust: certificates that are trusted, in place of the system's.
    """

    def __init__(self, seconds: float, trust: ssl.SSLContext | None = None) -> None:
        self._seconds = seconds
        self._trust = trust
        self._looked_up: dict[tuple[str, int], tuple[asyncio.Future[Addresses], float]] = {}

    async def dial(self, origin: Origin, protocol: Callable[[socket.socket], Opened]) -> Opened:
        """A connection to `origin` in the hands of `protocol`. Raises UpstreamError; nothing was sent then."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._open(origin, protocol)
        except TimeoutError:
            words = "No connection to the provider within the time allowed."
            raise UpstreamError(words, kind="timeout", sent=False) from None
        except ssl.SSLCertVerificationError:
            words = "The provider's TLS certificate could not be verified."
            raise UpstreamError(words, sent=False, repeat=False) from None
        except ssl.SSLError:
            words = "No TLS connection to the provider: it does not answer in TLS, or in none that is safe."
            raise UpstreamError(words, sent=False, repeat=False) from None
        except OSError:
            self._looked_up.pop((origin.host, origin.port), None)
            raise UpstreamError("No connection to the provider.", sent=False) from None

    async def _open(self, origin: Origin, protocol: Callable[[socket.socket], Opened]) -> Opened:
        loop = asyncio.get_running_loop()
        addresses = await self._addresses(origin.host, origin.port)
        wire = await _connected(addresses, happy_eyeballs_delay=NEXT_ADDRESS, interleave=1, loop=loop)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls: dict[str, Any] = {"ssl": self._context(), "server_hostname": origin.host} if origin.tls else {}
        _, opened = await loop.create_connection(lambda: protocol(wire), sock=wire, **tls)
        return opened

    async def _addresses(self, host: str, port: int) -> Addresses:
        """Looked up once for all who want to know at the same time, and for a minute."""
        loop = asyncio.get_running_loop()
        found = self._looked_up.get((host, port))
        if found is None or found[1] < loop.time() or (found[0].done() and _failed(found[0])):
            asked = asyncio.ensure_future(self._ask(loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
            found = self._looked_up[host, port] = (asked, loop.time() + REMEMBERED)
        return await asyncio.shield(found[0])

    async def _ask(self, question: Awaitable[Any]) -> Addresses:
        return await question

    def _context(self) -> ssl.SSLContext:
        """Made on first use: reading the system's certificates takes tens of milliseconds."""
        if self._trust is None:
            self._trust = ssl.create_default_context()
            self._trust.set_alpn_protocols(["http/1.1"])
        return self._trust


def _failed(asked: asyncio.Future[Addresses]) -> bool:
    return asked.cancelled() or asked.exception() is not None
