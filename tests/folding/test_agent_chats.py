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
