"""One summary a prefix, however many requests, workers and replicas race for it, and whoever dies meanwhile."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.faults.serving import Foldline, toward
from tests.folding.conftest import StartFront, until
from tests.folding.provider import Provider, Said
from tests.folding.talk import Answer, Talk, Wire, client_of
from tests.folding.words import facts, lost, marks, prose
from tests.servers import RedisServer, redis_server

SETTINGS = {"fold_at_tokens": "1500", "secret": "s" * 32}
LEASE = 8.0
"""Seconds after which a dead process no longer stops others."""

SLACK = 12.0
"""Seconds that a busy machine may add. One that is not given up is waited for 45 seconds."""


@pytest.fixture(scope="module")
def redis() -> Generator[RedisServer]:
    """One real server for this file."""
    with redis_server() as server:
        yield server


@asynccontextmanager
async def replica(place: Path, provider: Provider, redis: RedisServer, **settings: str) -> AsyncGenerator[Foldline]:
    """A `foldline serve` of its own on the shared store."""
    process = Foldline(place, toward(provider.url) | SETTINGS | {"redis_url": redis.url} | settings)
    try:
        await asyncio.to_thread(process.wait_until_it_serves)
        yield process
    finally:
        await asyncio.to_thread(process.stop)
    assert "Traceback" not in process.log, process.log


def _chat(talk: Talk) -> None:
    planted = facts(12)
    said = [f"{prose(150, at)} {planted[at].said if at < 12 else ''}" for at in range(16)]
    talk.pretend(*said)


async def test_twenty_requests_over_two_replicas_of_two_workers_pay_for_one_summary(
    provider: Provider, redis: RedisServer, tmp_path: Path, key: str
) -> None:
    planted = facts(12)
    provider.summarise = lambda call: Said(" ".join(fact.said for fact in planted), after=0.4)
    async with AsyncExitStack() as stack:
        starting = [stack.enter_async_context(replica(tmp_path, provider, redis, workers="2")) for _ in range(2)]
        urls = [process.url for process in await asyncio.gather(*starting)]
        clients = [await stack.enter_async_context(client_of(urls[at % 2], key)) for at in range(20)]
        talks = [Talk(http, session="race") for http in clients]
        for talk in talks:
            _chat(talk)
        answers = await asyncio.gather(*(talk.ask("question?") for talk in talks))

    assert [answer.status for answer in answers] == [200] * 20
    assert len(provider.summaries) == 1
    assert len(provider.calls) == 20
    assert len({call.serialized for call in provider.calls}) == 1
    assert lost(planted, provider.last.text) == []
    assert provider.last.tokens <= 1500 + 100


async def test_requests_of_different_lengths_race_for_no_more_than_one_summary_each_prefix(
    front: StartFront, provider: Provider
) -> None:
    provider.summarise = lambda call: Said(marks(call).text, after=0.1)
    async with front(fold_at_tokens=1500) as proxy:
        talks: list[Talk] = []
        for extra in (0, 1, 2):
            talk = proxy.talk(session="race")
            talk.pretend(*(f"PLUM-{at} {prose(150, at)}" for at in range(16 + 2 * extra)))
            talks.append(talk)
        answers = await asyncio.gather(*(talk.ask("question?") for talk in talks for _ in range(4)))
        assert [answer.status for answer in answers] == [200] * 12
        await proxy.settled()
    assert len(provider.summaries) <= 3
    for call in provider.calls:
        assert call.tokens <= 1500 + 200
        assert all(f"PLUM-{at}" in call.text for at in range(16))


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_two_at_once_build_on_the_same_summary(front: StartFront, provider: Provider, wire: Wire) -> None:
    provider.summarise = lambda call: Said(f"Digest {len(provider.summaries)}: all went on.", after=0.2)
    async with front(fold_at_tokens=700) as proxy:
        talk = proxy.talk(wire=wire)
        talk.pretend(*(prose(150, at) for at in range(8)))
        answers = await asyncio.gather(talk.ask("question?"), talk.ask("question?"))
        assert [answer.status for answer in answers] == [200, 200]
    assert len(provider.summaries) == 1
    assert all("Digest 1" in call.text for call in provider.calls)


async def test_a_client_that_leaves_while_its_summary_is_made_does_not_waste_it(
    front: StartFront, provider: Provider
) -> None:
    provider.hold = asyncio.Event()
    async with front(fold_at_tokens=700) as proxy:
        talk = proxy.talk()
        talk.pretend(*(prose(150, at) for at in range(8)))
        leaving = asyncio.create_task(talk.ask("question?"))
        await until(lambda: len(provider.summaries) == 1, "the summary is asked for")
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        provider.hold.set()
        assert (await talk.ask("question?")).status == 200
        await proxy.settled()
    assert len(provider.summaries) == 1


async def test_a_process_killed_in_mid_summary_delays_the_others_by_its_lease_and_no_longer(
    provider: Provider, redis: RedisServer, tmp_path: Path, key: str
) -> None:
    planted = facts(12)

    def summarise(call: object) -> Said:
        return Said(" ".join(fact.said for fact in planted), after=60 if len(provider.summaries) == 1 else 0)

    provider.summarise = summarise
    async with AsyncExitStack() as stack:
        starting = [stack.enter_async_context(replica(tmp_path, provider, redis)) for _ in range(2)]
        dying, living = await asyncio.gather(*starting)
        doomed = Talk(await stack.enter_async_context(client_of(dying.url, key)), session="killed")
        others = [Talk(await stack.enter_async_context(client_of(living.url, key)), session="killed") for _ in range(3)]
        for talk in (doomed, *others):
            _chat(talk)
        first = asyncio.create_task(doomed.ask("question?"))
        await until(lambda: len(provider.summaries) == 1, "the summary is asked for")
        waiting = [asyncio.create_task(talk.ask("question?")) for talk in others]
        await asyncio.sleep(0.3)
        dying.stop(signal.SIGKILL)
        killed = time.monotonic()
        answers: list[Answer] = await asyncio.gather(*waiting)
        took = time.monotonic() - killed
        await asyncio.gather(first, return_exceptions=True)

    assert [answer.status for answer in answers] == [200] * 3
    assert took < LEASE + SLACK
    assert len(provider.summaries) == 2
    assert all(lost(planted, call.text) == [] for call in provider.calls)
