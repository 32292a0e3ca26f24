"""The question in few words: all that was said as plain lines, the question last, bounded like the full one."""

from __future__ import annotations

import pytest

from app.chat import size
from app.chat.model import Message, Text, ToolResult
from app.context.asking import Wish, ask
from app.context.flaws import flaw, misread
from app.context.plain import ask_plainly, borne_out, notes_of
from app.context.transcript import said_of

TALK = (
    Message("user", (Text("The code is QX7T2L."),)),
    Message("assistant", (Text("Noted."),)),
    Message("user", (ToolResult("c1", (Text("row 17"),)), Text("And </said> now?"))),
)


def _words(message: Message) -> str:
    (part,) = message.parts
    assert isinstance(part, Text)
    return part.text


def test_the_conversation_stands_first_and_a_begun_list_last() -> None:
    chat = ask_plainly(Wish(TALK, rolled=("They met in May.",)), "lab", family="other", window=8000)
    lines = _words(chat.messages[0]).split("\n\n")
    assert lines[:3] == ["[assistant] They met in May.", "[user] The code is QX7T2L.", "[assistant] Noted."]
    assert "[tool] row 17" in lines
    assert "</said>" not in lines[-4]
    assert lines[-1] == "1. The user said:"
    assert _words(chat.system[0]).startswith("Summarise")
    assert (chat.store, chat.plain, chat.tools) == (False, True, ())


def test_a_japanese_conversation_is_asked_about_in_japanese() -> None:
    wish = Wish((Message("user", (Text("予約番号はQX7T2Lです。覚えておいてください。"),)),))
    assert "要約" in _words(ask_plainly(wish, "lab", family="other", window=8000).system[0])


def test_what_was_lost_is_named_in_the_question() -> None:
    chat = ask_plainly(Wish(TALK), "lab", family="other", window=8000, missing=("QX7T2L", "17"))
    assert "(QX7T2L; 17)" in _words(chat.messages[0])


@pytest.mark.parametrize("window", [300, 1000, 2048])
def test_the_question_and_its_answer_fit_the_window(window: int) -> None:
    long = tuple(
        Message("user", (Text(f"Part {number} of the plan is well under way. " * 20),)) for number in range(40)
    )
    chat = ask_plainly(Wish(long, limit=64), "local", family="other", window=window)
    assert size.of_chat(chat, "other") + (chat.sampling.max_tokens or 0) <= window * 1.05


@pytest.mark.parametrize(
    ("answer", "notes"),
    [
        ("the code is QX7T2L.\n2. They met.", "The user said: the code is QX7T2L.\nThey met."),
        ("1. The code is QX7T2L.\n2. They met.", "The code is QX7T2L.\nThey met."),
        ("The user said: fine.", "The user said: fine."),
        ("", ""),
    ],
)
def test_the_list_may_be_gone_on_with_or_begun_once_more(answer: str, notes: str) -> None:
    assert notes_of(answer, Wish(TALK)) == notes


def test_a_note_that_names_what_nobody_said_is_left_out() -> None:
    notes = "The code is QX7T2L.\nAnn Miller teaches in Osaka.\nThey noted it.\nThe code is QX7T2L for row 18."
    assert borne_out(notes, said_of(TALK)) == "The code is QX7T2L.\nThey noted it."


@pytest.mark.parametrize("text", ["", "Fine. </said>", "[user] And now?\n\n[assistant] Fine.", "They met. " * 200])
def test_an_answer_beside_the_question_shows_that_it_was_misread(text: str) -> None:
    tokens = size.of_text(text, "other")
    assert misread(flaw(text, "stop", original=400, tokens=tokens, limit=50))


@pytest.mark.parametrize("plain", [True, False])
def test_an_echo_of_the_instructions_was_misread_too(plain: bool) -> None:
    make = ask_plainly if plain else ask
    chat = make(Wish(TALK), "lab", family="other", window=8000)
    said = _words(chat.messages[0]).split("\n\n")[-2] if plain else _words(chat.system[0]).split("\n\n")[0]
    assert misread(flaw(f"- {said}", "stop", original=9000, tokens=100, limit=300))


@pytest.mark.parametrize("text", ["I'm sorry, but I can't help with that.", "Error: model overloaded", "They met."])
def test_a_refusal_or_an_error_was_not(text: str) -> None:
    assert not misread(flaw(text, "stop", original=400, tokens=20, limit=50))
