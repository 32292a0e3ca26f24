"""A plan as one header line and as JSON."""

from __future__ import annotations

import msgspec
import pytest

from app.chat.model import Chat, Loss, Message, Text
from app.context.known import Checkpoint, Known
from app.context.plan import Decision, Draft, Plan, plan
from app.context.policy import Policy
from app.context.report import as_json, header
from app.context.steps import STEPS

CHAT = Chat("m", (Message("user", (Text("hi"),)),))
MENDED = Decision("mend", "2", "Two results were moved.")
IDLE = Decision("summary", "", "The history is short.")


@pytest.mark.parametrize(
    ("decisions", "known", "line"),
    [
        ((), Known(), "none"),
        ((IDLE,), Known(), "none"),
        ((MENDED, IDLE, Decision("restore", "1", "r")), Known(), "mend=2; restore=1"),
        ((MENDED,), Known(bypassed="timed out"), "mend=2; state=bypassed"),
        ((), Known(bypassed="x"), "state=bypassed"),
    ],
)
def test_the_header_names_the_steps_that_applied(decisions: tuple[Decision, ...], known: Known, line: str) -> None:
    assert header(Plan(CHAT, decisions), known) == line
    assert line.isascii()


def test_the_record_gives_reasons_losses_and_how_far_the_chat_was_known() -> None:
    known = Known((b"1" * 16, b"2" * 16, b"3" * 16), {b"2" * 16: Checkpoint(b"2" * 16)})
    record = msgspec.json.decode(
        msgspec.json.encode(as_json(Plan(CHAT, (MENDED,), losses=(Loss("f", "Gone."),)), known))
    )
    assert record["decisions"][0]["reason"] == "Two results were moved."
    assert record["losses"] == [{"field": "f", "reason": "Gone."}]
    assert record["known"] == {"messages": 3, "prefix": 2, "bypassed": None}
    assert "hi" not in str(record), "no chat text in a record"


def test_the_longest_known_prefix_counts() -> None:
    marks = tuple(bytes([i]) * 16 for i in range(4))
    assert Known(marks).deepest() == 0
    assert Known(marks, {marks[0]: Checkpoint(marks[0]), marks[2]: Checkpoint(marks[2])}).deepest() == 3


def test_the_same_inputs_give_the_same_plan_and_off_gives_none() -> None:
    assert plan(CHAT, Known(), Policy(), STEPS) == plan(CHAT, Known(), Policy(), STEPS)

    def shout(draft: Draft, known: Known, policy: Policy) -> Draft:
        return draft.decided(MENDED, Chat("other", ()))

    assert plan(CHAT, Known(), Policy(), (shout,)).chat.model == "other"
    off = plan(CHAT, Known(), Policy(off=True), (shout,))
    assert off.chat is CHAT
    assert off.decisions == ()
