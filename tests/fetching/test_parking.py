"""What is parked in a session is bounded, goes with the session, and comes back as long as its client sends it."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from app.chat.events import ToolCalled
from app.chat.model import Chat, Message, Text, ToolCall
from app.chat.reply import Reply
from app.context.plan import Plan
from app.context.policy import Policy
from app.context.tool_results import Parked
from app.context.tool_results.step import Compaction
from app.engine.parking import SURE, Parking, with_offer
from app.state.keys import Session
from app.state.parking import MOST
from app.state.store import Store
from tests.chaining.provider import Provider
from tests.fetching.conftest import StartFront, with_reviews
from tests.fetching.shop import fetch, reviews, rows
from tests.servers import redis_server

MIB = 2**20
CHAT = Chat("gpt-5", (Message("user", (Text("And row 40?"),)),))
HERE, OTHER = Session("a" * 16, "b" * 24), Session("a" * 16, "c" * 24)


@pytest.fixture(params=["memory", "redis"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A store in the process, and a real server."""
    if request.param == "memory":
        yield "memory://"
    else:
        with redis_server() as server:
            yield server.url


@pytest.fixture
async def store(url: str) -> AsyncGenerator[Store]:
    """An empty store."""
    store = await Store.open(url, ttl_seconds=3600)
    yield store
    await store.close()


def _noise(seed: int, size: int = MIB) -> bytes:
    """Bytes that cannot be compressed."""
    return random.Random(seed).randbytes(size)


async def _found(store: Store, session: Session, count: int) -> list[bool]:
    return [await store.parking.find(session, f"res_{at}") is not None for at in range(count)]


async def test_a_session_keeps_its_newest_32_mib(store: Store) -> None:
    count = MOST // MIB + 6
    assert await store.parking.park(OTHER, {"res_0": b"another's"}, 0) == ""
    for at in range(count):
        assert await store.parking.park(HERE, {f"res_{at}": _noise(at)}, 1000 + at) == ""
    found = await _found(store, HERE, count)
    assert found == sorted(found), "the oldest go first"
    assert MOST // MIB - 2 <= sum(found) <= MOST // MIB
    assert await store.parking.find(HERE, f"res_{count - 1}") == _noise(count - 1)
    assert await store.parking.find(OTHER, "res_0") == b"another's"


async def test_one_that_is_larger_than_the_whole_room_drives_nothing_out(store: Store) -> None:
    assert await store.parking.park(HERE, {"res_0": b"small"}, 1) == ""
    assert await store.parking.park(HERE, {"res_1": _noise(1, MOST + MIB)}, 2) == ""
    assert await _found(store, HERE, 2) == [True, False]


async def test_a_forgotten_session_keeps_no_results(store: Store) -> None:
    for session in (HERE, OTHER):
        await store.parking.park(session, {f"res_{at}": b"x" * 50 for at in range(3)}, 1)
    await store.forget(HERE)
    assert await _found(store, HERE, 3) == [False] * 3
    assert await _found(store, OTHER, 3) == [True] * 3


async def test_a_result_that_is_gone_is_parked_again_when_its_client_brings_it(store: Store) -> None:
    now = 1000.0
    parking = Parking(store, lambda: now)
    brought = {"res_0": Parked("text", "words"), "res_1": Parked("text", "others")}

    async def brings() -> list[bool]:
        parking.keep(HERE, brought)
        await parking.settled()
        return await _found(store, HERE, 2)

    assert await brings() == [True, True]
    await store.forget(HERE)
    now += SURE
    assert await brings() == [True, True]


async def test_a_store_that_is_away_costs_no_turn_its_answer() -> None:
    with redis_server() as server:
        store = await Store.open(server.url, ttl_seconds=3600, timeout_seconds=0.2)
        parking = Parking(store, lambda: 1.0)
        server.kill()
        parking.keep(HERE, {"res_0": Parked("text", "words")})
        await parking.settled()
        server.start()
        await store.close()


async def test_a_handle_that_cannot_be_looked_up_is_not_called_unknown() -> None:
    with redis_server() as server:
        store = await Store.open(server.url, ttl_seconds=3600, timeout_seconds=0.2)
        plan = with_offer(Plan(CHAT, (Compaction("tool_results", "1", ""),), (), ()), "fetch_rows")
        fetching = Parking(store, lambda: 1.0).fetching(HERE, CHAT, plan, Policy())
        assert fetching is not None
        hop = Reply()
        hop.add(ToolCalled(0, ToolCall("c1", "fetch_rows", '{"handle":"res_1"}')))
        (unknown,) = await fetching.results(hop)
        server.kill()
        (away,) = await fetching.results(hop)
        server.start()
        assert "no result under this handle" in unknown.text
        assert away.is_error
        assert "just now" in away.text
        await store.close()


async def test_deleting_a_session_deletes_what_its_tools_gave(front: StartFront, provider: Provider) -> None:
    """And nobody is left without: who brings the result again gets all of it under the same handle."""
    with redis_server() as server:
        store: dict[str, Any] = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32)}
        async with front("chat", **store) as proxy:
            talk = proxy.talk(session="shop")
            session = (await with_reviews(talk)).session
            handle = proxy.handle
            assert (await proxy.http.delete(f"/foldline/sessions/{session}")).status_code == 200
            assert server.command("KEYS", "*res_*") == b"*0\r\n"
            await talk.say(fetch(handle, offset=300, limit=5))
            assert proxy.fetched()[-1]["rows"] == rows()[300:305]
            fresh = proxy.talk(session="shop")
            await with_reviews(fresh, reviews(400))
            said = await fresh.say(fetch(handle))
            assert "There is no result under this handle" in said.text
    assert provider.refused == []
