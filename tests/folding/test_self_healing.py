"""A provider that says "too long" against all estimates: folded further and asked once more, unseen by the client."""

from __future__ import annotations

import json

import pytest

from tests.folding.conftest import StartFront
from tests.folding.provider import Answering, Call, Provider, Said, refused
from tests.folding.talk import Talk, Wire
from tests.folding.words import facts, keeping, lost, prose

LIMIT = 3000
PLANTED = facts(10)


def _openai_words(call: Call) -> Said:
    words = (
        f"This model's maximum context length is {LIMIT} tokens. However, your messages resulted in {call.tokens} "
        "tokens. Please reduce the length of the messages."
    )
    return refused(words, "context_length_exceeded")


def _gemini_words(call: Call) -> Said:
    words = f"The input token count ({call.tokens}) exceeds the maximum number of tokens allowed ({LIMIT})."
    error = {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}
    return Said(status=400, body=json.dumps({"error": error}).encode())


def _plain_words(call: Call) -> Said:
    return refused("Request too large: prompt is too long for the context window of this model", status=400)


def _limited(provider: Provider, words: Answering) -> Answering:
    return lambda call: words(call) if call.tokens > LIMIT else Said("Yes.")


def _told(talk: Talk, messages: int = 28) -> None:
    """About 4300 tokens, far below the default threshold."""
    talk.pretend(*(f"{prose(140, at)} {PLANTED[at].said if at < 10 else ''}" for at in range(messages)))


@pytest.fixture(autouse=True)
def _good(provider: Provider) -> None:
    provider.summarise = keeping(PLANTED)


@pytest.mark.parametrize(
    ("wire", "words", "stream"),
    [
        ("openai", _openai_words, False),
        ("openai", _openai_words, True),
        ("openai", _plain_words, False),
        ("gemini", _gemini_words, False),
        ("gemini", _gemini_words, True),
    ],
)
async def test_the_client_sees_only_the_answer_and_the_next_turn_fits_at_once(
    front: StartFront, provider: Provider, wire: Wire, words: Answering, stream: bool
) -> None:
    provider.answer = _limited(provider, words)
    async with front() as proxy:
        talk = proxy.talk(wire=wire, stream=stream, system="RULE-5")
        _told(talk)
        answer = await talk.say("question?")
        assert answer.status == 200
        assert answer.text == "Yes."
        assert len(provider.calls) == 2
        assert provider.calls[1].tokens <= LIMIT
        assert provider.calls[1].texts[-1] == "question?"
        assert provider.calls[1].system == "RULE-5"
        assert lost(PLANTED, provider.calls[1].text) == []

        for turn in range(3):
            assert (await talk.say(f"question {turn}?")).status == 200
        assert len(provider.calls) == 5, "the limit was learnt"

        fresh = proxy.talk(wire=wire, session="another")
        _told(fresh)
        assert (await fresh.say("question?")).status == 200
        if words is not _plain_words:
            assert len(provider.calls) == 6, "it was learnt for the model, not for the chat"


async def test_a_provider_that_says_so_twice_is_passed_on(front: StartFront, provider: Provider) -> None:
    provider.answer = _openai_words
    async with front() as proxy:
        talk = proxy.talk()
        _told(talk)
        answer = await talk.ask("question?")
        assert answer.status == 400
        assert answer.error["code"] == "context_length_exceeded"
        assert str(LIMIT) in answer.error["message"]
        assert len(provider.calls) == 2


async def test_a_failing_summariser_does_not_stop_the_healing(front: StartFront, provider: Provider) -> None:
    provider.answer = _limited(provider, _openai_words)
    provider.summarise = lambda call: Said("It broke.", status=500)
    async with front(max_retries=0) as proxy:
        talk = proxy.talk()
        _told(talk)
        answer = await talk.say("question?")
        assert answer.status == 200
        assert len(provider.calls) == 2
        assert lost(PLANTED, provider.last.text) == []


async def test_what_cannot_be_folded_further_gets_the_error_at_once(front: StartFront, provider: Provider) -> None:
    provider.answer = _limited(provider, _openai_words)
    async with front() as proxy:
        answer = await proxy.talk().ask(prose(4000, 1))
        assert answer.status == 400
        assert answer.error["code"] == "context_length_exceeded"
        assert len(provider.calls) <= 2
        assert provider.summaries == []


async def test_a_chat_that_is_to_pass_untouched_is_not_healed(front: StartFront, provider: Provider) -> None:
    provider.answer = _limited(provider, _openai_words)
    async with front() as proxy:
        talk = proxy.talk(options={"off": True})
        _told(talk)
        assert (await talk.ask("question?")).status == 400
        assert len(provider.calls) == 1
        assert provider.summaries == []


async def test_another_400_is_no_reason_to_fold(front: StartFront, provider: Provider) -> None:
    provider.answer = lambda call: refused("Unknown parameter: 'length' is too long a name.", "unknown_parameter")
    async with front() as proxy:
        talk = proxy.talk()
        _told(talk)
        assert (await talk.ask("question?")).status == 400
        assert len(provider.calls) == 1
        assert provider.summaries == []
