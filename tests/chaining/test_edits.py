"""Edits, branches and second tries go on from where they differ; what a client deleted is in no chain that goes on."""

from __future__ import annotations

import asyncio

import pytest

from tests.chaining.conftest import Front, StartFront
from tests.chaining.provider import Api, Provider
from tests.chaining.talk import Talk, Wire

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])


async def _told(proxy: Front, api: Api, wire: Wire) -> tuple[Talk, list[str]]:
    """A chat of four turns, each with a mark of its own, and the ids of their answers."""
    talk = proxy.talk(api, wire)
    ids: list[str] = []
    for mark in ("PLUM", "PEAR", "KIWI", "LIME"):
        await talk.say(f"Remember: the crate is {mark}-7.")
        ids.append(proxy.provider.newest)
    return talk, ids


@BOTH
@pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
async def test_an_edited_message_goes_on_from_the_answer_before_it_and_the_old_text_is_gone(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    async with front() as proxy:
        talk, ids = await _told(proxy, api, wire)
        edited = talk.branch(talk.history[:4])
        said = await edited.say("Remember: the crate is FIG-7.")
        assert (said.chain, provider.last.previous) == ("continue", ids[1])
        assert "KIWI" not in provider.last.seen
        assert "LIME" not in provider.last.seen
        await edited.say("Which crate?")
        assert "PEAR-7" in provider.last.seen
        assert "FIG-7" in provider.last.seen
        assert "KIWI" not in provider.last.seen

        back = talk.branch()
        said = await back.say("Which crate now?")
        assert (said.chain, provider.last.previous) == ("continue", ids[3])
        assert "FIG" not in provider.last.seen
        assert "KIWI-7" in provider.last.seen
    assert provider.refused == []


@BOTH
async def test_a_message_edited_with_all_after_it_kept_is_sent_whole(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front() as proxy:
        talk, ids = await _told(proxy, api, "openai")
        edited = talk.branch()
        edited.history[4] = edited.user("Remember: the crate is FIG-7.")
        said = await edited.say("Which crate?")
        assert (said.chain, provider.last.previous) == ("cut", "")
        assert "KIWI" not in provider.last.seen.replace(str(edited.history[5]["content"]), "")
        assert "FIG-7" in provider.last.seen
        fresh = provider.newest
        assert (await edited.say("And now?")).chain == "continue"
        assert provider.last.previous == fresh
        assert fresh not in ids


@BOTH
async def test_an_edited_answer_is_never_heard_as_it_was(front: StartFront, provider: Provider, api: Api) -> None:
    async with front() as proxy:
        talk = proxy.talk(api)
        await talk.say("say: the crate is PLUM-7")
        await talk.say("say: understood")
        talk.history[1]["content"] = "the crate is FIG-7"
        await talk.say("which crate?")
        assert provider.last.previous == ""
        assert "PLUM" not in "\n".join(call for call in provider.last.seen.splitlines() if "say:" not in call)
        assert "FIG-7" in provider.last.seen


@BOTH
@pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
async def test_an_answer_asked_for_again_branches_from_the_one_before_and_both_go_on(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    async with front() as proxy:
        talk, ids = await _told(proxy, api, wire)
        again = talk.branch(talk.history[:6])
        await again.say("Remember: the crate is LIME-7.")
        second = provider.newest
        assert provider.last.previous == ids[2]
        assert second != ids[3]
        await talk.say("which crate?")
        assert provider.last.previous in (ids[3], second), "both answers say the same, so either will do"
        assert provider.last.seen.count("crate is LIME-7") == provider.last.seen.count("crate is KIWI-7")
    assert provider.refused == []


@BOTH
async def test_a_message_deleted_from_the_front_or_the_middle_is_in_no_chain(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front() as proxy:
        talk, _ = await _told(proxy, api, "openai")
        for cut, gone in ((slice(0, 2), "PLUM"), (slice(2, 4), "PEAR")):
            shorter = talk.branch()
            del shorter.history[cut]
            await shorter.say("which crate?")
            assert gone not in provider.last.seen
            assert "LIME-7" in provider.last.seen
            assert provider.last.previous == ""
            await shorter.say("and now?")
            assert provider.last.previous == provider.chains.bills[-2].id
            assert gone not in provider.last.seen


@BOTH
async def test_a_deleted_tail_is_in_no_chain(front: StartFront, provider: Provider, api: Api) -> None:
    async with front() as proxy:
        talk, ids = await _told(proxy, api, "openai")
        shorter = talk.branch(talk.history[:2])
        await shorter.say("which crate?")
        assert provider.last.previous == ids[0]
        assert not any(mark in provider.last.seen for mark in ("PEAR", "KIWI", "LIME"))


@BOTH
@pytest.mark.parametrize("streams", [False, True])
async def test_two_turns_that_go_on_from_one_answer_at_once_branch_and_both_can_be_gone_on_with(
    front: StartFront, provider: Provider, api: Api, streams: bool
) -> None:
    async with front() as proxy:
        talk, ids = await _told(proxy, api, "openai")
        talk.streams = streams
        one, other = talk.branch(), talk.branch()
        one.http, other.http = talk.http, talk.http
        await asyncio.gather(one.say("left KIWI-1 [[delay=5]]"), other.say("right LIME-1 [[delay=5]]"))
        assert [call.previous for call in provider.calls[-2:]] == [ids[3], ids[3]]
        await one.say("which side?")
        assert "left KIWI-1" in provider.last.seen
        assert "right" not in provider.last.seen
        first = provider.last.previous
        await other.say("which side?")
        assert "right LIME-1" in provider.last.seen
        assert "left" not in provider.last.seen
        assert len({first, provider.last.previous, ids[3], ""}) == 4
