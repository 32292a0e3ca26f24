"""A look past every cache, a pause that all workers respect, and what is remembered behind a turn."""

from __future__ import annotations

import asyncio
import time

from app.context.folds import Check, Fold, Span, fold_address
from app.context.known import Checkpoint
from app.context.retention import Fact
from app.state.store import Store
from tests.state.conftest import OpenStore
from tests.state.samples import addresses, checkpoint, session


async def test_a_look_finds_what_is_there_and_nothing_where_nothing_is(store: Store) -> None:
    who, known = session(), checkpoint()
    await store.remember(who, [known])
    assert await store.look(who, known.address, "fold") == (known, False)
    assert await store.look(who, addresses(1)[0], "fold") == (None, False)
    assert await store.look(session(), known.address, "fold") == (None, False)


async def test_a_fold_comes_back_as_it_was_kept(store: Store) -> None:
    upto, task = addresses(2)
    spans = (Span(task, "verbatim"), Span(upto, "summary", "Ferry at 9:40, 東京 first."))
    check = Check("gemini-2.5-flash", "gemini-2.5-flash-001", False, 9, 7, 2, 0.97, 2, ("17 MB",), (), 4000, 300)
    fold = Fold(upto, spans, (Fact("port 8080", ("port:8080",), 2.0),), check)
    refusal = Fold(task, check=check, refused="It kept 10 % of what matters, less than 90 %: 12 values are lost.")
    who = session()
    kept = [Checkpoint(fold_address(each.upto), fold=each, at=12.5) for each in (fold, refusal)]
    await store.remember(who, kept)
    found = (await store.recall(who, [each.address for each in kept])).checkpoints
    assert [found[each.address] for each in kept] == kept
    assert (await store.look(who, kept[0].address, "fold"))[0] == kept[0]


async def test_a_look_sees_what_another_worker_made_a_moment_ago(shared_url: str, open_store: OpenStore) -> None:
    one, two = await open_store(shared_url), await open_store(shared_url)
    who, fold = session(), checkpoint("a summary")
    await one.remember(who, [checkpoint()], info={})
    assert (await two.recall(who, [fold.address])).checkpoints == {}
    await one.remember(who, [fold])
    assert await two.look(who, fold.address, "fold") == (fold, False)


async def test_a_pause_is_respected_by_every_worker_and_for_one_session_only(
    shared_url: str, open_store: OpenStore
) -> None:
    one, two = await open_store(shared_url), await open_store(shared_url)
    who, other = session(), session()
    await one.pause(who, "fold", 60)
    mark = addresses(1)[0]
    assert await two.look(who, mark, "fold") == (None, True)
    assert await two.look(who, mark, "another") == (None, False)
    assert await two.look(other, mark, "fold") == (None, False)


async def test_a_pause_ends_by_itself(store: Store) -> None:
    who, mark = session(), addresses(1)[0]
    began = time.monotonic()
    await store.pause(who, "fold", 0.3)
    assert (await store.look(who, mark, "fold"))[1] or time.monotonic() - began >= 0.3
    for _ in range(100):
        await asyncio.sleep(0.05)
        if not (await store.look(who, mark, "fold"))[1]:
            return
    raise AssertionError("the pause never ended")


async def test_a_longer_pause_takes_the_place_of_a_shorter_one(store: Store) -> None:
    who, mark = session(), addresses(1)[0]
    await store.pause(who, "fold", 0.05)
    await store.pause(who, "fold", 60)
    await asyncio.sleep(0.1)
    assert (await store.look(who, mark, "fold"))[1]


async def test_what_is_remembered_behind_a_turn_is_no_turn(store: Store) -> None:
    who = session()
    await store.remember(who, [checkpoint()], info={"model": "lab"})
    before = await store.info(who)
    await store.remember(who, [checkpoint("a summary")])
    after = await store.info(who)
    assert after is not None
    assert after.turns == 1
    assert after == before


async def test_a_summary_that_is_kept_first_makes_a_session_without_turns(store: Store) -> None:
    who, fold = session(), checkpoint("a summary")
    assert await store.remember(who, [fold]) == ""
    assert (await store.recall(who, [fold.address])).checkpoints == {fold.address: fold}
    info = await store.info(who)
    assert info is not None
    assert info.turns == 0
    await store.forget(who)
    assert await store.look(who, fold.address, "fold") == (None, False)


async def test_where_the_store_is_away_there_is_nothing_and_all_is_paused(open_store: OpenStore) -> None:
    store = await open_store("redis://127.0.0.1:1", timeout_seconds=0.2)
    who, mark = session(), addresses(1)[0]
    assert await store.look(who, mark, "fold") == (None, True)
    await store.pause(who, "fold", 60)  # and says nothing
