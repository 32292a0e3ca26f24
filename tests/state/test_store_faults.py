"""A store in trouble costs a turn its savings and a bounded moment, never its answer."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from app.errors import StateError
from app.state.connect import open_link
from app.state.keys import Session
from app.state.store import Recalled, Store
from tests.servers import RedisServer, redis_server, short_directory
from tests.state.conftest import OpenStore
from tests.state.samples import addresses, checkpoint, session

DEADLINE = 0.2  # seconds, STORE_TIMEOUT in these tests
SLACK = 0.6  # seconds that a busy machine may add


async def recovered(store: Store, seconds: float = 8.0) -> None:
    """Wait until the store answers again."""
    deadline = time.monotonic() + seconds
    while (trouble := await store.status()) is not None:
        assert time.monotonic() < deadline, trouble
        await asyncio.sleep(0.05)


async def test_a_store_that_is_away_at_the_start_is_found_when_it_comes(open_store: OpenStore) -> None:
    with short_directory() as directory:
        server = RedisServer(directory)
        try:
            store = await open_store(server.url, timeout_seconds=DEADLINE)
            who, given = session(), checkpoint()
            temporary = store.secret()
            assert store.secret_is_temporary
            assert (await store.recall(who, addresses(1))).bypassed == "refused"
            assert await store.remember(who, [given], info={}) == "refused"
            assert "refused" in (await store.status() or "")
            server.start()
            await recovered(store)
            deadline = time.monotonic() + 8
            while store.secret_is_temporary:
                assert time.monotonic() < deadline, "the secret is still a temporary one"
                await asyncio.sleep(0.05)
            assert store.secret() == temporary  # it was the first to offer one
            # What failed to arrive was not kept as if it had.
            assert await store.recall(who, [given.address]) == Recalled()
        finally:
            server.kill()


@pytest.mark.parametrize("form", ["url", "unix_url"])
async def test_a_hung_store_delays_a_turn_by_no_more_than_its_deadline(
    redis: RedisServer, open_store: OpenStore, form: str
) -> None:
    store = await open_store(getattr(redis, form), timeout_seconds=DEADLINE)
    who, given = session(), checkpoint()
    assert await store.remember(who, [given], info={}) == ""
    redis.freeze()
    for step in (store.recall(who, [given.address]), store.remember(who, [given], info={})):
        began = time.monotonic()
        outcome = await step
        assert "timeout" in (outcome.bypassed if isinstance(outcome, Recalled) else outcome)
        assert time.monotonic() - began < DEADLINE + SLACK
    with pytest.raises(StateError, match="timeout"):
        await store.memory(who)
    redis.thaw()
    await recovered(store)
    assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}


async def test_a_store_that_hangs_at_the_start_holds_nobody_up(redis: RedisServer, open_store: OpenStore) -> None:
    redis.freeze()
    began = time.monotonic()
    store = await open_store(redis.url, timeout_seconds=DEADLINE)
    assert (await store.recall(session(), addresses(1))).bypassed == "timeout"
    assert time.monotonic() - began < 2 * DEADLINE + SLACK
    redis.thaw()
    await recovered(store)


async def test_an_open_breaker_answers_at_once_and_logs_once(
    redis: RedisServer, open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(redis.url, timeout_seconds=DEADLINE)
    redis.kill()
    caplog.set_level(logging.DEBUG)
    outcomes = [(await store.recall(session(), addresses(1))).bypassed for _ in range(60)]
    assert outcomes == ["refused"] * 5 + ["breaker open"] * 55
    assert store.breaker == "open"
    assert store.failures == {"refused": 5, "breaker open": 55}
    ours = [record for record in caplog.records if record.name.startswith("app.")]
    assert [record.exc_info for record in ours] == [None]
    redis.start()
    await recovered(store)
    assert (store.breaker, store.breaker_openings) == ("closed", 1)


async def test_a_crash_and_a_restart_cost_no_more_than_the_moment_between(
    redis: RedisServer, open_store: OpenStore
) -> None:
    store = await open_store(redis.url)
    who, given = session(), checkpoint()
    await asyncio.gather(*(store.remember(session(), [given], info={}) for _ in range(10)))
    redis.kill()
    redis.start()
    # Ten connections died: not one of them may cost a turn now.
    assert await store.remember(who, [given], info={}) == ""
    assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}


async def test_connections_closed_by_the_server_are_not_noticed(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(redis.url)
    who, given = session(), checkpoint()
    await store.remember(who, [given], info={})
    for _ in range(5):
        redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert (await store.recall(who, [given.address])).bypassed == ""
    assert store.failures == {}


async def test_late_replies_reach_nobody(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(redis.url, timeout_seconds=DEADLINE)
    people = [session() for _ in range(8)]
    for number, who in enumerate(people):
        await store.remember(who, [], turn_id="t", turn=str(number).encode(), info={})
    redis.freeze()
    await asyncio.gather(*(store.turn(who, "t") for who in people[:4]), return_exceptions=True)
    redis.thaw()
    await recovered(store)
    turns = await asyncio.gather(*(store.turn(who, "t") for who in reversed(people)))
    assert turns == [str(number).encode() for number in reversed(range(8))]


async def test_a_crowd_before_a_hung_store_is_turned_away_in_time(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(f"{redis.url}?max_connections=4", timeout_seconds=DEADLINE)
    redis.freeze()
    began = time.monotonic()
    crowd = await asyncio.gather(*(store.recall(session(), addresses(1)) for _ in range(40)))
    assert time.monotonic() - began < 2 * DEADLINE + SLACK
    assert {known.bypassed for known in crowd} <= {"timeout", "busy", "breaker open"}
    redis.thaw()


async def test_a_full_store_skips_what_is_new_and_still_recalls_and_forgets(
    redis: RedisServer, open_store: OpenStore
) -> None:
    store = await open_store(redis.url)
    who, given = session(), checkpoint()
    await store.remember(who, [given], turn_id="t", turn=b"x", info={})
    redis.command("CONFIG", "SET", "maxmemory", "1mb")
    assert await store.remember(session(), [checkpoint("x" * 200_000)], info={}) == "full"
    with pytest.raises(StateError, match="full"):
        await store.set_memory(who, {"name": "Ada"})
    async with store.lease(who, "fold", "mine", 5, 0) as held:
        assert not held
    assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}
    assert await store.forget(who) == 3
    assert store.breaker == "closed"
    redis.command("CONFIG", "SET", "maxmemory", "0")
    assert await store.remember(who, [given], info={}) == ""


async def test_a_read_only_replica_still_recalls(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(redis.url)
    who, given = session(), checkpoint()
    await store.remember(who, [given], info={})
    with redis_server() as elsewhere:
        elsewhere.freeze()  # so that the replica keeps what it has
        redis.command("REPLICAOF", "127.0.0.1", str(elsewhere.port))
        assert await store.remember(who, [checkpoint()], info={}) == "read-only"
        assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}
        redis.command("REPLICAOF", "NO", "ONE")
        assert await store.remember(who, [checkpoint()], info={}) == ""


async def test_a_flushed_store_is_a_new_beginning(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(redis.url)
    who, given = session(), checkpoint()
    await store.remember(who, [given], info={})
    await store.recall(who, [given.address])
    redis.command("FLUSHALL")
    redis.command("SCRIPT", "FLUSH")
    assert await store.recall(who, [given.address]) == Recalled()
    assert await store.remember(who, [given], info={}) == ""
    assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}
    async with store.lease(who, "fold", "mine", 5, 0) as held:
        assert held


async def test_a_foreign_value_on_our_key_is_replaced(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(redis.url)
    given = checkpoint()
    read, written, forgotten = session(), session(), session()
    for who in (read, written, forgotten):
        redis.command("SET", who.key, "somebody else's")
    assert await store.recall(read, [given.address]) == Recalled()
    assert await store.remember(written, [given], info={}) == ""
    assert (await store.recall(written, [given.address])).checkpoints == {given.address: given}
    assert await store.forget(forgotten) == 1
    assert store.failures == {"wrong type": 2}


async def test_broken_and_moved_values_count_as_not_found(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(redis.url)
    who, one, two = session(), checkpoint("one"), checkpoint("two")
    await store.remember(who, [one, two], turn_id="t", turn=b"x", info={})
    fresh = await open_store(redis.url)
    script = "redis.call('HSET', KEYS[1], ARGV[1], redis.call('HGET', KEYS[1], ARGV[2]), 'm', 'no', 'i', '')"
    link = await open_link(redis.url)
    await link.run(("EVAL", script, 1, who.key, one.address, two.address))
    await link.close()
    known = await fresh.recall(who, [one.address, two.address])
    assert known == Recalled(checkpoints={two.address: two})
    assert await fresh.info(who) is not None
    assert fresh.broken >= 2


async def test_one_frozen_master_of_a_cluster_bypasses_only_its_own_sessions(
    shared_cluster: list[RedisServer], open_store: OpenStore
) -> None:
    url = "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in shared_cluster)
    store = await open_store(url, timeout_seconds=0.4)
    people = [session() for _ in range(24)]
    for who in people:
        assert await store.remember(who, [], turn_id="t", turn=b"x", info={}) == ""
    frozen = shared_cluster[2]
    there = next(who for who in people if _holds(frozen, who))
    elsewhere = next(who for who in people if not _holds(frozen, who))
    frozen.freeze()
    try:
        began = time.monotonic()
        assert (await store.recall(there, addresses(1))).bypassed == "timeout"
        assert time.monotonic() - began < 0.4 + SLACK
        assert (await store.recall(elsewhere, addresses(1))).bypassed == ""
    finally:
        frozen.thaw()
    deadline = time.monotonic() + 8
    while (await store.recall(there, addresses(1))).bypassed:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def _holds(server: RedisServer, who: Session) -> bool:
    return server.command("EXISTS", who.key) == b":1\r\n"
