"""One connection to a provider: one request at a time, and its answer read by httptools (llhttp, as Node does it)."""

from __future__ import annotations

import asyncio
import math
import re
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

import httptools

from app.errors import UpstreamError
from app.upstreams.lean.answer import LeanAnswer

if TYPE_CHECKING:
    from app.upstreams.lean.request import Origin

LARGEST_HEAD = 64 * 1024
"""Bytes of an answer's headers: no provider sends as many."""
COPIED = 32 * 1024
"""A body up to this many bytes goes out in one piece with its headers."""
SURE = 1.0
"""Seconds: a connection that rested for less is used again without a look."""

_REST = re.compile(r"timeout=(\d{1,6})")


class Connection(asyncio.Protocol):
    """A connection, from its first byte to its last.

    Args:
        origin: whom it leads to.
        wire: its socket, for a look whether the provider hung up meanwhile.
        rested: called with the connection when an answer ended and another request may follow.
        lost: called with it when it is gone.
    """

    def __init__(
        self,
        origin: Origin,
        wire: socket.socket,
        rested: Callable[[Connection], None],
        lost: Callable[[Connection], None],
    ) -> None:
        self.origin = origin
        self.resting_since = self.rest_seconds = 0.0
        self._wire = wire
        self._rested, self._lost = rested, lost
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._answer: LeanAnswer | None = None
        self._complete = self._keeps = self._surplus = self._paused = False
        self._alive = True

    def send(self, answer: LeanAnswer, head: bytes, body: bytes) -> None:
        """Send a request, whose answer goes to `answer`."""
        self._answer = answer
        self._complete = self._keeps = False
        self._headers, self._head_bytes = {}, 0
        if len(body) <= COPIED:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))

    def usable(self, now: float) -> bool:
        """Whether another request may go out by it: the provider has not hung up, nor said anything unasked.

        A provider may hang up on a connection that rests. What it sent lies in the socket before the loop tells, so
        that a look into it leaves only the time that a packet travels.
        """
        rested = now - self.resting_since
        if not self._alive or rested > self.rest_seconds:
            return False
        if rested < SURE:
            return True
        try:
            self._wire.recv(1, socket.MSG_PEEK)  # it never blocks
        except BlockingIOError:
            return True
        except (OSError, ValueError):
            return False
        return False

    # What asyncio tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        answer = self._answer
        if answer is None:
            self.drop()  # nobody asked: out of step
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._break(_unreadable(type(error).__name__))
            return
        if self._head_bytes > LARGEST_HEAD:
            self._break(_unreadable("headers of more than 64 KiB"))
        elif self._complete:
            self._finish(answer)
        else:
            answer.wake()

    def eof_received(self) -> None:
        """The provider says no more; the transport closes itself now."""
        self._alive = False

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._alive = False
        self._lost(self)
        if self._answer is None:
            return
        if exc is None and self._until_closed():
            self._finish(self._answer)
        elif self._answer.status:
            self._break(_broken("connection reset" if exc else "connection closed"))
        else:
            self._break(UpstreamError("The provider closed the connection without an answer."))

    # What an answer asks of it (Flow).

    def pause(self) -> None:
        """Read no more until `resume`: the provider's own writing fills up."""
        if self._alive:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._alive and self._paused:
            self._paused = False
            self._transport.resume_reading()

    def drop(self) -> None:
        """Hang up at once: the provider stops working, and billing."""
        self._alive = False
        self._answer = None
        self._transport.abort()

    def hang_up(self) -> None:
        """The end of all: whoever still waits for an answer is told."""
        self._break(_broken("Foldline is closing"))

    # What httptools tells.

    def on_message_begin(self) -> None:
        """An answer begins."""
        self._surplus = self._complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; of several with the same name it is as if they stood in one (RFC 9110, 5.3)."""
        self._head_bytes += len(name) + len(value)
        key, said = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {said}" if key in self._headers else said

    def on_headers_complete(self) -> None:
        """All headers are there; those of an interim answer (100, 103) are nobody's business."""
        status = self._parser.get_status_code()
        if status >= 200 and self._answer is not None and not self._surplus:
            self._answer.begin(status, self._headers)
        self._headers, self._head_bytes = {}, 0

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if self._answer is not None and not self._surplus:
            self._answer.add(body)

    def on_message_complete(self) -> None:
        """The answer is whole, unless it was an interim one."""
        if self._answer is not None and self._answer.status >= 200 and not self._complete:
            self._complete, self._keeps = True, self._parser.should_keep_alive()  # it forgets that with the next byte

    def _finish(self, answer: LeanAnswer) -> None:
        """Complete. Used again if both sides are done with it and nothing is left over."""
        self._answer = None
        self.rest_seconds = _may_rest(answer.headers)
        clean = self._keeps and not self._surplus and not self._transport.get_write_buffer_size()
        if self._alive and clean and self.rest_seconds:
            self.resume()
            self._rested(self)
        else:
            self.drop()
        answer.end()

    def _break(self, error: UpstreamError) -> None:
        answer = self._answer
        self.drop()
        if answer is not None:
            answer.end(error)

    def _until_closed(self) -> bool:
        """Whether the answer's body has no other end than that of the connection (RFC 9112, 6.3)."""
        answer = self._answer
        if answer is None or not answer.status:
            return False
        coded = answer.headers.get("transfer-encoding", "")
        return "content-length" not in answer.headers and not coded.lower().endswith("chunked")


def _may_rest(headers: Mapping[str, str]) -> float:
    """Seconds that the provider keeps a resting connection by its own word, with room for the way; else any time."""
    found = _REST.search(headers.get("keep-alive", ""))
    return max(0.0, int(found[1]) - 1.0) if found else math.inf


def _unreadable(why: str) -> UpstreamError:
    return UpstreamError(f"The provider's answer could not be read ({why}).", repeat=False)


def _broken(why: str) -> UpstreamError:
    return UpstreamError(f"The provider's answer broke off ({why}). Send the request again.")
