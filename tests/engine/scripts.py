"""A turn without sockets: client says, upstream gets, upstream replies, client sees, store holds.

    stage = await Stage.open()
    stage.replies(openai_reply("hello"))
    seen = await stage.says("openai", {"messages": […]})
    assert stage.got[-1].body == … ; assert seen.text == "hello"

Only the two seams are fake: the transport to the provider and the way out to the client. The store is the real one, in
process. `stage.diary` is what happened, in order.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.chat.model import Message
from app.chat.reply import Reply
from app.engine import Engine, Request, Turn
from app.engine.routing import Route, Routes
from app.errors import UpstreamError
from app.observe import SummaryDetails, TurnDetails
from app.state.store import Store
from app.upstreams.transport import Answer
from app.upstreams.upstream import Credential, Upstream, with_key
from app.wires.wire import Inbound
from tests.wires.talking import WIRES, Json, events_of, sse

TENANT = b"tenant-1"
GEMINI_3 = "gemini-3-flash-preview"
KEYS = {"openai": "authorization", "gemini": "x-goog-api-key"}


@dataclass
class Given:
    """A provider's answer: status, headers, pieces of the body; an exception among them breaks it there."""

    pieces: list[bytes | Exception]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    closed: bool = False

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    def close(self) -> None:
        self.closed = True


@dataclass
class Got:
    """A request as the provider got it."""

    url: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Json:
        return json.loads(self.raw)


@dataclass
class Seen:
    """What the client saw."""

    diary: list[str]
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    data: bytes = b""
    started: bool = False
    ended: bool = False
    client: str = "openai"
    stream: bool = False
    turn: Turn | None = None

    async def start(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        assert not self.started
        self.started = True
        self.status, self.headers = status, {**headers, "content-type": content_type}

    async def whole(self, status: int, content_type: str, headers: Mapping[str, str], data: bytes) -> None:
        await self.start(status, content_type, headers)
        await self.send(data)
        await self.end()

    async def send(self, data: bytes) -> None:
        assert self.started
        assert not self.ended
        self.diary.append("sent")
        self.data += data

    async def end(self) -> None:
        self.diary.append("ended")
        self.ended = True

    def quiet(self, keepalive: bytes, begin: Callable[[], Awaitable[None]]) -> None:
        self.diary.append("quiet")

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def reply(self) -> Reply:
        """The answer as the client's own SDK puts it together."""
        reply = Reply()
        for event in events_of(self.client, [self.data], stream=self.stream):
            reply.add(event)
        return reply

    @property
    def message(self) -> Message:
        return self.reply.message


class Stage:
    """An engine between a scripted client and a scripted provider."""

    def __init__(self, store: Store, upstreams: dict[str, Upstream], routes: list[Route], **settings: Any) -> None:
        self.diary: list[str] = []
        self.got: list[Got] = []
        self.waits: list[float] = []
        self.turns: list[TurnDetails] = []
        self.summaries: list[SummaryDetails] = []
        self.store = store
        self._replies: list[Given | Exception] = []
        ids = itertools.count(1)
        self.engine = Engine(
            store=store,
            routes=Routes(routes, upstreams),
            transport=self,
            observers=(self,),
            clock=lambda: 1_790_000_000.0,
            new_id=lambda: f"{next(ids):024x}",
            sleep=self._sleep,
            **settings,
        )

    @classmethod
    async def open(cls, upstream: str = "openai", *, routes: list[Route] | None = None, **settings: Any) -> Stage:
        """A stage whose models are all served by one upstream, unless `routes` say otherwise."""
        upstreams = {
            name: Upstream(
                name,
                name,  # type: ignore[arg-type]  # each is named as its kind
                wire,
                f"https://{name}.test/v1",
                with_key(KEYS[name], "", "key"),
                keyed=True,
            )
            for name, wire in WIRES.items()
        }
        renamed = {"gemini": GEMINI_3, "openai": "gpt-x"}[upstream]
        store = await Store.open("memory://", ttl_seconds=3600, secret="s", clock=lambda: 1_790_000_000.0)
        return cls(store, upstreams, routes or [Route("*", upstream, renamed)], **settings)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def turn(self, details: TurnDetails) -> None:
        """Being an observer."""
        self.turns.append(details)

    def summary(self, details: SummaryDetails) -> None:
        """Being an observer."""
        self.summaries.append(details)

    reaches_out = False

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Being the transport."""
        self.diary.append("asked")
        self.got.append(Got(url, headers, body))
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def aclose(self) -> None:
        """Nothing is open."""

    def replies(self, *replies: Given | Exception) -> None:
        """What the provider answers next, in this order."""
        self._replies.extend(replies)

    def no_more_replies(self) -> None:
        """Forget what was not asked for."""
        self._replies.clear()

    async def says(
        self,
        client: str,
        body: Json,
        *,
        stream: bool = True,
        headers: dict[str, str] | None = None,
        tenant: bytes = TENANT,
        raw: bytes = b"",
        model: str = GEMINI_3,
    ) -> Seen:
        """One request of a client, and what it saw. `model` is what a Gemini client names in the path."""
        if client == "openai":
            body = {"model": GEMINI_3, "stream": stream, **body}
        inbound = Inbound(raw or json.dumps(body).encode(), model if client == "gemini" else "", stream)
        listed = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        request = Request(WIRES[client], inbound, listed, Credential("bearer", "client-key"), tenant, "req-1")
        seen = Seen(self.diary, client=client, stream=stream)
        seen.turn = Turn(self.engine, request, seen)
        await seen.turn.run()
        self.engine.observe(seen.turn.details())
        return seen


def whole(body: Json | bytes, status: int = 200, **headers: str) -> Given:
    """An answer in one piece."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Given(
        [data], status, {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    )


def openai_says(text: str = "", calls: list[Json] | None = None, **extras: Any) -> Given:
    """A streamed Chat Completions answer. `calls`: the entries of tool_calls; `extras`: vendor keys of the delta."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [extras] if extras else []
    deltas += [{"content": text}] if text else []
    deltas += [{"tool_calls": [{"index": i, **call}]} for i, call in enumerate(calls or ())]
    chunks: list[Json | str] = [{"id": "u1", "model": "gpt-x", "choices": [{"index": 0, "delta": d}]} for d in deltas]
    finish = "tool_calls" if calls else "stop"
    chunks += [
        {"id": "u1", "model": "gpt-x", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        "[DONE]",
    ]
    return Given([sse(chunk) for chunk in chunks])


def gemini_says(*parts: Json, finish: str = "STOP") -> Given:
    """A streamed generateContent answer, one part a chunk."""
    chunks: list[Json] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}}], "responseId": "u1", "modelVersion": GEMINI_3}
        for part in parts
    ]
    chunks.append(
        {"candidates": [{"content": {"parts": []}, "finishReason": finish}], "usageMetadata": {"promptTokenCount": 7}}
    )
    return Given([sse(chunk, end="\r\n\r\n") for chunk in chunks])


def call(identity: str, name: str = "f", arguments: str = "{}", **extras: Any) -> Json:
    """An entry of tool_calls."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}, **extras}


def broken(text: str = "reset") -> UpstreamError:
    """A connection that breaks while the answer comes."""
    return UpstreamError(text)
