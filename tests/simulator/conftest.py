"""One simulator for all of these tests, in a thread of its own, and the clients that ask it.

The clients load no certificates: that takes longer than most of these tests.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

import httpx2
import openai
import pytest
from google import genai
from google.genai import types

from app.simulator.running import Running, simulator_in_thread


@pytest.fixture(scope="session")
def served() -> Generator[Running]:
    with simulator_in_thread() as running:
        yield running


@pytest.fixture
def sim(served: Running) -> Running:
    """The simulator, with an empty journal and no script."""
    served.journal.clear()
    served.answers.clear()
    return served


@pytest.fixture
async def http(sim: Running) -> AsyncGenerator[httpx2.AsyncClient]:
    """A bare client with credentials for both providers; no proxy settings of the machine."""
    headers = {"authorization": "Bearer lab", "x-goog-api-key": "lab"}
    async with httpx2.AsyncClient(
        base_url=sim.url, headers=headers, trust_env=False, verify=False, timeout=10
    ) as client:
        yield client


@pytest.fixture
async def chat(sim: Running) -> AsyncGenerator[openai.AsyncOpenAI]:
    """The official OpenAI SDK."""
    plain = openai.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    client = openai.AsyncOpenAI(api_key="lab", base_url=sim.openai_url, max_retries=0, timeout=10, http_client=plain)
    async with client:
        yield client


@pytest.fixture
async def gemini(sim: Running) -> AsyncGenerator[Any]:
    """The models of the official Google SDK; Any, because the SDK's own signatures are typed in part only."""
    plain = {"verify": False, "trust_env": False}
    options = types.HttpOptions(
        base_url=sim.gemini_url, timeout=10_000, client_args=plain, async_client_args={"ssl": False, "trust_env": False}
    )
    client = genai.Client(api_key="lab", http_options=options)
    yield client.aio.models
    await client.aio.aclose()
    client.close()
