"""A turn that another upstream took over begins nothing there that the first one is asked about, and the other way."""

from __future__ import annotations

import pytest

from app.settings import Route
from tests.chaining.conftest import StartFront
from tests.chaining.provider import Api, Provider
from tests.chaining.talk import Wire

ROUTES = (
    Route(match="gemini-*", upstream="gemini", fallbacks=("gpt-5",)),
    Route(match="gpt-*", upstream="openai", fallbacks=("gemini-3-flash-preview",)),
)
OTHER: dict[Api, Api] = {"interactions": "responses", "responses": "interactions"}


@pytest.mark.parametrize("api", ["interactions", "responses"])
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("streams", [False, True])
async def test_no_id_crosses_over(front: StartFront, provider: Provider, api: Api, wire: Wire, streams: bool) -> None:
    async with front(routes=ROUTES, max_retries=0) as proxy:
        talk = proxy.talk(api, wire, streams=streams)
        await talk.say("Remember: the crate is PLUM-1.")
        await talk.say("Berth 2?")
        provider.down.add(api)
        said = await talk.say("Berth 3?")
        taken = provider.last
        assert (taken.api, taken.previous) == (OTHER[api], "")
        assert all(words in taken.new for words in ("PLUM-1", "Berth 2?", "Berth 3?"))
        record = await proxy.record(said.turn)
        assert record["turn"]["sent_upstream"] == 2
        provider.down.clear()
        said = await talk.say("Berth 4?")
        assert (provider.last.api, provider.last.previous) == (api, "")
        assert "Berth 3?" in provider.last.new
        assert (await talk.say("Berth 5?")).chain == "continue"
        assert provider.last.previous == provider.chains.bills[-2].id
    mine = {"interactions": "v1_", "responses": "resp_"}
    assert all(call.previous.startswith(mine[call.api]) for call in provider.calls if call.previous)
    assert provider.refused == []


@pytest.mark.parametrize("api", ["interactions", "responses"])
async def test_a_tool_loop_that_is_taken_over_brings_its_calls(front: StartFront, provider: Provider, api: Api) -> None:
    town = {"type": "object", "properties": {"town": {"type": "string"}}}
    async with front(routes=ROUTES, max_retries=0) as proxy:
        talk = proxy.talk(api, tools={"get_weather": town})
        asked = await talk.say("What is the weather in Oslo and Bergen?")
        provider.down.add(api)
        said = await talk.give(*((call, f"rain in {call.arguments['town']}") for call in asked.calls))
        assert (provider.last.api, len(provider.last.results)) == (OTHER[api], 2)
        assert "rain in Oslo" in said.text
    assert provider.refused == []


@pytest.mark.parametrize("api", ["interactions", "responses"])
async def test_a_turn_that_was_taken_over_does_not_say_that_it_went_on_with_a_chain(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front(routes=ROUTES, max_retries=0) as proxy:
        talk = proxy.talk(api)
        await talk.say("Remember: the crate is PLUM-1.")
        provider.down.add(api)
        assert (await talk.say("Berth 2?")).chain != "continue"


@pytest.mark.parametrize("api", ["interactions", "responses"])
async def test_a_fallback_that_knows_no_such_thing_costs_the_chain_nothing(
    front: StartFront, provider: Provider, api: Api
) -> None:
    import openai

    async with front(routes=ROUTES, max_retries=0) as proxy:
        talk = proxy.talk(api)
        await talk.say("Remember: the crate is PLUM-1.")
        good = provider.newest
        provider.down.add(api)
        provider.missing.add(OTHER[api])
        with pytest.raises(openai.APIError):
            await talk.say("Berth 2?")
        assert len(provider.calls) == 3
        provider.down.clear()
        assert (await talk.say("Berth 2?")).chain == "continue"
        assert provider.last.previous == good
