"""Where nothing may be kept at the provider, every request says so, nothing is gone on from, and thoughts go back."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from tests.chaining.conftest import StartFront
from tests.chaining.provider import Api, Call, Provider
from tests.chaining.talk import Wire
from tests.servers import redis_server

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])
TOWN = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the client says store false": ({}, {"body": {"store": False}}),
    "the client asks for no chain": ({}, {"options": {"chain": "never"}}),
    "the operator wants none": ({"chain": "never"}, {}),
}
"""Settings, and what the client sets."""
CASES = [
    (wire, way)
    for wire in ("openai", "gemini", "anthropic")
    for way in WAYS
    if (wire, "store" in way) != ("anthropic", True)
]


def _thoughts(call: Call) -> list[Any]:
    return [item for item in call.items if item.get("type") in ("thought", "reasoning")]


@BOTH
@pytest.mark.parametrize(("wire", "way"), CASES)
async def test_nothing_is_kept_nothing_is_continued_and_thoughts_go_back_word_for_word(
    front: StartFront, provider: Provider, api: Api, wire: Wire, way: str
) -> None:
    settings, asked = WAYS[way]
    async with front(**settings) as proxy:
        talk = proxy.talk(api, wire, tools={"get_weather": TOWN}, **asked)
        said = await talk.say("What is the weather in Oslo and Bergen?")
        made = provider.calls[-1]
        assert said.chain == "never"
        said = await talk.give(*((call, f"rain in {call.arguments['town']}") for call in said.calls))
        assert _thoughts(provider.last), "the thought that led to the calls went back"
        talk.streams = True
        await talk.say("Which of them is wetter?")
        assert len(_thoughts(provider.last)) >= len(_thoughts(provider.calls[1]))
        await talk.say("How many messages?")
    assert made.previous == ""
    assert [(call.previous, call.stored) for call in provider.calls] == [("", False)] * 4
    assert [len(call.items) for call in provider.calls] == sorted(len(call.items) for call in provider.calls)
    assert len(provider.chains) == 0
    assert provider.refused == []


@BOTH
async def test_thoughts_that_nobody_keeps_outlive_a_restart(front: StartFront, provider: Provider, api: Api) -> None:
    with redis_server() as server:
        store: dict[str, Any] = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32), "chain": "never"}
        async with front(**store) as first:
            talk = first.talk(api, tools={"get_weather": TOWN})
            said = await talk.say("What is the weather in Oslo?")
        async with front(**store) as second:
            later = talk.branch(http=second.http)
            await later.give((said.calls[0], "rain"))
            assert _thoughts(provider.last)
    assert provider.refused == []


@BOTH
async def test_a_chat_that_was_kept_is_not_gone_on_from_once_storing_is_forbidden(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api)
        await talk.say("Remember: the crate is PLUM-1.")
        kept = provider.newest
        private = talk.with_options(chain="never")
        said = await private.say("Which crate?")
        assert (said.chain, provider.last.previous, provider.last.stored) == ("never", "", False)
        assert "PLUM-1" in provider.last.new
        back = talk.branch(private.history)
        said = await back.say("And now?")
        assert provider.last.previous == "", "the answer in between is in no chain"
        assert (await back.say("And then?")).chain == "continue"
        await talk.say("Which crate?")
        assert provider.last.previous == kept, "the branch that was kept can still be gone on from"
    assert provider.refused == []


async def test_thoughts_that_nobody_keeps_go_to_another_model_of_gemini_too(
    front: StartFront, provider: Provider
) -> None:
    async with front(chain="never") as proxy:
        talk = proxy.talk("interactions", tools={"get_weather": TOWN}, model="gemini-3-flash-preview")
        said = await talk.say("What is the weather in Oslo?")
        other = proxy.talk("interactions", tools={"get_weather": TOWN}, model="gemini-3.1-pro-preview")
        other.history = list(talk.history)
        said = await other.give((said.calls[0], "rain"))
        assert "restore=1" in said.plan
        assert len(_thoughts(provider.last)) == 1
    assert provider.refused == []
