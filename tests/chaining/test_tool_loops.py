"""Tool results go on with the chain under the provider's own call ids, whatever the client made of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from app.simulator.chains import owner_of
from tests.chaining.conftest import StartFront
from tests.chaining.provider import VENDOR, Api, Provider
from tests.chaining.talk import Asked, Wire

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])
FORMATS = pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
TOWN = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
TOOLS = {"get_weather": TOWN, "get_tide": TOWN}
ASK = "What is the weather in Oslo and Bergen and Bodo?"


def _own_ids(provider: Provider, api: Api, key: str) -> dict[str, str]:
    """The town that the newest answer's calls ask for, by the provider's own id of the call."""
    turn = provider.chains.found(owner_of(VENDOR[api], key), provider.newest)
    assert turn is not None
    calls = [item for item in turn.made if item["type"] == "function_call"]
    return {call.get("call_id") or call["id"]: str(call["arguments"]) for call in calls}


def _fits(provider: Provider, own: dict[str, str]) -> None:
    """Each result stands under the very call that it answers."""
    assert provider.last.results.keys() == own.keys()
    for identity, text in provider.last.results.items():
        town = next(town for town in ("Oslo", "Bergen", "Bodo") if town in own[identity])
        assert f"rain in {town}" in text


def _rain(call: Asked) -> tuple[Asked, str]:
    return call, f"rain in {call.arguments['town']}"


@BOTH
@FORMATS
@pytest.mark.parametrize("streams", [False, True])
async def test_parallel_calls_are_answered_in_any_order(
    front: StartFront, provider: Provider, api: Api, wire: Wire, streams: bool, key: str
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, wire, streams=streams, tools=TOOLS)
        asked = await talk.say(ASK)
        first, own = provider.newest, _own_ids(provider, api, key)
        assert (len(asked.calls), len(own)) == (3, 3)
        said = await talk.give(*map(_rain, reversed(asked.calls)))
        assert (said.chain, provider.last.previous) == ("continue", first)
        assert len(provider.last.items) == 3, "only the results"
        assert provider.last.tools == list(TOOLS)
        _fits(provider, own)
        assert all(f"rain in {town}" in said.text for town in ("Oslo", "Bergen", "Bodo"))
        again = await talk.say("And the tide at Bodo?")
        assert (again.chain, again.calls[0].name, len(provider.last.items)) == ("continue", "get_tide", 1)
    assert provider.refused == []


@BOTH
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_ids_that_the_client_made_anew_are_answered_as_the_provider_called_them(
    front: StartFront, provider: Provider, api: Api, wire: Wire, key: str
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, wire, tools=TOOLS)
        asked = await talk.say(ASK)
        own = _own_ids(provider, api, key)
        renamed = [dataclasses.replace(call, id=f"mine_{at}") for at, call in enumerate(asked.calls)]
        message: dict[str, Any] = talk.history[-1]
        blocks = message.get("tool_calls") or [one for one in message["content"] if one["type"] == "tool_use"]
        for block, call in zip(blocks, renamed, strict=True):
            block["id"] = call.id
        said = await talk.give(*map(_rain, reversed(renamed)))
        assert said.chain == "continue"
        _fits(provider, own)
    assert provider.refused == []


@BOTH
async def test_ids_that_the_client_dropped_are_found_again(
    front: StartFront, provider: Provider, api: Api, key: str
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, "gemini", tools=TOOLS)
        asked = await talk.say(ASK)
        own = _own_ids(provider, api, key)
        for part in talk.history[-1].parts:
            if part.function_call:
                part.function_call.id = None
        said = await talk.give(*(_rain(dataclasses.replace(call, id="")) for call in asked.calls))
        assert said.chain == "continue"
        _fits(provider, own)
    assert provider.refused == []


@BOTH
async def test_one_of_three_results_is_an_error_and_says_so(
    front: StartFront, provider: Provider, api: Api, key: str
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, "anthropic", tools=TOOLS)
        asked = await talk.say(ASK)
        own = _own_ids(provider, api, key)
        one, two, three = asked.calls
        await talk.give((one, "rain in Oslo"), (two, "no rain in Bergen: the station is away", True), _rain(three))
        _fits(provider, own)
        if api == "interactions":
            wrong = [step["call_id"] for step in provider.last.items if step.get("is_error")]
            assert [own[identity] for identity in wrong] == [own[list(own)[1]]]
    assert provider.refused == []


@BOTH
@FORMATS
async def test_a_loop_of_several_steps_goes_on_step_by_step(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, wire, tools=TOOLS)
        said = await talk.say('call get_weather with {"town": "Oslo"} then call get_tide with {"town": "Bodo"}')
        said = await talk.give(_rain(said.calls[0]))
        assert [call.name for call in said.calls] == ["get_tide"]
        said = await talk.give((said.calls[0], "high at noon"))
        assert not said.calls
        assert [bool(call.previous) for call in provider.calls] == [False, True, True]
        assert [len(call.items) for call in provider.calls] == [1, 1, 1]
    assert provider.refused == []


@BOTH
@FORMATS
async def test_a_chain_lost_in_the_middle_of_a_loop_is_mended_with_the_calls_and_thoughts_in_place(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, wire, tools=TOOLS)
        asked = await talk.say(ASK)
        provider.chains.lose()
        said = await talk.give(*map(_rain, reversed(asked.calls)))
        assert said.chain == "cut"
        assert "rain in Bergen" in said.text
        assert len(provider.calls) == 3
        assert len(provider.last.results) == 3
        await talk.say("And the tide at Bodo?")
        assert provider.last.previous == provider.chains.bills[-2].id
    assert len(provider.refused) == 1, "the lost chain, and no rule of the provider's"


@BOTH
async def test_a_step_done_once_more_branches_from_the_call(
    front: StartFront, provider: Provider, api: Api, key: str
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, tools=TOOLS)
        asked = await talk.say("What is the weather in Oslo?")
        first, own = provider.newest, _own_ids(provider, api, key)
        other = talk.branch()
        await talk.give((asked.calls[0], "rain in Oslo, at first"))
        await other.give((asked.calls[0], "rain in Oslo, after all"))
        assert provider.last.previous == first
        assert provider.last.results.keys() == own.keys()
        assert "at first" not in provider.last.seen
    assert provider.refused == []
