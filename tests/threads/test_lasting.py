"""An id outlives a restart, reaches a second replica, a fold, another upstream, and what its provider has lost."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from app.settings.tables import Route
from app.simulator.running import Running
from tests.servers import redis_server
from tests.threads.conftest import Front
from tests.threads.talk import Client, Format, refused

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("gpt-4.1", {"openai_api": "chat"}),
    "responses": ("gpt-4.1", {"openai_api": "responses"}),
    "generate": ("gemini-3-flash-preview", {"gemini_api": "generate"}),
    "interactions": ("gemini-3-flash-preview", {"gemini_api": "interactions"}),
    "anthropic": ("claude-sonnet-4-5", {}),
}


@pytest.mark.parametrize("way", list(WAYS))
async def test_a_restart_and_a_second_replica_know_every_id(front: Front, format_: Format, way: str) -> None:
    model, settings = WAYS[way]
    with redis_server() as server:
        store = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32), "store_timeout": 5, **settings}
        async with front(format_, model, **store) as one, front(format_, model, **store) as two:
            first = await one.ask("The code is PLUM-1.")
            second = await two.ask("The berth is KIWI-7.", first.id, stream=True)
            third = await one.ask("What is the berth?", second.id)
            assert "KIWI-7" in third.text
        async with front(format_, model, **store) as later:
            assert "PLUM-1" in (await later.ask("What is the code?", third.id)).text
            assert (await later.get(second.id)).id == second.id
            await later.delete(second.id)
            assert "KIWI-7" in (await later.ask("What is the berth?", third.id)).text


@pytest.mark.parametrize("way", list(WAYS))
async def test_ids_go_on_where_the_provider_may_keep_nothing(
    front: Front, format_: Format, way: str, stream: bool
) -> None:
    model, settings = WAYS[way]
    async with front(format_, model, **settings, chain="never") as client:
        first = await client.ask("The code is PLUM-1.", stream=stream)
        second = await client.ask("The berth is KIWI-7.", first.id, stream=stream)
        assert "PLUM-1" in (await client.ask("What is the code?", second.id, stream=stream)).text
        assert (await client.get(second.id)).id == second.id


@pytest.mark.parametrize("way", ["chat", "responses", "interactions"])
async def test_a_long_conversation_of_short_requests_is_folded(front: Front, format_: Format, way: str) -> None:
    """What counts is the whole conversation, of which each request brings only the end."""
    model, settings = WAYS[way]
    at = 600
    small = {"fold_at_tokens": at, "fold_to_tokens": at // 2, "keep_recent": 2, "summary_when": "before"}
    async with front(format_, model, **settings, **small) as client:
        said, plans = await client.ask("The code is PLUM-4711."), list[str]()
        for number in range(20):
            words = f"Note {number}: " + "the quay was calm. " * 6
            assert len(words) + len(said.id) + 120 < at // 2, "no request is large enough to be folded by itself"
            said = await client.ask(words, said.id)
            plans.append(said.plan)
        assert "summary=" in plans[-1]
        assert "PLUM-4711" in (await client.ask("What is the code?", said.id)).text


@pytest.mark.parametrize("way", list(WAYS))
async def test_a_fold_in_between_leaves_ids_and_facts_alone(front: Front, format_: Format, way: str) -> None:
    model, settings = WAYS[way]
    small = {"fold_at_tokens": 900, "fold_to_tokens": 450, "keep_recent": 2, "summary_when": "before"}
    async with front(format_, model, **settings, **small) as client:
        said = await client.ask("The code is PLUM-4711.")
        ids, folded = [said.id], False
        for number in range(7):
            said = await client.ask(f"Note {number}: " + "the quay was calm that day. " * 30, said.id)
            folded |= "summary=" in said.plan
            ids.append(said.id)
        assert folded
        assert "PLUM-4711" in (await client.ask("What is the code?", said.id)).text
        assert "PLUM-4711" in (await client.ask("What is the code?", ids[0])).text
        assert (await client.get(ids[3])).id == ids[3]


async def test_another_upstream_goes_on_with_the_thread(front: Front, format_: Format, sim: Running) -> None:
    routes = [
        Route(match="first", upstream="openai", model="gpt-4.1", fallbacks=("claude-sonnet-4-5",)),
        Route(match="claude-*", upstream="anthropic"),
    ]
    async with front(format_, "first", routes=routes, max_retries=0, openai_api="responses") as client:
        said = await client.ask("The code is PLUM-1.")
        sim.script([{"status": 503, "json": {"error": {"message": "Down.", "type": "server_error"}}}])
        over = await client.ask("The berth is KIWI-7.", said.id)
        assert sim.journal.last.path.endswith("/messages")
        back = await client.ask("What is the code?", over.id, stream=True)
        assert sim.journal.last.path.endswith("/responses")
        assert "PLUM-1" in back.text
        assert "KIWI-7" in (await client.ask("What is the berth?", back.id)).text


@pytest.mark.parametrize("way", ["responses", "interactions"])
async def test_a_chain_that_its_provider_lost_is_told_anew(
    front: Front, format_: Format, way: str, sim: Running
) -> None:
    model, settings = WAYS[way]
    async with front(format_, model, **settings) as client:
        first = await client.ask("The code is PLUM-1.")
        second = await client.ask("The berth is KIWI-7.", first.id)
        sim.chains.lose()
        assert "PLUM-1" in (await client.ask("What is the code?", second.id)).text


async def test_a_model_of_another_provider_goes_on_with_the_thread(front: Front, format_: Format) -> None:
    async with front(format_, openai_api="responses", gemini_api="interactions") as client:
        previous = (await client.ask("The code is PLUM-1.")).id
        for model in ("gemini-3-flash-preview", "claude-sonnet-4-5", "gpt-4.1", "gemini-3-flash-preview"):
            tools = client.tools(get_weather=CITY)
            called = await client.ask("The weather in Oslo?", previous, model=model, tools=tools)
            assert called.calls
            results = client.results(*((call, "rain") for call in called.calls))
            previous = (await client.ask(results, called.id, model=model, tools=tools)).id
        assert "PLUM-1" in (await client.ask("What is the code?", previous)).text


async def test_a_store_that_is_away_is_said_so_and_no_answer_is_made_up(front: Front, format_: Format) -> None:
    with redis_server() as server:
        async with front(format_, redis_url=SecretStr(server.url), secret=SecretStr("s" * 32)) as client:
            first = await client.ask("The code is PLUM-1.")
            server.kill()
            async with refused("InternalServerError") as caught:
                await client.ask("What is the code?", first.id)
            assert caught[0].status == 503
            async with refused("InternalServerError") as caught:
                await client.get(first.id)
            assert caught[0].status == 503
            assert "store" in str(caught[0])


async def test_a_session_that_was_forgotten_takes_its_ids_along(any_client: Client) -> None:
    first = await any_client.ask("The code is PLUM-1.")
    answer = await any_client.http.delete(f"/foldline/sessions/{first.headers['x-foldline-session']}")
    assert answer.status_code == 200
    async with refused("NotFoundError"):
        await any_client.get(first.id)


async def test_what_the_operator_keeps_encrypted_is_found_again(front: Front, format_: Format) -> None:
    keys = SecretStr("one:" + "A" * 43 + "=")
    async with front(format_, encryption_keys=keys) as client:
        first = await client.ask("The code is PLUM-1.")
        second = await client.ask("What is the code?", first.id)
        assert "PLUM-1" in second.text
        assert (await client.get(second.id)).id == second.id
