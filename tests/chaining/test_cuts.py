"""A chain is cut where less would be sent, begun anew from the folded form or from another memory, and goes on."""

from __future__ import annotations

import pytest

from tests.chaining.conftest import Front, StartFront
from tests.chaining.provider import Api, Call, Provider
from tests.chaining.talk import Wire
from tests.folding.conftest import summaries_begun, until
from tests.folding.words import prose

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])
AT = 1500


def _is_summary(call: Call) -> bool:
    return not call.tools and "summar" in call.system.lower()


async def _settled(proxy: Front) -> None:
    """Until what is made behind the turns is made."""
    while "foldline_turns_open 0" not in (await proxy.http.get("/metrics")).text:
        pass
    await until(lambda: not summaries_begun(), "no summary is being made")


@BOTH
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_a_chat_that_outgrows_the_threshold_is_cut_from_its_folded_form_and_then_goes_on(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(api, wire)
        plans: list[str] = []
        chains: list[str] = []
        for turn in range(16):
            said = await talk.say(f"{prose(150, turn)} PLUM-{100 + turn}")
            plans.append(said.plan)
            chains.append(said.chain)
            await _settled(proxy)
    chat = [call for call in provider.calls if not _is_summary(call)]
    summaries = [call for call in provider.calls if _is_summary(call)]
    assert chains[0] == "new"
    folds = [plan.partition("summary=")[2].partition(";")[0] for plan in plans]
    folded = [turn for turn in range(1, len(folds)) if folds[turn] != folds[turn - 1]]
    assert len(folded) >= 2, plans
    assert {chains[turn] for turn in folded} == {"cut"}, plans
    assert {chains[turn + 1] for turn in folded[:-1]} == {"continue"}, plans
    assert len(chat) == 16
    assert prose(150, 0) in chat[0].new
    for turn, (call, chain) in enumerate(zip(chat, chains, strict=True)):
        assert bool(call.previous) == (chain == "continue")
        assert f"PLUM-{100 + turn}" in call.new
    for turn in folded:
        assert prose(150, 0) not in chat[turn].new, "what is old is in the fold"
        assert f"PLUM-{99 + turn}" in chat[turn].new, "and what is new is not"
    assert max(bill.input for bill in provider.chains.bills[-6:]) < 2 * AT
    assert summaries
    assert all(call.previous == "" for call in summaries)
    assert provider.refused == []


@BOTH
async def test_summaries_are_asked_for_without_storing(front: StartFront, provider: Provider, api: Api) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(api)
        for turn in range(12):
            await talk.say(f"{prose(150, turn)} PLUM-{100 + turn}")
            await _settled(proxy)
    summaries = [call for call in provider.calls if _is_summary(call)]
    assert summaries
    assert {call.stored for call in summaries} == {False}


@BOTH
async def test_a_heavy_tool_result_cuts_the_chain_and_is_not_dragged_along(
    front: StartFront, provider: Provider, api: Api
) -> None:
    town = {"type": "object", "properties": {"town": {"type": "string"}}}
    async with front(heavy_tool_tokens=500) as proxy:
        talk = proxy.talk(api, tools={"get_weather": town})
        said = await talk.say("What is the weather in Oslo?")
        said = await talk.give((said.calls[0], prose(900, 3)))
        assert (said.chain, provider.last.previous) == ("cut", "")
        await talk.say("Thank you.")
        assert provider.last.previous == provider.chains.bills[-2].id
    assert provider.refused == []


@BOTH
@pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
async def test_another_sticky_memory_cuts_once_and_then_goes_on(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, wire)
        session = (await talk.say("Hello.")).session
        assert (await talk.say("Hello again.")).chain == "continue"
        memory = f"/foldline/sessions/{session}/memory"
        for ship in ("BLUE-BOAT", "GREEN-BOAT"):
            answer = await proxy.http.put(memory, json={"ship": ship})
            assert answer.status_code < 300, answer.text
            assert (await talk.say("Which ship?")).chain == "cut"
            assert provider.last.seen.count(ship) == 1
            assert (await talk.say("And now?")).chain == "continue"
            assert ship in provider.last.seen
        assert "BLUE-BOAT" not in provider.last.seen, "what the memory said before is in no chain that goes on"
        assert (await proxy.http.delete(memory)).status_code < 300
        assert (await talk.say("Which ship?")).chain == "cut"
        assert "BOAT" not in provider.last.seen
        assert (await talk.say("And now?")).chain == "continue"
    assert provider.refused == []
