"""A dry run as a table for people and as JSON: what is kept, mended, put back and refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from app.chat.model import Loss, Message, Role, Text
from app.context.known import Checkpoint, Known
from app.context.plan import Decision, Plan
from app.context.preview import Asked, Preview
from app.context.report import as_full_json, as_table

ASKED = Asked("/models/g:generateContent", b'{"contents":[1e2]}')
ROLES: dict[str, Role] = {"u": "user", "a": "assistant"}
MARKS = tuple(bytes([index]) * 16 for index in range(8))


def talk(*roles: Role) -> tuple[Message, ...]:
    """Messages that say something secret."""
    return tuple(Message(role, (Text("hush"),)) for role in roles)


def known(messages: tuple[Message, ...], prefix: int = 0, bypassed: str = "") -> Known:
    """What a store knows that remembers one answer."""
    found = {MARKS[prefix - 1]: Checkpoint(MARKS[prefix - 1])} if prefix else {}
    return Known(MARKS[: len(messages)], found, bypassed=bypassed)


def seen(**changes: Any) -> Preview:
    """A plan that keeps three messages, known up to the second."""
    messages = changes.pop("messages", talk("user", "assistant", "user"))
    values: dict[str, Any] = {
        "format": "Gemini generateContent",
        "wanted": "g",
        "session": "s-1",
        "named": True,
        "recalled": True,
        "known": known(messages, 2),
        "plan": Plan(None),  # type: ignore[arg-type] (a table shows nothing of the chat)
        "messages": messages,
        "system": 0,
        "kept": len(messages),
        "others": 0,
        "upstream": "gemini",
        "model": "g-1",
        "received": 40,
        "sent": 40,
        "untouched": True,
        "asked": ASKED,
    }
    return Preview(**{**values, **changes})


KEPT = """\
WHAT      OUTCOME          WHY
received  3 messages       Gemini generateContent, model g, about 40 tokens
session   s-1              named by the request
known     2 of 3 messages  all that was answered here before
kept      3 of 3 messages  as they came
sent      about 40 tokens  the client's own bytes, untouched
upstream  gemini           asked for g-1 at /models/g:generateContent"""

CHANGED = """\
WHAT      OUTCOME                        WHY
received  3 messages and 2 system texts  Gemini generateContent, model g, about 40 tokens
session   s-1                            the conversation's own beginning tells it
known     2 of 3 messages                all that was answered here before
kept      1 of 3 messages                as they came; 3 messages beside them, written anew or added
mend      2                              Two results were moved.
summary   nothing                        The history is short.
restore   1                              1 assistant turn went back as gemini itself wrote it.
lost      logit_bias                     Gemini has no such field.
sent      about 50 tokens                written anew for this upstream
upstream  gemini                         asked for g-1 at /models/g:generateContent
fallback  openai                         asked for gpt when the one before cannot answer"""

REFUSED = """\
WHAT      OUTCOME          WHY
received  3 messages       Gemini generateContent, model g, about 40 tokens
session   by content       the conversation's own beginning tells it
known     0 of 3 messages  without the store's memory: a running server may know more
kept      2 of 3 messages  as they came; the others are left out
lost      top_k            OpenAI has no such field.
refused                    top_k: not sent.
sent      nothing          gemini would have been asked for g-1"""

DECISIONS = (
    Decision("mend", "2", "Two results were moved."),
    Decision("summary", "", "The history is short."),
    Decision("restore", "1", "1 assistant turn went back as gemini itself wrote it."),
)


def plan(decisions: tuple[Decision, ...], *losses: Loss) -> Plan:
    """A plan of which only the reasons matter."""
    return Plan(None, decisions, losses=losses)  # type: ignore[arg-type] (a table shows nothing of the chat)


TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "kept": ({}, KEPT),
    "changed": (
        {
            "plan": plan(DECISIONS, Loss("logit_bias", "Gemini has no such field.")),
            "named": False,
            "system": 2,
            "kept": 1,
            "others": 3,
            "sent": 50,
            "untouched": False,
            "fallbacks": (("openai", "gpt"),),
        },
        CHANGED,
    ),
    "refused, and no store": (
        {
            "plan": plan((), Loss("top_k", "OpenAI has no such field.")),
            "session": "",
            "named": False,
            "recalled": False,
            "known": known(talk("user", "assistant", "user")),
            "kept": 2,
            "refused": "top_k: not sent.",
        },
        REFUSED,
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_what_is_kept_changed_and_sent_and_why(name: str) -> None:
    changes, table = TABLES[name]
    assert as_table(seen(**changes)) == table


@pytest.mark.parametrize(
    ("roles", "prefix", "said"),
    [
        ("uau", 2, ""),
        ("uau", 0, ""),
        ("uauau", 4, ""),
        ("uaua", 2, ""),
        ("uauau", 2, "message 3 or 4 differs from what was sent, or the answer there was not remembered"),
        ("uauuau", 2, "one of the messages 3 to 5 differs from what was sent, or the answer there was not remembered"),
        ("uaau", 2, "message 3 differs from what was answered there, or its answer was not remembered"),
        ("uauaau", 2, "one of the messages 3 to 5 differs from what was sent, or the answer there was not remembered"),
    ],
)
def test_where_a_history_left_what_is_known_is_named_as_closely_as_can_be(roles: str, prefix: int, said: str) -> None:
    speakers: list[Role] = [ROLES[role] for role in roles]
    messages = talk(*speakers)
    preview = seen(messages=messages, known=known(messages, prefix))
    assert preview.broke == said
    if said:
        assert f"{prefix} of {len(roles)} messages" in as_table(preview)
        assert said in as_table(preview)


def test_a_store_that_could_not_be_asked_is_told() -> None:
    messages = talk("user", "assistant", "user")
    preview = seen(known=known(messages, bypassed="timed out"))
    assert "the store could not be asked: timed out" in as_table(preview)
    assert as_full_json(preview)["plan"] == "state=bypassed"


def test_names_that_a_request_makes_up_neither_command_a_terminal_nor_flood_it() -> None:
    shown = as_table(seen(wanted="\x1b[2J\nm\u202e", session="", model="m" * 5000))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown.splitlines()) == len(KEPT.splitlines())
    assert max(map(len, shown.splitlines())) < 500


def test_the_json_holds_the_very_request_and_the_table_no_chat_text() -> None:
    changes, _ = TABLES["changed"]
    shown = msgspec.json.encode(as_full_json(seen(**changes)))
    assert b'"request":{"path":"/models/g:generateContent","body":{"contents":[1e2]}}' in shown
    assert msgspec.json.decode(shown)["fallbacks"] == [{"name": "openai", "model": "gpt"}]
    assert as_full_json(seen(asked=None))["request"] is None
    assert "hush" not in as_table(seen(**changes))
