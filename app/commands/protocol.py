"""The server's HTTP protocol with a deadline for the head of a request: uvicorn waits for one for ever."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 30.0
"""Seconds in which request line and headers must be here, from the connection's begin or the request's first byte."""


class Protocol(HttpToolsProtocol):
    """Hangs up on a connection that sends no head, or half of one: it costs its client nothing, and us a file."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] (uvicorn's own)
        """A client connected."""
        super().connection_made(transport)
        self._await_head()

    def on_message_begin(self) -> None:
        """The first byte of a request came."""
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        """The head is here. The body's deadline is the application's."""
        self._stop()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        self._stop()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._stop()
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        """Nothing runs on a connection whose head is awaited, unless requests were sent one behind the other."""
        if not self.cycle or self.cycle.response_complete:
            self.transport.close()
