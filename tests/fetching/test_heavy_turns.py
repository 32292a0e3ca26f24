"""A heavy tool result cuts a chain that would drag it along, and the turns behind it cost a fraction."""

from __future__ import annotations

import pytest

from app.settings import ToolTable
from tests.chaining.provider import Provider
from tests.fetching.conftest import KEEPING, Kind, StartFront, with_reviews
from tests.fetching.shop import fetch, reviews, rows

TURNS = 20
RAW = 50_000
"""Tokens of the result."""


async def _billed(front: StartFront, provider: Provider, kind: Kind, *, small: bool) -> int:
    """Input tokens of all that the provider was asked from the result on, and in 20 turns behind it."""
    settings = {} if small else {"tools": {"reviews": ToolTable(compact=False)}, "heavy_tool_tokens": 10**6}
    async with front(kind, fold_at_tokens=0, **settings) as proxy:
        talk = proxy.talk()
        await talk.say("Hello.")
        before = len(provider.chains.bills)
        said = await with_reviews(talk, reviews(330))
        if small:
            assert said.chain == "cut"
            reason = next(
                each["reason"] for each in (await proxy.record(said.turn))["decisions"] if each["step"] == "chain"
            )
            assert "heavy" in reason
            assert provider.last.previous == ""
        for turn in range(TURNS):
            if small and turn == 2:
                said = await talk.say(fetch(proxy.handle, offset=100, limit=5))
                assert proxy.fetched()[-1]["rows"] == rows(330)[100:105]
            else:
                said = await talk.say(f"Thank you, {turn} times.")
            assert said.chain == "continue", f"turn {turn}"
            assert provider.last.previous
        bills = provider.chains.bills[before:]
        assert bool(max(bill.input for bill in bills) > RAW * 0.8) is not small
    assert provider.refused == []
    return sum(bill.input for bill in bills)


@pytest.mark.parametrize("kind", KEEPING)
async def test_the_turns_behind_a_heavy_result_cost_a_fifth_at_most(
    front: StartFront, provider: Provider, kind: Kind
) -> None:
    small = await _billed(front, provider, kind, small=True)
    dragged = await _billed(front, provider, kind, small=False)
    assert dragged > TURNS * RAW * 0.8
    assert small <= 0.2 * dragged, f"{small} of {dragged}"
