"""One HTTP exchange of a chat: owns request and response, and races the turn against the client's hanging up.

Starlette notices a client that leaves only while it streams a response; before the first byte, and on an answer in one
piece, the provider would go on working (and billing). So one task watches `receive` from the first moment, and ends the
turn the moment the client is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping

from starlette.types import Receive, Scope, Send

from app.engine import Engine, Request, Turn
from app.errors import ProxyError, UpstreamError
from app.observe import TurnDetails
from app.upstreams.upstream import Credential
from app.web.body import ClientLeft, Incoming, check_headers, read_body
from app.web.pulse import Pulse
from app.web.tenant import Gate, credential_of
from app.wires.wire import Inbound, Problem, Wire

UNWATCHED = 0.02
"""Seconds. A client that leaves sooner is noticed then: its provider is told within 50 ms all the same."""

FAREWELL = 2.0
"""Seconds that the last words of a turn cut by shutdown may take."""


class Door:
    """What all exchanges share.

    Args:
        max_body: bytes.
        new_id: makes request ids for clients that send none.
    """

    def __init__(self, engine: Engine, gate: Gate, pulse: Pulse, max_body: int) -> None:
        self.engine = engine
        self.gate = gate
        self.pulse = pulse
        self.max_body = max_body

    async def chat(self, wire: Wire, scope: Scope, receive: Receive, send: Send, inbound: Inbound) -> None:
        """Serve one chat request; `inbound` says what stands in its path, its body is still to come."""
        exchange = Exchange(send, self.pulse)
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        named = dict(headers)
        request_id = _request_id(named) or "req_" + self.engine.new_id()
        credential = Credential()
        tenant = b""
        incoming = Incoming(receive)
        try:
            check_headers(headers)
            credential = _known(self.gate, named, scope.get("query_string", b""))
            tenant = self.gate.tenant(credential)
            body = await read_body(incoming, named, self.max_body)
        except ClientLeft:
            return
        except ProxyError as error:
            problem = wire.problem(error)
            self.engine.observe(
                TurnDetails(
                    request_id=request_id, dialect=wire.name, status=problem.status, outcome="refused", error=error.kind
                )
            )
            await _refuse(exchange, incoming, problem, request_id)
            return
        whole = Inbound(body, inbound.model, inbound.stream, inbound.framing)
        passed_on = Credential() if self.gate.closed else credential
        request = Request(wire, whole, headers, passed_on, tenant, request_id)
        turn = Turn(self.engine, request, exchange)
        try:
            await _while_connected(turn, exchange, receive)
        finally:
            exchange.over()
            self.engine.observe(turn.details())


def _known(gate: Gate, headers: Mapping[bytes, bytes], query: bytes) -> Credential:
    credential = credential_of(headers, query)
    gate.admit(credential)
    return credential


def _request_id(headers: Mapping[bytes, bytes]) -> str:
    said = headers.get(b"x-request-id", b"").decode("latin-1").strip()
    return said if said and len(said) <= 128 and said.isascii() and said.isprintable() else ""


async def _refuse(exchange: Exchange, incoming: Incoming, problem: Problem, request_id: str) -> None:
    """Answer at once, then take what is left of the body, then close."""
    headers = {**problem.headers, "x-request-id": request_id, "connection": "close"}
    headers["content-length"] = str(len(problem.body))
    await exchange.start(problem.status, problem.content_type, headers)
    await exchange.send(problem.body)
    await incoming.swallow()
    await exchange.end()


async def _while_connected(turn: Turn, exchange: Exchange, receive: Receive) -> None:
    """Run the turn, and end it as soon as the client is gone."""
    presence = Presence(receive)
    exchange.leave = presence.leave
    try:
        await turn.run()
    except asyncio.CancelledError:
        # answered for here: the task has nothing left to do, and a server logs what escapes as a fault
        presence.task.uncancel()
        if not presence.gone:
            await _say_farewell(turn)
        turn.note_leaving()
    finally:
        presence.stop()


class Presence:
    """Whether the client is still there. Watched from UNWATCHED on, as many turns are over before: a task for each of
    those would cost more than it could save."""

    __slots__ = ("_loop", "_receive", "_timer", "_watcher", "gone", "task")

    def __init__(self, receive: Receive) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (an ASGI application always runs in one)
        self.task = task
        self.gone = False
        self._receive = receive
        self._watcher: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(UNWATCHED, self._watch)

    def leave(self) -> None:
        """The client is gone, or counts as gone: the turn ends here."""
        if not self.gone:
            self.gone = True
            self.task.cancel()

    def stop(self) -> None:
        """The turn is over."""
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.remove_done_callback(self._left)
            self._watcher.cancel()

    def _watch(self) -> None:
        self._watcher = self._loop.create_task(_disconnect(self._receive))
        self._watcher.add_done_callback(self._left)

    def _left(self, watcher: asyncio.Task[None]) -> None:
        if not watcher.cancelled():
            self.leave()


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _say_farewell(turn: Turn) -> None:
    """The server shuts down and cannot wait any longer: the client gets an error event, not a silent end."""
    turn.outcome = "cut"
    error = UpstreamError(
        "Foldline is shutting down and had to end this answer. Send the request again.", kind="unavailable"
    )
    with contextlib.suppress(Exception):
        async with asyncio.timeout(FAREWELL):
            await turn.fail(error)
    turn.outcome = "cut"


class Exchange:
    """The response side: see app.engine.Out. Nothing is queued: a slow client slows the provider down."""

    __slots__ = ("_begin", "_keepalive", "_last", "_pulse", "_send", "_sending", "ended", "leave", "started")

    def __init__(self, send: Send, pulse: Pulse) -> None:
        self._send = send
        self._pulse = pulse
        self._keepalive = b""
        self._begin: Callable[[], Awaitable[None]] | None = None
        self._last = time.monotonic()
        self._sending = False
        self.leave: Callable[[], None] | None = None
        self.started = False
        self.ended = False

    async def start(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        """Status and headers of a stream."""
        if self.started:  # a keep-alive has committed 200 before the provider's first byte
            return
        self.started = True
        raw = _raw(content_type, headers)
        raw += [(b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no")]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def whole(self, status: int, content_type: str, headers: Mapping[str, str], data: bytes) -> None:
        """An answer in one piece."""
        self.started = self.ended = True
        self.over()
        raw = _raw(content_type, headers)
        raw.append((b"content-length", str(len(data)).encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": raw})
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def send(self, data: bytes) -> None:
        """Bytes of the body, at once."""
        if not data:
            return
        self._sending = True
        self._last = time.monotonic()
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._sending = False

    async def end(self) -> None:
        """The body is complete."""
        self.ended = True
        self.over()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def quiet(self, keepalive: bytes, begin: Callable[[], Awaitable[None]]) -> None:
        """From now on silence is filled; `begin` starts the answer if that comes before its first byte."""
        self._keepalive, self._begin = keepalive, begin
        self._pulse.watch(self)

    def over(self) -> None:
        """No more keep-alives."""
        if self._keepalive:
            self._pulse.forget(self)

    def silent_since(self) -> float:
        """When something was last sent; now, while the client has yet to take it. Only whole events are ever sent."""
        return time.monotonic() if self._sending else self._last

    def stuck_since(self) -> float:
        """Since when the client has not taken what is being sent; now, if nothing is."""
        return self._last if self._sending else time.monotonic()

    def give_up(self) -> None:
        """End the turn, as if the client had hung up."""
        self.over()
        if self.leave is not None:
            self.leave()

    async def keep_alive(self) -> None:
        """Send one keep-alive; before the first byte that commits status 200."""
        self._last = time.monotonic()
        if not self.started and self._begin is not None:
            await self._begin()
        await self._send({"type": "http.response.body", "body": self._keepalive, "more_body": True})


def _raw(content_type: str, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI takes them. What cannot be said in latin-1 becomes a question mark."""
    raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    raw.append((b"content-type", content_type.encode("latin-1", "replace")))
    return raw
