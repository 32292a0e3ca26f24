"""A provider of every kind, proxies in front of it, and what the model sees of a request, whatever its format."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import httpx2
import pytest
from pydantic import SecretStr

from app.settings import Settings
from app.simulator.journal import Exchange
from tests.chaining.provider import Json, Provider, running_provider, strings
from tests.chaining.talk import TALKS, Said, Setup, Talk, Wire, client_of
from tests.fetching.shop import TOOLS, reviews
from tests.running import running_foldline

Kind: TypeAlias = Literal["chat", "responses", "generate", "interactions", "anthropic"]
MODELS: dict[Kind, str] = {
    "chat": "gpt-5",
    "responses": "gpt-5",
    "generate": "gemini-3-flash-preview",
    "interactions": "gemini-3-flash-preview",
    "anthropic": "claude-sonnet-4-6",
}
KEEPING: tuple[Kind, ...] = ("responses", "interactions")
"""Those that keep conversations."""

LISTS: dict[str, str] = {"chat": "messages", "generate": "contents", "anthropic": "messages"}
KINDS = pytest.mark.parametrize("kind", MODELS)
WIRES = pytest.mark.parametrize("wire", TALKS)
STREAMS = pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])

_HANDLE = re.compile(r"res_[a-z2-7]{24}")


@dataclass(frozen=True)
class Front:
    """A proxy that serves now in front of the provider."""

    url: str
    key: str
    http: httpx2.AsyncClient
    provider: Provider
    kind: Kind

    def talk(self, wire: Wire = "openai", *, streams: bool = False, **setup: Any) -> Talk:
        """A new chat through it; `setup` are Setup's own fields."""
        given: dict[str, Any] = {"model": MODELS[self.kind], "tools": TOOLS, **setup}
        return TALKS[wire](self.http, self.url, self.key, Setup(**given), streams=streams)

    async def record(self, turn: str) -> Json:
        """What /foldline/turns says of a turn."""
        answer = await self.http.get(f"/foldline/turns/{turn}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    @property
    def asked(self) -> list[Exchange]:
        """The requests for an answer, in order."""
        return [each for each in self.provider.journal if each.method == "POST" and "countTokens" not in each.path]

    @property
    def last(self) -> Exchange:
        """The newest request for an answer."""
        return self.asked[-1]

    @property
    def new(self) -> str:
        """All that the newest request itself says."""
        return said_in(self.last)

    @property
    def seen(self) -> str:
        """All of the conversation that the model sees by the newest request: what was kept, and what is new."""
        return self.provider.last.seen if self.kind in KEEPING else self.new

    @property
    def handle(self) -> str:
        """The handle that the model saw last."""
        return _HANDLE.findall(self.seen)[-1]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the newest request offers."""
        return re.findall(r'"name": ?"(\w+)"', json.dumps(self.last.body.get("tools", [])))

    def fetched(self) -> list[Json]:
        """What the model got for its fetches, by what it sees now."""
        return [found for found in self.objects() if {"offset", "rows"} <= found.keys()]

    def small(self) -> list[Json]:
        """The small forms that the model sees now."""
        return [found for found in self.objects() if "digest" in found]

    def objects(self) -> list[Json]:
        """All texts in the model's sight that are JSON objects."""
        return [found for text in self._texts() if (found := _object(text))]

    def _texts(self) -> list[str]:
        if self.kind in KEEPING:
            return [*strings(self.provider.last.held), *strings(self.provider.last.items)]
        return list(strings(self.last.body))


def said_in(exchange: Exchange) -> str:
    """All that a request says beside its tools."""
    return "\n".join(strings({name: value for name, value in exchange.body.items() if name != "tools"}))


def _object(text: str) -> Json | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found


async def with_reviews(talk: Talk, text: str = "") -> Said:
    """The talk up to the answer to the reviews; `text` is what the tool says in their place."""
    said = await talk.say('call reviews with {"q": "all"}')
    assert [call.name for call in said.calls] == ["reviews"]
    return await talk.give((said.calls[0], text or reviews()))


class StartFront(Protocol):
    """Starts a proxy in front of the provider, with settings of its own, for as long as the block lasts."""

    def __call__(self, kind: Kind, **settings: Any) -> AbstractAsyncContextManager[Front]: ...


@pytest.fixture
async def provider() -> AsyncGenerator[Provider]:
    """A provider with nothing in its memory."""
    async with running_provider() as provider:
        yield provider


@pytest.fixture
def front(provider: Provider, key: str) -> StartFront:
    """`async with front("chat") as proxy:` runs a proxy whose provider is asked in that format."""

    @contextlib.asynccontextmanager
    async def start(kind: Kind, **settings: Any) -> AsyncGenerator[Front]:
        values: dict[str, Any] = {
            "redis_url": SecretStr("memory://"),
            "openai_base_url": f"{provider.url}/v1",
            "gemini_base_url": provider.url,
            "anthropic_base_url": provider.url,
            "gemini_api": "interactions" if kind == "interactions" else "generate",
            "openai_api": "responses" if kind == "responses" else "chat",
            "store_timeout": 5.0,  # a busy machine is no store that is away
            "log_level": "warning",
            **settings,
        }
        async with running_foldline(Settings(**values)) as url, client_of(url, key) as http:
            yield Front(url, key, http, provider, kind)

    return start
