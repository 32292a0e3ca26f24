"""One model for all tests, and proxies in front of it with the settings that a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import httpx2
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion
from pydantic import SecretStr

from app.settings import Settings
from app.settings.tables import UpstreamTable
from tests.running import running_foldline
from tests_real.model import Model, running_model
from tests_real.serve import NAME

PATIENCE = 240.0
"""Seconds that anything may take: a shared core makes a token of a prompt take up to 50 ms."""


ON = {"ignore_eos": True}
"""llama.cpp's own field: it talks until max_tokens is reached. Foldline does not know it, and hands it on."""

Message: TypeAlias = dict[str, str]


@dataclass(frozen=True, slots=True)
class Front:
    """A proxy in front of the model.

    Attributes:
        url: its origin, without a slash at the end. http: a bare client of it. openai: OpenAI's own.
    """

    url: str
    http: httpx2.AsyncClient
    openai: AsyncOpenAI


class StartFront(Protocol):
    """Starts a proxy in front of the model, with settings of its own, for as long as the block lasts."""

    def __call__(self, **settings: Any) -> AbstractAsyncContextManager[Front]: ...


async def until(true: Callable[[], Awaitable[bool]], what: str, every: float = 0.1, seconds: float = 60) -> None:
    """Wait for something to become true, looking again after `every` seconds; fails with `what`."""
    deadline = time.monotonic() + seconds
    while not await true():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(every)


def openai_client(base_url: str) -> AsyncOpenAI:
    """OpenAI's own client, which tries nothing twice; to be closed."""
    return AsyncOpenAI(base_url=base_url, api_key="key", max_retries=0, timeout=PATIENCE)


async def told(client: AsyncOpenAI, messages: Sequence[Message], **options: Any) -> ChatCompletion:
    """The model's whole answer, the likeliest one. `options` go into the request as they are."""
    given: dict[str, Any] = {"model": NAME, "messages": messages, "temperature": 0, **options}
    return cast("ChatCompletion", await client.chat.completions.create(**given))


def user(text: str) -> Message:
    """What a user says."""
    return {"role": "user", "content": text}


@pytest.fixture(scope="session")
def model() -> Generator[Model]:
    """The model's server."""
    with running_model() as running:
        yield running


@pytest.fixture
def front(model: Model) -> StartFront:
    """`async with front(fold_at_tokens=600) as proxy:` runs a proxy with these settings in front of the model."""

    @contextlib.asynccontextmanager
    async def start(**settings: Any) -> AsyncGenerator[Front]:
        local = UpstreamTable(kind="openai", base_url=model.openai_url)
        given: dict[str, Any] = {"redis_url": SecretStr("memory://"), "log_level": "warning"}
        given |= {"upstreams": {"local": local}} | settings
        async with (
            running_foldline(Settings(**given)) as url,
            httpx2.AsyncClient(
                base_url=url, headers={"authorization": "Bearer key"}, trust_env=False, timeout=PATIENCE
            ) as http,
            openai_client(f"{url}/v1") as client,
        ):
            yield Front(url, http, client)

    return start
