"""What the summariser is asked, and what its answer becomes part of: frozen segments, rolled only when they must be."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat import size
from app.chat.model import Message, Text, ToolCall, ToolResult
from app.context.errand import Errand, errand
from app.context.folds import Check, Fold, Span, fold_address
from app.context.plan import Need
from app.context.retention import LIGHT, Fact, carried
from app.context.tool_results.handles import Handles
from tests.context.folding import (
    SMALL,
    Checkpoint,
    Talk,
    draft_of,
    fold_of,
    kept,
    known_of,
    marks,
    received,
    text_of,
    told,
    words,
)

CHAT = told("u100 a100 " * 10 + "u100")
ROOMY = msgspec.structs.replace(SMALL, summary_tokens=150)


def _errand(messages: tuple[object, ...], line: int, *stored: dict[bytes, Checkpoint]) -> Errand:
    chat = draft_of(messages).chat  # type: ignore[arg-type] # messages of a story
    need = Need("summary", marks(chat.messages)[line - 1], line)
    return errand(chat, known_of(chat.messages, *stored), ROOMY, need)


def _fold(line: int, *texts: str, facts: tuple[Fact, ...] = ()) -> Fold:
    """A fold of CHAT with these segments, two messages each but the last."""
    found = marks(CHAT)
    ends = [*range(2, 2 * len(texts), 2), line]
    spans = tuple(Span(found[end - 1], "summary", text) for end, text in zip(ends, texts, strict=True))
    return Fold(found[line - 1], spans, facts)


def test_the_first_summary_is_of_all_before_the_line() -> None:
    task = _errand(CHAT, 8)
    assert task.wish.messages == CHAT[:8]
    assert (task.wish.before, task.wish.rolled, task.wish.loop) == ((), (), False)
    assert task.wish.limit == 150
    assert task.tokens == received(CHAT[:8])
    made = task.fold("what was said", ())
    assert made.upto == marks(CHAT)[7]
    assert made.spans == (Span(made.upto, "summary", "what was said"),)


def test_a_second_segment_joins_the_first_which_stays_as_it_is() -> None:
    first = _fold(4, words(40))
    task = _errand(CHAT, 8, kept(first))
    assert task.wish.messages == CHAT[4:8]
    assert (task.wish.before, task.wish.rolled) == ((words(40),), ())
    assert task.wish.limit == 150 - size.of_text(words(40), "other")
    assert task.fold("more", ()).spans == (*first.spans, Span(marks(CHAT)[7], "summary", "more"))
    assert task.words("more") == f"{words(40)}\nmore"


def test_segments_that_would_outgrow_the_budget_are_rolled_into_one() -> None:
    task = _errand(CHAT, 8, kept(_fold(4, words(60), words(50, 1))))
    assert task.wish.messages == CHAT[4:8]
    assert (task.wish.before, task.wish.rolled) == ((), (words(60), words(50, 1)))
    assert task.wish.limit == 100
    assert task.fold("all of it", ()).spans == (Span(marks(CHAT)[7], "summary", "all of it"),)
    assert {words(60), words(50, 1)} <= {said.text for said in task.said}, "rolled words must be kept too"


def test_facts_that_were_carried_go_on_being_carried() -> None:
    facts = (Fact("17 MB", ("17mb",)), Fact("port 8080"))
    assert _errand(CHAT, 8, kept(_fold(4, words(40), facts=facts))).facts == facts
    assert _errand(CHAT, 8).facts == ()


# ---- inside one endless task

LOOP = told("u100 a100 u100 a100 u50 " + "+x =x:100 " * 6)


def test_inside_a_task_its_finished_steps_are_summed_up_and_the_task_stays_word_for_word() -> None:
    before = fold_of(LOOP, 4)
    task = _errand(LOOP, 9, kept(before))
    assert task.wish.messages == LOOP[5:9]
    assert task.wish.loop
    found = marks(LOOP)
    added = Span(found[4], "verbatim"), Span(found[8], "summary", "steps")
    assert task.fold("steps", ()).spans == (*before.spans, *added)


def test_later_steps_of_the_same_task_come_behind_the_earlier_ones() -> None:
    first = fold_of(LOOP, 4, (5, "verbatim"), 9)
    task = _errand(LOOP, 13, kept(first))
    assert task.wish.messages == LOOP[9:13]
    assert task.wish.loop
    assert task.fold("more", ()).spans == (*first.spans, Span(marks(LOOP)[12], "summary", "more"))


def test_steps_are_rolled_without_the_segments_before_the_task() -> None:
    first = fold_of(LOOP, 4, (5, "verbatim"), 9)
    spans = (*first.spans[:2], msgspec.structs.replace(first.spans[2], text=words(110)))
    task = _errand(LOOP, 13, kept(msgspec.structs.replace(first, spans=spans)))
    assert task.wish.rolled == (words(110),)
    assert task.wish.before == ("summary up to 4",)
    assert task.fold("all", ()).spans == (*first.spans[:2], Span(marks(LOOP)[12], "summary", "all"))


def test_a_finished_task_is_summed_up_with_its_steps_at_the_next_question() -> None:
    chat = (*LOOP, *told("a50 u50", 5))
    first = fold_of(chat, 4, (5, "verbatim"), 9)
    line = len(chat) - 1
    task = _errand(chat, line, kept(first))
    assert not task.wish.loop
    assert task.wish.rolled == ("summary up to 4", "summary up to 9")
    assert task.wish.messages == (chat[4], *chat[9:line]), "the task that stood verbatim is summed up too"
    assert [span.kind for span in task.fold("all", ()).spans] == ["summary"]


def test_a_task_first_seen_when_it_is_long_stays_although_nothing_was_folded_before() -> None:
    chat = told("u50 " + "+x =x:100 " * 6)
    task = _errand(chat, 5)
    assert task.wish.messages == chat[1:5]
    assert [span.kind for span in task.fold("steps", ()).spans] == ["verbatim", "summary"]


# ---- over a whole chat


@given(st.lists(st.sampled_from((20, 80, 200)), min_size=6, max_size=24), st.sampled_from((60, 120, 400)))
@settings(max_examples=40, deadline=None)
def test_segments_are_frozen_until_they_would_outgrow_the_budget(sizes: list[int], most: int) -> None:
    policy = msgspec.structs.replace(SMALL, summary_tokens=most)
    talk = Talk(policy)
    for each in sizes:
        talk.says(f"u{each}")
        talk.answers(f"a{each}")
    folds = [talk.stored[fold_address(task.upto)].fold for task in talk.errands]
    for task, (one, two) in zip(talk.errands[1:], pairwise(folds), strict=True):
        assert one is not None
        assert two is not None
        assert two.spans[-1].text
        if task.wish.rolled:
            taken = sum(size.of_text(text, "other") for text in one.summaries)
            assert (task.budget.summary - taken) * 3 < task.budget.summary
            assert task.wish.rolled == one.summaries
        else:
            assert two.spans[:-1] == one.spans, "byte for byte what it was"
        assert sum(size.of_text(text, "other") for text in two.summaries) <= max(task.budget.summary, 64)


@pytest.mark.parametrize("most", [0, 1, 30])
def test_a_tiny_budget_still_gives_the_summariser_room_for_a_sentence(most: int) -> None:
    policy = msgspec.structs.replace(SMALL, summary_tokens=most)
    need = Need("summary", marks(CHAT)[7], 8)
    assert errand(draft_of(CHAT).chat, known_of(CHAT), policy, need).wish.limit == 64


# ---- tools: what counts, what is shown, and what can still be fetched

NUMBERS = "\n".join(f"order A-{number} amount {number * 3} EUR" for number in range(7000, 7012))


def _tool_talk(said: str, result: str) -> tuple[Message, ...]:
    """The user's words, a call, its result, an answer, and what comes after."""
    call = Message("assistant", (ToolCall("c1", "lookup", '{"what": "orders"}'),))
    return (
        Message("user", (Text(said),)),
        call,
        Message("user", (ToolResult("c1", (Text(result),)),)),
        *told("a50 u100 a100 u100 a100 u100"),
    )


def _counting(task: Errand) -> set[str]:
    return {one.value for one in task.wanted() if one.weight >= LIGHT}


def test_values_of_tool_results_do_not_begin_to_count_when_a_summary_that_names_them_is_rolled() -> None:
    chat = _tool_talk("Ship order B-4411 first.", NUMBERS)
    assert _counting(_errand(chat, 4)) == {"B-4411"}
    first = fold_of(chat, 4, check=Check(values=("B-4411",)))
    text = f"Order B-4411 goes first. {NUMBERS} {words(110)}"
    spans = (Span(first.upto, "summary", text),)
    task = _errand(chat, 6, kept(msgspec.structs.replace(first, spans=spans)))
    assert task.wish.rolled == (text,)
    assert _counting(task) == {"B-4411"}
    unchecked = msgspec.structs.replace(first, spans=spans, check=None)
    assert {"B-4411", "A-7003"} <= _counting(_errand(chat, 6, kept(unchecked))), "where nobody knows, all counts"


BULKY = json.dumps([{"order": f"A-{number}", "note": words(20, number)} for number in range(400)])
HANDLES = Handles(lambda text: f"res_{hashlib.sha256(text).hexdigest()[:24]}")


def test_a_bulky_result_is_summed_up_by_its_small_form_and_its_handle_must_not_get_lost() -> None:
    chat = _tool_talk("Which order is odd?", BULKY)
    need = Need("summary", marks(chat)[3], 4)
    task = errand(draft_of(chat).chat, known_of(chat, handles=HANDLES), ROOMY, need)
    shown = text_of(task.wish.messages[2])
    assert len(shown) < len(BULKY) / 2
    (handle,) = task.parked
    assert handle.value == HANDLES.handle_of(BULKY.encode())
    assert handle.value in shown
    assert "400 rows from lookup: fetch_rows gives them by the handle" in handle.context
    assert handle in task.wanted()
    (fact,) = carried([handle], 60, lambda line: size.of_text(line, "other"))
    assert handle.value in fact.text
    later = errand(draft_of(chat).chat, known_of(chat, kept(fold_of(chat, 4)), handles=HANDLES), ROOMY, Need(
        "summary", marks(chat)[5], 6
    ))  # fmt: skip
    assert later.parked == (), "each is named when it is folded away, and carried from then on"


def test_nobody_is_told_of_handles_that_cannot_be_asked_for() -> None:
    chat = _tool_talk("Which order is odd?", BULKY)
    known = known_of(chat, handles=Handles(HANDLES.handle_of, fetch=""))
    assert errand(draft_of(chat).chat, known, ROOMY, Need("summary", marks(chat)[3], 4)).parked == ()
