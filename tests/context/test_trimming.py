"""What is left out where nothing else helps: the oldest, never half of an exchange, never what must stay."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.model import Chat, Message, Text, ToolCall, ToolResult
from app.context.known import Checkpoint
from app.context.plan import Plan, plan
from app.context.policy import Policy
from app.context.steps import STEPS
from app.context.tool_results.handles import Handles
from tests.context.folding import (
    MODEL,
    SMALL,
    Talk,
    answered,
    fold_of,
    kept,
    known_of,
    line_of,
    planned,
    received,
    text_of,
    told,
    words,
)
from tests.context.pairing import check_gemini, check_openai
from tests.context.stories import IDS, chats
from tests.wires.talking import TARGETS, WIRES

LONG = told("u100 a100 " * 8 + "u100")


def _trimmed(messages: tuple[Message, ...], *stored: dict[bytes, Checkpoint], **known: Any) -> Plan:
    """The plan where no summary is to be had."""
    return planned(messages, known_of(messages, *stored, waits=False, **known))


def _steps(made: Plan) -> dict[str, str]:
    return {each.step: each.applied for each in made.decisions if each.applied}


def test_while_a_summary_can_still_be_made_nothing_is_left_out() -> None:
    made = planned(LONG, known_of(LONG))
    assert made.needs[0].urgent
    assert _steps(made) == {}
    assert made.chat.messages == LONG


def test_without_one_the_oldest_messages_are_left_out_and_the_plan_says_so() -> None:
    made = _trimmed(LONG)
    line = line_of(made, LONG)
    assert _steps(made) == {"trim": str(line)}
    assert made.decisions[-1].reason.startswith(f"{line} of the oldest messages are left out")
    first, *rest = made.chat.messages
    assert f"[{line} earlier messages were left out here" in text_of(first)
    assert rest == list(LONG[line:])
    assert made.tokens <= 1000


def test_it_leaves_more_than_a_summary_would() -> None:
    summary = planned(LONG, known_of(LONG)).needs[0].messages
    assert line_of(_trimmed(LONG), LONG) < summary


def test_what_is_left_out_leaves_its_values_word_for_word() -> None:
    asked = Message("user", (Text("The ticket is INC-48213 and the page is https://example.com/a/17."),))
    made = _trimmed((asked, *LONG[1:]))
    assert "INC-48213" in text_of(made.chat.messages[0])
    assert "https://example.com/a/17" in text_of(made.chat.messages[0])


def test_what_was_left_out_once_stays_out_so_that_the_prompt_keeps_its_beginning() -> None:
    talk = Talk(makes=lambda task: "")
    sent: list[Plan] = []
    for _ in range(24):
        sent.append(talk.says("u60"))
        talk.answers("a60")
    moves = 0
    for one, two in pairwise(sent):
        if one.chat.messages == two.chat.messages[: len(one.chat.messages)]:
            continue
        moves += 1
        assert "trim" in _steps(two)
    assert 0 < moves <= 8
    assert max(made.tokens for made in sent) <= 1000 + 100


def test_it_comes_back_as_soon_as_a_summary_of_it_is_made() -> None:
    first = _trimmed(LONG)
    assert first.fold is not None
    after = (*LONG, *told("a20 u20", 9))
    turn = answered(after, len(LONG) + 1, folded=first.fold.upto, fold=first.fold, estimated_tokens=first.tokens)
    still = planned(after, known_of(after, turn))
    assert line_of(still, after) == line_of(first, LONG)
    assert [(need.messages, need.urgent) for need in still.needs] == [(line_of(first, LONG), False)]
    summed = planned(after, known_of(after, turn, kept(fold_of(LONG, line_of(first, LONG)))))
    assert _steps(summed) == {"summary": f"1-{line_of(first, LONG)}"}


def test_a_summary_that_is_known_stays_and_what_stands_behind_it_is_left_out() -> None:
    made = _trimmed(LONG, kept(fold_of(LONG, 2)))
    assert made.fold is not None
    assert [span.kind for span in made.fold.spans] == ["summary", "dropped"]
    assert text_of(made.chat.messages[0]).startswith("<summary")
    assert "summary up to 2\n\n[" in text_of(made.chat.messages[0])
    assert {"summary", "trim"} <= _steps(made).keys()


def test_what_is_left_out_twice_is_said_once() -> None:
    first = _trimmed(LONG)
    assert first.fold is not None
    after = (*LONG, *told("a400 u400 a20 u20", 9))
    turn = answered(after, len(LONG) + 1, folded=first.fold.upto, fold=first.fold)
    made = _trimmed(after, turn)
    assert made.fold is not None
    assert [span.kind for span in made.fold.spans] == ["dropped"]
    assert line_of(made, after) > line_of(first, LONG)


def test_a_running_task_keeps_its_question_and_loses_finished_steps_only() -> None:
    chat = told("u50 " + "".join(f"+x{n} =x{n}:200 " for n in range(8)))
    made = _trimmed(chat, scale={"window": 1000})
    assert made.chat.messages[0] is chat[0]
    assert made.fold is not None
    assert [span.kind for span in made.fold.spans] == ["verbatim", "dropped"]
    assert made.chat.messages[2].calls
    assert made.tokens <= 1000
    assert made.refusal == ""


def test_a_long_last_message_goes_out_whole_although_it_is_above_the_threshold() -> None:
    chat = told("u20 a20 u1500")
    made = _trimmed(chat)
    assert made.chat.messages == chat
    assert _steps(made) == {}


def test_a_last_message_that_the_window_cannot_take_is_refused_with_what_to_do() -> None:
    made = _trimmed(told("u20 a20 u1500"), scale={"window": 1000})
    assert made.refusal.startswith("This model takes 1000 tokens, and the newest message alone")
    assert made.refusal.endswith("Shorten it, or send it in parts.")


def test_near_the_window_the_provider_counts_better_and_is_asked() -> None:
    assert _trimmed(told("u20 a20 u1100"), scale={"window": 1000}).refusal == ""


def test_a_chat_that_the_provider_refused_is_cut_although_it_is_below_the_threshold() -> None:
    roomy = Policy(keep_recent=2)
    chat = told("u100 a100 " * 5 + "u100")
    known = known_of(chat, scale={"window": 700}, waits=False, overflowed=True)
    made = planned(chat, known, roomy)
    assert made.tokens <= 700
    assert made.chat.messages[-1] is chat[-1]


def test_the_last_words_and_the_system_prompt_are_never_left_out() -> None:
    system = told("s300", 3)
    chat = told("u100 a100 s30 u100 a100 u200 a200 u300")
    known = known_of(chat, waits=False, scale={"window": 700, "fixed": 300})
    made = plan(Chat(MODEL, chat, system), known, SMALL, STEPS)
    assert made.chat.system is system
    assert made.chat.messages[-1] is chat[-1]
    assert chat[2] in made.chat.messages


# ---- any chat, any budget


POLICIES = st.builds(
    Policy,
    fold_at_tokens=st.sampled_from((60, 200, 400, 1000)),
    fold_to_tokens=st.sampled_from((0, 30, 100, 300)),
    keep_recent=st.sampled_from((0, 2, 6)),
    summary_tokens=st.sampled_from((0, 40, 200)),
    summary_when=st.sampled_from(("behind", "before")),
)
SCALES = st.fixed_dictionaries(
    {"window": st.sampled_from((0, 300, 700)), "fixed": st.sampled_from((0, 100)), "ratio": st.sampled_from((0.6, 1.8))}
)


@given(
    chats(ids=IDS),
    chats(6, ids=IDS),
    POLICIES,
    SCALES,
    st.sampled_from(("works", "fails", "first")),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_every_chat_in_every_budget_goes_out_with_its_pairs_and_its_last_words(
    messages: tuple[Message, ...],
    more: tuple[Message, ...],
    policy: Policy,
    scale: dict[str, Any],
    luck: str,
    binds: bool,
    overflowed: bool,
) -> None:
    """Turn for turn: each prefix that ends with the user's side is a request of its own."""

    def makes(task: Any) -> str:
        return "a summary" if luck == "works" or (luck == "first" and not task.spans) else ""

    talk = Talk(policy, makes=makes, scale={**scale, "binds": binds})
    whole = (*messages, *told("a5"), *more)
    for end in range(1, len(whole) + 1):
        if whole[end - 1].role != "user" or (end < len(whole) and whole[end].role != "assistant"):
            continue
        talk.messages = whole[:end]
        made = talk.turn()
        _check(made, whole[:end])
        if overflowed:
            _check(talk.again(whole[:end], overflowed=True, waits=False), whole[:end])
        if end < len(whole):
            talk.messages = whole[: end + 1]
            talk.remember()


def _check(made: Plan, messages: tuple[Message, ...]) -> None:
    last = messages[-1]
    sent = "\n".join(map(text_of, made.chat.messages))
    assert all(text_of(Message("user", (part,))) in sent for part in last.parts), "the last words are there"
    said = [text_of(message) for message in messages if message.role == "system"]
    assert all(text in {text_of(message) for message in made.chat.messages} for text in said)
    for upstream, check, field in (("openai", check_openai, "messages"), ("gemini", check_gemini, "contents")):
        if upstream == "gemini" and made.chat.messages[0].role == "assistant":
            continue
        outbound = WIRES[upstream].encode(made.chat, TARGETS[upstream])
        check(json.loads(outbound.body)[field])


def test_a_plan_knows_how_large_it_is() -> None:
    made = _trimmed(LONG)
    assert made.tokens == pytest.approx(received(made.chat.messages), abs=3)
    assert made.guess == made.tokens


def test_the_handle_of_a_bulky_result_that_is_left_out_stays_known() -> None:
    rows = json.dumps([{"order": f"A-{number}", "note": words(20, number)} for number in range(400)])
    handles = Handles(lambda text: f"res_{hashlib.sha256(text).hexdigest()[:24]}")
    call, result = ToolCall("c1", "lookup", "{}"), ToolResult("c1", (Text(rows),))
    chat = (
        *told("u20"),
        Message("assistant", (call,)),
        Message("user", (result,)),
        *told("a20 " + "u100 a100 " * 8 + "u100", 1),
    )
    policy = msgspec.structs.replace(SMALL, tool_result_tokens=600, heavy_tool_tokens=600)
    made = planned(chat, known_of(chat, handles=handles, waits=False), policy)
    assert made.fold is not None
    assert made.fold.drops
    assert line_of(made, chat) >= 4
    handle = handles.handle_of(rows.encode())
    assert [fact.text for fact in made.fold.facts if handle in fact.text] == [
        f"400 rows from lookup: fetch_rows gives them by the handle {handle}"
    ]
