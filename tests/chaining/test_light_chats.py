"""A light chat is sent whole once, and then only what is new; all that a chain does not hold goes out every turn."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaining.conftest import StartFront
from tests.chaining.provider import Api, Call, Provider
from tests.chaining.talk import Wire

TURNS: dict[Wire, int] = {"openai": 30, "gemini": 12, "anthropic": 12}
CLOCK = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def _config(call: Call) -> tuple[Any, ...]:
    """What stands beside the conversation: system, tools, tool choice, limit, format."""
    body = call.body
    config = body.get("generation_config", {})
    return (
        call.system,
        call.tools,
        body.get("tool_choice") or config.get("tool_choice"),
        body.get("max_output_tokens") or config.get("max_output_tokens"),
        body.get("response_format") or body.get("text"),
    )


@pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
@pytest.mark.parametrize("api", ["interactions", "responses"])
async def test_a_long_chat_sends_its_history_once_and_the_rest_of_the_request_every_time(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    async with front() as proxy:
        talk = proxy.talk(
            api,
            wire,
            system="Answer like a harbour pilot.",
            tools={"get_clock": CLOCK},
            choice="auto",
            most=900,
            schema=ANSWER,
        )
        plans: list[str] = []
        for turn in range(TURNS[wire]):
            talk.streams = turn % 3 == 1
            said = await talk.say(f"Berth {turn} is free?")
            plans.append(said.chain)
    assert provider.refused == []
    assert plans == ["new"] + ["continue"] * (TURNS[wire] - 1)
    first, *others = provider.calls
    assert first.previous == ""
    assert [call.previous for call in others] == [bill.id for bill in provider.chains.bills[:-1]]
    for turn, call in enumerate(provider.calls):
        assert [text for text in call.new.splitlines() if text.startswith("Berth")] == [f"Berth {turn} is free?"]
        assert len(call.items) == 1
        assert call.seen.count("is free?") == turn + 1, "the model sees all of it"
        assert _config(call) == _config(first)
    system, tools, choice, most, form = _config(first)
    assert (system, tools, most) == ("Answer like a harbour pilot.", ["get_clock"], 900)
    assert choice == "auto"
    assert form
