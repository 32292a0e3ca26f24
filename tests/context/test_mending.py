"""Calls and results that lost each other: paired again, with a word about it; a chat in order is left alone."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.model import Chat, Message, Text, ToolCall, ToolResult
from app.context.known import Known
from app.context.mending import INTERRUPTED, mend
from app.context.plan import Draft
from app.context.policy import Policy
from tests.context.pairing import check_gemini, check_openai, check_signatures
from tests.wires.talking import OLDER, TARGETS, WIRES, decoded

ORPHAN = "[Result, whose call is no longer in this conversation]\n"


def _chat(story: str) -> Chat:
    """A story: `u` user words, `a` assistant words, `+x` calls x (several: `+x,y`), `=x` the result of x."""
    messages: list[Message] = []
    for number, step in enumerate(story.split()):
        kind, rest = step[0], step[1:]
        match kind:
            case "u":
                messages.append(Message("user", (Text(f"words {number}"),)))
            case "a":
                messages.append(Message("assistant", (Text(f"answer {number}"),)))
            case "+":
                messages.append(
                    Message("assistant", tuple(ToolCall(name, f"f_{name}", "{}") for name in rest.split(",")))
                )
            case "=":
                messages.append(
                    Message("user", tuple(ToolResult(name, (Text(f"r{number}"),)) for name in rest.split(",")))
                )
            case _:
                raise AssertionError(step)
    return Chat("m", tuple(messages))


def _told(chat: Chat) -> str:
    """The chat as such a story; results that were made up end in !."""
    steps: list[str] = []
    for message in chat.messages:
        if message.calls:
            steps.append("+" + ",".join(call.id for call in message.calls))
        elif message.results:
            steps.append("=" + ",".join(r.call_id + ("!" if r.is_error else "") for r in message.results))
            assert len(message.results) == len(message.parts)
        else:
            steps.append("u" if message.role == "user" else "a")
    return " ".join(steps)


def _mended(chat: Chat) -> Draft:
    return mend(Draft(chat), Known(), Policy())


@pytest.mark.parametrize(
    ("story", "becomes", "losses"),
    [
        pytest.param("u +x u", "u +x =x! u", 1, id="a call without a result"),
        pytest.param("u +x,y =x u", "u +x,y =x =y! u", 1, id="one of two parallel results is missing"),
        pytest.param("u +x,y =y,x u", "u +x,y =y,x u", 0, id="parallel results in any order"),
        pytest.param("u +x", "u +x =x!", 1, id="a call at the very end"),
        pytest.param("u +x a", "u +x =x!", 2, id="a call, then more words of the same turn"),
        pytest.param("u +x u =x a", "u +x =x u a", 1, id="a result that comes late"),
        pytest.param("u +x u a u =x", "u +x =x u a u", 1, id="a result that comes very late"),
        pytest.param("u =x a", "u u a", 1, id="a result without a call"),
        pytest.param("u +x =x =x u", "u +x =x u u", 1, id="a second result of the same call that says something else"),
        pytest.param("u +x =x a u +x =x", "u +x =x a u +x =x", 0, id="an id used again in a later turn"),
        pytest.param("u +x u +x =x", "u +x =x! u +x =x", 1, id="a late result belongs to the nearest call of its id"),
        pytest.param("u +x =x,z u", "u +x =x u u", 1, id="an orphan among results"),
        pytest.param("=x", "u", 1, id="nothing but an orphan"),
        pytest.param("u +x +y =x =y u", "u +x,y =x =y u", 1, id="one turn's calls in two messages"),
        pytest.param("u a", "u a", 0, id="no tools at all"),
    ],
)
def test_each_disorder_has_its_mending(story: str, becomes: str, losses: int) -> None:
    draft = _mended(_chat(story))
    assert _told(draft.chat) == becomes
    assert len(draft.losses) == losses
    if losses:
        assert draft.decisions[-1].step == "mend"
        assert draft.decisions[-1].applied == str(losses)
        assert draft.decisions[-1].reason.endswith(".")


@pytest.mark.parametrize("story", ["u a u", "u +x =x a", "u a +x =x", "u +x,y =y,x a u +x =x"])
def test_a_chat_in_order_keeps_its_very_messages(story: str) -> None:
    chat = _chat(story)
    draft = _mended(chat)
    assert draft.chat is chat
    assert draft.decisions == ()


def test_messages_around_a_mended_place_stay_the_very_same_objects() -> None:
    chat = _chat("u +x u a u")
    mended = _mended(chat).chat
    assert [m for m in mended.messages if m in chat.messages] == list(chat.messages)
    assert all(any(m is old for m in mended.messages) for old in chat.messages)


def test_an_empty_message_behind_calls_leaves_the_calls_as_the_client_wrote_them() -> None:
    chat = _chat("u +x =x")
    empty = Message("assistant", (Text(""),))
    mended = _mended(Chat("m", (*chat.messages[:2], empty, chat.messages[2]))).chat
    assert mended.messages == chat.messages
    assert mended.messages[1] is chat.messages[1]


def test_words_are_never_lost() -> None:
    said = (ToolResult("x", (Text("42"),), "f"), Text("and a question"))
    mended = _mended(Chat("m", (Message("user", said),))).chat
    texts = [part.text for message in mended.messages for part in message.parts if isinstance(part, Text)]
    assert texts == ["and a question", "[Result of f, whose call is no longer in this conversation]\n42"] or texts[
        ::-1
    ] == [
        "and a question",
        "[Result of f, whose call is no longer in this conversation]\n42",
    ]


def test_a_result_that_a_client_says_twice_is_sent_once() -> None:
    chat = _chat("u +x,y =x,y a u")
    (result, other), behind = chat.messages[2].parts, chat.messages[3:]
    doubled = chat.messages[2].edited((result, result, other, result))
    draft = _mended(Chat("m", (*chat.messages[:2], doubled, *behind)))
    assert draft.chat.messages == chat.messages
    assert {loss.reason for loss in draft.losses} == {"A tool result that was said twice was sent once."}


def test_a_made_up_result_says_that_it_is_one() -> None:
    result = _mended(_chat("u +x")).chat.messages[-1].results[0]
    assert (result.text, result.is_error, result.name) == (INTERRUPTED, True, "f_x")


def test_gemini_calls_without_ids_are_paired_by_name_and_order() -> None:
    call: dict[str, Any] = {"functionCall": {"name": "f"}}
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [call, call]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}}]},
        ]
    }
    chat = _mended(decoded("gemini", body)).chat
    contents = json.loads(WIRES["gemini"].encode(chat, TARGETS["gemini"]).body)["contents"]
    check_gemini(contents)
    assert contents[-1]["parts"][1]["functionResponse"]["response"] == {"error": INTERRUPTED}
    assert "id" not in contents[-1]["parts"][1]["functionResponse"], "Gemini gave no id: none is made up for it"


STEPS = st.lists(
    st.sampled_from(("u", "a", "+x", "+y", "+x,y", "+z", "=x", "=y", "=z", "=x,y", "=y,x", "=x,x")),
    min_size=1,
    max_size=9,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_whatever_a_client_sends_both_providers_accept_the_mended_chat(steps: list[str]) -> None:
    chat = _mended(_chat(" ".join(steps))).chat
    check_openai(json.loads(WIRES["openai"].encode(chat, TARGETS["openai"]).body)["messages"])
    for target in (TARGETS["gemini"], OLDER):
        contents = json.loads(WIRES["gemini"].encode(chat, target).body)["contents"]
        check_gemini(contents)
        if target is not OLDER:
            check_signatures(contents)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.sampled_from(("openai", "gemini")))
def test_a_mended_chat_in_a_clients_own_words_is_accepted_too(steps: list[str], client: str) -> None:
    """The same, with messages that carry what the client wrote, some of which go out as they are."""
    neutral = _chat(" ".join(steps))
    body = (
        json.loads(WIRES[client].encode(neutral, TARGETS[client]).body)
        if client == "openai"
        else {"contents": _as_gemini(neutral)}
    )
    chat = _mended(decoded(client, body)).chat
    for upstream in WIRES:
        sent = json.loads(WIRES[upstream].encode(chat, TARGETS[upstream]).body)
        if upstream == "openai":
            check_openai(sent["messages"])
        elif chat.messages is not getattr(getattr(chat.native, "body", None), "messages", None):
            check_gemini(sent["contents"])


def _as_gemini(chat: Chat) -> list[dict[str, Any]]:
    """The messages as a Gemini client that keeps ids would write them, disorder and all."""
    contents: list[dict[str, Any]] = []
    for message in chat.messages:
        parts: list[dict[str, Any]] = []
        for part in message.parts:
            match part:
                case Text(text=text):
                    parts.append({"text": text})
                case ToolCall():
                    parts.append({"functionCall": {"id": part.id, "name": part.name, "args": {}}})
                case ToolResult():
                    name = f"f_{part.call_id}"
                    parts.append(
                        {"functionResponse": {"id": part.call_id, "name": name, "response": {"output": part.text}}}
                    )
                case _:
                    raise AssertionError(part)
        contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
    return contents


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_mending_twice_changes_nothing_more(steps: list[str]) -> None:
    once = _mended(_chat(" ".join(steps))).chat
    again = _mended(once)
    assert again.chat is once


def test_mending_reads_nothing_but_the_chat() -> None:
    chat = _chat("u +x")
    other = mend(Draft(chat), Known(now=99, memory={"a": 1}), msgspec.structs.replace(Policy(), keep_recent=0))
    assert other.chat == _mended(chat).chat
