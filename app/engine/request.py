"""What a turn gets from the door: the client's request, and the way its answer goes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import msgspec

from app.upstreams.upstream import Credential
from app.wires.wire import Inbound, Wire


class Request(msgspec.Struct, frozen=True):
    """A client's request as it came through the door.

    Args:
        headers: lower-case names, as ASGI gives them.
        tenant: 8 bytes, the HMAC of the credential.
        request_id: the client's, or one of ours.
    """

    wire: Wire
    inbound: Inbound
    headers: list[tuple[bytes, bytes]]
    credential: Credential
    tenant: bytes
    request_id: str = ""


class Out(Protocol):
    """Where the answer goes."""

    started: bool

    async def start(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        """Status and headers of a stream; from here on the status can no longer change."""
        ...

    async def whole(self, status: int, content_type: str, headers: Mapping[str, str], data: bytes) -> None:
        """An answer in one piece."""
        ...

    async def send(self, data: bytes) -> None:
        """Bytes of the body, at once."""
        ...

    async def end(self) -> None:
        """The body is complete. Without it the connection is cut, so that the client can tell."""
        ...

    def quiet(self, keepalive: bytes, begin: Callable[[], Awaitable[None]]) -> None:
        """The stream may fall silent from now on: these bytes keep it alive, after `begin` if nothing went out yet."""
        ...
