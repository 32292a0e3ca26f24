"""The step on whole chats: what it touches, what it never does, and that no later turn moves an earlier form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from app.chat.model import Chat, Message, Native, Part, Text, ToolCall, ToolResult
from app.chat.size import of_text
from app.context.plan import Draft
from app.context.tool_results import Compacted, Parked, ToolSettings
from app.context.tool_results.compacting import words_of
from app.context.tool_results.room import LEAST_SHARE
from app.context.tool_results.step import Compaction, Handles, parked_of, tool_results
from tests.context.tool_results.making import handle_of, log, orders, reviews, words

ORDERS = json.dumps(orders())
REVIEWS = json.dumps(reviews())


class Remembered(msgspec.Struct, frozen=True):
    """What the step asks of Known."""

    handles: Handles | None = Handles(handle_of)


class Set(msgspec.Struct, frozen=True):
    """What the step asks of Policy."""

    tool_result_tokens: int = 6000
    tool_text_tokens: int = 20000
    tool_step_tokens: int = 0
    heavy_tool_tokens: int = 4000
    tools: Mapping[str, ToolSettings] = {}


def said(words: str, role: Any = "user") -> Message:
    """A message of words."""
    return Message(role, (Text(words),), Native("openai_chat", {"role": role, "content": words}))


def called(name: str, text: str, call_id: str = "c1", *more: Part, named: bool = False) -> tuple[Message, Message]:
    """A call and its result."""
    result = ToolResult(call_id, (Text(text),), name if named else "", native=Native("openai_chat", {}))
    return (
        Message("assistant", (ToolCall(call_id, name, "{}"),), Native("openai_chat", {})),
        Message("user", (result, *more), Native("openai_chat", {})),
    )


def run(*messages: Message, known: Remembered = Remembered(), policy: Set = Set()) -> Draft:  # noqa: B008 - frozen values
    """The draft after the step."""
    return tool_results(Draft(Chat("gpt-5.5", messages)), known, policy)


def decision_of(draft: Draft) -> Compaction:
    """The step's decision."""
    (made,) = draft.decisions
    assert isinstance(made, Compaction)
    return made


ASKED = said("Which order failed?")


def test_a_bulky_result_is_made_small_and_nothing_else_is_touched() -> None:
    messages = (ASKED, *called("get_orders", ORDERS), said("Let me look.", "assistant"), said("And?"))
    draft = run(*messages)
    after = draft.chat.messages
    assert [one is two for one, two in zip(messages, after, strict=True)] == [True, True, False, True, True]
    assert after[2].native is None, "an edited message is rebuilt"
    (result,) = after[2].results
    assert (result.call_id, result.native) == ("c1", None)
    assert json.loads(result.text)["total_rows"] == 900


def test_the_decision_says_what_became_smaller_by_how_much_and_which_fields_went() -> None:
    decision = decision_of(run(ASKED, *called("get_orders", ORDERS), *called("get_reviews", REVIEWS, "c2")))
    assert (decision.step, decision.applied) == ("tool_results", "2")
    assert decision.reason.startswith("2 tool results were made small: get_orders from about ")
    one, two = decision.results
    assert (one.tool, one.message, one.part, one.kind, one.total) == ("get_orders", 2, 0, "array", 900)
    assert one.before + two.before == decision.before > decision.after == one.after + two.after
    assert [(each.field, each.why) for each in two.dropped] == [("verified", "constant"), ("reply", "empty")]
    report: dict[str, Any] = json.loads(msgspec.json.encode(decision))
    assert report["results"][1]["dropped"][0]["field"] == "verified"


def test_a_small_chat_is_the_very_same_draft() -> None:
    draft = Draft(Chat("m", (ASKED, *called("get_orders", "[]"))))
    assert tool_results(draft, Remembered(), Set()) is draft


def test_where_nothing_can_be_parked_nothing_is_made_small() -> None:
    draft = Draft(Chat("m", (ASKED, *called("get_orders", ORDERS))))
    assert tool_results(draft, Remembered(None), Set()) is draft


def test_later_turns_never_move_an_earlier_form() -> None:
    messages = (ASKED, *called("get_orders", ORDERS))
    first = run(*messages).chat.messages
    for later in (
        said("Look at INV-20931 and order A-70611."),
        *called("read_log", log(), "c2"),
        said("Thanks"),
        *called("get_reviews", REVIEWS, "c3"),
    ):
        messages = (*messages, later)
        now = run(*messages).chat.messages
        assert now[: len(first)] == first
        first = now


def test_the_question_is_the_one_that_stood_before_the_call() -> None:
    shown = (
        run(said("Is there a review of INV-20931?"), *called("get_reviews", REVIEWS)).chat.messages[2].results[0].text
    )
    assert "INV-20931" in shown
    late = run(said("Any news?"), *called("get_reviews", REVIEWS), said("What about INV-20931?")).chat.messages[2]
    assert "INV-20931" not in late.results[0].text


def test_words_beside_results_count_for_the_calls_after_them_and_programs_reminders_do_not() -> None:
    reminder = Text("<system-reminder>INV-20931 INV-20931</system-reminder>")
    start = (said("Look."), *called("a", "1", "c1", reminder))
    assert "INV-20931" not in run(*start, *called("get_reviews", REVIEWS, "c2")).chat.messages[-1].results[0].text
    start = (said("Look."), *called("a", "1", "c1", Text("INV-20931, please")))
    assert "INV-20931" in run(*start, *called("get_reviews", REVIEWS, "c2")).chat.messages[-1].results[0].text


@pytest.mark.parametrize("named", [True, False])
def test_one_tools_settings_hold_for_its_results_whether_or_not_the_format_repeats_its_name(named: bool) -> None:
    tools = {"get_orders": ToolSettings(compact=False), "get_reviews": ToolSettings(keep_fields=("id",))}
    messages = (ASKED, *called("get_orders", ORDERS, named=named), *called("get_reviews", REVIEWS, "c2", named=named))
    after = run(*messages, policy=Set(tools=tools)).chat.messages
    assert after[2] is messages[2]
    assert json.loads(after[4].results[0].text)["rows"][3] == {"id": 1003}


def test_errors_and_our_own_tools_answers_are_left_alone() -> None:
    failed = Message("user", (ToolResult("c1", (Text(ORDERS),), is_error=True),))
    draft = Draft(Chat("m", (ASKED, called("a", "")[0], failed, *called("fetch_rows", ORDERS, "c2"))))
    assert tool_results(draft, Remembered(), Set()) is draft


def test_what_is_parked_is_the_whole_under_the_handle_that_the_form_shows() -> None:
    draft = run(ASKED, *called("get_orders", ORDERS), *called("read_log", log(), "c2"))
    parked = parked_of(
        Chat("m", (ASKED, *called("get_orders", ORDERS), *called("read_log", log(), "c2"))), decision_of(draft)
    )
    handle = json.loads(draft.chat.messages[2].results[0].text)["handle"]
    assert parked[handle] == Parked("array", ORDERS)
    assert sorted(each.kind for each in parked.values()) == ["array", "log"]


def test_what_was_made_once_is_not_made_again_and_comes_out_the_same() -> None:
    made: dict[bytes, Compacted | None] = {}
    known = Remembered(Handles(handle_of, made=made))
    messages = (ASKED, *called("get_orders", ORDERS), *called("read", log(300), "c2"))
    first = run(*messages, known=known)
    assert sorted(map(bool, made.values())) == [False, True]
    again = run(*messages, known=known)
    assert again.chat == first.chat == run(*messages).chat
    assert len(made) == 2


def test_forms_that_sessions_remember_together_never_show_anothers_handle() -> None:
    made: dict[bytes, Compacted | None] = {}
    messages = (ASKED, *called("get_orders", ORDERS))
    mine = run(*messages, known=Remembered(Handles(handle_of, made=made)))
    theirs = run(*messages, known=Remembered(Handles(lambda text: handle_of(b"theirs" + text), made=made)))
    one, two = (decision_of(draft).results[0].handle for draft in (mine, theirs))
    assert one != two
    assert two in theirs.chat.messages[2].results[0].text


WINDOW = Set(tool_step_tokens=64_000)


def step_of(*texts: str, separate: bool = False, **fields: Any) -> tuple[Message, ...]:
    """Calls in one step and their results: in one message, or in one each."""
    asked = Message("assistant", tuple(ToolCall(f"c{at}", "get_orders", "{}") for at in range(len(texts))))
    results = [ToolResult(f"c{at}", (Text(text),), "get_orders", **fields) for at, text in enumerate(texts)]
    if separate:
        return asked, *(Message("user", (each,)) for each in results)
    return asked, Message("user", tuple(results))


def parts_of(draft: Draft) -> list[str]:
    """The words of all results, in order."""
    parts = [part for message in draft.chat.messages for part in message.parts]
    return [words_of(part) for part in parts if isinstance(part, ToolResult)]


TWENTY = [json.dumps(orders(155, at)) for at in range(20)]
"""Results of somewhat less than 6000 tokens each."""


@pytest.mark.parametrize("separate", [False, True])
def test_twenty_results_in_one_step_leave_half_of_the_window_free(separate: bool) -> None:
    chat = (said("How are my orders?"), *step_of(*TWENTY, separate=separate))
    assert run(*chat).decisions == (), "each is within its own budget"
    draft = run(*chat, policy=WINDOW)
    texts = parts_of(draft)
    assert sum(of_text(text, "openai") for text in TWENTY) > 100_000
    assert sum(of_text(text, "openai") for text in texts) <= 64_000 + 10 * LEAST_SHARE
    whole = [text in TWENTY for text in texts]
    assert whole == sorted(whole, reverse=True), "the first ones stay whole"
    assert 8 <= sum(whole) < 20
    assert all(json.loads(text)["total_rows"] == 155 for text in texts[sum(whole) :])
    assert "over half of the window" in decision_of(draft).reason


def test_no_result_takes_another_form_because_of_what_comes_behind_it() -> None:
    forms: list[list[str]] = []
    for count in range(8, 21, 4):
        chat = (said("How are my orders?"), *step_of(*TWENTY[:count]))
        forms.append(parts_of(run(*chat, policy=WINDOW)))
        later = (*chat, said("Thank you.", "assistant"), said("And?"), *step_of(*TWENTY[:5]))
        assert parts_of(run(*later, policy=WINDOW)) == [*forms[-1], *TWENTY[:5]], "a new step has the room anew"
    for before, after in pairwise(forms):
        assert after[: len(before)] == before


def test_in_a_full_step_errors_and_tools_that_are_left_alone_stay_as_they_are() -> None:
    alone = Set(tool_step_tokens=10_000, tools={"get_orders": ToolSettings(compact=False)})
    chat = (said("How are my orders?"), *step_of(*TWENTY))
    assert run(*chat, policy=alone).decisions == ()
    chat = (said("How are my orders?"), *step_of(*TWENTY, is_error=True))
    assert run(*chat, policy=Set(tool_step_tokens=10_000)).decisions == ()


def test_one_result_that_would_fill_a_small_window_is_made_smaller() -> None:
    text = parts_of(run(said("Read it."), *called("read_file", words(15_000, 1)), policy=Set(tool_step_tokens=4000)))[0]
    assert of_text(text, "openai") <= 2000
