"""A provider that a test scripts, and proxies in front of it with the settings that a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import httpx2
import pytest
from pydantic import SecretStr

from app.engine.summaries import SUMMARY
from app.settings import Settings
from tests.folding.provider import Json, Provider, running_provider
from tests.folding.talk import Talk, client_of
from tests.running import running_foldline

QUIET = 0.1
"""Seconds in which nothing may reach the provider where nothing should."""


@dataclass(frozen=True)
class Front:
    """A proxy that serves now in front of the scripted provider."""

    url: str
    http: httpx2.AsyncClient
    provider: Provider

    def talk(self, **given: Any) -> Talk:
        """A new chat through it; `given` are Talk's own fields."""
        return Talk(self.http, **given)

    async def record(self, turn: str) -> Json:
        """What /foldline/turns says of a turn."""
        answer = await self.http.get(f"/foldline/turns/{turn}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def metric(self, name: str) -> float:
        """The sum of a metric over all its labels; 0 if it was never counted."""
        said = (await self.http.get("/metrics")).text
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", said, re.MULTILINE))

    async def rested(self) -> None:
        """Until no turn runs: what is to be made behind them is begun, or was decided against."""
        while await self.metric("foldline_turns_open"):
            pass

    async def settled(self) -> None:
        """Until no turn runs, and what is made behind them is made and stored."""
        await self.rested()
        await until(lambda: not summaries_begun(), "no summary is being made", 60)


class StartFront(Protocol):
    """Starts a proxy in front of the scripted provider, with settings of its own, for as long as the block lasts."""

    def __call__(self, **settings: Any) -> AbstractAsyncContextManager[Front]: ...


def summaries_begun() -> int:
    """How many summaries the proxies in this event loop are making."""
    return sum(task.get_name() == SUMMARY for task in asyncio.all_tasks())


async def until(true: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Wait for something to become true; fails with `what`."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.005)


@pytest.fixture
async def provider() -> AsyncGenerator[Provider]:
    """A provider that answers in two words until the test says otherwise."""
    async with running_provider() as provider:
        yield provider


@pytest.fixture
def front(provider: Provider, key: str) -> StartFront:
    """`async with front(fold_at_tokens=8000) as proxy:` runs a proxy that sends everything to the provider."""

    @contextlib.asynccontextmanager
    async def start(**settings: Any) -> AsyncGenerator[Front]:
        values: dict[str, Any] = {
            "redis_url": SecretStr("memory://"),
            "openai_base_url": f"{provider.url}/v1",
            "gemini_base_url": provider.url,
            "gemini_api": "generate",
            "log_level": "warning",
            "store_timeout": 5.0,  # a busy machine is no store that is away
            **settings,
        }
        async with running_foldline(Settings(**values)) as url, client_of(url, key) as http:
            yield Front(url, http, provider)

    return start
