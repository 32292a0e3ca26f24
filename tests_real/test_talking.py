"""The official clients talk with a real model through the proxy: answers, streams, and its own counts."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from google import genai
from google.genai import types

from tests_real.conftest import ON, PATIENCE, StartFront, openai_client, told, user
from tests_real.model import Model
from tests_real.serve import NAME

TOWN = "The capital of France is Paris. The capital of Italy is Rome. Say them again."


@pytest.mark.parametrize("named", ["table", "setting"])
async def test_an_answer_has_the_models_words_and_its_own_counts(front: StartFront, model: Model, named: str) -> None:
    ways: dict[str, dict[str, Any]] = {"table": {}, "setting": {"openai_base_url": model.openai_url, "upstreams": {}}}
    options = {"max_tokens": 8, "extra_body": ON}
    async with front(**ways[named]) as proxy:
        answer = await told(proxy.openai, [user(TOWN)], **options)
    async with openai_client(model.openai_url) as direct:
        alone = await told(direct, [user(TOWN)], **options)
    assert answer.choices[0].message.content == alone.choices[0].message.content
    assert answer.usage is not None
    assert alone.usage is not None
    assert answer.usage.completion_tokens == 8
    assert answer.usage.prompt_tokens == alone.usage.prompt_tokens


async def test_a_stream_is_read_while_the_model_still_writes(front: StartFront, model: Model) -> None:
    async with front() as proxy:
        stream = await proxy.openai.chat.completions.create(
            model=NAME,
            messages=[{"role": "user", "content": TOWN}],
            max_tokens=24,
            stream=True,
            stream_options={"include_usage": True},
            extra_body=ON,
        )
        pieces: list[str] = []
        usage = None
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                pieces.append(chunk.choices[0].delta.content)
                if len(pieces) == 1:
                    assert await model.busy()
            usage = chunk.usage or usage
    assert len(pieces) > 8
    assert usage is not None
    assert usage.completion_tokens == 24


async def test_anthropics_client_reads_the_models_stream(front: StartFront) -> None:
    async with (
        front() as proxy,
        anthropic.AsyncAnthropic(base_url=proxy.url, api_key="key", max_retries=0, timeout=PATIENCE) as client,
        client.messages.stream(model=NAME, max_tokens=12, messages=[{"role": "user", "content": TOWN}]) as stream,
    ):
        pieces = [text async for text in stream.text_stream]
        answer = await stream.get_final_message()
    usage = answer.usage
    assert usage.input_tokens + (usage.cache_read_input_tokens or 0) > 15  # the server reports what it had cached
    assert usage.output_tokens > 0
    assert "".join(pieces)


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")  # Google's own use of aiohttp
async def test_googles_client_reads_the_models_stream(front: StartFront) -> None:
    async with front() as proxy:
        options = types.HttpOptions(base_url=proxy.url, timeout=int(PATIENCE * 1000))
        async with genai.Client(api_key="key", http_options=options).aio as client:
            stream = await client.models.generate_content_stream(  # pyright: ignore[reportUnknownMemberType] its own gap
                model=NAME, contents=TOWN, config=types.GenerateContentConfig(max_output_tokens=12)
            )
            chunks = [chunk async for chunk in stream]
    assert "".join(chunk.text or "" for chunk in chunks)
    usage = chunks[-1].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count or 0) > 10
    assert (usage.candidates_token_count or 0) > 0
