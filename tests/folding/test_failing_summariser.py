"""A summariser that fails in any way costs no turn, no loop and no fact; when it is well again it is used again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr

from tests.folding.conftest import Front, StartFront
from tests.folding.provider import Answering, Call, Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import facts, keeping, lost, prose
from tests.servers import RedisServer, redis_server

AT = 1800
PLANTED = facts(12)
THE_PAUSE_ENDS = "return redis.call('DEL', unpack(redis.call('KEYS', '*:p:fold')))"
WRONG_BODY = json.dumps({"error": {"message": "quota exceeded", "code": 429}}).encode()


def _longer(call: Call) -> Said:
    return Said(f"Here is all of it again. {call.text} {call.text}")


FAILURES: dict[str, Answering] = {
    "status 500": lambda call: Said("It broke.", status=500),
    "status 429": lambda call: Said("Slow down.", status=429),
    "status 401": lambda call: Said("Wrong key.", status=401),
    "timeout": lambda call: Said("Too late.", after=30),
    "empty": lambda call: Said(""),
    "blank": lambda call: Said(" \n\n "),
    "cut off": lambda call: Said("The user and the assistant spoke of", finish="length"),
    "longer than the original": _longer,
    "an error with status 200": lambda call: Said(body=WRONG_BODY),
    "no JSON": lambda call: Said(body=b"<html>502 Bad Gateway</html>"),
    "an error in words": lambda call: Said("Error: the quota of this project is exceeded."),
    "a refusal in words": lambda call: Said("I'm sorry, but I can't help with that."),
}


def _told(talk: Talk, messages: int = 24) -> None:
    """A chat over the threshold that says all the facts in its oldest half."""
    talk.pretend(*(f"{prose(120, at)} {PLANTED[at].said if at < 12 else ''}" for at in range(messages)))


@pytest.mark.parametrize(
    ("failure", "when"),
    [
        *((failure, "behind") for failure in FAILURES),
        ("status 500", "before"),
        ("timeout", "before"),
        ("empty", "before"),
    ],
)
async def test_the_turn_is_answered_within_the_budget_and_nothing_loops(
    front: StartFront, provider: Provider, failure: str, when: str
) -> None:
    provider.summarise = FAILURES[failure]
    patience = 0.3 if failure == "timeout" else 10
    async with front(fold_at_tokens=AT, summary_when=when, first_byte_timeout=patience, max_retries=1) as proxy:
        talk = proxy.talk(system="RULE-9")
        _told(talk)
        for turn in range(6):
            answer = await talk.say(f"question {turn}?")
            assert answer.status == 200
            body = provider.last
            assert body.tokens <= AT + 100
            assert lost(PLANTED, body.text) == []
            assert body.texts[-1] == f"question {turn}?"
            assert body.system == "RULE-9"
        await proxy.settled()
        assert len(provider.summaries) <= 4
        assert len(provider.calls) == 6


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_a_failing_summariser_is_left_alone_and_used_again_later(
    front: StartFront, provider: Provider, wire: Wire
) -> None:
    provider.summarise = FAILURES["status 500"]
    settings: dict[str, Any] = {"fold_at_tokens": AT, "summary_when": "before", "max_retries": 0}
    with redis_server() as server:
        async with front(redis_url=SecretStr(server.url), **settings) as proxy:
            await _left_alone_and_used_again(proxy, server, wire)


async def _left_alone_and_used_again(proxy: Front, server: RedisServer, wire: Wire) -> None:
    provider = proxy.provider
    talk = proxy.talk(wire=wire)
    _told(talk)
    await talk.say("question?")
    failed = len(provider.summaries)
    await talk.say("next?")
    assert len(provider.summaries) == failed, "it is left alone for a while"

    provider.summarise = keeping(PLANTED, opening="SEGMENT-1: all went on.")
    await proxy.settled()
    assert server.command("EVAL", THE_PAUSE_ENDS, "0") == b":1\r\n"
    for turn in range(3):
        await talk.say(f"question {turn}?")
        await proxy.settled()
    assert "SEGMENT-1" in provider.last.text
    assert lost(PLANTED, provider.last.text) == []
    assert len(provider.summaries) == failed + 1


async def test_another_chat_is_not_punished_for_one_whose_summaries_fail(front: StartFront, provider: Provider) -> None:
    provider.summarise = FAILURES["empty"]
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(session="bad")
        _told(talk)
        await talk.say("question?")
        provider.summarise = keeping(PLANTED, opening="SEGMENT-1: all went on.")
        other = proxy.talk(session="good")
        _told(other)
        await other.say("question?")
        assert "SEGMENT-1" in provider.last.text


async def test_what_was_left_out_without_a_summary_is_said_in_the_plan_and_in_the_record(
    front: StartFront, provider: Provider
) -> None:
    provider.summarise = FAILURES["status 500"]
    async with front(fold_at_tokens=AT, max_retries=0) as proxy:
        talk = proxy.talk()
        _told(talk)
        answer = await talk.say("question?")
        assert "trim=" in answer.plan
        assert "summary=" not in answer.plan
        record = await proxy.record(answer.turn)
        reason = next(one["reason"] for one in record["decisions"] if one["step"] == "trim")
        assert "left out" in reason
        assert await proxy.metric("foldline_summaries_total") >= 1
