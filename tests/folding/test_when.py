"""When a summary is made: behind the turn before it is needed, first of all, or first because nothing else fits.

Where a turn must not wait for a summary, the summariser is held back until the turn is over; where it must, nothing may
reach the provider before the summariser is let go.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.folding.conftest import QUIET, Front, StartFront, summaries_begun, until
from tests.folding.provider import Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import marks, prose

AT = 2000


@pytest.fixture(autouse=True)
def hold(provider: Provider) -> asyncio.Event:
    """What the summariser waits for."""
    provider.summarise = marks
    provider.answer = lambda call: Said("Yes.")
    provider.hold = asyncio.Event()
    return provider.hold


async def _grown_until_a_summary_is_asked_for(proxy: Front, talk: Talk) -> None:
    """Says one thing after another; no turn waits, as the summariser never answers."""
    for turn in range(40):
        assert (await talk.say(f"{prose(110, turn)} PLUM-{100 + turn}")).status == 200
        await proxy.rested()
        if summaries_begun():
            await until(lambda: bool(proxy.provider.summaries), "the summary is asked for")
            return
    pytest.fail("no summary was ever asked for")


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_behind_makes_it_at_nine_tenths_of_the_threshold_and_uses_it_beyond(
    front: StartFront, provider: Provider, hold: asyncio.Event, wire: Wire
) -> None:
    async with front(fold_at_tokens=AT, summary_when="behind") as proxy:
        talk = proxy.talk(wire=wire)
        await _grown_until_a_summary_is_asked_for(proxy, talk)
        led = provider.last
        assert 0.85 * AT <= led.tokens <= AT
        hold.set()
        await proxy.settled()

        await talk.say(prose(20, 77))
        assert provider.last.extends(led), "below the threshold the summary is not used yet"
        while len(provider.last.texts) == len(talk.history) - 1:
            assert provider.last.tokens <= AT
            await talk.say(prose(60, 50 + len(provider.calls)))
        assert provider.last.tokens < AT
        assert "PLUM-100" in provider.last.text
        assert len(provider.summaries) == 1


async def test_behind_no_turn_waits_for_a_summary_that_it_can_do_without(
    front: StartFront, provider: Provider, hold: asyncio.Event
) -> None:
    async with front(fold_at_tokens=AT, summary_when="behind") as proxy:
        talk = proxy.talk()
        await _grown_until_a_summary_is_asked_for(proxy, talk)
        assert (await talk.say("short question?")).status == 200
        assert not hold.is_set()
        hold.set()
        await proxy.settled()
        assert len(provider.summaries) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_before_makes_it_first_and_folds_the_very_turn(
    front: StartFront, provider: Provider, hold: asyncio.Event, stream: bool
) -> None:
    async with front(fold_at_tokens=AT, summary_when="before") as proxy:
        talk = proxy.talk(stream=stream)
        talk.pretend(*(f"{prose(110, at)} PLUM-{100 + at}" for at in range(15)), "Yes.")
        asking = asyncio.create_task(talk.say(f"{prose(400, 99)} PLUM-199"))
        await until(lambda: bool(provider.summaries), "the summary is asked for")
        await asyncio.sleep(QUIET)
        assert provider.calls == []
        hold.set()
        assert (await asking).text == "Yes."
        assert provider.last.tokens < AT
        assert [mark for mark in (100, 101, 114, 199) if f"PLUM-{mark}" not in provider.last.text] == []


@pytest.mark.parametrize(("wire", "stream"), [("openai", True), ("gemini", False)])
async def test_a_chat_already_above_the_threshold_on_its_first_request_waits_for_its_summary(
    front: StartFront, provider: Provider, hold: asyncio.Event, wire: Wire, stream: bool
) -> None:
    async with front(fold_at_tokens=AT, summary_when="behind") as proxy:
        talk = proxy.talk(wire=wire, stream=stream)
        talk.pretend(*(f"{prose(150, at)} PLUM-{100 + at}" for at in range(30)))
        asking = asyncio.create_task(talk.ask("question?"))
        await until(lambda: bool(provider.summaries), "the summary is asked for")
        await asyncio.sleep(QUIET)
        assert provider.calls == []
        hold.set()
        assert (await asking).text == "Yes."
        assert len(provider.summaries) == 1
        assert provider.last.tokens <= AT
        assert all(f"PLUM-{at}" in provider.last.text for at in range(100, 130))


async def test_a_stream_that_waits_for_its_summary_is_kept_alive(
    front: StartFront, provider: Provider, hold: asyncio.Event
) -> None:
    async with front(fold_at_tokens=AT, keepalive_after=0.1) as proxy:
        talk = proxy.talk(stream=True)
        talk.pretend(*(prose(150, at) for at in range(30)), "question?")
        async with proxy.http.stream("POST", talk.path, json=talk.body(talk.history)) as answer:
            pieces = answer.aiter_bytes()
            assert (await anext(pieces)).startswith(b":")
            assert provider.calls == []
            hold.set()
            assert b"Yes." in b"".join([piece async for piece in pieces])


async def test_a_summary_that_is_being_made_when_the_proxy_stops_is_not_cut_off(
    front: StartFront, provider: Provider, hold: asyncio.Event
) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        await _grown_until_a_summary_is_asked_for(proxy, proxy.talk())
        asyncio.get_running_loop().call_later(0.3, hold.set)
    assert provider.busy == 0
    assert hold.is_set()
