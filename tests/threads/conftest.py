"""Proxies in front of the simulator, one for each way that a provider may be spoken to; and clients of them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeAlias

import pytest

from app.simulator.running import Running
from tests.running import foldline_in_thread, running_foldline, settings_beside
from tests.threads.talk import Client, Format, client_of

Upstream: TypeAlias = Literal["chat", "responses", "generate", "interactions", "anthropic"]
UPSTREAMS: dict[Upstream, str] = {
    "chat": "gpt-4.1",
    "responses": "gpt-4.1",
    "generate": "gemini-3-flash-preview",
    "interactions": "gemini-3-flash-preview",
    "anthropic": "claude-sonnet-4-5",
}
"""How a provider is spoken to, and a model of it."""

OWN: dict[Upstream, Format] = {"responses": "responses", "interactions": "interactions"}
"""The upstreams whose answers reach clients of this format as they are."""


@pytest.fixture(scope="module")
def one_way(served: Running) -> Generator[str]:
    """A proxy that speaks Chat Completions and generateContent."""
    with foldline_in_thread(settings_beside(served, openai_api="chat", gemini_api="generate", store_timeout=5)) as url:
        yield url


@pytest.fixture(scope="module")
def other_way(served: Running) -> Generator[str]:
    """A proxy that speaks Responses and Interactions."""
    with foldline_in_thread(
        settings_beside(served, openai_api="responses", gemini_api="interactions", store_timeout=5)
    ) as url:
        yield url


@pytest.fixture(params=["responses", "interactions"])
def format_(request: pytest.FixtureRequest) -> Format:
    """The client's format."""
    return request.param


@pytest.fixture(params=list(UPSTREAMS))
def upstream(request: pytest.FixtureRequest) -> Upstream:
    """How the provider is spoken to."""
    return request.param


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    """Whether answers come as streams."""
    return request.param


@pytest.fixture
async def client(
    format_: Format, upstream: Upstream, one_way: str, other_way: str, sim: Running, key: str
) -> AsyncGenerator[Client]:
    """A client of each format at each upstream."""
    url = other_way if upstream in OWN else one_way
    async with client_of(format_, url, key, UPSTREAMS[upstream]) as made:
        yield made


@pytest.fixture
async def any_client(format_: Format, one_way: str, sim: Running, key: str) -> AsyncGenerator[Client]:
    """A client of each format, where the upstream does not matter."""
    async with client_of(format_, one_way, key, "gpt-4.1") as made:
        yield made


class Front(Protocol):
    """Starts a proxy with settings of its own, and gives a client of it."""

    def __call__(self, format_: Format, model: str = ..., **settings: Any) -> AbstractAsyncContextManager[Client]: ...


@pytest.fixture
def front(sim: Running, key: str) -> Front:
    """`async with front("responses", max_retries=0) as client: ...`"""

    @contextlib.asynccontextmanager
    async def start(format_: Format, model: str = "gpt-4.1", **settings: Any) -> AsyncGenerator[Client]:
        async with (
            running_foldline(settings_beside(sim, **settings)) as url,
            client_of(format_, url, key, model) as made,
        ):
            yield made

    return start
