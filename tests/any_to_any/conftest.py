"""Two proxies in front of one strict simulator, which between them speak all five formats upstream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from app.simulator.running import Running
from tests.any_to_any.anthropic_client import AnthropicClient
from tests.any_to_any.clients import PLAIN, Client, Format, Setup
from tests.any_to_any.google_clients import GenerateClient, InteractionsClient
from tests.any_to_any.openai_clients import ChatClient, ResponsesClient
from tests.running import foldline_in_thread, settings_beside

CLIENTS: dict[Format, type[Client]] = {
    "chat": ChatClient,
    "responses": ResponsesClient,
    "anthropic": AnthropicClient,
    "generate": GenerateClient,
    "interactions": InteractionsClient,
}
MODELS: dict[Format, str] = {
    "chat": "gpt-5",
    "responses": "gpt-5",
    "anthropic": "claude-opus-5-5",
    "generate": "gemini-3-flash-preview",
    "interactions": "gemini-3-flash-preview",
}
"""A model of each upstream format, one that thinks."""


@pytest.fixture(scope="session")
def older_apis(served: Running) -> Generator[str]:
    """The URL of a proxy that speaks Chat Completions, generateContent and Messages, and nothing else."""
    with foldline_in_thread(settings_beside(served, openai_api="chat", gemini_api="generate", max_retries=0)) as url:
        yield url


@pytest.fixture(scope="session")
def newer_apis(served: Running) -> Generator[str]:
    """The URL of a proxy that speaks Responses, Interactions and Messages, and nothing else."""
    with foldline_in_thread(
        settings_beside(served, openai_api="responses", gemini_api="interactions", max_retries=0)
    ) as url:
        yield url


@dataclass(frozen=True)
class World:
    """The proxies, the simulator behind them, and a key that no other test uses."""

    older: str
    newer: str
    sim: Running
    key: str
    http: httpx2.AsyncClient

    def url(self, upstream: Format) -> str:
        """The proxy that speaks this format upstream."""
        return self.newer if upstream in ("responses", "interactions") else self.older

    def client(self, format_: Format, upstream: Format, **setup: Any) -> Client:
        """A client of a format whose model is served in another; `setup` are Setup's own fields."""
        setup.setdefault("model", MODELS[upstream])
        return CLIENTS[format_](self.http, self.url(upstream), self.key, Setup(**setup))

    @property
    def refused(self) -> list[str]:
        """What the simulated providers would not take."""
        return [exchange.refused for exchange in self.sim.journal if exchange.refused]


@pytest.fixture
async def world(older_apis: str, newer_apis: str, sim: Running, key: str) -> AsyncGenerator[World]:
    """Everything that a conversation needs."""
    async with httpx2.AsyncClient(timeout=30, **PLAIN) as http:
        yield World(older_apis, newer_apis, sim, key, http)
