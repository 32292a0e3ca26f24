"""How many tokens a request has is answered in the asker's dialect, by the provider that would serve it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from anthropic import AsyncAnthropic, BadRequestError
from google import genai

from app.simulator.running import Running, running_simulator
from tests.running import running_foldline, settings_beside

CLAUDE, GEMINI, GPT = "claude-sonnet-5-5", "gemini-3-flash-preview", "gpt-5"
WORDS = "How many tokens does this little sentence have, including the words in front of it? "


@pytest.fixture
async def sim() -> AsyncGenerator[Running]:
    async with running_simulator() as running:
        yield running


@pytest.fixture
async def url(sim: Running) -> AsyncGenerator[str]:
    async with running_foldline(settings_beside(sim)) as running:
        yield running


async def _claude(url: str, model: str, **more: object) -> int:
    body = {"model": model, "messages": [{"role": "user", "content": WORDS * 20}], **more}
    async with AsyncAnthropic(base_url=url, api_key="lab", max_retries=0) as client:
        return (await client.messages.count_tokens(**body)).input_tokens  # pyright: ignore[reportArgumentType] # as clients write it


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, GPT])
async def test_anthropic_s_sdk_gets_a_count_whatever_serves_the_model(url: str, model: str) -> None:
    tokens = await _claude(url, model)
    assert 200 < tokens < 900
    assert await _claude(url, model, system="Be brief. " * 50) > tokens + 50


async def test_a_provider_of_the_same_format_gets_the_client_s_own_bytes(url: str, sim: Running) -> None:
    await _claude(url, CLAUDE)
    assert sim.journal.last.path.endswith("/messages/count_tokens")


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")  # Google's own use of aiohttp
@pytest.mark.parametrize("model", [GEMINI, CLAUDE, GPT])
async def test_google_s_sdk_gets_a_count_whatever_serves_the_model(url: str, model: str) -> None:
    client: Any = genai.Client(api_key="lab", http_options={"base_url": url})  # its own types are partly unknown
    try:
        counted = await client.aio.models.count_tokens(model=model, contents=WORDS * 20)
    finally:
        await client.aio.aclose()
        client.close()
    assert counted.total_tokens is not None
    assert 200 < counted.total_tokens < 900


async def test_a_request_that_is_none_is_an_error_in_the_dialect(url: str) -> None:
    async with AsyncAnthropic(base_url=url, api_key="lab", max_retries=0) as client:
        with pytest.raises(BadRequestError):
            await client.messages.count_tokens(model=GPT, messages=[{"role": "judge", "content": "x"}])  # pyright: ignore[reportArgumentType] # wrong on purpose
