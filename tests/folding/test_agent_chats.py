"""An agent's chat whose tools return more values than any summary holds: folded and not trimmed, and asked for once."""

from __future__ import annotations

import json
import random
import re

import pytest

from tests.folding.conftest import StartFront
from tests.folding.exchanges import TOOL
from tests.folding.provider import Call, Json, Provider, Said
from tests.folding.words import facts, keeping, lost, prose

AT = 8000
TURNS = 30
PLANTED = facts(12)


def _rows(turn: int) -> str:
    """Some hundred values that nobody speaks of."""
    chance = random.Random(turn)
    return json.dumps([{"order": f"A-{turn:02}{row:02}", "amount": chance.randrange(10**6)} for row in range(25)])


def _asks(turn: int) -> Json:
    call = {"name": "stat", "arguments": json.dumps({"what": f"books of {'abcdefgh'[turn % 8]}"})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{turn}", "type": "function", "function": call}],
    }


@pytest.mark.parametrize("says_rows", [False, True], ids=["a summary of the talk", "a summary full of rows"])
async def test_values_that_only_tools_returned_refuse_no_summary_and_nothing_is_left_out(
    front: StartFront, provider: Provider, says_rows: bool
) -> None:
    keeps = keeping(PLANTED)

    def summarise(call: Call) -> Said:
        rows = re.findall(r"A-\d{4}", call.text)[-80:] if says_rows else []
        return Said(f"{keeps(call).text}\nOrders: {', '.join(rows)}")

    provider.summarise = summarise
    plans: list[str] = []
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(more={"tools": [TOOL["openai"]]})
        for turn in range(TURNS):
            said = f" {PLANTED[turn].said}" if turn < len(PLANTED) else ""
            talk.history += [talk.user(prose(40, turn) + said), _asks(turn)]
            talk.history.append({"role": "tool", "tool_call_id": f"c{turn}", "content": _rows(turn)})
            answer = await talk.go_on()
            assert answer.status == 200
            plans.append(answer.plan)
            await proxy.settled()
    assert any(plan.startswith("summary=") for plan in plans)
    assert not [plan for plan in plans if "trim" in plan]
    assert lost(PLANTED, provider.last.text) == []
    moved = len({plan for plan in plans if plan.startswith("summary=")})
    assert len(provider.summaries) <= moved + 2, "each is asked for once, and a second question is rare"


LARGE = json.dumps([{"order": f"B-{row:04}", "note": prose(12, row)} for row in range(1500)])


async def test_a_bulky_result_that_is_folded_away_can_still_be_fetched(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(more={"tools": [TOOL["openai"]]})
        talk.history += [talk.user("Look the orders up."), _asks(0)]
        talk.history.append({"role": "tool", "tool_call_id": "c0", "content": LARGE})
        assert (await talk.go_on()).status == 200
        for turn in range(8):
            await talk.say(prose(900, turn))
            await proxy.settled()
        folded = provider.last.texts[0]
        assert folded.startswith("<summary")
        assert "B-0003" not in provider.last.text, "the small form itself is folded away"
        assert provider.summaries[0].tokens < AT, "and was what the summariser saw, not the whole result"
        handle = re.search(r"1500 rows from stat: fetch_rows gives them by the handle (res_[a-z2-7]+)", folded)
        assert handle, folded
        before = len(provider.calls)

        def fetching(call: Call) -> Said:
            rows = {"handle": handle[1], "offset": 1234, "limit": 2}
            return Said(calls=(("fetch_rows", rows),)) if len(provider.calls) == before + 1 else Said("It is B-1234.")

        provider.answer = fetching
        answer = await talk.say("Which one is at 1234?")
    assert answer.text == "It is B-1234."
    assert "B-1234" in provider.last.text
