"""How many tokens a prompt may take: the window rules, and a long system prompt leaves room to talk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.budget import WINDOW_SHARE, budget_of
from app.context.policy import Policy


def _policy(at: int, to: int | None = None, summary_tokens: int = 1024) -> Policy:
    return Policy(fold_at_tokens=at, fold_to_tokens=at // 2 if to is None else to, summary_tokens=summary_tokens)


@pytest.mark.parametrize(
    ("at", "to", "fixed", "window", "expected"),
    [
        pytest.param(8000, 4000, 0, 0, (8000, 4000), id="as it is set"),
        pytest.param(8000, 4000, 3000, 0, (8000, 5000), id="the history keeps half of what it is folded to"),
        pytest.param(8000, 4000, 50_000, 0, (54_000, 52_000), id="a system prompt larger than the threshold"),
        pytest.param(8000, 4000, 0, 4000, (3800, 1900), id="a window smaller than the threshold"),
        pytest.param(8000, 4000, 6000, 8000, (7600, 6800), id="a window that is nearly full before the talk begins"),
        pytest.param(8000, 4000, 0, 200_000, (8000, 4000), id="a large window changes nothing"),
        pytest.param(8000, 8000, 0, 0, (8000, 7200), id="folding to the threshold itself would fold on every turn"),
        pytest.param(8000, 9000, 0, 0, (8000, 7200), id="folding to more than the threshold"),
        pytest.param(8000, 0, 0, 0, (8000, 0), id="folding to nothing"),
    ],
)
def test_a_budget_follows_the_settings_as_far_as_window_and_system_prompt_let_it(
    at: int, to: int, fixed: int, window: int, expected: tuple[int, int]
) -> None:
    found = budget_of(_policy(at, to), fixed, window)
    assert (found.at, found.to) == expected


@given(
    at=st.integers(100, 200_000),
    to=st.integers(0, 200_000),
    fixed=st.integers(0, 300_000),
    window=st.one_of(st.just(0), st.integers(256, 1_000_000)),
    summary=st.integers(0, 8192),
)
def test_every_budget_folds_down_to_less_than_what_it_folds_at(
    at: int, to: int, fixed: int, window: int, summary: int
) -> None:
    found = budget_of(_policy(at, to, summary_tokens=summary), fixed, window)
    assert 0 <= found.to <= found.soft <= found.at
    assert found.to < found.at
    if not window:
        room, wanted = found.at - fixed, min(to, at * 9 // 10)
        assert room >= at // 2, "the talk has half of the threshold to itself"
        assert found.to - fixed >= min(wanted, room) // 2 - 1, "and half of what it is folded to"
    assert not window or found.at <= window * WINDOW_SHARE
    assert found.summary <= summary


def test_a_summary_never_takes_more_than_a_third_of_what_the_history_may_take() -> None:
    assert budget_of(_policy(8000), 0, 0).summary == 1024
    assert budget_of(_policy(900, 450), 0, 0).summary == 150
    assert budget_of(_policy(60, 30), 0, 0).summary == 64


def test_a_fold_that_stands_for_a_long_task_may_carry_more_facts_and_no_more_summary() -> None:
    chat, agent = budget_of(_policy(8000), 0, 0), budget_of(_policy(100_000), 0, 0)
    assert (chat.summary, chat.facts) == (1024, 1024)
    assert (agent.summary, agent.facts) == (1024, 3125)
    assert budget_of(_policy(100_000, summary_tokens=300), 0, 0).facts == 1200, "who wants little carried gets little"
    assert budget_of(_policy(900, 450), 0, 0).facts == 150
