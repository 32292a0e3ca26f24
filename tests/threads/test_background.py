"""Answers that their provider makes in the background are found here by their ids, by whoever's key they are made."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import openai
import pytest
from google import genai
from google.genai import _interactions_errors as errors  # their only place: the SDK exports them nowhere else
from google.genai import types
from pydantic import SecretStr

from app.simulator.running import Running
from tests.running import running_foldline, settings_beside

GPT, GEMINI = "gpt-4.1", "gemini-3-flash-preview"
PLAIN: dict[str, Any] = {"verify": False, "trust_env": False}


@pytest.fixture(params=["the operator's key", "the client's key"])
async def url(request: pytest.FixtureRequest, sim: Running) -> AsyncGenerator[str]:
    """A proxy that speaks Responses and Interactions."""
    key = SecretStr("the-operator-s") if request.param == "the operator's key" else None
    apis = settings_beside(
        sim, openai_api="responses", gemini_api="interactions", openai_api_key=key, gemini_api_key=key
    )
    async with running_foldline(apis) as url:
        yield url


@contextlib.asynccontextmanager
async def _openai(url: str, key: str) -> AsyncGenerator[openai.AsyncOpenAI]:
    plain = openai.DefaultAsyncHttpxClient(**PLAIN)
    async with openai.AsyncOpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0, http_client=plain) as client:
        yield client


@contextlib.asynccontextmanager
async def _google(url: str, key: str) -> AsyncGenerator[Any]:
    with httpx2.Client(**PLAIN) as plain:
        async with httpx2.AsyncClient(**PLAIN) as http:
            options = types.HttpOptions(
                base_url=url,
                httpx_client=plain,
                httpx_async_client=http,
                retry_options=types.HttpRetryOptions(attempts=1),
            )
            yield genai.Client(api_key=key, http_options=options).aio.interactions


async def test_a_response_is_waited_for_and_then_gone_on_from(url: str, key: str) -> None:
    async with _openai(url, key) as client:
        made = await client.responses.create(
            model=GPT, input="Remember: the code is PLUM-1. [[running=2]]", background=True
        )
        assert made.status == "queued"
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(model=GPT, input="What is the code?", previous_response_id=made.id)
        assert (caught.value.param, "not complete" in caught.value.message) == ("previous_response_id", True)
        seen = [(await client.responses.retrieve(made.id)).status for _ in range(3)]
        assert seen[-1] == "completed"
        listed = await client.responses.input_items.list(made.id)
        assert [item.type for item in listed.data] == ["message"]
        later = await client.responses.create(model=GPT, input="What is the code?", previous_response_id=made.id)
        assert "PLUM-1" in later.output_text
        elsewhere = await client.responses.create(model=GEMINI, input="What is the code?", previous_response_id=made.id)
        assert "PLUM-1" in elsewhere.output_text, "what it said is known here, not only at its provider"


async def test_a_response_is_cancelled_and_stays_so(url: str, key: str) -> None:
    async with _openai(url, key) as client:
        made = await client.responses.create(model=GPT, input="Hello. [[running]]", background=True)
        assert (await client.responses.cancel(made.id)).status == "cancelled"
        assert (await client.responses.retrieve(made.id)).status == "cancelled"


async def test_a_streamed_response_is_followed_by_a_client_that_left_it(url: str, key: str) -> None:
    async with _openai(url, key) as client:
        stream = await client.responses.create(model=GPT, input="Say: one two three", background=True, stream=True)
        seen: list[Any] = []
        async for event in stream:
            seen.append(event)
            if len(seen) == 3:
                break
        await stream.close()
        after, identity = seen[-1].sequence_number, seen[0].response.id
        rest = [event async for event in await client.responses.retrieve(identity, stream=True, starting_after=after)]
        assert [event.sequence_number for event in rest] == list(range(after + 1, after + 1 + len(rest)))
        assert rest[-1].type == "response.completed"


async def test_another_client_neither_finds_nor_cancels_it(url: str, key: str) -> None:
    async with _openai(url, key) as client, _openai(url, key + "-other") as other:
        made = await client.responses.create(model=GPT, input="Hello. [[running]]", background=True)
        with pytest.raises(openai.NotFoundError):
            await other.responses.retrieve(made.id)
        with pytest.raises(openai.NotFoundError):
            await other.responses.cancel(made.id)


async def test_an_interaction_is_waited_for_and_then_gone_on_from(url: str, key: str) -> None:
    async with _google(url, key) as client:
        made = await client.create(model=GEMINI, input="Remember: the code is PLUM-1. [[running=3]]", background=True)
        assert made.status == "in_progress"
        with pytest.raises(errors.BadRequestError):
            await client.create(model=GEMINI, input="What is the code?", previous_interaction_id=made.id)
        running = await client.get(id=made.id)
        assert (running.status, [step.type for step in running.steps]) == ("in_progress", ["user_input"])
        seen = [await client.get(id=made.id) for _ in range(3)]
        assert seen[-1].status == "completed"
        assert [step.type for step in seen[-1].steps].count("user_input") == 1
        later = await client.create(model=GPT, input="What is the code?", previous_interaction_id=made.id)
        assert "PLUM-1" in later.output_text


async def test_an_interaction_is_cancelled_and_stays_so(url: str, key: str) -> None:
    async with _google(url, key) as client:
        made = await client.create(model=GEMINI, input="Hello. [[running]]", background=True)
        assert (await client.cancel(id=made.id)).status == "cancelled"
        assert (await client.get(id=made.id)).status == "cancelled"


async def test_a_bulky_tool_result_goes_whole_where_nobody_could_answer_for_its_rows(
    url: str, key: str, sim: Running
) -> None:
    rows = json.dumps([{"id": number, "name": f"row {number}", "value": number * 3} for number in range(900)])
    nothing: Any = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    asked: Any = [
        {"role": "user", "content": "The rows?"},
        {"type": "function_call", "call_id": "call_a", "name": "rows", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_a", "output": rows},
    ]
    tools: Any = [{"type": "function", "name": "rows", "parameters": nothing, "strict": True}]
    async with _openai(url, key) as client:
        made = await client.responses.create(model=GPT, input=asked, tools=tools, background=True)
        assert made.status == "queued"
        assert sim.journal.last.body["input"][2]["output"] == rows


async def test_an_agent_goes_to_the_provider_that_runs_it(url: str, key: str, sim: Running) -> None:
    async with _google(url, key) as client:
        with contextlib.suppress(errors.APIError):
            await client.create(agent="deep-research-preview-04-2026", input="Dig.", background=True)
    assert sim.journal.last.path.endswith("/interactions")
    assert sim.journal.last.body["agent"] == "deep-research-preview-04-2026"
