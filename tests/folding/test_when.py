"""When a summary is made: behind the turn before it is needed, first of all, or first because nothing else fits."""

from __future__ import annotations

import asyncio

import pytest

from tests.folding.conftest import Front, StartFront, until
from tests.folding.provider import Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import marks, prose

AT = 2000
SLOW = 0.5
"""Seconds that the summariser takes: far more than a turn."""


@pytest.fixture(autouse=True)
def _slow(provider: Provider) -> None:
    provider.summarise = lambda call: Said(marks(call).text, after=SLOW)
    provider.answer = lambda call: Said("Yes.")


async def _grown_until_a_summary_is_made(proxy: Front, talk: Talk) -> int:
    """Says one thing after another until a summary is asked for; the tokens of the prompt that led to it."""
    for turn in range(40):
        answer = await talk.say(f"{prose(110, turn)} PLUM-{100 + turn}")
        assert answer.status == 200
        await asyncio.sleep(0.05)
        if proxy.provider.summaries:
            return proxy.provider.last.tokens
    pytest.fail("no summary was ever asked for")


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_behind_makes_it_at_four_fifths_of_the_threshold_without_delaying_a_turn(
    front: StartFront, provider: Provider, wire: Wire
) -> None:
    async with front(fold_at_tokens=AT, summary_when="behind") as proxy:
        talk = proxy.talk(wire=wire)
        led = await _grown_until_a_summary_is_made(proxy, talk)
        assert 0.75 * AT <= led <= 0.95 * AT
        untouched = provider.last

        await proxy.settled()
        answer = await talk.say(prose(20, 77))
        assert answer.seconds < SLOW
        assert provider.last.extends(untouched), "below the threshold the summary is not used yet"
        while len(provider.last.texts) == len(talk.history) - 1:
            answer = await talk.say(prose(110, 50 + len(provider.calls)))
            assert answer.seconds < SLOW
        assert provider.last.tokens < AT
        assert "PLUM-100" in provider.last.text
        assert len(provider.summaries) == 1


async def test_behind_a_turn_that_outruns_its_summary_is_not_delayed_by_it(
    front: StartFront, provider: Provider
) -> None:
    async with front(fold_at_tokens=AT, summary_when="behind") as proxy:
        talk = proxy.talk()
        await _grown_until_a_summary_is_made(proxy, talk)
        answer = await talk.say("short question?")
        assert answer.seconds < SLOW / 2
        await proxy.settled()
        assert len(provider.summaries) == 1


async def test_before_makes_it_first_and_the_turn_itself_is_folded(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT, summary_when="before") as proxy:
        talk = proxy.talk()
        talk.pretend(*(f"{prose(110, at)} PLUM-{100 + at}" for at in range(17)), "Yes.")
        answer = await talk.say(f"{prose(200, 99)} PLUM-199")
        assert answer.seconds >= SLOW
        assert provider.summaries[0].at < provider.last.at
        assert provider.last.tokens < AT
        assert all(f"PLUM-{at}" in provider.last.text for at in (100, 101, 116, 199))


@pytest.mark.parametrize("wire", ["openai", "gemini"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_chat_already_above_the_threshold_on_its_first_request_waits_for_its_summary(
    front: StartFront, provider: Provider, wire: Wire, stream: bool
) -> None:
    async with front(fold_at_tokens=AT, summary_when="behind") as proxy:
        talk = proxy.talk(wire=wire, stream=stream)
        talk.pretend(*(f"{prose(150, at)} PLUM-{100 + at}" for at in range(30)))
        answer = await talk.ask("question?")
        assert answer.status == 200
        assert answer.text == "Yes."
        assert len(provider.summaries) == 1
        assert provider.last.tokens <= AT
        assert all(f"PLUM-{at}" in provider.last.text for at in range(100, 130))


async def test_a_stream_that_waits_for_its_summary_is_kept_alive(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT, keepalive_after=0.2) as proxy:
        talk = proxy.talk(stream=True)
        talk.pretend(*(prose(150, at) for at in range(30)))
        answer = await talk.ask("question?")
        assert answer.data.startswith(b":")
        assert answer.text == "Yes."


async def test_summaries_made_behind_a_turn_survive_a_proxy_that_stops(front: StartFront, provider: Provider) -> None:
    provider.summarise = lambda call: Said(marks(call).text, after=0.3)
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        await _grown_until_a_summary_is_made(proxy, talk)
        await until(lambda: provider.busy == 1, "the summary is being made")
    assert provider.busy == 0, "the summariser was not cut off"
