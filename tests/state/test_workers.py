"""Two workers, one server, random steps: what one forgets the other never uses, and both end up with the truth."""

from __future__ import annotations

import random

import pytest

from app.context.known import Checkpoint
from app.state.store import Store
from tests.servers import RedisServer
from tests.state.conftest import OpenStore
from tests.state.samples import addresses, checkpoint, session


@pytest.mark.parametrize("seed", range(12))
async def test_no_order_of_steps_shows_what_is_gone_or_hides_what_is_there(
    shared_redis: RedisServer, open_store: OpenStore, seed: int
) -> None:
    chance = random.Random(seed)
    # A cache of a few kB in one of them: eviction is one more thing that may come between.
    workers: list[Store] = [await open_store(shared_redis.url), await open_store(shared_redis.url, cache_bytes=6000)]
    who, chat = session(), addresses(40)
    truth: dict[bytes, Checkpoint] = {}
    for _ in range(60):
        worker = chance.choice(workers)
        length = chance.randint(1, 40)
        match chance.choice(["remember", "remember", "recall", "recall", "recall", "forget", "flush"]):
            case "remember":
                given = checkpoint(address=chat[length - 1])
                truth[given.address] = given
                assert await worker.remember(who, [given], info={}) == ""
            case "recall":
                asked = chat[:length]
                exact = {address: truth[address] for address in asked if address in truth}
                first = await worker.recall(who, asked)
                assert first.checkpoints.items() <= exact.items()
                assert (await worker.recall(who, asked)).checkpoints == exact
            case "forget" if chance.random() < 0.3:
                await worker.forget(who)
                truth.clear()
            case "flush" if chance.random() < 0.2:
                shared_redis.command("DEL", who.key)
                truth.clear()
            case _:
                pass
