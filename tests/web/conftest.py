"""The official SDKs, pointed at the proxy."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

import httpx2
import openai
import pytest
from google import genai
from google.genai import types

from tests.running import Proxy

Google = Any
"""Google's client. Its own types name PIL, which is not installed, so that strict checking knows none of its calls."""

PROVIDERS = ("gpt-4.1", "gemini-3-flash-preview")
"""A model of each side of the simulator: the client's own format goes through, and it is translated."""


@pytest.fixture(params=PROVIDERS)
def model(request: pytest.FixtureRequest) -> str:
    """A model whose provider speaks OpenAI's format, then one whose provider speaks Gemini's."""
    return request.param


@pytest.fixture
async def chat(proxy: Proxy, key: str) -> AsyncGenerator[openai.AsyncOpenAI]:
    """OpenAI's SDK. It does not retry, so that a test sees what the proxy said first."""
    plain = openai.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    async with openai.AsyncOpenAI(
        api_key=key, base_url=proxy.openai_url, max_retries=0, timeout=10, http_client=plain
    ) as client:
        yield client


@pytest.fixture
def sync_chat(proxy: Proxy, key: str) -> Generator[openai.OpenAI]:
    """The same, blocking."""
    plain = openai.DefaultHttpxClient(verify=False, trust_env=False)
    with openai.OpenAI(api_key=key, base_url=proxy.openai_url, max_retries=0, timeout=10, http_client=plain) as client:
        yield client


@pytest.fixture
async def gemini(proxy: Proxy, key: str) -> AsyncGenerator[Google]:
    """Google's SDK, over httpx2: with aiohttp it warns of its own use of that, and warnings are errors here."""
    with httpx2.Client(verify=False, trust_env=False) as plain:
        async with httpx2.AsyncClient(verify=False, trust_env=False) as plain_async:
            options = types.HttpOptions(
                base_url=proxy.url, timeout=10_000, httpx_client=plain, httpx_async_client=plain_async
            )
            yield genai.Client(api_key=key, http_options=options)
