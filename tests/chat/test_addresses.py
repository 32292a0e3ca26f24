"""Addresses: the same talk has the same one however it is written; an edit changes all that follow and none before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.address import Chain, addresses, canonical, root, setup
from app.chat.model import Message, Role, Text, Tool, ToolCall, ToolResult
from tests.chat.talks import (
    STYLES,
    Answered,
    Asked,
    Call,
    Picture,
    Result,
    Returned,
    Step,
    Style,
    Talk,
    as_openai,
    gemini_chat,
    gemini_marks,
    openai_chat,
    openai_marks,
    talks,
)

PLAIN = Style()


@settings(max_examples=50, deadline=None)
@given(talks(), STYLES, STYLES, STYLES)
def test_the_same_talk_has_the_same_addresses_through_both_wires_however_it_is_written(
    talk: Talk, one: Style, two: Style, three: Style
) -> None:
    expected = openai_marks(talk, PLAIN)
    assert openai_marks(talk, one) == expected
    assert gemini_marks(talk, PLAIN) == expected
    assert gemini_marks(talk, two) == expected
    assert gemini_marks(talk, three) == expected


def _edited(step: Step, kind: int) -> Step:
    """The step saying something else."""
    match step:
        case Asked(pieces):
            first = pieces[0]
            other = first + "!" if isinstance(first, str) else Picture(first.data + b"x", first.mime)
            return Asked((other, *pieces[1:]))
        case Answered(text, calls) if calls and kind:
            call = calls[-1]
            other_call = (
                replace(call, name=call.name + "_2") if kind == 1 else Call(call.name, {**call.arguments, "q": "other"})
            )
            if other_call == call:
                other_call = Call(call.name, {**call.arguments, "q": "another"})
            return Answered(text, (*calls[:-1], other_call))
        case Answered(text, calls):
            return Answered(text + "!", calls)
        case Returned(results):
            last = results[-1]
            other_result = Result("~" + last.text, last.is_error) if kind else replace(last, is_error=not last.is_error)
            return Returned((*results[:-1], other_result))


@settings(max_examples=50, deadline=None)
@given(talks(), STYLES, st.data())
def test_an_edit_changes_every_address_after_it_and_none_before(talk: Talk, style: Style, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(talk) - 1))
    other = (*talk[:place], _edited(talk[place], data.draw(st.integers(0, 2))), *talk[place + 1 :])
    before, after = openai_marks(talk, style), gemini_marks(other, style)
    assert before[:place] == after[:place]
    assert set(before[place:]).isdisjoint(after[place:])


@settings(max_examples=25, deadline=None)
@given(talks(steps=5), st.data())
def test_dropping_a_turn_changes_every_address_after_it(talk: Talk, data: st.DataObject) -> None:
    turns = [i for i, step in enumerate(talk) if isinstance(step, Asked)] + [len(talk)]
    which = data.draw(st.integers(0, len(turns) - 2))
    start, end = turns[which], turns[which + 1]
    rest = (*talk[:start], *talk[end:])
    if not rest:
        return
    whole, cut = openai_marks(talk, PLAIN), openai_marks(rest, PLAIN)
    assert cut[:start] == whole[:start]
    assert all(mark != whole[end + i] for i, mark in enumerate(cut[start:]))


@settings(max_examples=25, deadline=None)
@given(talks(steps=5), st.data())
def test_swapping_two_user_messages_changes_every_address_from_the_first(talk: Talk, data: st.DataObject) -> None:
    talk = tuple(Asked((f"{i}.", *step.pieces)) if isinstance(step, Asked) else step for i, step in enumerate(talk))
    asked = [i for i, step in enumerate(talk) if isinstance(step, Asked)]
    one, two = sorted((data.draw(st.sampled_from(asked)), data.draw(st.sampled_from(asked))))
    swapped = list(talk)
    swapped[one], swapped[two] = talk[two], talk[one]
    if one == two:
        return
    before, after = openai_marks(talk, PLAIN), openai_marks(tuple(swapped), PLAIN)
    assert before[:one] == after[:one]
    assert all(x != y for x, y in zip(before[one:], after[one:], strict=True))


@settings(max_examples=20, deadline=None)
@given(talks(), STYLES)
def test_one_message_at_a_time_gives_the_same_addresses_as_all_at_once(talk: Talk, style: Style) -> None:
    chat = openai_chat(as_openai(talk, style)[0])
    chain = Chain(b"t")
    marks = [chain.extend(message) for message in chat.messages]
    assert tuple(marks) == addresses(chat.messages, b"t")
    for length in range(1, len(marks)):
        assert addresses(chat.messages[:length], b"t") == tuple(marks[:length])
    assert chain.address == marks[-1]


@settings(max_examples=20, deadline=None)
@given(talks(), talks(), st.data())
def test_a_copied_chain_goes_its_own_way(talk: Talk, other: Talk, data: st.DataObject) -> None:
    messages = openai_chat(as_openai(talk, PLAIN)[0]).messages
    branch = openai_chat(as_openai(other, PLAIN)[0]).messages
    cut = data.draw(st.integers(0, len(messages)))
    chain = Chain(b"t")
    for message in messages[:cut]:
        chain.extend(message)
    twin = chain.copy()
    for message in branch:
        twin.extend(message)
    assert tuple(chain.extend(message) for message in messages[cut:]) == addresses(messages, b"t")[cut:]
    assert twin.address == addresses((*messages[:cut], *branch), b"t")[-1]


@given(talks(steps=1))
@settings(max_examples=25, deadline=None)
def test_two_tenants_have_nothing_in_common(talk: Talk) -> None:
    messages = openai_chat(as_openai(talk, PLAIN)[0]).messages
    assert set(addresses(messages, b"one")).isdisjoint(addresses(messages, b"two"))
    assert Chain(b"one").address != Chain(b"two").address


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("user", "ab"), ("assistant", "ab")),
        (("user", "ab"), ("system", "ab")),
        (("assistant", "ab"), ("system", "ab")),
    ],
)
def test_who_said_it_matters(one: tuple[Role, str], two: tuple[Role, str]) -> None:
    assert len({addresses([Message(role, (Text(text),))], b"t") for role, text in (one, two)}) == 2


@pytest.mark.parametrize(
    ("one", "two"),
    [(["a", "b"], ["ab"]), (["a", "b"], ["b", "a"]), (["a", ""], ["a", "a"]), (["Aa"], ["A", "a"])],
)
def test_two_users_messages_never_run_together(one: list[str], two: list[str]) -> None:
    def last(texts: list[str]) -> bytes:
        return addresses([Message("user", (Text(text),)) for text in texts], b"t")[-1]

    assert last(one) != last(two)


def test_a_result_that_is_json_may_be_spaced_as_it_likes_even_with_white_space_before_it() -> None:
    def last(content: str) -> bytes:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        return addresses(
            openai_chat(
                [
                    {"role": "user", "content": "go"},
                    {"role": "assistant", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c", "content": content},
                ]
            ).messages,
            b"t",
        )[-1]

    assert last('{"a": 1, "b": [1, 2]}') == last(' {"b":[1,2],"a":1}\n')
    assert last('{"a": 1}') != last('{"a": 2}')
    assert last("{not json") == last(" {not json ")


def test_numbers_in_arguments_keep_their_value_in_the_address() -> None:
    big = "1" + "0" * 25
    assert canonical(f'{{"n": {big}}}') == canonical(f'{{"n":{big}}}')
    assert canonical('{"n": 10000000000000000000000001}') != canonical(f'{{"n":{big}}}')
    assert canonical('{"n": 1e-7}') == canonical('{"n":1e-07}')
    assert canonical("[" * 100_000) == b"[" * 100_000
    assert canonical(" {oops ") == b"{oops"


def test_the_root_is_where_the_first_words_end() -> None:
    system, first, second = Message("system", (Text(""),)), Message("user", (Text("a"),)), Message("assistant", ())
    marks = addresses([system, first, second], b"t")
    assert root(marks, b"t") == marks[1]
    assert root((), b"t") == Chain(b"t").address


def test_system_prompt_and_tools_stand_outside_the_chain_but_in_the_setup() -> None:
    says = {"role": "user", "content": "hi"}
    monday = openai_chat([{"role": "system", "content": "It is Monday."}, says])
    tuesday = openai_chat([{"role": "system", "content": "It is Tuesday."}, says])
    assert addresses(monday.messages, b"t") == addresses(tuesday.messages, b"t")
    assert setup(monday.system, ()) != setup(tuesday.system, ())
    assert setup((), (Tool("f"),)) != setup((), (Tool("g"),))
    assert setup((), (Tool("f"),)) == setup((), (Tool("f"),))
    assert gemini_chat([{"parts": [{"text": "hi"}]}], systemInstruction="x").messages[0].parts == (Text("hi"),)


def test_a_result_that_is_said_twice_counts_once_and_another_answer_to_the_same_call_counts() -> None:
    """Gemini CLI says every tool result again in a chat that it resumes."""
    asked = (
        Message("user", (Text("go"),)),
        Message("assistant", (ToolCall("c1", "f", "{}"), ToolCall("c2", "f", "{}"))),
    )
    one, two = (ToolResult(f"c{number}", (Text("ok"),), "f") for number in (1, 2))
    other = ToolResult("c1", (Text("not ok"),), "f")
    once = addresses((*asked, Message("user", (one, two))), b"t")[-1]
    assert addresses((*asked, Message("user", (one, one, two, one))), b"t")[-1] == once
    assert addresses((*asked, Message("user", (one, two)), Message("user", (two, one))), b"t")[-1] == once
    assert addresses((*asked, Message("user", (one, two, other))), b"t")[-1] != once
    nameless = tuple(ToolResult("", (Text("ok"),), "f") for _ in range(2))
    assert addresses((*asked, Message("user", nameless)), b"t")[-1] == once, "without an id each answers a call"
