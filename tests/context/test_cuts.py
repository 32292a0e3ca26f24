"""Where a chat may be cut: never between a call and its result, whatever clients made of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from app.chat.model import Chat, Message, Text, ToolCall, ToolResult
from app.context.cuts import cuts
from app.context.folds import fold_ends
from app.context.known import Known
from app.context.mending import mend
from app.context.plan import Draft
from app.context.policy import Policy
from tests.context.folding import told
from tests.context.stories import chats


@pytest.mark.parametrize(
    ("story", "plain", "loop"),
    [
        pytest.param("u", (), (), id="one question"),
        pytest.param("u a u", (2,), (), id="a second question"),
        pytest.param("u a u a u", (2, 4), (), id="every question but the first"),
        pytest.param("u u a u u", (3,), (), id="words said in two messages are one turn"),
        pytest.param("u +x =x a u", (4,), (), id="before a question, not inside the exchange before it"),
        pytest.param("u +x =x +y =y", (), (3,), id="inside one task, behind a finished exchange"),
        pytest.param("u +x,y =x =y a", (), (4,), id="parallel results stay together"),
        pytest.param("u +x,y =x a =y u", (5,), (), id="no cut while a late result is still to come"),
        pytest.param("u +x u a =x u a", (5,), (), id="a result that comes a turn late holds back the cuts between"),
        pytest.param("u +x u", (2,), (), id="a call that is never answered holds back nothing"),
        pytest.param("u +x =x a u +y =y a", (4,), (7,), id="loop cuts belong to the newest turn only"),
        pytest.param("u +x =x u +x =x a u", (3, 7), (), id="an id used again on a later turn"),
        pytest.param("u +x =x +x =x +x =x", (), (3, 5), id="a server that gives all calls the same id"),
        pytest.param("u +x u +x =x a u", (2, 6), (), id="a result belongs to the nearest call of its id"),
        pytest.param("s u a u", (3,), (), id="a system message alone is nothing to fold"),
        pytest.param("u s a s u", (4,), (), id="a system message is no turn"),
        pytest.param("a u a u", (1, 3), (), id="a chat that begins with the assistant"),
        pytest.param("+x =x a", (), (2,), id="a chat that begins with a call"),
    ],
)
def test_cuts_stand_before_questions_and_behind_finished_exchanges(
    story: str, plain: tuple[int, ...], loop: tuple[int, ...]
) -> None:
    found = cuts(told(story))
    assert (found.plain, found.loop) == (plain, loop)


def test_results_beside_words_of_the_user_belong_to_their_calls() -> None:
    call, result = Message("assistant", (ToolCall("x", "f", "{}"),)), ToolResult("x", (Text("r"),))
    mixed = Message("user", (result, Text("and now?")))
    question, answer = told("u a")
    assert cuts((question, call, mixed, answer, question)).plain == (4,)
    assert cuts((question, call, mixed, answer)).loop == (3,)
    assert cuts((question, call, Message("user", (Text("so"), result)), answer)).loop == (3,)


def test_the_newest_turn_and_its_task_are_told_apart_from_the_steps_of_its_loop() -> None:
    found = cuts(told("u a u u +x =x +y =y"))
    assert (found.newest, found.task_end) == (2, 4)
    assert found.loop == (6,)
    behind = cuts(told("u a u u +x =x +y =y"), 6)
    assert (behind.newest, behind.task_end, behind.plain, behind.loop) == (6, 6, (), ())


@given(chats())
@settings(max_examples=100, deadline=None)
def test_a_cut_never_separates_a_call_from_its_result(messages: tuple[Message, ...]) -> None:
    """What the mender must repair in two halves is what it must repair in the whole: the cut broke no pair."""
    found = cuts(messages)
    whole = _flaws(messages)
    for line in (*found.plain, *found.loop):
        assert _flaws(messages[:line]) + _flaws(messages[line:]) == whole


@given(chats())
@settings(max_examples=100, deadline=None)
def test_every_cut_is_one_that_a_later_turn_looks_for_in_the_store(messages: tuple[Message, ...]) -> None:
    found = cuts(messages)
    assert {*found.plain, *found.loop} <= set(fold_ends(messages))


@given(chats())
@settings(max_examples=60, deadline=None)
def test_cuts_behind_a_cut_are_those_of_the_whole_chat(messages: tuple[Message, ...]) -> None:
    """So a chat that was folded once is folded on as it would have been from its beginning."""
    whole = cuts(messages)
    for line in whole.plain:
        behind = cuts(messages, line)
        assert set(behind.plain) == {each for each in whole.plain if each > line}
        assert behind.loop == whole.loop
        assert (behind.newest, behind.task_end) == (whole.newest, whole.task_end)


def _flaws(messages: tuple[Message, ...]) -> int:
    return len(mend(Draft(Chat("m", messages)), Known(), Policy()).losses)
