"""What the store promises, whichever server is behind it."""

from __future__ import annotations

import asyncio
import base64
import os

from app.state.keys import Session
from app.state.store import Recalled, Store
from tests.state.conftest import OpenStore
from tests.state.samples import addresses, checkpoint, session


async def test_what_was_remembered_is_recalled(store: Store) -> None:
    who, first, second = session(), checkpoint("one"), checkpoint("two")
    assert await store.remember(who, [first, second], turn_id="t1", turn=b"record", info={"model": "lab"}) == ""
    known = await store.recall(who, [*addresses(3), first.address, second.address, first.address])
    assert known == Recalled(checkpoints={first.address: first, second.address: second})
    assert await store.turn(who, "t1") == b"record"
    assert await store.turn(who, "t2") is None


async def test_an_unknown_session_is_empty_and_no_error(store: Store) -> None:
    who = session()
    assert await store.recall(who, addresses(2)) == Recalled()
    assert await store.memory(who) is None
    assert await store.info(who) is None
    assert await store.forget(who) == 0


async def test_another_worker_sees_what_this_one_remembered(shared_url: str, open_store: OpenStore) -> None:
    one, two = await open_store(shared_url), await open_store(shared_url)
    who, first, second = session(), checkpoint("one"), checkpoint("two")
    await one.remember(who, [first], info={})
    assert (await two.recall(who, [first.address, second.address])).checkpoints == {first.address: first}
    await one.remember(who, [second], info={})
    # The second worker has seen that there was nothing at this address: it must look again.
    both = {first.address: first, second.address: second}
    assert (await two.recall(who, list(both))).checkpoints == both


async def test_an_old_address_filled_by_another_worker_is_found_after_one_look(
    shared_url: str, open_store: OpenStore
) -> None:
    one, two = await open_store(shared_url), await open_store(shared_url)
    who, late, chat = session(), checkpoint("a summary, made later"), addresses(60)
    chat[3] = late.address
    await one.remember(who, [checkpoint()], info={})
    await two.recall(who, chat)
    await one.remember(who, [late], info={})
    await two.recall(who, chat)
    assert late.address in (await two.recall(who, chat)).checkpoints


async def test_a_session_forgotten_by_another_worker_is_never_used_again(
    shared_url: str, open_store: OpenStore
) -> None:
    one, two = await open_store(shared_url), await open_store(shared_url)
    who, old, new = session(), checkpoint("old"), checkpoint("new")
    await one.remember(who, [old], info={})
    assert (await one.recall(who, [old.address])).checkpoints
    await two.forget(who)
    assert (await one.recall(who, [old.address])).checkpoints == {}
    # Nor does it come back when the same session begins anew: neither here nor there.
    await one.remember(who, [old], info={})
    await two.forget(who)
    await two.remember(who, [new], info={})
    assert (await one.recall(who, [old.address, new.address])).checkpoints.keys() <= {new.address}
    assert (await one.recall(who, [old.address, new.address])).checkpoints == {new.address: new}


async def test_a_new_beginning_does_not_revive_what_was_cached(shared_url: str, open_store: OpenStore) -> None:
    one, two = await open_store(shared_url), await open_store(shared_url)
    who, old, new = session(), checkpoint("old"), checkpoint("new")
    await one.remember(who, [old], info={})
    await two.forget(who)
    await one.remember(who, [new], info={})
    assert (await one.recall(who, [old.address, new.address])).checkpoints == {new.address: new}


async def test_what_is_on_its_way_is_already_known(store: Store) -> None:
    who, given = session(), checkpoint()
    writing = asyncio.create_task(store.remember(who, [given], info={}))
    await asyncio.sleep(0)
    assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}
    assert await writing == ""


async def test_forgetting_leaves_nothing_and_may_be_repeated(store: Store) -> None:
    who, given = session(), checkpoint()
    turns = ["t" * length for length in (1, 13, 14, 15, 32)]  # with one of them the field is as long as an address
    for turn_id in turns:
        assert await store.remember(who, [given], turn_id=turn_id, turn=b"x", info={}) == ""
    await store.set_memory(who, {"name": "Ada"})
    assert await store.forget(who) == 1 + len(turns) + 1  # the checkpoint, the records, the session itself
    assert [await store.turn(who, turn_id) for turn_id in turns] == [None] * len(turns)
    assert await store.recall(who, [given.address]) == Recalled()
    assert await store.forget(who) == 0


async def test_memory_is_kept_replaced_removed_and_recalled(store: Store) -> None:
    who = session()
    await store.set_memory(who, {"name": "Ada", "語": [1, None]})
    assert await store.memory(who) == {"name": "Ada", "語": [1, None]}
    assert (await store.recall(who, [])).memory == {"name": "Ada", "語": [1, None]}
    await store.set_memory(who, {})
    assert await store.memory(who) == {}
    await store.set_memory(who, None)
    assert await store.memory(who) is None
    assert (await store.recall(who, [])).memory is None


async def test_two_tenants_share_nothing(store: Store) -> None:
    root = session().root
    ada, bob = Session(tenant="a" * 16, root=root), Session(tenant="b" * 16, root=root)
    given = checkpoint()
    await store.remember(ada, [given], turn_id="t", turn=b"ada's", info={})
    await store.set_memory(ada, {"name": "Ada"})
    assert await store.recall(bob, [given.address]) == Recalled()
    assert (await store.turn(bob, "t"), await store.memory(bob), await store.info(bob)) == (None, None, None)
    async with store.lease(ada, "fold", "1", 5, 0) as one, store.lease(bob, "fold", "2", 5, 0) as two:
        assert (one, two) == (True, True)
    assert await store.forget(bob) == 0
    assert (await store.recall(ada, [given.address])).memory == {"name": "Ada"}


async def test_sessions_are_listed_with_what_was_noted(url: str, open_store: OpenStore) -> None:
    clock = iter(float(second) for second in range(100, 1000, 10))
    store = await open_store(url, clock=lambda: next(clock))
    one, two = session(), session()
    await store.remember(one, [], info={"model": "old", "upstream": "gemini"})
    await store.remember(two, [], info={"model": "lab", "upstream": "openai"})
    await store.remember(one, [], info={"model": "new", "upstream": "gemini", "client": "codex"})
    found = dict(await store.sessions(10_000))
    assert {one, two} <= found.keys()
    about = found[one]
    assert (about.created, about.seen, about.turns) == (100, 120, 2)
    assert (about.model, about.upstream, about.more) == ("new", "gemini", {"client": "codex"})
    assert len(await store.sessions(1)) == 1


async def test_unused_state_is_forgotten_after_its_lifetime(url: str, open_store: OpenStore) -> None:
    store = await open_store(url, ttl_seconds=1)
    who, given = session(), checkpoint()
    await store.remember(who, [given], turn_id="t", turn=b"x", info={})
    await asyncio.sleep(1.2)
    assert await store.recall(who, [given.address]) == Recalled()
    assert await store.turn(who, "t") is None


async def test_only_one_of_many_holds_a_lease(store: Store) -> None:
    who, holders, most = session(), 0, 0
    outcomes: list[bool] = []

    async def worker(token: str) -> None:
        nonlocal holders, most
        async with store.lease(who, "fold", token, 5, 3) as held:
            holders += held
            most = max(most, holders)
            await asyncio.sleep(0.01)
            holders -= held
            outcomes.append(held)

    await asyncio.gather(*(worker(str(number)) for number in range(5)))
    assert (most, outcomes) == (1, [True] * 5)


async def test_a_lease_is_reentrant_for_its_token_only_and_waited_for_within_bounds(store: Store) -> None:
    who = session()
    async with store.lease(who, "fold", "mine", 5, 0.1) as outer:
        async with store.lease(who, "fold", "other", 5, 0.1) as other:
            pass
        # A stranger that went on without it has not released it.
        async with store.lease(who, "fold", "other", 5, 0.1) as again:
            pass
        async with store.lease(who, "fold", "mine", 5, 0.1) as inner:
            pass
    assert (outer, other, again, inner) == (True, False, False, True)


async def test_a_lease_outlives_its_seconds_while_its_holder_works(store: Store) -> None:
    who = session()
    async with store.lease(who, "fold", "mine", 0.3, 0):
        await asyncio.sleep(0.6)
        async with store.lease(who, "fold", "other", 0.3, 0) as stolen:
            assert not stolen


async def test_a_cancelled_wait_for_a_lease_leaves_nothing_behind(store: Store) -> None:
    who = session()

    async def hold() -> None:
        async with store.lease(who, "fold", "cancelled", 60, 0):
            await asyncio.sleep(60)

    for turns in range(8):
        task = asyncio.create_task(hold())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    async with store.lease(who, "fold", "next", 5, 2) as held:
        assert held


async def test_200_cancelled_steps_mix_up_no_replies(store: Store) -> None:
    people = [(session(), checkpoint(str(number))) for number in range(20)]
    for who, given in people:
        await store.remember(who, [given], turn_id="t", turn=given.sealed, info={})
    for number in range(200):
        who, given = people[number % 20]
        task = asyncio.create_task(store.turn(who, "t"))
        for _ in range(number % 7):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        who, given = people[(number * 7) % 20]
        assert await store.turn(who, "t") == given.sealed


async def test_the_secret_is_made_once_and_the_same_for_everyone(url: str, open_store: OpenStore) -> None:
    one, two = await open_store(url), await open_store(url)
    assert len(one.secret()) >= 32
    assert not one.secret_is_temporary
    if url != "memory://":
        assert one.secret() == two.secret()
    assert (await open_store(url, secret="mine")).secret() == b"mine"


async def test_nothing_readable_is_stored_under_encryption_keys(shared_url: str, open_store: OpenStore) -> None:
    old, new = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
    who, given = session(), checkpoint("a secret word" * 200)
    before = await open_store(shared_url, encryption_keys=f"old:{old}")
    await before.remember(who, [given], turn_id="t", turn=b"a secret word", info={"model": "lab"})
    await before.set_memory(who, {"a secret word": 1})
    rotated = await open_store(shared_url, encryption_keys=f"new:{new},old:{old}")
    known = await rotated.recall(who, [given.address])
    assert (known.checkpoints, known.memory) == ({given.address: given}, {"a secret word": 1})
    assert await rotated.turn(who, "t") == b"a secret word"
    for lost in (await open_store(shared_url), await open_store(shared_url, encryption_keys=f"new:{new}")):
        # Unknown keys count as not found, on every path, and are counted.
        assert await lost.recall(who, [given.address]) == Recalled()
        assert (await lost.turn(who, "t"), await lost.memory(who)) == (None, None)
        assert lost.broken >= 4


async def test_the_store_says_that_it_answers_and_where_it_is(store: Store, url: str) -> None:
    assert await store.status() is None
    assert store.describe().partition("://")[0] == url.partition("://")[0]
