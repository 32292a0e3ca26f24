"""Reads a request body within limits of size and time, and unpacks it if it came compressed."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Mapping

from starlette.types import Message, Receive

from app.errors import ClientError

SLOWEST = 60.0
"""Seconds in which a whole body must arrive: a client that drips bytes must not hold a connection for ever."""

LINGER = 2.0
"""Seconds for which a refused body is still taken, and thrown away."""

MOST_HEADERS, LARGEST_HEADERS = 100, 65_536


class ClientLeft(Exception):  # noqa: N818 (not an error: what happened)
    """The client hung up before its request was complete."""


class Incoming:
    """The request's messages, and whether more of its body is to come."""

    __slots__ = ("_receive", "complete")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.complete = False

    async def __call__(self) -> Message:
        """The next message."""
        message = await self._receive()
        self.complete = not message.get("more_body")
        return message

    async def swallow(self) -> None:
        """Take what still comes: closing on unread bytes resets the connection, and the client loses the answer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while not self.complete:
                    await self()


def check_headers(headers: list[tuple[bytes, bytes]]) -> None:
    """Refuse what the HTTP parser lets through. Raises ClientError."""
    if len(headers) > MOST_HEADERS:
        raise ClientError(f"More than {MOST_HEADERS} headers.", kind="too_large", status=431)
    size = hosts = 0
    for name, value in headers:
        size += len(name) + len(value)
        hosts += name == b"host"
    if size > LARGEST_HEADERS:
        raise ClientError(f"More than {LARGEST_HEADERS} bytes of headers.", kind="too_large", status=431)
    if hosts > 1:
        raise ClientError("More than one Host header.")


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """The body, unpacked. Raises ClientError (too large, too slow, unknown packing) or ClientLeft."""
    if (length := headers.get(b"content-length", b"")).isdigit() and int(length) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(SLOWEST):
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                body = message.get("body", b"")
            else:
                body = await _rest(message, receive, limit)
    except TimeoutError:
        raise ClientError("The request body did not arrive in time.", kind="timeout", status=408) from None
    if len(body) > limit:
        raise _too_large(limit)
    packing = headers.get(b"content-encoding", b"identity").lower()
    if packing in (b"identity", b""):
        return body
    return await asyncio.to_thread(_unpack, body, packing, limit)  # a few kilobytes may become many megabytes


async def _rest(message: Mapping[str, object], receive: Receive, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientLeft
        piece = message.get("body", b"")
        if isinstance(piece, bytes) and piece:
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)
        message = await receive()


def _unpack(body: bytes, packing: bytes, limit: int) -> bytes:
    if packing not in (b"gzip", b"deflate"):
        raise ClientError("Send the body as it is, or packed with gzip or deflate.", kind="unsupported_media")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: gzip or zlib, by its own header
    try:
        plain = unpacker.decompress(body, limit + 1)
    except zlib.error:
        raise ClientError("The body is not what its Content-Encoding says.") from None
    if len(plain) > limit:
        raise _too_large(limit)
    if not unpacker.eof:
        raise ClientError("The packed body is cut off.")
    return plain


def _too_large(limit: int) -> ClientError:
    return ClientError(f"The request body is larger than {limit} bytes (MAX_BODY).", kind="too_large")
