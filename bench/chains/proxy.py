"""Foldline in process: a real engine over its own store, its clock in the bench's hands, its upstream on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from app.context.known import Checkpoint
from app.context.plan import Decision
from app.engine import Engine, Request, Turn
from app.engine.routing import Route, Routes
from app.state.keys import Session
from app.state.store import Store
from app.upstreams.gemini import gemini
from app.upstreams.lean.transport import LeanTransport
from app.upstreams.openai import openai
from app.upstreams.transport import Timeouts
from app.upstreams.upstream import Credential, Spoken
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.wire import Inbound

from bench.chains.rhythm import Clock
from bench.memory.spoken.api import Api

TENANT = b"benchers"
LAST_SUMMARY = 30.0
"""Seconds that a summary may take here."""


class TimedStore(Store):
    """A store whose pauses after a refused summary pass by the bench's clock, not by the server's."""

    clock: Clock

    async def pause(self, session: Session, name: str, seconds: float) -> None:
        """Let `name` rest for so many seconds."""
        self._until[session, name] = self.clock() + seconds

    async def look(self, session: Session, address: bytes, name: str) -> tuple[Checkpoint | None, bool]:
        """What is stored at an address, and whether `name` rests."""
        stored, _ = await super().look(session, address, name)
        return stored, self._until.get((session, name), 0) > self.clock()

    def timed(self, clock: Clock) -> None:
        """Go by this clock from now on."""
        self.clock = clock
        self._until: dict[tuple[Session, str], float] = {}


@dataclass
class _Way:
    """The way back to the client."""

    started: bool = False
    status: int = 0
    data: bytearray = field(default_factory=bytearray)

    async def start(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.started, self.status = True, status

    async def whole(self, status: int, content_type: str, headers: Mapping[str, str], data: bytes) -> None:
        await self.start(status, content_type, headers)
        await self.send(data)

    async def send(self, data: bytes) -> None:
        self.data += data

    async def end(self) -> None:
        """Nothing is left to do."""

    def quiet(self, keepalive: bytes, begin: Callable[[], Awaitable[None]]) -> None:
        """Nobody waits here."""


@dataclass
class Proxy:
    """One Foldline.

    Attributes:
        chained: what became of the chain on each turn, and why, in order.
    """

    engine: Engine
    chained: list[Decision] = field(default_factory=list[Decision])

    async def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The assistant's message. Raises RuntimeError if there is none."""
        inbound = Inbound(json.dumps(body, ensure_ascii=False).encode())
        way = _Way()
        turn = Turn(self.engine, Request(OPENAI_CHAT, inbound, [], Credential("bearer", "sk-bench"), TENANT), way)
        await turn.run()
        self.chained += [each for each in turn.plan.decisions if each.step == "chain"]
        if way.status != 200:
            raise RuntimeError(f"{way.status}: {bytes(way.data[:300]).decode('utf-8', 'replace')}")
        return json.loads(way.data)["choices"][0]["message"]

    async def settled(self) -> None:
        """What is made behind the turns is made."""
        await self.engine.summaries.close(LAST_SUMMARY)


@asynccontextmanager
async def proxy(origin: str, api: Api, clock: Clock, policy: Mapping[str, Any]) -> AsyncGenerator[Proxy]:
    """Foldline in front of the upstream at `origin`, for as long as the block lasts."""
    store = await TimedStore.open("memory://", ttl_seconds=30 * 86_400, secret="bench", clock=clock)  # noqa: S106 (guards nothing)
    store.timed(clock)
    transport = LeanTransport(Timeouts(5, 60, 60))
    spoken = Spoken(api.value)
    name = api.kind
    there = openai(name, f"{origin}/v1", "sk-bench", spoken) if name == "openai" else gemini(name, origin, "k", spoken)
    routes = Routes([Route("*", name, "")], {name: there})
    try:
        yield Proxy(Engine(store=store, routes=routes, transport=transport, policy=policy, clock=clock))
    finally:
        await transport.aclose()
        await store.close()
