"""One answer on its way: what has come of it, who waits for more, and how long silence may last.

There is one timer for the whole answer. It fires rarely and only then looks how long it was quiet, so that a chunk
costs no timer of its own. It counts only while somebody waits: a client that is slow to take what has come is not the
provider's silence.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from app.errors import UpstreamError
from app.upstreams.lean.unpacking import unpacker
from app.upstreams.transport import Timeouts, silence, whole

MOST_WAITING = 128 * 1024
"""Bytes that wait for the client before the provider is made to wait."""


class Flow(Protocol):
    """What an answer can ask of the connection that it comes by."""

    def pause(self) -> None:
        """Let the provider wait."""
        ...

    def resume(self) -> None:
        """Let it go on."""
        ...

    def drop(self) -> None:
        """Hang up at once."""
        ...


class LeanAnswer:
    """An answer, from both sides: the connection tells what comes, the turn takes it. See `Answer`."""

    __slots__ = (
        "_begun", "_ended", "_error", "_flow", "_loop", "_paused", "_pieces", "_since", "_timeouts", "_timer",
        "_waiter", "_waiting", "headers", "status",
    )  # fmt: skip

    def __init__(self, flow: Flow, timeouts: Timeouts) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._flow = flow
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._waiting = 0  # bytes
        self._waiter: asyncio.Future[None] | None = None
        self._begun = self._ended = self._paused = False
        self._error: UpstreamError | None = None
        self._since = self._loop.time()
        self._timer = self._loop.call_later(timeouts.first_byte, self._look)

    # What the connection tells.

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Status and headers are there; names in lower case."""
        self.status, self.headers = status, headers

    def add(self, data: bytes) -> None:
        """A piece of the body came."""
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting > MOST_WAITING and not self._paused:
            self._paused = True
            self._flow.pause()

    def end(self, error: UpstreamError | None = None) -> None:
        """Nothing more comes: it is complete, or broke off."""
        if not self._ended:
            self._ended, self._error = True, error
            self._timer.cancel()
            self.wake()

    def wake(self) -> None:
        """Let whoever waits look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What the turn takes.

    async def begun(self) -> None:
        """Until status and headers are there. Raises UpstreamError."""
        while not self.status:
            if self._ended:
                raise self._error or UpstreamError("The provider closed the connection without an answer.")
            await self._more()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; a chunk is whatever the network gave at once."""
        if (unpack := unpacker(self.headers)) is None:
            while data := await self._take():
                yield data
            return
        while data := await self._take():
            for piece in unpack.pieces(data):
                yield piece
        unpack.end()

    async def read(self) -> bytes:
        """The whole body. Raises UpstreamError if it is larger than LARGEST_ANSWER."""
        return await whole(self.chunks())

    def close(self) -> None:
        """Hang up if the body has not ended; else the connection is in use for others already."""
        self._timer.cancel()
        if not self._ended:
            self._ended = True
            self._flow.drop()

    async def _take(self) -> bytes:
        """What has come; empty at the end. Raises UpstreamError if it broke off."""
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            await self._more()
        pieces, self._pieces = self._pieces, []
        self._waiting = 0
        self._begun = True
        if self._paused:
            self._paused = False
            if not self._ended:
                self._flow.resume()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _more(self) -> None:
        if self._begun:
            self._since = self._loop.time()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _look(self) -> None:
        """The timer fired: was it quiet all the time?"""
        limit = self._timeouts.idle if self._begun else self._timeouts.first_byte
        left = limit if self._waiter is None else self._since + limit - self._loop.time()
        if left > 0.001:
            self._timer = self._loop.call_later(left, self._look)
            return
        self._flow.drop()
        self.end(silence(self._timeouts, self._begun))
