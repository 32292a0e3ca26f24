"""The one seam to the network on the byte path: send a request, get status and headers, then the bytes as they arrive.

Two clients stand behind it, and nothing else in the program knows which: our own lean one (`lean/`), and aiohttp
(`by_aiohttp.py`) where a proxy stands in between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import msgspec

from app.errors import UpstreamError

LARGEST_ANSWER = 256 * 1024 * 1024
"""Bytes of an answer in one piece, after decompression: beyond this it is an attack or a mistake."""


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds: to connect, until the first byte of the answer, and between two bytes of it."""

    connect: float = 5
    first_byte: float = 600
    idle: float = 120


class Answer(Protocol):
    """What a provider answers. `headers` has lower-case names."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises UpstreamError if it breaks off or falls silent."""
        ...

    async def read(self) -> bytes:
        """The whole body."""
        ...

    def close(self) -> None:
        """Hang up at once if the body has not ended: the provider stops working (and billing)."""
        ...


class Transport(Protocol):
    """Sends requests. `reaches_out` is false where the network is scripted, or there is none."""

    @property
    def reaches_out(self) -> bool: ...

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send; returns when the status and headers are there. Raises UpstreamError."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


async def whole(chunks: AsyncIterator[bytes]) -> bytes:
    """All of a body. Raises UpstreamError if it is larger than LARGEST_ANSWER."""
    pieces: list[bytes] = []
    size = 0
    async for data in chunks:
        size += len(data)
        if size > LARGEST_ANSWER:
            raise UpstreamError("The provider's answer is too large to take.")
        pieces.append(data)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def silence(timeouts: Timeouts, begun: bool) -> UpstreamError:
    """What to say of a provider that fell silent: before the first byte of its answer's body, or after."""
    if begun:
        words = f"The provider fell silent for {timeouts.idle:g} seconds in the middle of its answer."
    else:
        words = f"The provider did not begin to answer within {timeouts.first_byte:g} seconds."
    return UpstreamError(words, kind="timeout", repeat=False)  # the client has waited long enough
