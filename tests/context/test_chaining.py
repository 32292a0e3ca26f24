"""Chain or resend: a chain goes on only while the provider holds what would be sent, and says its price."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.chat.address import addresses
from app.chat.model import Chat, Message, Text, ToolCall, ToolResult
from app.context.chaining import front_of
from app.context.folds import Fold, Span
from app.context.known import Chains, Checkpoint, Known, Scale
from app.context.plan import Decision, Plan, plan
from app.context.policy import Policy
from app.context.steps import STEPS

TENANT = b"12345678"
NOW = 1_790_000_000.0
CHAINS = Chains("gemini", "gemini-3-flash", "gemini", cached_price=0.1, cache_seconds=300)


def user(words: str) -> Message:
    return Message("user", (Text(words),))


def model(words: str) -> Message:
    return Message("assistant", (Text(words),))


SAID = (user("one"), model("1"), user("two"), model("2"), user("three"))


def known(messages: tuple[Message, ...], handles: dict[int, str], **changes: Any) -> Known:
    """What is known where answers end with these handles; `held` changes the checkpoints."""
    marks = addresses(messages, TENANT)
    held: dict[str, Any] = changes.pop("held", {})
    found: dict[bytes, Checkpoint] = {}
    for index, handle in handles.items():
        stored: dict[str, Any] = {"upstream": "gemini", "model": "gemini-3-flash", "handle": handle}
        stored |= {"expires": NOW + 1000, "input_tokens": 100, "output_tokens": 10, "at": NOW - 5, **held}
        found[marks[index]] = Checkpoint(marks[index], **stored)
    return Known(marks, found, now=NOW, chains=CHAINS, **changes)


def planned(messages: tuple[Message, ...], what: Known, policy: Policy | None = None, **chat: Any) -> Plan:
    return plan(Chat("gemini-3-flash", messages, **chat), what, policy or Policy(), STEPS)


def decision(made: Plan) -> Decision:
    return next(each for each in made.decisions if each.step == "chain")


def test_only_what_is_new_goes_out_behind_the_handle_of_the_longest_known_prefix() -> None:
    made = planned(SAID, known(SAID, {1: "v1_a", 3: "v1_b"}))
    assert (made.chat.after, made.chat.since) == ("v1_b", 4)
    assert made.chat.messages == SAID, "the others stay: their calls name the results"
    assert decision(made).applied == "continue"


def test_the_first_turn_begins_a_chain_and_says_so() -> None:
    made = planned(SAID, known(SAID, {}))
    assert (made.chat.after, made.chat.store, decision(made).applied) == ("", None, "new")


def test_an_upstream_that_keeps_nothing_gets_no_decision() -> None:
    made = planned(SAID, replace(known(SAID, {3: "v1_b"}), chains=None))
    assert made.chat.after == ""
    assert not any(each.step == "chain" for each in made.decisions)


def test_the_answer_asked_for_once_more_branches_from_the_handle_before_it() -> None:
    again = SAID[:3]
    made = planned(again, known(again, {1: "v1_a"}))
    assert (made.chat.after, made.chat.since) == ("v1_a", 2)


def test_an_edited_message_goes_on_from_the_answer_before_it() -> None:
    edited = (*SAID[:2], user("two, but other"))
    made = planned(edited, known(edited, {1: "v1_a"}))
    assert (made.chat.after, made.chat.since) == ("v1_a", 2)


def test_answers_that_were_not_given_in_the_chain_are_sent_whole() -> None:
    made = planned(SAID, known(SAID, {1: "v1_a"}))
    assert made.chat.after == ""
    assert decision(made).applied == "cut"
    assert "Message 4" in decision(made).reason


def test_a_message_deleted_from_the_front_leaves_no_handle_to_continue() -> None:
    shorter = SAID[2:]
    stale = known(SAID, {1: "v1_a", 3: "v1_b"})
    made = planned(shorter, replace(stale, addresses=addresses(shorter, TENANT)))
    assert (made.chat.after, decision(made).applied) == ("", "new")


def test_tool_results_continue_the_chain() -> None:
    calling = Message("assistant", (ToolCall("c1", "f", "{}"),))
    result = Message("user", (ToolResult("c1", (Text("ok"),)),))
    messages = (user("go"), calling, result)
    made = planned(messages, known(messages, {1: "v1_a"}))
    assert (made.chat.after, made.chat.since) == ("v1_a", 2)


def test_a_heavy_tool_result_cuts_the_chain() -> None:
    calling = Message("assistant", (ToolCall("c1", "f", "{}"),))
    result = Message("user", (ToolResult("c1", (Text("word and word again; " * 1200),)),))
    messages = (user("go"), calling, result)
    made = planned(messages, known(messages, {1: "v1_a"}), Policy(fold_at_tokens=100_000, fold_to_tokens=50_000))
    assert (made.chat.after, decision(made).applied) == ("", "cut")
    assert "heavy" in decision(made).reason


def test_a_chain_that_outgrew_the_budget_by_the_providers_own_count_is_cut() -> None:
    made = planned(SAID, known(SAID, {3: "v1_b"}, held={"input_tokens": 7_990}))
    assert (made.chat.after, decision(made).applied) == ("", "cut")
    assert "8000" in decision(made).reason
    never = planned(SAID, known(SAID, {3: "v1_b"}, held={"input_tokens": 7_990}), Policy(fold_at_tokens=0))
    assert decision(never).applied == "continue", "0 folds nothing, and so cuts nothing"


def test_a_chain_larger_than_the_models_window_is_cut_whatever_the_budget() -> None:
    scale = Scale("gemini", "gemini-3-flash", window=2_000)
    what = known(SAID, {3: "v1_b"}, held={"input_tokens": 2_100}, scale=scale)
    assert decision(planned(SAID, what, Policy(fold_at_tokens=0))).applied == "cut"


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"expires": NOW - 1}, "may have been deleted"),
        ({"front": b"otherone"}, "fold or the sticky memory"),
    ],
)
def test_what_is_gone_or_began_otherwise_is_sent_whole(held: dict[str, Any], said: str) -> None:
    made = planned(SAID, known(SAID, {3: "v1_b"}, held=held))
    assert (made.chat.after, decision(made).applied) == ("", "cut")
    assert said in decision(made).reason


@pytest.mark.parametrize("held", [{"upstream": "other"}, {"model": "gemini-2.5-pro"}, {"handle": ""}])
def test_a_handle_of_another_upstream_or_model_is_none(held: dict[str, Any]) -> None:
    assert decision(planned(SAID, known(SAID, {3: "v1_b"}, held=held))).applied == "new"


def test_models_that_share_chains_go_on_from_each_other() -> None:
    what = known(SAID, {3: "v1_b"}, held={"model": "gemini-2.5-pro"})
    made = planned(SAID, replace(what, chains=replace(CHAINS, across_models=True)))
    assert made.chat.after == "v1_b"


def test_a_handle_that_the_provider_just_did_not_know_is_not_tried_again_on_this_turn() -> None:
    made = planned(SAID, replace(known(SAID, {1: "v1_a", 3: "v1_b"}), lost=frozenset({"v1_b"})))
    assert (made.chat.after, decision(made).applied) == ("", "cut")


def test_new_sticky_memory_begins_a_new_chain_and_the_same_memory_continues_it() -> None:
    reminded = known(SAID, {3: "v1_b"}, memory={"name": "Ada"})
    assert decision(planned(SAID, reminded)).applied == "cut"
    same = known(SAID, {3: "v1_b"}, memory={"name": "Ada"}, held={"front": front_of(None, reminded)})
    made = planned(SAID, same)
    assert (made.chat.after, made.chat.since) == ("v1_b", 5), "the memory stands in front, and is held too"


def test_another_fold_begins_a_new_chain() -> None:
    what = known(SAID, {3: "v1_b"})
    one, two = (Fold(what.addresses[1], (Span(what.addresses[1], text=text),)) for text in ("a", "b"))
    assert len({front_of(None, what), front_of(one, what), front_of(two, what)}) == 3


@pytest.mark.parametrize(("policy", "chat"), [(Policy(chain="never"), {}), (Policy(), {"store": False})])
def test_where_storing_is_forbidden_the_chat_goes_out_whole_and_says_store_false(
    policy: Policy, chat: dict[str, Any]
) -> None:
    made = planned(SAID, known(SAID, {3: "v1_b"}), policy, **chat)
    assert (made.chat.after, made.chat.store, decision(made).applied) == ("", False, "never")


def test_a_client_that_wants_its_answer_stored_still_has_it_stored_without_a_chain() -> None:
    made = planned(SAID, known(SAID, {3: "v1_b"}), Policy(chain="never"), store=True)
    assert made.chat.store is True


def test_off_leaves_the_chat_alone() -> None:
    made = planned(SAID, known(SAID, {3: "v1_b"}), Policy(off=True))
    assert (made.chat.after, made.decisions) == ("", ())


def test_both_prices_stand_in_the_report() -> None:
    reason = decision(planned(SAID, known(SAID, {3: "v1_b"}))).reason
    continued = decision(planned(SAID, known(SAID, {3: "v1_b"}))).after
    assert 110 < continued < 130
    assert f"about {continued} input tokens; sent whole, about" in reason
    assert "at full price" in reason, "the provider's cache is warm: five seconds ago it held all of this"
    cold = decision(planned(SAID, known(SAID, {3: "v1_b"}, held={"at": NOW - 4000}))).reason
    assert "full price" not in cold


def test_a_chat_that_ends_with_an_answer_brings_nothing_new() -> None:
    made = planned(SAID[:4], known(SAID[:4], {3: "v1_b"}))
    assert (made.chat.after, decision(made).applied) == ("", "cut")
