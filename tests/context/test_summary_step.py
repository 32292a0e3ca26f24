"""Which fold a chat goes out with, which one is to be made, and that the prompt's beginning stays where it is."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.model import Chat, Message, Text
from app.context.folds import Check
from app.context.known import Checkpoint, Known
from app.context.plan import Draft, Plan
from app.context.policy import Policy
from app.context.summary import fold
from tests.context.folding import (
    MODEL,
    SMALL,
    Talk,
    answered,
    draft_of,
    fold_of,
    kept,
    known_of,
    line_of,
    marks,
    planned,
    received,
    sight_of,
    text_of,
    told,
)

LONG = told("u100 a100 " * 8 + "u100")
"""17 messages, about 1,770 tokens; SMALL folds at 1,000."""


def _need(made: Plan | Draft) -> tuple[int, bool] | None:
    """The line of the summary that is wanted, and whether the turn waits for it."""
    assert len(made.needs) <= 1
    return (made.needs[0].messages, made.needs[0].urgent) if made.needs else None


# ---- what is left alone


@pytest.mark.parametrize("story", ["u", "u100 a100 u100", "u +x =x:200 a u", "s50 u s20 a u100"])
def test_a_chat_under_the_threshold_is_the_very_same_object(story: str) -> None:
    chat = Chat(MODEL, told(story))
    made = planned(chat.messages, known_of(chat.messages))
    assert made.chat.messages is chat.messages or made.chat.messages == chat.messages
    draft = Draft(chat)
    assert fold(draft, known_of(chat.messages), SMALL).chat is chat
    assert made.decisions == ()
    assert made.needs == ()


def test_known_folds_do_not_matter_to_a_chat_under_the_threshold() -> None:
    chat = told("u100 a100 u100 a100 u100")
    assert line_of(planned(chat, known_of(chat, kept(fold_of(chat, 2)))), chat) == 0


@pytest.mark.parametrize(
    ("known", "policy"),
    [
        pytest.param(Known(marks(LONG)), SMALL, id="too few bytes to be worth counting"),
        pytest.param(known_of(LONG), Policy(fold_at_tokens=0), id="folding is off"),
        pytest.param(known_of(()), SMALL, id="nothing was said"),
    ],
)
def test_where_nothing_is_to_be_counted_the_draft_stays_as_it_is(known: Known, policy: Policy) -> None:
    draft = Draft(Chat(MODEL, LONG if known.addresses else ()))
    assert fold(draft, known, policy) is draft


# ---- which fold is used


@pytest.mark.parametrize(
    ("lines", "used"),
    [
        pytest.param((), 0, id="none is known"),
        pytest.param((2,), 2, id="one that does not bring it below is better than none"),
        pytest.param((8,), 8, id="one that does"),
        pytest.param((2, 8, 12), 8, id="the shallowest that brings it below"),
        pytest.param((2, 4), 4, id="none does: the deepest"),
        pytest.param((10, 12, 14), 10, id="no deeper than it must be"),
    ],
)
def test_the_shallowest_known_fold_that_brings_it_below_is_used(lines: tuple[int, ...], used: int) -> None:
    stored = [kept(fold_of(LONG, line)) for line in lines]
    assert line_of(fold(draft_of(LONG), known_of(LONG, *stored), SMALL), LONG) == used


def test_the_fold_of_the_last_turn_is_kept_although_a_shallower_one_would_do() -> None:
    chat = LONG[:13]
    folds = [kept(fold_of(chat, 8)), kept(fold_of(chat, 10))]
    turn = answered(chat, 12, folded=fold_of(chat, 10).upto, input_tokens=300, estimated_tokens=300)
    assert line_of(planned(chat, known_of(chat, *folds)), chat) == 8
    assert line_of(planned(chat, known_of(chat, *folds, turn)), chat) == 10


def test_a_chat_that_is_small_for_another_policy_is_not_kept_folded() -> None:
    chat = LONG[:9]
    turn = answered(chat, 8, folded=fold_of(chat, 4).upto, input_tokens=500, estimated_tokens=500)
    known = known_of(chat, kept(fold_of(chat, 4)), turn)
    assert line_of(planned(chat, known), chat) == 4
    assert line_of(planned(chat, known, Policy()), chat) == 0


def test_the_decision_says_what_is_carried() -> None:
    made = planned(LONG, known_of(LONG, kept(fold_of(LONG, 4, 12))))
    step = made.decisions[0]
    assert (step.step, step.applied) == ("summary", "1-12")
    assert step.reason.startswith("Messages 1 to 12 are carried as 2 summary segments: about ")
    assert step.before > step.after == made.tokens


# ---- what is to be made, and when


def test_a_summary_is_made_ahead_before_it_is_needed() -> None:
    chat = LONG[:9]  # about 940 tokens: above the soft line of 800, below 1,000
    need = _need(planned(chat, known_of(chat)))
    assert need is not None
    assert not need[1]
    assert _need(planned(LONG[:7], known_of(LONG[:7]))) is None


def test_a_summary_that_is_there_already_is_not_asked_for_again() -> None:
    chat = LONG[:9]
    assert _need(planned(chat, known_of(chat, kept(fold_of(chat, 4))))) is None


def test_a_long_chat_that_is_seen_for_the_first_time_waits_for_its_summary() -> None:
    need = _need(planned(LONG, known_of(LONG)))
    assert need is not None
    line, urgent = need
    assert urgent
    assert received(LONG[line:]) < 500 < received(LONG[line - 2 :]) + 100


def test_words_that_are_long_themselves_do_not_wait_for_a_summary_of_what_came_before() -> None:
    chat = told("u100 a100 u100 a100 u100 a100 u900")
    need = _need(planned(chat, known_of(chat)))
    assert need is not None
    assert not need[1]


def test_the_operator_can_have_every_summary_made_before_the_turn() -> None:
    chat = told("u100 a100 u100 a100 u100 a100 u900")
    need = _need(planned(chat, known_of(chat), msgspec.structs.replace(SMALL, summary_when="before")))
    assert need is not None
    assert need[1]


def test_what_does_not_fit_the_window_waits_whatever_the_policy_says() -> None:
    chat = told("u100 a100 u100 a100 u100 a100 u900")
    need = _need(planned(chat, known_of(chat, scale={"window": 1200})))
    assert need is not None
    assert need[1]


def test_a_window_smaller_than_the_budget_rules() -> None:
    chat = told("u100 a100 " * 4 + "u100")
    roomy = Policy(keep_recent=2)
    assert planned(chat, known_of(chat), roomy).needs == ()
    need = _need(planned(chat, known_of(chat, scale={"window": 800}), roomy))
    assert need is not None
    assert need[1]
    assert received(chat[need[0] :]) < 800 // 2


def test_an_overflowed_chat_is_folded_although_it_is_below_the_budget() -> None:
    chat = told("u100 a100 " * 4 + "u100")
    made = planned(chat, known_of(chat, scale={"window": 900}, overflowed=True), Policy(keep_recent=2))
    assert _need(made) is not None
    assert made.needs[0].urgent


def test_a_store_that_is_away_leaves_no_needs_and_trims_only_for_the_window() -> None:
    away = planned(LONG, known_of(LONG, bypassed="timeout"))
    assert (away.needs, away.fold, away.decisions) == ((), None, ())
    assert away.chat.messages == LONG
    tight = planned(LONG, known_of(LONG, bypassed="timeout", scale={"window": 1500}))
    assert tight.needs == ()
    assert [decision.step for decision in tight.decisions] == ["trim"]


@pytest.mark.parametrize(("recent", "line"), [(2, 14), (4, 12), (5, 12), (6, 10)])
def test_the_last_messages_stay_out_of_a_summary(recent: int, line: int) -> None:
    policy = msgspec.structs.replace(SMALL, keep_recent=recent, fold_at_tokens=1400)
    assert _need(planned(LONG, known_of(LONG), policy)) == (line, True)


def test_last_messages_that_alone_do_not_fit_are_summed_up_rather_than_left_out() -> None:
    chat = told("u10 a10 u500 a500 u500 a500 u100")
    need = _need(planned(chat, known_of(chat), msgspec.structs.replace(SMALL, keep_recent=6)))
    assert need == (6, True)


def test_a_line_whose_summary_was_refused_is_not_asked_for_again() -> None:
    need = _need(planned(LONG, known_of(LONG)))
    assert need is not None
    refused = msgspec.structs.replace(fold_of(LONG, need[0]), spans=(), refused="It kept 10 % of what matters.")
    after = _need(planned(LONG, known_of(LONG, kept(refused))))
    assert after is not None
    assert after[0] != need[0]


def _refused(line: int, tokens: int = 0) -> dict[bytes, Checkpoint]:
    check = Check(tokens=tokens) if tokens else None
    fold = fold_of(LONG, line, check=check)
    return kept(msgspec.structs.replace(fold, spans=(), refused="It kept 10 % of what matters."))


def test_after_a_refusal_at_most_half_as_much_is_tried_and_then_half_of_that() -> None:
    first = _need(planned(LONG, known_of(LONG)))
    assert first is not None
    lines, stored = [first[0]], [_refused(first[0])]
    while (need := _need(planned(LONG, known_of(LONG, *stored)))) is not None:
        assert received(LONG[: need[0]]) * 2 <= received(LONG[: lines[-1]])
        lines.append(need[0])
        stored.append(_refused(need[0]))
    assert 2 <= len(lines) <= 3, "and a few refusals end it: the chat is trimmed then, and nobody asks on every turn"
    assert all(received(LONG[:line]) > 2 * SMALL.summary_tokens for line in lines), "a fold makes the prompt shorter"
    assert "trim" in {each.step for each in planned(LONG, known_of(LONG, *stored)).decisions}


def test_what_was_refused_as_a_whole_is_tried_behind_the_half_that_was_made() -> None:
    whole = _need(planned(LONG, known_of(LONG)))
    assert whole is not None
    refused = _refused(whole[0], received(LONG[: whole[0]]))
    half = _need(planned(LONG, known_of(LONG, refused)))
    assert half is not None
    made = kept(fold_of(LONG, half[0]))
    sight = sight_of(LONG, known_of(LONG, refused, made))
    base = sight.base(len(LONG))
    assert sight.promising(base, whole[0] - 2)
    assert not sight.promising(base, whole[0]), "but not the very line: what is kept there stays"
    assert not sight.promising(None, whole[0] - 2)


def test_left_out_messages_are_summed_up_behind_the_turn() -> None:
    dropped = fold_of(LONG, (10, "dropped"))
    chat = LONG[:15]
    turn = answered(chat, 14, folded=dropped.upto, fold=dropped, input_tokens=500, estimated_tokens=500)
    made = planned(chat, known_of(chat, turn))
    assert line_of(made, chat) == 10
    assert _need(made) == (10, False)
    summed = planned(chat, known_of(chat, turn, kept(fold_of(chat, 10))))
    assert summed.fold == fold_of(chat, 10)
    assert summed.needs == ()


# ---- inside one endless task


def test_inside_one_task_finished_exchanges_are_folded_and_the_task_stays() -> None:
    chat = told("u50 " + "+x =x:150 " * 10)
    need = _need(planned(chat, known_of(chat)))
    assert need is not None
    assert chat[need[0]].role == "assistant"
    assert received(chat[need[0] :]) <= 500


def test_what_came_before_the_task_is_folded_before_the_task_itself() -> None:
    chat = told("u200 a200 u200 a200 u50 " + "+x =x:150 " * 2)
    assert _need(planned(chat, known_of(chat))) == (4, False)


LOOP = told("u50 " + "+x =x:150 " * 7)


@pytest.mark.parametrize(
    ("scale", "folds"),
    [
        pytest.param({}, True, id="a model whose thinking is not bound"),
        pytest.param({"binds": True}, False, id="bound thinking: not inside a running tool loop"),
        pytest.param({"binds": True, "window": 900}, True, id="unless the window leaves no choice"),
    ],
)
def test_a_bound_chat_is_not_folded_anew_inside_a_tool_loop(scale: dict[str, Any], folds: bool) -> None:
    made = planned(LOOP, known_of(LOOP, scale=scale))
    assert bool(made.needs) == folds


def test_a_bound_chat_does_not_take_up_a_deeper_fold_inside_a_tool_loop() -> None:
    chat = (*told("u200 a200 u200 a200", 1), *told("u50 +x =x:300", 2))
    stored = kept(fold_of(chat, 4))
    assert line_of(planned(chat, known_of(chat, stored)), chat) == 4
    assert line_of(planned(chat, known_of(chat, stored, scale={"binds": True})), chat) == 0
    over = (*chat, *told("a u", 3))
    assert line_of(planned(over, known_of(over, stored, scale={"binds": True})), over) == 4


# ---- a chat that grows


def test_a_fold_stays_while_the_chat_grows_and_folds_are_rare() -> None:
    talk = Talk()
    for _ in range(30):
        talk.says("u40")
        talk.answers("a40")
    lines = [line_of(made, talk.messages) for made in talk.plans]
    assert lines == sorted(lines)
    assert lines[-1] > 30
    assert len(set(lines)) <= 9
    assert max(made.tokens for made in talk.plans) <= 1000 + 100


@pytest.mark.parametrize("fixed", [3000, 20_000])
def test_a_long_system_prompt_does_not_cause_a_fold_on_every_turn(fixed: int) -> None:
    talk = Talk(scale={"fixed": fixed})
    for _ in range(30):
        talk.says("u20")
        talk.answers("a20")
    lines = [line_of(made, talk.messages) for made in talk.plans]
    assert lines == sorted(lines)
    assert len(set(lines)) <= 10


def test_many_tools_and_much_memory_count_toward_the_threshold() -> None:
    chat = LONG[:7]
    assert planned(chat, known_of(chat)).needs == ()
    assert planned(chat, known_of(chat, scale={"fixed": 400})).needs
    reminded = planned(chat, known_of(chat, memory={"note": "word " * 600}))
    assert reminded.needs
    assert text_of(reminded.chat.messages[0]).startswith("<memory")


def _grown(turns: int = 16) -> Talk:
    talk = Talk()
    for _ in range(turns):
        talk.says("u60")
        talk.answers("a60")
    talk.says("u60")
    assert line_of(talk.plans[-1], talk.messages) > 8
    return talk


@pytest.mark.parametrize("index", [0, 3, 7])
def test_a_chat_edited_inside_the_folded_part_uses_none_of_it(index: int) -> None:
    talk = _grown()
    edited = list(talk.messages)
    edited[index] = Message(edited[index].role, (Text("edited"),))
    made = talk.again(edited)
    line = line_of(made, edited)
    assert line <= index
    for message in made.chat.messages[1 if line else 0 :]:
        assert not text_of(message).startswith("<summary")
    folded_words = {text for each in talk.stored.values() if each.fold for text in each.fold.summaries}
    stale = {text for text in folded_words if any(text in text_of(message) for message in made.chat.messages)}
    assert not stale or line <= index


@pytest.mark.parametrize("left", [1, 3, 5, 9, 15, 31])
def test_a_shortened_or_regenerated_chat_never_gets_a_fold_that_covers_its_last_words(left: int) -> None:
    talk = _grown()
    shorter = talk.messages[:left]
    made = talk.again(shorter)
    assert line_of(made, shorter) < left
    assert made.chat.messages[-1] is shorter[-1]


def test_an_answer_that_is_asked_for_again_gets_the_same_prompt() -> None:
    talk = _grown()
    first = talk.plans[-1]
    talk.answers("a60")
    assert talk.again(talk.messages[:-1]).chat.messages == first.chat.messages


def test_a_branch_behind_the_fold_line_uses_the_same_fold() -> None:
    talk = _grown()
    line = line_of(talk.plans[-1], talk.messages)
    branch = (*talk.messages[: line + 2], *told("u70", 77))
    made = talk.again(branch)
    assert made.fold is None or line_of(made, branch) <= line
    assert made.needs == ()


STEPS_OF_A_TURN = st.lists(
    st.tuples(st.sampled_from((10, 60, 200, 500)), st.lists(st.sampled_from((1, 2)), max_size=3), st.booleans()),
    min_size=3,
    max_size=14,
)


@given(
    STEPS_OF_A_TURN,
    st.sampled_from((0, 300, 3000)),
    st.sampled_from((0, 1500, 8000)),
    st.sampled_from(("works", "fails", "sometimes")),
    st.sampled_from((0.5, 1.0, 1.7)),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_a_growing_chat_only_gains_at_its_end_unless_a_decision_says_that_the_line_moved(
    turns: list[tuple[int, list[int], bool]], fixed: int, window: int, luck: str, reported: float, behind: bool
) -> None:
    asked = iter(range(10**6))

    def makes(task: Any) -> str:
        lucky = luck == "works" or (luck == "sometimes" and next(asked) % 2)
        return f"segment {next(asked)} of {task.tokens} tokens" if lucky else ""

    talk = Talk(
        makes=makes, scale={"fixed": fixed, "window": window}, reports=lambda n: int(n * reported), behind=behind
    )
    _play(talk, turns)
    before = 0
    for one, two in pairwise(talk.plans):
        line = line_of(two, talk.messages)
        assert line >= before, "never back to a shallower fold"
        if line == before and two.fold == one.fold:
            assert two.chat.messages[: len(one.chat.messages)] == one.chat.messages
        else:
            assert {each.step for each in two.decisions if each.applied} & {"summary", "trim"}
        before = line


def _play(talk: Talk, turns: list[tuple[int, list[int], bool]]) -> None:
    for number, (size, loop, system) in enumerate(turns):
        talk.says(f"{'s20 ' if system else ''}u{size}")
        for step, calls in enumerate(loop):
            names = [f"c{number}.{step}.{index}" for index in range(calls)]
            talk.answers("+" + ",".join(names))
            talk.says(" ".join(f"={name}:{size // 2}" for name in names))
        talk.answers(f"a{size}")
        made = talk.plans[-1]
        if not made.refusal:
            assert any(message.role == "user" for message in made.chat.messages)
