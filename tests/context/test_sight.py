"""How large a chat is under a fold: what a provider reported, if it is believable, and estimates for the rest."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from app.context.policy import Policy
from tests.context.folding import SMALL, answered, fold_of, kept, known_of, received, sight_of, told

CHAT = told("u200 a200 u200 a200 u100")
TAIL = received(CHAT[3:])
"""Tokens of the last answer and what came after it."""


def _size(stored: dict[bytes, Any], **scale: Any) -> int:
    return sight_of(CHAT, known_of(CHAT, stored, scale=scale)).prompt(None)


def test_a_chat_that_nobody_answered_yet_is_estimated_as_a_whole() -> None:
    assert _size({}) == received(CHAT)
    assert _size({}, fixed=300) == received(CHAT) + 300


def test_estimates_are_corrected_by_the_models_running_ratio() -> None:
    assert _size({}, ratio=1.5, fixed=300) == pytest.approx(1.5 * (received(CHAT) + 300), abs=2)


def test_what_was_reported_for_the_last_turn_counts_and_only_the_rest_is_estimated() -> None:
    assert _size(answered(CHAT, 4, input_tokens=700, estimated_tokens=610)) == 700 + TAIL
    assert _size(answered(CHAT, 4, input_tokens=700, estimated_tokens=610), ratio=1.5) == 700 + round(1.5 * TAIL)


@pytest.mark.parametrize("junk", [0, 20, 1, 200, 2000, 10**9])
def test_a_report_that_cannot_be_true_is_not_believed(junk: int) -> None:
    assert _size(answered(CHAT, 4, input_tokens=junk, estimated_tokens=610)) == 610 + TAIL


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"model": "another"}, id="another model"),
        pytest.param({"setup": b"another setup 16"}, id="other tools or another system prompt"),
        pytest.param({"folded": b"a line of 16 byt"}, id="it was folded"),
        pytest.param({"estimated_tokens": 0}, id="nobody counted it"),
    ],
)
def test_a_report_of_another_prompt_is_not_used(other: dict[str, Any]) -> None:
    turn = answered(CHAT, 4, **{"input_tokens": 700, "estimated_tokens": 610, **other})
    assert _size(turn) == received(CHAT)


def test_a_report_under_a_fold_counts_for_that_fold_only() -> None:
    fold = fold_of(CHAT, 2)
    turn = answered(CHAT, 4, input_tokens=250, estimated_tokens=240, folded=fold.upto)
    sight = sight_of(CHAT, known_of(CHAT, turn, kept(fold)))
    assert sight.before == fold
    assert sight.prompt(fold) == 250 + TAIL
    assert sight.prompt(None) == received(CHAT)


def test_a_fold_is_counted_by_the_words_that_stand_for_it() -> None:
    fold = fold_of(CHAT, 2)
    sight = sight_of(CHAT, known_of(CHAT, kept(fold), scale={"fixed": 50}))
    assert sight.prompt(fold) == 50 + sight.carried(fold) + received(CHAT[2:])
    assert 0 < sight.carried(fold) < 80


def test_memory_and_tools_count_as_what_is_never_folded() -> None:
    bare = sight_of(CHAT, known_of(CHAT))
    known = known_of(CHAT, scale={"fixed": 300}, memory={"note": "x " * 400})
    full = sight_of(CHAT, known)
    assert full.fixed > 300 + 200
    assert full.prompt(None) == bare.prompt(None) + full.fixed


def test_an_estimate_that_rests_on_a_report_teaches_nothing() -> None:
    turn = answered(CHAT, 4, input_tokens=700, estimated_tokens=610)
    known = sight_of(CHAT, known_of(CHAT, turn, scale={"ratio": 2.0}))
    assert known.guess(None, known.prompt(None)) == 0
    fresh = sight_of(CHAT, known_of(CHAT, scale={"ratio": 2.0}))
    assert fresh.guess(None, fresh.prompt(None)) == received(CHAT)


def test_known_folds_are_those_that_stand_for_this_very_beginning() -> None:
    one, two, edited = fold_of(CHAT, 2), fold_of(CHAT, 2, 4), fold_of(told("u a u a u", 9), 2)
    refused = msgspec.structs.replace(fold_of(CHAT, 3), spans=(), refused="It kept 10 % of what matters.")
    whole = fold_of(CHAT, 5)
    known = known_of(CHAT, kept(two), kept(one), kept(edited), kept(refused), kept(whole))
    sight = sight_of(CHAT, known)
    assert sight.summaries == [(2, one), (4, two)]
    assert (sight.deeper(0), sight.deeper(2), sight.deeper(4)) == (one, two, None)
    assert (sight.base(2), sight.base(3), sight.base(5)) == (None, one, two)
    assert list(sight.refused) == [3]


def test_counting_stops_where_nobody_asks() -> None:
    """A plan of 2,000 messages must not look at each of them if the last turn was reported."""
    chat = told("u10 a10 " * 300 + "u10")
    sight = sight_of(chat, known_of(chat, answered(chat, 600, input_tokens=4000, estimated_tokens=4000)), Policy())
    seen: list[int] = []
    counted = sight.size_of
    sight.size_of = lambda message: seen.append(1) or counted(message)  # type: ignore[method-assign,func-returns-value] # counts the looks
    assert sight.prompt(None) > 4000
    assert len(seen) == 2


def test_the_budget_is_that_of_the_whole_prompt() -> None:
    sight = sight_of(CHAT, known_of(CHAT, scale={"fixed": 5000}), SMALL)
    assert (sight.budget.at, sight.budget.to) == (5500, 5250)
