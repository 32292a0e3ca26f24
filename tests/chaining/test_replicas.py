"""A chain belongs to the store: after a restart, and from any replica, the next turn goes on with it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from tests.chaining.conftest import StartFront
from tests.chaining.provider import Api, Provider
from tests.chaining.talk import Wire
from tests.servers import redis_server


@pytest.mark.parametrize("api", ["interactions", "responses"])
@pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
async def test_a_restarted_proxy_and_a_second_replica_go_on_with_the_chain(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    with redis_server() as server:
        store: dict[str, Any] = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32)}
        async with front(**store) as first:
            talk = first.talk(api, wire)
            await talk.say("Remember: the crate is PLUM-1.")
            await talk.say("Berth 2?")
            async with front(**store) as second:
                beside = talk.branch(http=second.http)
                said = await beside.say("which crate?")
                assert (said.chain, provider.last.previous) == ("continue", provider.chains.bills[1].id)
                assert len(provider.last.items) == 1
                back = beside.branch(http=first.http)
                assert (await back.say("which crate, again?")).chain == "continue"
        async with front(**store) as restarted:
            later = back.branch(http=restarted.http)
            said = await later.say("and the berth?")
            assert (said.chain, provider.last.previous) == ("continue", provider.chains.bills[3].id)
            assert "PLUM-1" in provider.last.seen
    assert provider.refused == []


@pytest.mark.parametrize("api", ["interactions", "responses"])
async def test_a_chain_that_one_replica_found_lost_is_tried_by_no_other(
    front: StartFront, provider: Provider, api: Api
) -> None:
    with redis_server() as server:
        store: dict[str, Any] = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32)}
        async with front(**store) as first, front(**store) as second:
            talk = first.talk(api)
            await talk.say("Remember: the crate is PLUM-1.")
            dead = provider.newest
            provider.chains.lose()
            await talk.say("Berth 2?")
            other = talk.branch(talk.history[:2], http=second.http)
            await other.say("Berth 3?")
            assert [call.previous for call in provider.calls].count(dead) == 1
            assert provider.last.previous == ""
