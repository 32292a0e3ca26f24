"""Clients that send only what is new, and leave the rest to us: their answers hold no call of ours either."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from tests.chaining.provider import Provider
from tests.fetching.conftest import KINDS, MODELS, Front, Kind, StartFront
from tests.fetching.saying import READ, says
from tests.fetching.shop import TOOLS, reviews, rows

FIRST, LAST = "Let me look. ", "Row 205 is fine."


def _fetch(proxy: Front) -> Any:
    return "fetch_rows", {"handle": proxy.handle, "offset": 200, "limit": 6}


@KINDS
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
async def test_a_responses_client_goes_on_by_id_behind_a_fetch(
    front: StartFront, provider: Provider, kind: Kind, streams: bool
) -> None:
    async with front(kind) as proxy:
        sdk: Any = openai.AsyncOpenAI(
            api_key=proxy.key, base_url=f"{proxy.url}/v1", max_retries=0, timeout=20, http_client=proxy.http
        )
        tools = [
            {"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in TOOLS.items()
        ]

        async def ask(given: Any, previous: str | None = None) -> Any:
            body: dict[str, Any] = {"model": MODELS[kind], "input": given, "tools": tools}
            body |= {"previous_response_id": previous} if previous else {}
            if not streams:
                return await sdk.responses.create(**body)
            async with sdk.responses.stream(**body) as stream:
                kinds = [event.type async for event in stream]
                assert kinds.count("response.completed") == 1
                assert kinds[-1] == "response.completed"
                return await stream.get_final_response()

        first = await ask('call reviews with {"q": "all"}')
        called = next(item for item in first.output if item.type == "function_call")
        output = {"type": "function_call_output", "call_id": called.call_id, "output": reviews()}
        second = await ask([output], first.id)
        provider.script.load([says(kind, FIRST, [_fetch(proxy)]), says(kind, LAST)])
        third = await ask("Is row 205 fine?", second.id)
        assert third.output_text == FIRST + LAST
        assert {item.type for item in third.output} <= {"message", "reasoning"}
        assert third.usage.input_tokens == 2 * READ
        assert proxy.fetched()[-1]["rows"] == rows()[200:206]
        await ask("Thank you.", third.id)
        assert proxy.fetched()[-1]["rows"] == rows()[200:206]
        assert "fetch_rows" not in json.dumps([item.model_dump() for item in third.output])
    assert provider.refused == []


@KINDS
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
async def test_an_interactions_client_goes_on_by_id_behind_a_fetch(
    front: StartFront, provider: Provider, kind: Kind, streams: bool
) -> None:
    async with front(kind) as proxy:
        tools = [{"type": "function", "name": name, "parameters": schema} for name, schema in TOOLS.items()]

        async def ask(given: Any, previous: str | None = None) -> dict[str, Any]:
            body: dict[str, Any] = {"model": MODELS[kind], "input": given, "tools": tools, "stream": streams}
            body |= {"previous_interaction_id": previous} if previous else {}
            if not streams:
                answer = await proxy.http.post("/v1beta/interactions", json=body)
                assert answer.status_code == 200, answer.text
                return answer.json()
            return await _streamed(proxy, body)

        first = await ask('call reviews with {"q": "all"}')
        called = next(step for step in first["steps"] if step["type"] == "function_call")
        result = {"type": "function_result", "call_id": called["id"], "name": "reviews", "result": reviews()}
        second = await ask([result], first["id"])
        provider.script.load([says(kind, FIRST, [_fetch(proxy)]), says(kind, LAST)])
        third = await ask("Is row 205 fine?", second["id"])
        assert third["status"] == "completed"
        assert "fetch_rows" not in json.dumps(third)
        words = [part["text"] for step in third["steps"] for part in step.get("content", ()) if part.get("text")]
        assert "".join(words) == FIRST + LAST
        assert proxy.fetched()[-1]["rows"] == rows()[200:206]
        await ask("Thank you.", third["id"])
        assert proxy.fetched()[-1]["rows"] == rows()[200:206]
    assert provider.refused == []


async def _streamed(proxy: Front, body: dict[str, Any]) -> dict[str, Any]:
    """The interaction that the stream's last event tells of, with the steps that it was streamed as."""
    async with proxy.http.stream("POST", "/v1beta/interactions", json=body) as answer:
        assert answer.status_code == 200
        lines = [line async for line in answer.aiter_lines()]
    events: list[dict[str, Any]] = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    ends = [event for event in events if event["event_type"] == "interaction.completed"]
    assert len(ends) == 1
    whole: dict[str, Any] = ends[0]["interaction"]
    kept = await proxy.http.get(f"/v1beta/interactions/{whole['id']}")
    assert kept.status_code == 200, kept.text
    text = "".join(
        event["delta"]["text"]
        for event in events
        if event["event_type"] == "step.delta" and event["delta"].get("type") == "text"
    )
    steps = [step for step in kept.json()["steps"] if step["type"] != "user_input"]
    assert text == "".join(part["text"] for step in steps for part in step.get("content", ()) if part.get("text"))
    return {"id": whole["id"], "status": whole["status"], "steps": steps}
