"""The simulator as a provider that keeps conversations, with its memory at hand, and a test's own refusals before it.

Whatever goes to `/interactions` or `/responses` is noted as it came, together with what the provider held under the id
that it went on from: that, and what the request itself brings, is all that the model sees.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.simulator.app import FIXED_TIME, create_simulator
from app.simulator.chains import ChainLostError, Chains, owner_of
from app.simulator.delivery import TRANSPORT, Closing
from app.simulator.journal import Journal
from app.simulator.script import Script

Json: TypeAlias = dict[str, Any]
Api: TypeAlias = Literal["interactions", "responses"]
VENDOR: dict[Api, str] = {"interactions": "google", "responses": "openai"}
PREVIOUS: dict[Api, str] = {"interactions": "previous_interaction_id", "responses": "previous_response_id"}
RESULTS = ("function_result", "function_call_output")


def strings(value: Any) -> Iterator[str]:
    """All strings inside a JSON value, in order; names of fields are left out."""
    match value:
        case str():
            yield value
        case dict():
            for inner in cast("Json", value).values():
                yield from strings(inner)
        case list() | tuple():
            for inner in cast("list[Any]", value):
                yield from strings(inner)
        case _:
            pass


@dataclass(frozen=True)
class Call:
    """One request for an answer.

    Attributes:
        held: what the provider held under the id that the request goes on from, as it came; empty if it held nothing.
    """

    api: Api
    raw: bytes
    body: Json
    held: tuple[Json, ...] = ()

    @property
    def previous(self) -> str:
        """The id that it goes on from; empty if it begins a chain."""
        return self.body.get(PREVIOUS[self.api], "")

    @property
    def items(self) -> list[Json]:
        """Its input, step by step."""
        given = self.body.get("input", [])
        return [{"type": "user_input", "content": given}] if isinstance(given, str) else given

    @property
    def new(self) -> str:
        """All that its input says."""
        return "\n".join(strings(self.items))

    @property
    def seen(self) -> str:
        """All of the conversation that the model sees: what was held, and what is new."""
        return "\n".join([*strings(self.held), self.new])

    @property
    def system(self) -> str:
        """The system text."""
        return self.body.get("system_instruction") or self.body.get("instructions") or ""

    @property
    def tools(self) -> list[str]:
        """The names of its tools."""
        return [tool["name"] for tool in self.body.get("tools", [])]

    @property
    def results(self) -> dict[str, str]:
        """What its tool results say, by the call that they answer."""
        return {item["call_id"]: "\n".join(strings(item)) for item in self.items if item.get("type") in RESULTS}

    @property
    def stored(self) -> bool | None:
        """What it says of storing: None if it says nothing."""
        return self.body.get("store")


@dataclass(frozen=True)
class Refusal:
    """What is said in place of an answer."""

    status: int
    body: bytes
    kind: str = "application/json"


@dataclass
class Provider:
    """What it got, what it keeps, and what it says instead of an answer.

    Attributes:
        now: seconds since 1970. calls: requests for an answer. deleted: ids that were to be deleted; both in order.
        refusals: what the next requests that go on from something get, one each.
        undeletable: the status that deleting this id gets. down: what answers 503 to everything.
        missing: what answers 404, as if there were no such model.
    """

    now: int = FIXED_TIME
    url: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    deleted: list[str] = field(default_factory=list[str])
    refusals: deque[Refusal] = field(default_factory=deque[Refusal])
    undeletable: dict[str, int] = field(default_factory=dict[str, int])
    down: set[Api] = field(default_factory=set[Api])
    missing: set[Api] = field(default_factory=set[Api])
    journal: Journal = field(default_factory=Journal)
    script: Script = field(default_factory=Script)
    chains: Chains = field(init=False)
    app: ASGIApp = field(init=False)
    closing: Closing = field(init=False)

    def __post_init__(self) -> None:
        self.chains = Chains(lambda: self.now)
        app = create_simulator(journal=self.journal, script=self.script, chains=self.chains, clock=lambda: self.now)
        self.closing = app.state.closing
        self.app = app

    @property
    def last(self) -> Call:
        """The newest request for an answer."""
        return self.calls[-1]

    @property
    def newest(self) -> str:
        """The id of the newest answer."""
        return self.chains.bills[-1].id

    @property
    def refused(self) -> list[str]:
        """The rules that requests broke."""
        return [exchange.refused for exchange in self.journal if exchange.refused]

    def clear(self) -> None:
        """Forget what it got; what it keeps stays."""
        self.calls.clear()
        self.journal.clear()

    def kept(self, api: Api, key: str, identity: str) -> bool:
        """Whether it still keeps that answer for this key."""
        return self.chains.found(owner_of(VENDOR[api], key), identity) is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        raw, again = await _read(receive)
        refusal = self._noted(scope, raw)
        if refusal is not None:
            await Response(refusal.body, refusal.status, media_type=refusal.kind)(scope, receive, send)
        else:
            await self.app(scope, again, send)

    def _noted(self, scope: Scope, raw: bytes) -> Refusal | None:
        """What is said in place of the simulator's own answer, if anything is."""
        path, method = str(scope["path"]), scope["method"]
        name = path.rpartition("/")[2]
        if method == "DELETE":
            self.deleted.append(name)
            status = self.undeletable.get(name, 0)
            return Refusal(status, b'{"error":{"code":"x","message":"It cannot be deleted."}}') if status else None
        if method != "POST" or name not in PREVIOUS:
            return None
        api: Api = "interactions" if name == "interactions" else "responses"
        body = json.loads(raw)
        self.calls.append(Call(api, raw, body, self._held(api, scope, body.get(PREVIOUS[api]))))
        if api in self.down:
            return Refusal(503, b'{"error":{"code":"service_unavailable","message":"Overloaded."}}')
        if api in self.missing:
            return Refusal(404, b'{"error":{"code":"not_found","message":"Requested entity was not found."}}')
        return self.refusals.popleft() if self.refusals and body.get(PREVIOUS[api]) else None

    def _held(self, api: Api, scope: Scope, previous: str | None) -> tuple[Json, ...]:
        if not previous:
            return ()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        key = headers.get("x-goog-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        try:
            line = self.chains.line(owner_of(VENDOR[api], key), previous)
        except ChainLostError:
            return ()
        return tuple(step for turn in line for step in (*turn.given, *turn.made))


async def _read(receive: Receive) -> tuple[bytes, Callable[[], Any]]:
    """The body, and what gives it once more to the next reader."""
    raw, more = b"", True
    while more:
        message = await receive()
        raw, more = raw + message.get("body", b""), message.get("more_body", False)
    given: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def again() -> Message:
        return given.pop() if given else await receive()

    return raw, again


class _CuttableProtocol(HttpToolsProtocol):
    """uvicorn's protocol, whose scope also holds the transport, so that an answer can end in a TCP reset."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[typeddict-item]  # the simulator's own


class _Server(uvicorn.Server):
    """A server that leaves the signals to pytest."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def running_provider() -> AsyncGenerator[Provider]:
    """A provider on a free port, for as long as the block lasts."""
    provider = Provider()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = _Server(
        uvicorn.Config(
            provider,
            http=_CuttableProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
    )
    task = asyncio.create_task(server.serve(sockets=[listener]), name="provider")
    try:
        while not server.started:
            await asyncio.sleep(0.001)
            if task.done():
                task.result()
        provider.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        yield provider
    finally:
        provider.closing.set()
        server.should_exit = True
        await task
        listener.close()
