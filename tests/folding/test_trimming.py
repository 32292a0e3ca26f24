"""Where no summary helps, the oldest goes: never the system prompt, the last words of the user, or half an exchange."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tests.folding.conftest import StartFront
from tests.folding.exchanges import TOOL, exchange, faults
from tests.folding.provider import Json, Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import prose

AT = 1500


@pytest.fixture(autouse=True)
def _fails(provider: Provider) -> None:
    provider.summarise = lambda call: Said("It broke.", status=500)
    provider.answer = lambda call: Said("Yes.")


def _with_tools(talk: Talk, turns: int = 10) -> None:
    for turn in range(turns):
        talk.history.append(talk.user(f"ask {turn} {prose(60, turn)}"))
        talk.history += exchange(talk.wire, turn, 1 + turn % 3, 40)
        talk.history.append(talk.assistant(f"answer {turn}"))


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_the_system_prompt_and_the_last_words_stay_and_no_exchange_is_halved(
    front: StartFront, provider: Provider, wire: Wire
) -> None:
    system = f"You are a clerk. RULE-7 {prose(200, 5)}"
    async with front(fold_at_tokens=AT) as proxy:
        for turns in range(6, 16, 3):
            talk = proxy.talk(wire=wire, system=system, more={"tools": [TOOL[wire]]})
            _with_tools(talk, turns)
            assert (await talk.ask("and what now, please?")).status == 200
            body = provider.last
            assert body.system == system
            assert body.texts[-1] == "and what now, please?"
            assert faults(body) == []
            assert "ask 0" not in body.text
            assert body.tokens <= AT + 100


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_the_next_turns_leave_out_the_same(front: StartFront, provider: Provider, wire: Wire) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(wire=wire)
        talk.pretend(*(prose(120, at) for at in range(24)))
        for turn in range(5):
            assert (await talk.say(f"question {turn}?")).status == 200
    assert all(after.extends(before) for before, after in pairwise(provider.calls))


async def test_a_running_tool_exchange_stays_whole(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(more={"tools": [TOOL["openai"]]})
        talk.pretend(*(prose(120, at) for at in range(24)))
        talk.history += [talk.user("run it now"), *exchange("openai", 1, 3)]
        assert (await talk.go_on()).status == 200
    body = provider.last
    assert faults(body) == []
    assert "run it now" in body.texts[-5]
    assert all(f"result 1.{at}" in body.text for at in range(3))


async def test_a_system_message_in_the_middle_is_never_left_out(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(system="RULE-1")
        talk.pretend(*(prose(120, at) for at in range(12)))
        talk.history.append({"role": "system", "content": "RULE-2: from now on in Danish."})
        talk.pretend(*(prose(120, at) for at in range(12)))
        assert (await talk.ask("question?")).status == 200
    kept = [message["content"] for message in provider.last.body["messages"] if message["role"] == "system"]
    assert kept == ["RULE-1", "RULE-2: from now on in Danish."]


async def test_a_long_last_message_over_the_budget_still_arrives_whole(front: StartFront, provider: Provider) -> None:
    long = f"{prose(3000, 1)} END-77?"
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        talk.pretend(*(prose(120, at) for at in range(24)))
        assert (await talk.say(long)).status == 200
        assert provider.last.texts[-1] == long
        before = len(provider.summaries)
        assert (await talk.say("short?")).status == 200
    assert len(provider.summaries) - before <= 2


# ---- what cannot be sent at all


@pytest.mark.parametrize("history", [0, 10])
async def test_a_last_message_beyond_the_window_gets_openai_s_error_and_nothing_is_sent(
    front: StartFront, provider: Provider, history: int
) -> None:
    async with front() as proxy:
        talk = proxy.talk(model="gpt-4", session="one")
        talk.pretend(*(prose(50, at) for at in range(history)))
        answer = await talk.ask(prose(13_000, 1))
        assert answer.status == 400
        assert answer.error["code"] == "context_length_exceeded"
        assert answer.error["type"] == "invalid_request_error"
        assert "8192" in answer.error["message"]
        assert provider.calls == []
        await proxy.settled()
        assert provider.summaries == []
        assert (await talk.ask("a short one then?")).status == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_a_last_message_beyond_the_window_gets_gemini_s_words_and_nothing_is_sent(
    front: StartFront, provider: Provider, stream: bool
) -> None:
    async with front() as proxy:
        talk = proxy.talk(wire="gemini", model="gpt-4", stream=stream)
        answer = await talk.ask(prose(13_000, 1))
        assert answer.status == 400
        said = json.loads(answer.data)
        error: Json = (said[0] if answer.data.startswith(b"[") else said)["error"]
        assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
        assert "exceeds the maximum number of tokens" in error["message"]
        assert provider.calls == []


async def test_a_system_prompt_larger_than_the_threshold_is_no_reason_to_drop_the_talk(
    front: StartFront, provider: Provider
) -> None:
    system = prose(2500, 3)
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(system=system)
        talk.pretend(*(f"word {at}" for at in range(12)))
        assert (await talk.ask("question?")).status == 200
        await proxy.settled()
    assert provider.last.system == system
    assert provider.last.texts == [*(f"word {at}" for at in range(12)), "question?"]
    assert provider.summaries == []
