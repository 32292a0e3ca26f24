"""A slow, small model on a server of one's own: listened to as it writes, waited for only so long, never given up."""

from __future__ import annotations

import asyncio

import pytest

from app.engine import summaries
from tests.folding.conftest import Front, StartFront, until
from tests.folding.provider import Call, Provider, Said, refused
from tests.folding.talk import Talk
from tests.folding.words import facts, lost, prose

AT = 1800
PLANTED = facts(6)
LINE = "Both of them agreed on the plan as it stands."


def _long_talk(proxy: Front, session: str = "") -> Talk:
    """A chat over the threshold that says all the facts in its oldest half."""
    talk = proxy.talk(session=session) if session else proxy.talk()
    talk.pretend(*(f"{prose(120, at)} {PLANTED[at].said if at < 6 else ''}" for at in range(24)))
    return talk


async def test_a_model_that_turns_in_a_circle_is_hung_up_on_and_what_it_said_first_is_used(
    front: StartFront, provider: Provider
) -> None:
    provider.summarise = lambda call: Said(f"{LINE} ", endless=True)
    async with front(fold_at_tokens=AT) as proxy:
        answer = await _long_talk(proxy).say("question?")
        assert answer.plan.startswith("summary=1-")
        assert provider.last.text.count(LINE) == 1
        assert lost(PLANTED, provider.last.text) == []
        await until(lambda: not provider.busy, "the server is let go")


async def test_a_model_that_goes_on_with_the_conversation_is_asked_again_in_few_words(
    front: StartFront, provider: Provider
) -> None:
    def summarise(call: Call) -> Said:
        return Said(f"{LINE}\n2. They walk.") if "<said" not in call.text else Said('<said by="user">\n', endless=True)

    provider.summarise = summarise
    async with front(fold_at_tokens=AT) as proxy:
        answer = await _long_talk(proxy).say("question?")
        assert f"{LINE}\nThey walk." in provider.last.text
        assert lost(PLANTED, provider.last.text) == []
        check = (await proxy.record(answer.turn))["fold"]["check"]
    assert check["served"] == provider.last.model
    assert ["<said" in call.text for call in provider.summaries] == [True, *[False] * (check["asked"] - 1)]


async def test_a_server_that_cannot_stream_is_asked_for_the_whole(front: StartFront, provider: Provider) -> None:
    provider.summarise = lambda call: refused("Streaming is not supported.") if call.stream else Said(LINE)
    async with front(fold_at_tokens=AT) as proxy:
        answer = await _long_talk(proxy).say("question?")
        assert answer.plan.startswith("summary=1-")
        assert LINE in provider.last.text


async def test_a_turn_waits_for_a_slow_summary_only_so_long_and_a_later_one_goes_out_with_it(
    front: StartFront, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "PATIENCE", 0.05)
    provider.hold = asyncio.Event()
    provider.summarise = lambda call: Said(LINE)
    async with front(fold_at_tokens=AT) as proxy:
        talk = _long_talk(proxy)
        assert "trim=" in (await talk.say("question?")).plan
        monkeypatch.setattr(summaries, "PATIENCE", 3600.0)
        assert "trim=" in (await talk.say("next?")).plan, "who waited once in vain is not made to wait again"
        provider.hold.set()
        await proxy.settled()
        answer = await talk.say("and now?")
        assert answer.plan.startswith("summary=1-")
        assert LINE in provider.last.text
        assert lost(PLANTED, provider.last.text) == []
    assert len(provider.summaries) <= 2
