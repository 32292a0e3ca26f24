"""Chats that are edited, branched and taken up again: each course has its own summary, and none is paid for twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.folding.conftest import StartFront
from tests.folding.provider import Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import marks, prose
from tests.servers import redis_server

AT = 1500
TURNS = 10


def _begun(talk: Talk, mark: str = "PLUM", turns: int = TURNS) -> None:
    """A chat over the threshold, each of whose messages holds a mark of its own."""
    talk.pretend(*(f"{prose(120, at)} {mark}-{100 + at}" for at in range(2 * turns)))


@pytest.fixture(autouse=True)
def _good(provider: Provider) -> None:
    provider.summarise = marks
    provider.answer = lambda call: Said("Yes.")


@pytest.mark.parametrize("wire", ["openai", "gemini"])
@pytest.mark.parametrize("session", ["", "named"])
async def test_a_message_that_was_edited_away_is_never_seen_again_and_returning_costs_nothing(
    front: StartFront, provider: Provider, wire: Wire, session: str
) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(wire=wire, session=session)
        _begun(talk)
        await talk.say("question?")
        await proxy.settled()
        original = provider.last
        paid = len(provider.summaries)
        assert paid == 1
        assert "PLUM-103" in original.text

        edited = talk.branch(talk.history[:-2])
        edited.history[3] = edited.assistant(f"{prose(120, 3)} PEAR-903")
        await edited.ask("question?")
        assert "PEAR-903" in provider.last.text
        assert "PLUM-103" not in provider.last.text
        assert "PLUM-102" in provider.last.text
        await proxy.settled()
        assert len(provider.summaries) == paid + 1

        await talk.branch(talk.history[:-2]).ask("question?")
        assert provider.last.serialized == original.serialized
        await edited.ask("question?")
        assert "PLUM-103" not in provider.last.text
        await proxy.settled()
        assert len(provider.summaries) == paid + 1


async def test_a_branch_behind_the_fold_line_uses_the_same_summary(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        _begun(talk)
        await talk.say("question?")
        await proxy.settled()
        main = provider.last
        for text in ("another question?", "a third question?"):
            await talk.branch(talk.history[:-2]).ask(text)
            assert provider.last.texts[0] == main.texts[0]
        await proxy.settled()
        assert len(provider.summaries) == 1


async def test_a_chat_cut_back_to_before_the_fold_line_never_sees_what_was_cut(
    front: StartFront, provider: Provider
) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        _begun(talk)
        await talk.say("question?")
        await proxy.settled()
        short = talk.branch(talk.history[:4])
        await short.ask("so let me put it differently?")
        assert provider.last.texts[:4] == [message["content"] for message in short.history]
        assert "PLUM-104" not in provider.last.text


async def test_two_chats_with_the_same_beginning_do_not_pay_twice_or_mix(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        one = proxy.talk()
        _begun(one)
        other = one.branch(one.history)
        for turn in range(6):
            await one.say(f"{prose(100, turn)} KIWI-{turn}00")
            await other.say(f"{prose(100, turn)} LIME-{turn}00")
            await proxy.settled()
            assert "KIWI" not in provider.last.text
            assert f"LIME-{turn}00" in provider.last.text
        assert len(provider.summaries) <= 1 + 2 * 2


async def test_another_tenant_never_gets_a_summary_that_it_did_not_say(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(session="shared")
        _begun(talk)
        await talk.say("question?")
        await proxy.settled()
        proxy.http.headers["authorization"] = "Bearer somebody-else"
        stranger = proxy.talk(session="shared")
        _begun(stranger, "GRAPE")
        await stranger.say("question?")
        assert "PLUM" not in provider.last.text


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_a_restarted_proxy_and_a_second_replica_use_the_summary_that_is_known(
    front: StartFront, provider: Provider, wire: Wire
) -> None:
    with redis_server() as server:
        store = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32), "fold_at_tokens": AT}
        async with front(**store) as first:
            talk = first.talk(wire=wire)
            _begun(talk)
            await talk.say("question?")
            await first.settled()
            before = provider.last
            async with front(**store) as second:
                beside = talk.branch(talk.history)
                beside.http = second.http
                await beside.say("another question?")
                assert provider.last.extends(before)
        async with front(**store) as restarted:
            talk.http = restarted.http
            await talk.say("a third question?")
            assert provider.last.extends(before)
            await restarted.settled()
    assert len(provider.summaries) == 1


async def test_the_embedded_store_keeps_summaries_over_a_restart(
    front: StartFront, provider: Provider, tmp_path: Path
) -> None:
    from tests.servers import short_directory

    with short_directory() as place:
        store = {"redis_url": SecretStr(f"embedded://{place}/s"), "fold_at_tokens": AT}
        async with front(**store) as first:
            talk = first.talk()
            _begun(talk)
            await talk.say("question?")
            await first.settled()
        before = provider.last
        async with front(**store) as second:
            talk.http = second.http
            await talk.say("another question?")
            assert provider.last.extends(before)
    assert len(provider.summaries) == 1


async def test_a_client_that_changes_format_keeps_its_summary(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(model="gemini-3-flash-preview", session="s")
        _begun(talk)
        await talk.ask("question?")
        await proxy.settled()
        same = proxy.talk(wire="gemini", session="s")
        _begun(same)
        await same.ask("question?")
        await proxy.settled()
    assert len(provider.summaries) == 1
    assert provider.calls[0].texts == provider.calls[1].texts
