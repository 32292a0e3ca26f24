"""Where a model calls the client's tools and ours at once, the client hears of its own, and the provider of both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chaining.provider import Json, Provider
from tests.chaining.talk import Talk, Wire
from tests.fetching.conftest import KEEPING, KINDS, Front, Kind, StartFront, with_reviews
from tests.fetching.shop import calls, rows

STOCK = {"q": "shelf"}
FULL = "The shelf is full."


async def _both(proxy: Front, talk: Talk, *, ours_first: bool = True) -> Any:
    """The model calls fetch_rows and stock in one step; what the client gets."""
    asked = ("fetch_rows", {"handle": proxy.handle, "offset": 210, "limit": 10}), ("stock", STOCK)
    return await talk.say(calls(*(asked if ours_first else reversed(asked))))


@KINDS
@pytest.mark.parametrize(
    ("wire", "streams"), [("openai", True), ("openai", False), ("gemini", True), ("anthropic", False)]
)
async def test_both_results_reach_the_provider_under_the_calls_that_they_answer(
    front: StartFront, provider: Provider, kind: Kind, wire: Wire, streams: bool
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk(wire, streams=streams)
        await with_reviews(talk)
        before = len(proxy.asked)
        said = await _both(proxy, talk)
        assert [(call.name, call.arguments) for call in said.calls] == [("stock", STOCK)]
        assert len(proxy.asked) == before + 1
        said = await talk.give((said.calls[0], FULL))
        assert said.calls == ()
        assert FULL in said.text
        assert proxy.fetched()[-1]["rows"] == rows()[210:220]
        by_name = dict(_pairs(proxy, kind)[-2:])
        assert FULL in by_name["stock"]
        assert "Review number 210" in by_name["fetch_rows"]
        said = await talk.say("And now?")
        assert said.calls == ()
        if kind in KEEPING:
            assert said.chain == "continue"
        assert proxy.fetched()[-1]["rows"] == rows()[210:220]
    assert provider.refused == []


@KINDS
async def test_the_clients_own_call_may_come_first(front: StartFront, provider: Provider, kind: Kind) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk(streams=True)
        await with_reviews(talk)
        said = await _both(proxy, talk, ours_first=False)
        assert [call.name for call in said.calls] == ["stock"]
        await talk.give((said.calls[0], FULL))
        by_name = dict(_pairs(proxy, kind)[-2:])
        assert FULL in by_name["stock"]
        assert "Review number 210" in by_name["fetch_rows"]
    assert provider.refused == []


@pytest.mark.parametrize("kind", KEEPING)
async def test_rows_beside_a_clients_call_outlive_the_chain(front: StartFront, provider: Provider, kind: Kind) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        said = await _both(proxy, talk)
        provider.chains.lose()
        said = await talk.give((said.calls[0], FULL))
        assert said.chain == "cut"
        assert proxy.last.body.get("previous_interaction_id", proxy.last.body.get("previous_response_id")) is None
        by_name = dict(_pairs(proxy, kind)[-2:])
        assert FULL in by_name["stock"]
        assert "Review number 210" in by_name["fetch_rows"]
    assert len(provider.refused) == 1, "the lost chain, and no rule of the provider's"


async def test_a_client_that_never_answers_its_call_goes_on_all_the_same(front: StartFront, provider: Provider) -> None:
    async with front("chat") as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        await _both(proxy, talk)
        said = await talk.say("Never mind. How are you?")
        assert said.calls == ()
    assert provider.refused == []


def _pairs(proxy: Front, kind: Kind) -> list[tuple[str, str]]:
    """Each tool result that the model sees with the name of the tool whose call it answers, in order."""
    if kind in KEEPING:
        steps = [*proxy.provider.last.held, *proxy.provider.last.items]
        names = {
            step.get("call_id") or step.get("id"): step["name"] for step in steps if step.get("type") == "function_call"
        }
        return [
            (names[step["call_id"]], json.dumps(step, ensure_ascii=False))
            for step in steps
            if step.get("type") in ("function_result", "function_call_output")
        ]
    if kind == "generate":
        parts = [part for content in proxy.last.body["contents"] for part in content["parts"]]
        found = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return [(each["name"], json.dumps(each, ensure_ascii=False)) for each in found]
    return _by_ids(proxy.last.body["messages"])


def _by_ids(messages: list[Json]) -> list[tuple[str, str]]:
    names: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        if message["role"] == "tool":
            found.append((names[message["tool_call_id"]], str(message["content"])))
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
            if block["type"] == "tool_result":
                found.append((names[block["tool_use_id"]], json.dumps(block["content"], ensure_ascii=False)))
    return found
