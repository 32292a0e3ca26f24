"""A fetch in the middle of an answer is not to be seen in it: one answer, nothing twice, nothing missing, one end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.chaining.provider import Json, Provider
from tests.chaining.talk import Wire
from tests.fetching.conftest import KINDS, MODELS, STREAMS, WIRES, Front, Kind, StartFront, with_reviews
from tests.fetching.saying import READ, SPOKEN, says
from tests.fetching.shop import rows
from tests.folding.conftest import until

FIRST, LAST = "Let me look. ", "Row 205 is fine."
ENDS: dict[Wire, str] = {"openai": "stop", "gemini": "STOP", "anthropic": "end_turn"}


def _rows(proxy: Front, offset: int = 200) -> tuple[str, Json]:
    return "fetch_rows", {"handle": proxy.handle, "offset": offset, "limit": 6}


@KINDS
@WIRES
@STREAMS
async def test_a_client_gets_one_answer_with_one_end_and_the_sum_of_what_it_cost(
    front: StartFront, provider: Provider, kind: Kind, wire: Wire, streams: bool
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk(wire, streams=streams)
        await with_reviews(talk)
        before = len(proxy.asked)
        provider.script.load([says(kind, FIRST, [_rows(proxy)]), says(kind, "", [_rows(proxy, 206)]), says(kind, LAST)])
        said = await talk.say("Is row 205 fine?")
        assert (said.text, said.calls, said.finish) == (FIRST + LAST, (), ENDS[wire])
        assert (said.input, said.output) == (3 * READ, 3 * SPOKEN)
        assert len(proxy.asked) == before + 3
        assert [row for found in proxy.fetched()[-2:] for row in found["rows"]] == rows()[200:212]
        assert provider.script.left() == 0
    assert provider.refused == []


def _chunks(events: list[str]) -> list[Json]:
    return [json.loads(event) for event in events if event != "[DONE]"]


@KINDS
async def test_the_first_words_are_there_before_the_rows_are_and_the_stream_ends_once(
    front: StartFront, provider: Provider, kind: Kind
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        before = len(proxy.asked)
        provider.script.load([says(kind, FIRST, [_rows(proxy)]), says(kind, LAST, delay_ms=200)])
        body = _body(kind, [*talk.history, talk.user("Is row 205 fine?")], stream_options={"include_usage": True})
        events: list[str] = []
        answered: list[bool] = []
        async with proxy.http.stream("POST", "/v1/chat/completions", json=body) as answer:
            async for line in answer.aiter_lines():
                if not line.startswith("data: "):
                    continue
                events.append(line[6:])
                if "look" in line:
                    answered = [each.ended is not None for each in proxy.asked[before + 1 :]]
        assert True not in answered, "the words waited for the rows"
        assert events.count("[DONE]") == 1
        assert events[-1] == "[DONE]"
        chunks = _chunks(events)
        assert len({chunk["id"] for chunk in chunks}) == 1
        choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
        assert "".join(choice["delta"].get("content") or "" for choice in choices) == FIRST + LAST
        assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["stop"]
        assert not any(choice["delta"].get("tool_calls") for choice in choices)
        assert [chunk["usage"]["prompt_tokens"] for chunk in chunks if chunk.get("usage")] == [2 * READ]


def _body(kind: Kind, messages: list[Any], **more: Any) -> Json:
    function: Json = {"name": "reviews", "parameters": {"type": "object", "properties": {}}}
    tool: Json = {"type": "function", "function": function}
    return {"model": MODELS[kind], "messages": messages, "tools": [tool], "stream": True, **more}


@KINDS
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_client_that_hangs_up_behind_a_fetch_cancels_what_was_asked_with_the_rows(
    front: StartFront, provider: Provider, kind: Kind, stream: bool
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        before = len(proxy.asked)
        provider.script.load([says(kind, FIRST, [_rows(proxy)]), says(kind, LAST, delay_ms=20_000)])
        body = _body(kind, [*talk.history, talk.user("Is row 205 fine?")]) | {"stream": stream}
        asking = asyncio.create_task(proxy.http.post("/v1/chat/completions", json=body))
        await until(lambda: len(proxy.asked) == before + 2, "the model was asked with the rows")
        asking.cancel()
        await until(lambda: proxy.last.aborted, "the provider is no longer asked", 5)
        after = len(proxy.asked)
        assert (await talk.say("Hello again.")).text
        assert len(proxy.asked) == after + 1, "what was cancelled is not asked again"
