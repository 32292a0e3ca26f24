"""A provider that keeps conversations, and proxies in front of it with the settings that a test wants."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import httpx2
import pytest
from pydantic import SecretStr

from app.settings import Settings
from tests.chaining.provider import Api, Json, Provider, running_provider
from tests.chaining.talk import TALKS, Setup, Talk, Wire, client_of
from tests.running import running_foldline

MODELS: dict[Api, str] = {"interactions": "gemini-3-flash-preview", "responses": "gpt-5"}


@dataclass(frozen=True)
class Front:
    """A proxy that serves now in front of the provider."""

    url: str
    key: str
    http: httpx2.AsyncClient
    provider: Provider

    def talk(self, api: Api, wire: Wire = "openai", *, streams: bool = False, **setup: Any) -> Talk:
        """A new chat through it, whose model is served by this API; `setup` are Setup's own fields."""
        setup.setdefault("model", MODELS[api])
        return TALKS[wire](self.http, self.url, self.key, Setup(**setup), streams=streams)

    async def record(self, turn: str) -> Json:
        """What /foldline/turns says of a turn."""
        answer = await self.http.get(f"/foldline/turns/{turn}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def forget(self, session: str) -> Json:
        """Delete a session; what became of it."""
        answer = await self.http.delete(f"/foldline/sessions/{session}")
        assert answer.status_code == 200, answer.text
        return answer.json()


class StartFront(Protocol):
    """Starts a proxy in front of the provider, with settings of its own, for as long as the block lasts."""

    def __call__(self, **settings: Any) -> AbstractAsyncContextManager[Front]: ...


@pytest.fixture
async def provider() -> AsyncGenerator[Provider]:
    """A provider with nothing in its memory."""
    async with running_provider() as provider:
        yield provider


@pytest.fixture
def front(provider: Provider, key: str) -> StartFront:
    """`async with front(chain="never") as proxy:` runs a proxy that speaks Interactions and Responses."""

    @contextlib.asynccontextmanager
    async def start(**settings: Any) -> AsyncGenerator[Front]:
        values: dict[str, Any] = {
            "redis_url": SecretStr("memory://"),
            "openai_base_url": f"{provider.url}/v1",
            "gemini_base_url": provider.url,
            "anthropic_base_url": provider.url,
            "gemini_api": "interactions",
            "openai_api": "responses",
            "store_timeout": 5.0,  # a busy machine is no store that is away
            "log_level": "warning",
            **settings,
        }
        async with running_foldline(Settings(**values)) as url, client_of(url, key) as http:
            yield Front(url, key, http, provider)

    return start
