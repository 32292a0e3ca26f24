"""One task, sixty tool exchanges: finished ones are folded, the task stays, calls keep their results and signatures."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.folding.conftest import StartFront
from tests.folding.exchanges import TOOL, exchange, faults
from tests.folding.provider import Call, Json, Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import Fact, facts, keeping, lost, prose

AT = 4000
STEPS = 60
TASK = "Go through all the hosts, one after the other, and never touch the one called anvil. TASK-404"
PLANTED = facts(12)


def _result(wire: Wire, answer: Json, number: int, planted: Fact | None) -> Json:
    text = f"{prose(170, number)} {planted.said if planted else ''}"
    if wire == "gemini":
        name = next(part["functionCall"]["name"] for part in answer["parts"] if "functionCall" in part)
        return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": text}}}]}
    return {"role": "tool", "tool_call_id": answer["tool_calls"][0]["id"], "content": text}


def signatures(call: Call) -> list[str]:
    """Of the calls in a Gemini history, in order; an empty one where a call has none."""
    parts = [part for content in call.messages for part in content["parts"] if "functionCall" in part]
    return [part.get("thoughtSignature", "") for part in parts]


async def _loop(talk: Talk, provider: Provider, drop_signatures: bool) -> None:
    """One request of the user, and then nothing but calls and results."""
    provider.answer = lambda call: Said(
        calls=(("stat", {"n": len(provider.calls)}),), signature=f"c2lnbmVk{len(provider.calls):04d}"
    )
    answer = await talk.say(TASK)
    for step in range(STEPS):
        assert answer.status == 200, answer.data
        talk.history.append(
            _result(talk.wire, talk.history[-1], step, PLANTED[step // 3] if step % 3 == 0 and step < 36 else None)
        )
        if drop_signatures:
            for part in talk.history[-2]["parts"]:
                part.pop("thoughtSignature", None)
        if step < STEPS - 1:
            answer = await talk.go_on()
    provider.answer = lambda call: Said("All done.")
    answer = await talk.go_on()
    assert answer.text == "All done."


@pytest.mark.parametrize(
    ("wire", "stream", "drops"),
    [("openai", False, False), ("openai", True, False), ("gemini", False, False), ("gemini", True, True)],
)
async def test_a_loop_without_end_stays_in_the_budget_keeps_its_task_and_its_pairs(
    front: StartFront, provider: Provider, wire: Wire, stream: bool, drops: bool
) -> None:
    provider.summarise = keeping(PLANTED)
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(wire=wire, stream=stream, system="RULE-8", more={"tools": [TOOL[wire]]})
        await _loop(talk, provider, drops)
        await proxy.settled()

    for before, after in pairwise(provider.calls):
        assert TASK in after.texts, "the task is a message of its own, word for word"
        assert faults(after) == []
        assert after.system == "RULE-8"
        assert after.tokens <= AT + 300
        assert after.texts[-1] != before.texts[-1]
    assert lost(PLANTED, provider.last.text) == []
    assert 1 <= len(provider.summaries) <= STEPS / 8
    moved = [after for before, after in pairwise(provider.calls) if not after.extends(before)]
    assert len(moved) <= STEPS * 0.15
    if wire == "gemini":
        for call in provider.calls:
            assert all(signatures(call)), "each kept call of the running turn has the signature that it came with"
            assert len(set(signatures(call))) == len(signatures(call))


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_a_loop_that_is_first_seen_when_it_is_long_already_is_folded_inside(
    front: StartFront, provider: Provider, wire: Wire
) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(wire=wire, more={"tools": [TOOL[wire]]})
        talk.history.append(talk.user(TASK))
        for number in range(40):
            talk.history += exchange(wire, number, 1 + number % 2, 120, f"c2lnbmVk{number:04d}")
        answer = await talk.go_on()
        assert answer.status == 200
    body = provider.last
    assert TASK in body.texts
    assert faults(body) == []
    assert body.tokens <= AT
    assert "result 39.0" in body.text
    if wire == "gemini":
        kept = [one for one in signatures(body) if one]
        assert kept
        assert kept == [f"c2lnbmVk{number:04d}" for number in range(40 - len(kept), 40)]


async def test_the_steps_of_a_finished_loop_are_folded_with_their_question_later(
    front: StartFront, provider: Provider
) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(more={"tools": [TOOL["openai"]]})
        talk.history.append(talk.user(TASK))
        for number in range(20):
            talk.history += exchange("openai", number, 1, 120)
        talk.pretend()
        talk.history.append(talk.assistant("All done."))
        for turn in range(24):
            assert (await talk.say(f"{prose(120, turn)} what else?")).status == 200
            assert faults(provider.last) == []
        await proxy.settled()
    assert provider.last.tokens <= AT + 300
    assert "result 3.0" not in provider.last.text
    assert len(provider.summaries) <= 5
