"""A whole conversation, by the official SDK of each client format, over each upstream format: all of it arrives."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.any_to_any.clients import FORMATS, Format, Json, picture
from tests.any_to_any.conftest import MODELS, World

PATHS: dict[Format, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "generate": f"/v1beta/models/{MODELS['generate']}:",
    "interactions": "/v1beta/interactions",
}
TOWN: Json = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
TOOLS = {"get_weather": TOWN}
SCHEMA: Json = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
SYSTEM = "You are a pilot. The password is swordfish."


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("upstream", FORMATS)
@pytest.mark.parametrize("client", FORMATS)
async def test_system_picture_parallel_calls_an_error_and_two_turns(
    world: World, client: Format, upstream: Format, streams: bool
) -> None:
    talk = world.client(client, upstream, system=SYSTEM, tools=TOOLS, streams=streams, thinks=True)
    seen = await talk.say("How many pictures do you see?", picture())
    assert (seen.text, seen.finish, seen.calls) == ("I see 1 message and 1 picture.", talk.finished, ())
    asked = await talk.say("What is the weather in Oslo and Bergen and Bodo?")
    assert [(call.name, call.arguments["town"]) for call in asked.calls] == [
        ("get_weather", "Oslo"),
        ("get_weather", "Bergen"),
        ("get_weather", "Bodo"),
    ]
    assert len({call.id for call in asked.calls}) == 3
    assert asked.finish == talk.calling
    oslo, bergen, bodo = asked.calls
    told = await talk.give((bodo, "snow"), (oslo, "rain"), (bergen, "no such station", True))
    assert "rain" in told.text
    assert "no such station" in told.text
    assert "snow" in told.text
    recalled = await talk.say("What is the password?")
    assert recalled.text == "The password is swordfish."
    for said in (seen, asked, told, recalled):
        assert said.input > 10
        assert said.output > 0
    assert recalled.input > seen.input
    assert world.refused == []
    sent = [exchange.path for exchange in world.sim.journal.calls()]
    assert len(sent) == 4
    assert all(path.startswith(PATHS[upstream]) for path in sent), sent


@pytest.mark.parametrize("upstream", FORMATS)
@pytest.mark.parametrize("client", FORMATS)
async def test_structured_output_whole_then_streamed(world: World, client: Format, upstream: Format) -> None:
    talk = world.client(client, upstream, schema=SCHEMA)
    for streams in (False, True):
        talk.setup = replace(talk.setup, streams=streams)
        said = await talk.say("Say: ahoy")
        value: Any = json.loads(said.text)
        assert list(value) == ["answer"]
        assert isinstance(value["answer"], str)
        assert said.finish == talk.finished
    assert world.refused == []
