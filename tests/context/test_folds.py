"""What stands for a prefix: where it is kept, and which chats it is a cover of."""

from __future__ import annotations

import pytest

from app.chat.model import Message, Text
from app.context.folds import Fold, Stretch, ends_of, fold_address, stretches
from tests.context.folding import fold_of, marks, told

CHAT = told("u a u a u +x =x a u")


def test_a_fold_is_kept_beside_the_checkpoint_of_the_same_prefix_and_never_at_its_place() -> None:
    found = marks(CHAT)
    beside = [fold_address(mark) for mark in found]
    assert not set(beside) & set(found)
    assert len(set(beside)) == len(found)
    assert {len(each) for each in beside} == {16}


def test_spans_are_read_by_the_messages_of_this_very_chat() -> None:
    fold = fold_of(CHAT, 2, (3, "verbatim"), (8, "dropped"))
    assert stretches(fold, ends_of(marks(CHAT))) == (
        Stretch(0, 2, "summary", "summary up to 2"),
        Stretch(2, 3, "verbatim"),
        Stretch(3, 8, "dropped"),
    )
    assert fold.summaries == ("summary up to 2",)
    assert fold.drops
    assert not fold_of(CHAT, 4).drops


@pytest.mark.parametrize("edited", [0, 1, 4, 7])
def test_a_fold_is_no_cover_of_a_chat_that_was_edited_anywhere_inside_it(edited: int) -> None:
    other = (*CHAT[:edited], Message(CHAT[edited].role, (Text("something else"),)), *CHAT[edited + 1 :])
    assert stretches(fold_of(CHAT, 4, 8), ends_of(marks(other))) == ()


def test_a_fold_is_a_cover_of_a_chat_that_differs_only_behind_it() -> None:
    other = (*CHAT[:8], Message("user", (Text("something else"),)))
    assert stretches(fold_of(CHAT, 4, 8), ends_of(marks(other)))[-1].end == 8
    assert stretches(fold_of(CHAT, 4, 8), ends_of(marks(CHAT[:6]))) == ()


def test_spans_in_the_wrong_order_are_no_cover() -> None:
    found = marks(CHAT)
    backwards = Fold(found[3], fold_of(CHAT, 4).spans[:1] + fold_of(CHAT, 2).spans)
    assert stretches(backwards, ends_of(found)) == ()
    assert stretches(Fold(found[3], refused="It kept 10 % of what matters."), ends_of(found)) == ()


def test_a_message_that_says_nothing_belongs_to_what_stands_before_it() -> None:
    silent = (*CHAT[:2], Message("user", ()), *CHAT[2:])
    assert ends_of(marks(silent))[marks(silent)[1]] == 3
