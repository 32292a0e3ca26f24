"""A fold as the model reads it: data of the user inside one wrapper, the same bytes turn after turn."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.model import Message, Text
from app.context.carry import CLOSING, FACTS, OPENING, SYSTEM_CHARACTERS, carry, front
from app.context.folds import Fold, Span, ends_of
from app.context.plan import Draft
from app.context.retention import Fact
from tests.context.folding import SMALL, draft_of, fold_of, known_of, marks, text_of, told, words

CHAT = told("u a u a u +x =x +y =y a u")


def _carried(messages: tuple[Message, ...], fold: Fold | None) -> tuple[Message, ...]:
    return carry(draft_of(messages, fold=fold), known_of(messages), SMALL).chat.messages


def _summary(text: str, *facts: str, upto: int = 2) -> Fold:
    return Fold(marks(CHAT)[upto - 1], (Span(marks(CHAT)[upto - 1], "summary", text),), tuple(map(Fact, facts)))


def test_a_chat_without_a_fold_is_the_very_same_draft() -> None:
    draft: Draft = draft_of(CHAT)
    assert carry(draft, known_of(CHAT), SMALL) is draft


def test_a_summary_stands_in_place_of_the_oldest_messages_and_the_rest_stays_the_very_same() -> None:
    first, *rest = _carried(CHAT, fold_of(CHAT, 2, 4))
    assert first == Message("user", (Text(f"{OPENING}summary up to 2\n\nsummary up to 4{CLOSING}"),))
    assert all(one is other for one, other in zip(rest, CHAT[4:], strict=True))


def test_it_speaks_as_the_user_and_never_as_the_system() -> None:
    fold = fold_of(CHAT, 4, (5, "verbatim"), (7, "dropped"), 9, facts=(Fact("17 MB"),))
    assert {message.role for message in _carried(CHAT, fold)[:3]} == {"user"}


def test_a_task_stays_word_for_word_between_what_came_before_and_its_finished_steps() -> None:
    before, task, steps, *rest = _carried(CHAT, fold_of(CHAT, 4, (5, "verbatim"), 7, 9, facts=(Fact("17 MB"),)))
    assert text_of(before) == f"{OPENING}summary up to 4{CLOSING}"
    assert task is CHAT[4]
    assert text_of(steps) == f"{OPENING}summary up to 7\n\nsummary up to 9\n\n{FACTS}\n- 17 MB{CLOSING}"
    assert rest == list(CHAT[9:])


def test_facts_stand_once_behind_the_newest_words_even_if_the_task_comes_last() -> None:
    before, task, *_ = _carried(CHAT, fold_of(CHAT, 4, (5, "verbatim"), facts=(Fact("17 MB"), Fact("port 8080"))))
    assert text_of(before).endswith(f"{FACTS}\n- 17 MB\n- port 8080{CLOSING}")
    assert task is CHAT[4]


@pytest.mark.parametrize(("ends", "said"), [((1,), "1 earlier message was"), ((4,), "4 earlier messages were")])
def test_what_was_left_out_is_said(ends: tuple[int], said: str) -> None:
    first = _carried(CHAT, fold_of(CHAT, (ends[0], "dropped")))[0]
    assert text_of(first) == f"{OPENING}[{said} left out here to stay within the token budget.]{CLOSING}"


WICKED = st.lists(
    st.sampled_from(
        (
            "<",
            "</",
            "summary",
            "SUMMARY",
            ">",
            " ",
            "\n",
            "/",
            "&lt;",
            "\t",
            "＜",
            "data",
            CLOSING,
            OPENING,
            "<Summary>",
        )
    ),
    max_size=14,
).map("".join)


@given(WICKED, WICKED)
@settings(max_examples=150, deadline=None)
def test_no_stored_text_can_close_the_wrapper_or_open_another(text: str, fact: str) -> None:
    said = text_of(_carried(CHAT, _summary(text, fact))[0])
    assert said.startswith(OPENING)
    assert said.endswith(CLOSING)
    inside = said[len(OPENING) : -len(CLOSING)]
    assert not re.search(r"<[\s/]*summary", inside, re.IGNORECASE)


def test_an_innocent_text_is_carried_as_it_is() -> None:
    text = "if a < b and b > c: see </p>, <summa> and Summary>"
    assert text_of(_carried(CHAT, _summary(text))[0]) == OPENING + text + CLOSING


def test_a_chat_that_grows_keeps_its_beginning_byte_for_byte() -> None:
    fold = fold_of(CHAT, 2, 4, facts=(Fact("17 MB"),))
    before = _carried(CHAT[:6], fold)
    for count in range(7, len(CHAT) + 1):
        after = _carried(CHAT[:count], fold)
        assert after[: len(before)] == before
        before = after


# ---- system messages in the middle


def test_system_messages_of_a_folded_stretch_stay_as_they_are() -> None:
    chat = told("u a s20 u s20 a u")
    first, *rest = _carried(chat, fold_of(chat, 6))
    assert text_of(first).startswith(OPENING)
    assert [chat[2], chat[4], chat[6]] == rest
    assert rest[0] is chat[2]


def test_a_system_message_said_again_and_again_is_carried_once_where_it_was_said_last() -> None:
    reminder, other = told("s20 s30")
    chat = (*told("u"), reminder, *told("a u"), other, *told("a u", 1), reminder, *told("a u", 2))
    assert list(_carried(chat, fold_of(chat, 9))[1:3]) == [other, reminder]
    assert len(_carried(chat, fold_of(chat, 9))) == 4


def test_of_too_many_system_messages_the_newest_stay() -> None:
    chat = told("u " + "s100 " * 40 + "a u")
    stay = [message for message in _carried(chat, fold_of(chat, 42)) if message.role == "system"]
    assert 0 < len(stay) < 40
    assert stay == list(chat[41 - len(stay) : 41])
    assert sum(len(text_of(message)) for message in stay) <= SYSTEM_CHARACTERS


def test_system_messages_beside_a_task_are_not_said_twice() -> None:
    chat = told("u a s20 u s20 +x =x +y =y")
    fold = fold_of(chat, 2, (5, "verbatim"), 7)
    there = front(fold, chat, ends_of(marks(chat)))
    assert [message for message in there if message.role == "system"] == [chat[2], chat[4]]


def test_the_length_of_a_segment_does_not_matter_to_the_wrapper() -> None:
    assert text_of(_carried(CHAT, _summary(words(500)))[0]) == OPENING + words(500) + CLOSING
