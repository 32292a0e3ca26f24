"""Two hundred turns under a budget: nothing outgrows it, nothing planted is lost, and the prompt's beginning stays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from app.chat import size
from tests.folding.conftest import StartFront
from tests.folding.provider import Call, Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import Fact, Language, facts, keeping_every_second, lost, prose

BUDGET = 8000
TURNS = 200
EACH = 140
"""Tokens of one message, beside the fact that it may hold."""


def _said(number: int, planted: list[Fact], language: Language) -> str:
    """The words of a message; every sixth holds a fact, so that half of them are the user's and half the model's."""
    at, rest = divmod(number, 6)
    holds = rest == at % 2 and at < len(planted)
    words = prose(EACH, number % 40, language)
    return f"{words} {planted[at].said}" if holds else words


async def _two_hundred_turns(talk: Talk, provider: Provider, planted: list[Fact], language: Language) -> int:
    """Has the chat; the tokens that sending everything every turn would have taken."""
    numbers = iter(range(1, 2 * TURNS, 2))
    provider.answer = lambda call: Said(_said(next(numbers), planted, language))
    everything = 0
    for turn in range(TURNS):
        before = len(talk.history)
        answer = await talk.say(_said(2 * turn, planted, language))
        assert answer.status == 200
        assert len(talk.history) == before + 2
        everything += _tokens(talk.history[:-1])
    return everything


_SIZES: dict[int, int] = {}


def _tokens(history: list[dict[str, Any]]) -> int:
    total = 0
    for message in history:
        if id(message) not in _SIZES:
            text = message["content"] if "content" in message else message["parts"][0]["text"]
            _SIZES[id(message)] = size.PER_MESSAGE + size.of_text(text, "openai")
        total += _SIZES[id(message)]
    return total


def _newest_exchange(call: Call) -> int:
    """Tokens of the last two messages, as generous as an estimate for either family of tokenizers."""
    return sum(size.PER_MESSAGE + size.of_text(text, "other") for text in call.texts[-2:])


@pytest.mark.parametrize(
    ("wire", "language", "stream"), [("openai", "en", False), ("openai", "ja", True), ("gemini", "ja", False)]
)
async def test_two_hundred_turns_stay_in_the_budget_and_keep_every_fact_with_a_summariser_that_loses_half(
    front: StartFront, provider: Provider, wire: Wire, language: Language, stream: bool
) -> None:
    _SIZES.clear()
    planted = facts(60, language)
    provider.summarise = keeping_every_second(planted)
    async with front(fold_at_tokens=BUDGET) as proxy:
        talk = proxy.talk(wire=wire, system="You are a careful clerk. RULE-17", stream=stream)
        everything = await _two_hundred_turns(talk, provider, planted, language)

    calls, summaries = provider.calls, provider.summaries
    assert len(calls) == TURNS
    assert [call.tokens for call in calls if call.tokens > BUDGET + _newest_exchange(call)] == []
    assert lost(planted, calls[-1].text) == []
    spent = sum(call.tokens for call in calls) + sum(call.tokens for call in summaries)
    assert spent <= everything / 4
    assert len(summaries) <= TURNS / 10
    moved = [at for at, (before, after) in enumerate(pairwise(calls)) if not after.extends(before)]
    assert len(moved) <= 0.15 * (TURNS - 1)
    assert len(moved) >= 10, "facts are to survive ten folds"
    assert all(call.system == "You are a careful clerk. RULE-17" for call in calls)


async def test_no_fact_is_out_of_view_on_any_turn_in_between(front: StartFront, provider: Provider) -> None:
    planted = facts(24)
    provider.summarise = keeping_every_second(planted)
    provider.answer = lambda call: Said(prose(150, len(provider.calls)))
    async with front(fold_at_tokens=2500, summary_tokens=600) as proxy:
        talk = proxy.talk()
        for turn in range(48):
            fact = planted[turn // 2] if turn % 2 == 0 else None
            await talk.say(prose(150, turn) + (f" {fact.said}" if fact else ""))
            told = planted[: turn // 2 + 1]
            assert lost(told, provider.last.text) == [], f"turn {turn}"
    assert len(provider.summaries) <= 48 / 2  # a small budget, of which the newest six messages take a third


async def test_a_provider_that_counts_nothing_or_nonsense_gets_no_larger_bodies(
    front: StartFront, provider: Provider
) -> None:
    for reports in (0, 7):
        provider.clear()
        provider.answer = lambda call, reports=reports: Said(prose(150, len(provider.calls)), prompt=reports)
        async with front(fold_at_tokens=2500) as proxy:
            talk = proxy.talk()
            for turn in range(22):
                await talk.say(prose(150, turn))
        assert [call.tokens for call in provider.calls if call.tokens > 2500 + _newest_exchange(call)] == []


async def test_a_provider_that_counts_half_as_much_again_is_believed(front: StartFront, provider: Provider) -> None:
    provider.answer = lambda call: Said(prose(150, len(provider.calls)), prompt=call.tokens * 3 // 2)
    async with front(fold_at_tokens=3000) as proxy:
        talk = proxy.talk()
        for turn in range(28):
            await talk.say(prose(150, turn))
    late = provider.calls[10:]
    assert [call.tokens for call in late if call.tokens * 3 / 2 > 3000 + 2 * _newest_exchange(call)] == []
