"""Where every request to the simulator is taken in: read, noted in the journal, answered by its dialect, delivered."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from app.simulator.delivery import Closing, deliver
from app.simulator.journal import Exchange, Journal
from app.simulator.mind.talk import Answer
from app.simulator.reply import RefusalError, Reply
from app.simulator.script import Script, scripted_reply
from app.simulator.shapes import Json


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as a dialect reads it.

    Attributes:
        headers: names in lower case.
        body: the parsed JSON, or None.
        seed: a digest of path and body, from which an answer's ids are derived.
    """

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    seed: str = ""


class Service(Protocol):
    """One call of one provider. Pure: the same request gets the same reply."""

    def answer(self, asked: Asked) -> Reply:
        """Check the request by the provider's rules and answer it; RefusalError if it breaks one."""
        ...

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error of that status in the provider's words."""
        ...


class Dialect(Service, Protocol):
    """A call that a model answers, so that a script can answer in its place."""

    def streams(self, asked: Asked) -> bool:
        """Whether the request asks for a stream."""
        ...

    def speak(self, answer: Answer, asked: Asked) -> Reply:
        """Say this answer in the provider's format, streamed if asked for."""
        ...

    def as_stream(self, body: Json, asked: Asked) -> Reply:
        """The stream that says what a whole answer says."""
        ...

    def as_whole(self, events: list[Json]) -> Json:
        """The whole answer that says what a stream's events say."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """What all counters of one simulator share."""

    journal: Journal
    script: Script
    closing: Closing


class Counter:
    """The ASGI app of one call. With `scripted`, prescribed answers come first, said in that dialect."""

    def __init__(self, desk: Desk, service: Service, *, scripted: Dialect | None = None) -> None:
        self._desk = desk
        self._service = service
        self._scripted = scripted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive)
        raw = await request.body()
        headers = {name.lower(): value for name, value in request.headers.items()}
        body, fault = _parsed(raw)
        path = request.url.path
        seed = hashlib.blake2b(raw, key=path.encode()[:64], digest_size=12).hexdigest()
        asked = Asked(path, dict(request.query_params), headers, body, seed)
        exchange = Exchange(request.method, asked.path, asked.query, headers, raw, body, time.monotonic())
        self._desk.journal.add(exchange)
        reply = self._answer(asked, exchange, fault)
        await deliver(reply, exchange, self._desk.closing, scope, receive, send)

    def _answer(self, asked: Asked, exchange: Exchange, fault: str) -> Reply:
        reply = self._judged(asked, exchange, fault)
        entry = self._desk.script.taken(asked.body) if self._scripted is not None else None
        if entry is None or self._scripted is None:
            return reply
        exchange.scripted = True
        return scripted_reply(entry, asked, self._scripted)

    def _judged(self, asked: Asked, exchange: Exchange, fault: str) -> Reply:
        if fault:
            exchange.refused = fault
            return self._service.refusal(400, fault, asked)
        try:
            return self._service.answer(asked)
        except RefusalError as refusal:
            exchange.refused = refusal.said
            return refusal.reply


def _parsed(raw: bytes) -> tuple[Any, str]:
    """The body, and what is wrong with it as JSON (empty if nothing is)."""
    if not raw:
        return None, ""
    try:
        return json.loads(raw), ""
    except (ValueError, RecursionError) as fault:
        return None, f"We could not parse the JSON body of your request: {type(fault).__name__}."
