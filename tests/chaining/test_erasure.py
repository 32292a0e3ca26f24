"""Forgetting a session deletes what providers keep of it, on every branch, and says what they still have."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import openai
import pytest
from pydantic import SecretStr

from app.cli import main
from tests.chaining.conftest import Front, StartFront
from tests.chaining.provider import Api, Provider
from tests.chaining.talk import PLAIN, Said
from tests.servers import redis_server

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])
TOWN = {"type": "object", "properties": {"town": {"type": "string"}}}


async def _branched(proxy: Front, api: Api) -> tuple[str, set[str]]:
    """A session with a tool loop, an edit, a second try and a chain begun anew; and the ids of all its answers."""
    provider = proxy.provider
    before = {bill.id for bill in provider.chains.bills}
    talk = proxy.talk(api, tools={"get_weather": TOWN}, session="mine")
    said = await talk.say("What is the weather in Oslo?")
    await talk.give((said.calls[0], "rain"))
    await talk.say("Remember: the crate is PLUM-1.")
    edited = talk.branch(talk.history[:-2])
    await edited.say("Remember: the crate is FIG-1.")
    again = talk.branch(talk.history[:-2])
    await again.say("Remember: the crate is PLUM-1, or so.")
    await proxy.http.put(f"/foldline/sessions/{said.session}/memory", json={"name": "Ada"})
    await again.say("Who am I?")
    return said.session, {bill.id for bill in provider.chains.bills} - before


@BOTH
async def test_every_answer_of_every_branch_is_deleted_and_nothing_of_others(
    front: StartFront, provider: Provider, api: Api, key: str
) -> None:
    async with front() as proxy:
        other = proxy.talk(api)
        await other.say("Another conversation altogether.")
        others = provider.newest
        session, ids = await _branched(proxy, api)
        done = await proxy.forget(session)
        assert len(ids) == 6
        assert (done["deleted"], done["left"]) == (6, [])
        assert sorted(provider.deleted) == sorted(ids)
        assert not any(provider.kept(api, key, each) for each in ids)
        assert provider.kept(api, key, others)
        assert (await other.say("And more of it.")).chain == "continue"
        again = await proxy.forget(session)
        assert (again["deleted"], again["left"]) == (0, [])
        assert len(provider.deleted) == 6


@BOTH
async def test_an_answer_lost_or_deleted_before_counts_as_deleted(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front() as proxy:
        session, _ = await _branched(proxy, api)
        provider.chains.lose()
        assert (await proxy.forget(session))["left"] == []


@BOTH
@pytest.mark.parametrize("status", [500, 501, 403])
async def test_what_cannot_be_deleted_is_listed_with_a_reason_and_deleted_by_repeating(
    front: StartFront, provider: Provider, api: Api, key: str, status: int
) -> None:
    async with front() as proxy:
        session, ids = await _branched(proxy, api)
        stuck = sorted(ids)[:2]
        provider.undeletable = dict.fromkeys(stuck, status)
        done = await proxy.forget(session)
        assert done["deleted"] == 4
        assert sorted(each["id"] for each in done["left"]) == stuck
        assert all(str(status) in each["why"] for each in done["left"])
        assert all(each["upstream"] in ("gemini", "openai") for each in done["left"])
        assert all(provider.kept(api, key, each) for each in stuck)
        provider.undeletable.clear()
        provider.deleted.clear()
        again = await proxy.forget(session)
        assert (again["deleted"], again["left"]) == (2, [])
        assert sorted(provider.deleted) == stuck
        assert not any(provider.kept(api, key, each) for each in ids)


@BOTH
async def test_without_the_clients_key_all_is_left_until_it_is_sent(
    front: StartFront, provider: Provider, api: Api, key: str
) -> None:
    async with front() as proxy:
        session, ids = await _branched(proxy, api)
        async with httpx2.AsyncClient(base_url=proxy.url, **PLAIN) as keyless:
            done = (await keyless.delete(f"/foldline/sessions/{session}")).json()
        assert done["deleted"] == 0
        assert {each["id"] for each in done["left"]} == ids
        assert all("key" in each["why"] for each in done["left"])
        assert key not in str(done)
        assert (await proxy.forget(session))["deleted"] == 6


async def test_all_hops_of_a_paused_answer_are_deleted(front: StartFront, provider: Provider) -> None:
    async with front() as proxy:
        said = await proxy.talk("interactions").say("[[words=23]] [[continue=5]]")
        ids = {bill.id for bill in provider.chains.bills}
        assert len(ids) == 5
        await proxy.forget(said.session)
        assert set(provider.deleted) == ids


@BOTH
async def test_a_forgotten_conversation_begins_a_new_chain(front: StartFront, provider: Provider, api: Api) -> None:
    async with front() as proxy:
        talk = proxy.talk(api)
        said = await talk.say("Remember: the crate is PLUM-1.")
        await proxy.forget(said.session)
        provider.clear()
        assert (await talk.say("Which crate?")).chain == "new"
        assert len(provider.calls) == 1, "no dead id was tried"


@BOTH
async def test_the_command_deletes_at_the_provider_too(
    front: StartFront,
    provider: Provider,
    api: Api,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with redis_server() as server:
        store: dict[str, Any] = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32)}
        held = {"gemini_api_key": SecretStr(key), "openai_api_key": SecretStr(key)}
        async with front(**store, **held) as proxy:
            talk = proxy.talk(api)
            said: Said = await talk.say("Remember: the crate is PLUM-1.")
            await talk.say("Which crate?")
        ids = [bill.id for bill in provider.chains.bills]
        for name, value in {
            "REDIS_URL": server.url,
            "SECRET": "s" * 32,
            "GEMINI_API_KEY": key,
            "OPENAI_API_KEY": key,
            "GEMINI_BASE_URL": provider.url,
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OPENAI_API": "responses",
        }.items():
            monkeypatch.setenv(f"FOLDLINE_{name}", value)
        provider.undeletable = {ids[0]: 500}
        await asyncio.to_thread(main, ["sessions", "forget", said.session])
        first = capsys.readouterr()
        assert ids[0] in first.out + first.err
        assert "500" in first.out + first.err
        provider.undeletable.clear()
        assert await asyncio.to_thread(main, ["sessions", "forget", said.session]) == 0
        assert not any(provider.kept(api, key, each) for each in ids)
        assert key not in capsys.readouterr().out


@BOTH
@pytest.mark.parametrize("how", ["[[break=3]]", "[[truncate=3]]", "[[error=3]]"])
async def test_what_the_provider_keeps_of_an_answer_that_broke_is_deleted_too(
    front: StartFront, provider: Provider, api: Api, how: str
) -> None:
    async with front(max_retries=0) as proxy:
        talk = proxy.talk(api, streams=True)
        session = (await talk.say("Remember: the crate is PLUM-1.")).session
        with pytest.raises((openai.APIError, httpx2.HTTPError)):
            await talk.say(f"{how} Tell me of the sea, of ships and of harbours.")
        ids = sorted(bill.id for bill in provider.chains.bills)
        done = await proxy.forget(session)
        assert sorted(provider.deleted) == ids
        assert (len(ids), done["deleted"], done["left"]) == (2, 2, [])


@BOTH
async def test_a_turn_whose_client_hung_up_can_be_looked_up_and_what_the_provider_keeps_of_it_is_deleted(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front(max_retries=0) as proxy:
        talk = proxy.talk(api)
        session = (await talk.say("Remember: the crate is PLUM-1.")).session
        slow = talk.user("[[words=60]] [[delay=40]]")
        body = {"model": talk.setup.model, "messages": [*talk.history, slow], "stream": True}
        async with proxy.http.stream("POST", "/v1/chat/completions", json=body) as answer:
            async for data in answer.aiter_bytes():
                if b"word" in data:
                    break
        await provider.journal.settled()
        record = await _noted(proxy, answer.headers["x-foldline-turn"])
        assert (record["turn"]["outcome"], record["turn"]["upstream"]) == (
            "client_left",
            "gemini" if api == "interactions" else "openai",
        )
        assert record["decisions"]
        await proxy.forget(session)
        assert sorted(provider.deleted) == sorted(bill.id for bill in provider.chains.bills)
        assert len(provider.deleted) == 2


async def _noted(proxy: Front, turn: str) -> Any:
    """The record of a turn that ends behind its client's back."""
    for _ in range(500):
        if (answer := await proxy.http.get(f"/foldline/turns/{turn}")).status_code == 200:
            return answer.json()
        await asyncio.sleep(0.01)
    raise AssertionError("the turn was not noted")


async def test_what_may_not_be_kept_is_not_looked_for(front: StartFront, provider: Provider) -> None:
    async with front(max_retries=0, chain="never") as proxy:
        talk = proxy.talk("interactions", streams=True)
        session = (await talk.say("hello")).session
        with pytest.raises((openai.APIError, httpx2.HTTPError)):
            await talk.say("[[truncate=3]] Tell me of the sea.")
        assert (await proxy.forget(session))["deleted"] == 0
        assert provider.deleted == []
