"""What a summariser wrote: when nobody need listen any longer, and what of a text without an end still counts."""

from __future__ import annotations

import pytest

from app.chat import size
from app.context.written import ENOUGH, enough, unnumbered, usable, visible

GOOD = "The user is Ann Sato.\nShe wants invoice INV-20931 fixed by 4 December, and pays 120.50 EUR for it."
LIMIT = 60


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The user",
        GOOD,
        f"{GOOD} " + "And so on and on with some more words. ",
        "<think>" + "Let me see. " * 50,
        "<think>Let me see. Let me see. Let me see.</think>",
        "- 1\n- 2\n- 3",
        "No.\nYes.\nNo.",
    ],
)
def test_a_summary_that_still_says_new_things_is_listened_to(text: str) -> None:
    assert not enough(text, LIMIT, "other")


@pytest.mark.parametrize(
    "text",
    [
        "She likes tea. She likes tea. She likes tea.",
        "1. She likes tea.\n2. He likes rice.\n3. She likes tea.\n4. He likes rice.\n5. She likes tea.",
        "お茶が好きです。お茶が好きです。お茶が好きです。",
        '<said by="user">\nI would',
        f"{GOOD}\n</said>",
        f"{GOOD}\n\n[assistant] That is fine.",
        " ".join(f"word{number}" for number in range(200)),
        "<think>Hm.</think>She likes tea. She likes tea. She likes tea.",
    ],
)
def test_one_that_turns_in_a_circle_goes_on_with_the_chat_or_does_not_end_is_not(text: str) -> None:
    assert enough(text, LIMIT, "other")


def test_what_was_said_before_a_circle_counts_once() -> None:
    said = (
        "1. She likes tea.\n2. The budget is 120.50 EUR.\n3. She likes tea.\n4. The budget is 120.50 EUR.\n5. She lik"
    )
    assert usable(said, ENOUGH, LIMIT, "other") == ("1. She likes tea.\n2. The budget is 120.50 EUR.", "stop")


def test_what_was_said_before_the_marks_of_the_transcript_counts() -> None:
    assert usable(f"{GOOD}\n</said>\n<said by=", ENOUGH, LIMIT, "other") == (GOOD, "stop")


def test_a_text_cut_off_keeps_its_whole_sentences_within_its_limit() -> None:
    text = " ".join(f"Part {number} of the plan is done." for number in range(40))
    short, finish = usable(f"{text} And part", "length", LIMIT, "other")
    assert finish == "stop"
    assert text.startswith(short)
    assert short.endswith("is done.")
    assert LIMIT // 2 < size.of_text(short, "other") <= LIMIT


@pytest.mark.parametrize(
    ("text", "finish", "judged"),
    [
        ("The user and the assistant spoke of", "length", "length"),
        ("She likes tea. And then", "length", "length"),  # thinking took the room: a beginning, no summary
        ("", ENOUGH, "length"),
        ('<said by="user">\nShe likes tea.', ENOUGH, "stop"),
    ],
)
def test_where_nothing_counts_the_text_stays_what_it_is(text: str, finish: str, judged: str) -> None:
    assert usable(text, finish, LIMIT, "other") == (text, judged)


@pytest.mark.parametrize("finish", ["stop", "", "content_filter", "tool_calls"])
def test_an_answer_that_ended_in_its_own_way_is_not_touched(finish: str) -> None:
    text = "She likes tea. She likes tea. She likes tea. And"
    assert usable(text, finish, 4, "other") == (text, finish)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("She likes tea.\n2. He likes rice.\n\n3. Both walk.", "She likes tea.\nHe likes rice.\nBoth walk."),
        ("1. She likes tea.\n2. He likes rice.", "She likes tea.\nHe likes rice."),
        ("They meet\n12. April is the day.", "They meet\n12. April is the day."),
        ("3.5 EUR is the price.", "3.5 EUR is the price."),
    ],
)
def test_the_numbers_of_a_list_that_was_begun_go_and_no_other_number_does(text: str, lines: str) -> None:
    assert unnumbered(text) == lines


def test_the_thoughts_in_front_of_an_answer_are_no_part_of_it() -> None:
    assert visible("<think>Tea? Tea.</think>\n She likes tea. ") == "She likes tea."
    assert visible("<think>Tea? She") == ""
