"""Losing the store loses savings, never an answer: a long chat then goes out whole, and is folded when it is back."""

from __future__ import annotations

import json
import time

import pytest
from pydantic import SecretStr

from tests.folding.conftest import StartFront
from tests.folding.provider import Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import marks, prose
from tests.servers import redis_server

AT = 1500


def _told(talk: Talk) -> None:
    talk.pretend(*(f"{prose(120, at)} PLUM-{100 + at}" for at in range(24)))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_a_long_chat_is_answered_and_passed_on_whole_while_the_store_is_away(
    front: StartFront, provider: Provider, wire: Wire, stream: bool
) -> None:
    provider.summarise = marks
    with redis_server() as server:
        async with front(redis_url=SecretStr(server.url), store_timeout=0.2, fold_at_tokens=AT) as proxy:
            server.kill()
            talk = proxy.talk(wire=wire, stream=stream, system="RULE-2")
            _told(talk)
            for turn in range(3):
                sent = json.dumps(talk.body([*talk.history, talk.user(f"question {turn}?")])).encode()
                answer = await talk.post(sent)
                assert answer.status == 200
                assert "state=bypassed" in answer.plan
                assert answer.seconds < 2
                assert provider.last.raw == sent
            await proxy.settled()
            assert provider.summaries == []


async def test_a_store_that_freezes_while_a_summary_is_made_costs_no_answer(
    front: StartFront, provider: Provider
) -> None:
    provider.summarise = lambda call: Said(marks(call).text, after=0.3)
    with redis_server() as server:
        async with front(redis_url=SecretStr(server.url), store_timeout=0.2, fold_at_tokens=AT) as proxy:
            talk = proxy.talk()
            _told(talk)

            def freezing(call: object) -> Said:
                server.freeze()
                return Said("They went on.", after=0.1)

            provider.summarise = freezing
            began = time.monotonic()
            answer = await talk.ask("question?")
            server.thaw()
            assert answer.status == 200
            assert time.monotonic() - began < 5


async def test_folding_begins_again_when_the_store_is_back(front: StartFront, provider: Provider) -> None:
    provider.summarise = marks
    with redis_server() as server:
        async with front(redis_url=SecretStr(server.url), store_timeout=0.2, fold_at_tokens=AT) as proxy:
            talk = proxy.talk()
            _told(talk)
            server.kill()
            assert (await talk.say("question?")).status == 200
            assert provider.last.tokens > AT
            server.start()
            deadline = time.monotonic() + 12
            while provider.last.tokens > AT + 100:
                assert time.monotonic() < deadline, "it is never folded"
                assert (await talk.ask("and now?")).status == 200
            assert "PLUM-100" in provider.last.text
