"""What reached the simulator: the tests' window on what an upstream was really sent."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Exchange:
    """One request, filled in while it is served.

    Attributes:
        headers: names in lower case. Credentials are kept, for tests to look at; they are never logged or shown.
        body: the parsed JSON, or None if there was none or it could not be read.
        raw: the body's bytes as they came.
        started, ended: seconds on a monotonic clock; `ended` is None while the answer is going out.
        status: the status of the answer, 0 before there is one.
        refused: the sentence of the provider's rule that the request breaks, if it breaks one.
        scripted: whether a script gave the answer (then a broken rule is noted here, and not enforced).
        aborted_after_ms: when the client hung up before the end, in milliseconds after the start.
    """

    method: str
    path: str
    query: dict[str, str] = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    raw: bytes = field(repr=False)
    body: Any = field(repr=False)
    started: float
    ended: float | None = None
    status: int = 0
    refused: str | None = None
    scripted: bool = False
    aborted_after_ms: float | None = None

    @property
    def aborted(self) -> bool:
        """Whether the client hung up before it had the whole answer."""
        return self.aborted_after_ms is not None

    def close(self, *, aborted: bool = False) -> None:
        """Note the end of the exchange; the first end counts."""
        if self.ended is None:
            self.ended = time.monotonic()
            self.aborted_after_ms = (self.ended - self.started) * 1000 if aborted else None


class Journal:
    """The newest `limit` exchanges, oldest first. A limit of 0 keeps nothing, for a simulator that runs for weeks."""

    def __init__(self, limit: int = 10_000) -> None:
        self._kept: deque[Exchange] = deque(maxlen=limit)

    def add(self, exchange: Exchange) -> None:
        """Note a request that has just been read."""
        self._kept.append(exchange)

    def clear(self) -> None:
        """Forget all exchanges."""
        self._kept.clear()

    def calls(self, path: str = "") -> list[Exchange]:
        """The POST requests whose path contains `path`: what asked a model for something."""
        return [exchange for exchange in self._kept if exchange.method == "POST" and path in exchange.path]

    @property
    def last(self) -> Exchange:
        """The newest request with a body; IndexError if there is none. Questions about models come at any time."""
        return [exchange for exchange in self._kept if exchange.method == "POST"][-1]

    async def settled(self, seconds: float = 5.0) -> None:
        """Wait until no exchange is under way; TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds):
            while any(exchange.ended is None for exchange in self._kept):  # noqa: ASYNC110  # a test's own wait, short
                await asyncio.sleep(0.005)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(tuple(self._kept))

    def __getitem__(self, index: int) -> Exchange:
        return self._kept[index]
