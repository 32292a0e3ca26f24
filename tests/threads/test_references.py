"""A client that keeps its whole chat, and names earlier items by their ids alone, is understood over every upstream."""

from __future__ import annotations

from typing import Any

import pytest

from app.simulator.running import Running
from tests.threads.conftest import UPSTREAMS, Front, Upstream
from tests.threads.talk import refused

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _named(answer: Any) -> list[dict[str, Any]]:
    return [{"type": "item_reference", "id": item.id} for item in answer.kept.output]


@pytest.mark.parametrize("upstream", [name for name in UPSTREAMS if name != "responses"])
async def test_items_named_by_their_ids_are_put_in_their_places(front: Front, upstream: Upstream) -> None:
    ways = {"gemini_api": "interactions" if upstream == "interactions" else "generate"}
    async with front("responses", UPSTREAMS[upstream], **ways) as client:
        tools = client.tools(get_weather=CITY)
        history: list[Any] = [_user("Say: the code is PLUM-1.")]
        said = await client.ask(history)
        history += [*_named(said), _user("The weather in Oslo and Bergen?")]
        called = await client.ask(history, tools=tools)
        assert len(called.calls) == 2
        history += [*_named(called), *client.results(*((call, "rain") for call in called.calls))]
        told = await client.ask(history, tools=tools)
        assert "rain" in told.text
        history += [*_named(told), _user("What is the code?")]
        last = await client.ask(history, tools=tools, stream=True)
        assert "PLUM-1" in last.text


async def test_the_provider_s_own_items_are_named_to_it(front: Front, sim: Running) -> None:
    async with front("responses", openai_api="responses") as client:
        said = await client.ask("Say: the code is PLUM-1.")
        history = [_user("Say: the code is PLUM-1."), *_named(said), _user("What is the code?")]
        assert "PLUM-1" in (await client.ask(history)).text


@pytest.mark.parametrize("identity", ["msg_" + "0" * 48 + "_0", "msg_none", ""])
async def test_an_item_that_is_gone_is_named_in_the_refusal(front: Front, identity: str) -> None:
    async with front("responses") as client:
        async with refused("BadRequestError") as caught:
            await client.ask([{"type": "item_reference", "id": identity}, _user("Hm.")])
        assert "item_reference" in str(caught[0])


async def test_an_item_of_a_deleted_answer_is_gone(front: Front) -> None:
    async with front("responses") as client:
        said = await client.ask("Say: the code is PLUM-1.")
        await client.delete(said.id)
        async with refused("BadRequestError"):
            await client.ask([*_named(said), _user("What is the code?")])
