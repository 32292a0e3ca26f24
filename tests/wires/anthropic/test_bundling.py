"""One assistant turn is one message, whatever the client's format made of it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.model import Chat, Media, Message, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.anthropic import ANTHROPIC
from app.wires.wire import Target
from tests.wires.anthropic.saying import (
    MIDDLE,
    NEWEST,
    OLD,
    Json,
    ask,
    decoded,
    fields_lost,
    openai,
    openai_calls,
    openai_tool,
    result,
    said,
    text,
    thought,
    to_claude,
    tool,
    touched,
    use,
    user,
)

REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
SEALED: list[Json] = [thought("first"), REDACTED, text("I look."), use("toolu_A", b=1), use("toolu_B")]


def raw(*blocks: Json) -> bytes:
    return json.dumps(blocks, indent=1).encode()


def two_calls(**more: Any) -> Json:
    """A turn that an OpenAI client cut in two, and its results in the wrong order."""
    return openai(
        user("go"),
        {"role": "assistant", "content": "I look."},
        openai_calls(("toolu_A", "f", '{"b": 1}'), ("toolu_B", "f", "{}")),
        {"role": "tool", "tool_call_id": "toolu_B", "content": "second"},
        {"role": "tool", "tool_call_id": "toolu_A", "content": "first"},
        tools=[openai_tool("f")],
        **more,
    )


def restored(chat: Chat, sealed: bytes) -> Chat:
    """The chat as the engine hands it over: the turn's messages as one, with what the provider said in it."""
    turn = [message for message in chat.messages if message.role == "assistant"]
    whole = Message("assistant", tuple(part for message in turn for part in message.parts))
    back = ANTHROPIC.restore(whole, sealed, in_loop=True)
    first = chat.messages.index(turn[0])
    messages = (*chat.messages[:first], back, *chat.messages[first + len(turn) :])
    return msgspec.structs.replace(chat, messages=messages)


def test_one_turn_in_several_messages_becomes_one_and_its_results_one_in_the_order_of_the_calls() -> None:
    body, outbound = to_claude(decoded("openai", two_calls()))
    assert body["messages"] == [
        user("go"),
        said("I look.", use("toolu_A", b=1), use("toolu_B")),
        user([result("toolu_A", "first"), result("toolu_B", "second")]),
    ]
    assert outbound.losses == ()


def test_what_claude_said_goes_back_byte_for_byte_in_arrival_order() -> None:
    chat = restored(decoded("openai", two_calls()), raw(*SEALED))
    body, outbound = to_claude(chat)
    assert body["messages"][1]["content"] == SEALED
    for block in SEALED:
        indented = json.dumps([block], indent=1)[3:-2].encode()
        assert indented in outbound.body
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["toolu_A", "toolu_B"]


def test_results_find_claudes_own_ids_where_the_client_knows_others() -> None:
    body = json.loads(json.dumps(two_calls()).replace("toolu_A", "call_1").replace("toolu_B", "call_2"))
    sent, _ = to_claude(restored(decoded("openai", body), raw(*SEALED)))
    answers = sent["messages"][2]["content"]
    assert [(a["tool_use_id"], a["content"]) for a in answers] == [("toolu_A", "first"), ("toolu_B", "second")]


def test_an_anthropic_clients_own_thinking_stands_and_is_not_put_back_twice() -> None:
    chat = decoded("anthropic", ask(user("go"), said(*SEALED), user([result("toolu_A"), result("toolu_B")])))
    assert ANTHROPIC.restore(chat.messages[1], raw(*SEALED), in_loop=True) is chat.messages[1]


def test_an_anthropic_client_that_dropped_thinking_gets_it_back_only_inside_the_running_loop() -> None:
    chat = decoded("anthropic", ask(user("go"), said("I look.", use("toolu_A", b=1), use("toolu_B"))))
    message = chat.messages[1]
    assert ANTHROPIC.restore(message, raw(*SEALED), in_loop=False) is message
    assert ANTHROPIC.restore(message, raw(*SEALED), in_loop=True) is not message


def test_an_anthropic_turn_that_was_cut_in_two_is_joined_block_by_block() -> None:
    chat = decoded(
        "anthropic",
        ask(user("go"), said(thought("a")), said("b", use("toolu_A")), user([result("toolu_A")])),
    )
    assert to_claude(touched(chat))[0]["messages"][1] == said(thought("a"), "b", use("toolu_A"))


def test_consecutive_user_messages_are_joined() -> None:
    body, _ = to_claude(
        decoded("openai", openai(user("a"), user("b"), {"role": "assistant", "content": "c"}, user("d")))
    )
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][0]["content"] == [text("a"), text("b")]


def test_empty_text_is_left_out_and_an_empty_message_with_it() -> None:
    body, _ = to_claude(
        decoded("openai", openai(user("a"), {"role": "assistant", "content": " \n"}, user(""), user("b")))
    )
    assert body["messages"] == [user([text("a"), text("b")])]


def test_the_user_speaks_first() -> None:
    body, outbound = to_claude(decoded("openai", openai({"role": "assistant", "content": "hello"}, user("hi"))))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert fields_lost(outbound) == ["messages[0]"]


def test_an_answer_is_prefilled_only_where_the_model_takes_it() -> None:
    chat = decoded("openai", openai(user("hi"), {"role": "assistant", "content": "{  "}))
    assert to_claude(chat, OLD)[0]["messages"][-1] == {"role": "assistant", "content": "{"}
    for model in (MIDDLE, NEWEST):
        body, outbound = to_claude(chat, model)
        assert body["messages"][-1]["role"] == "user"
        assert "messages[-1]" in fields_lost(outbound)
    thinking = decoded("openai", openai(*[user("hi"), {"role": "assistant", "content": "{"}], reasoning_effort="low"))
    assert to_claude(thinking, OLD)[0]["messages"][-1]["role"] == "user", "nor while it thinks"


def test_ids_are_made_legal_the_same_way_every_time_and_never_twice() -> None:
    body = openai(
        user("go"),
        openai_calls(("call:1", "f", "{}"), ("call_0", "f", "{}")),
        {"role": "tool", "tool_call_id": "call:1", "content": "a"},
        {"role": "tool", "tool_call_id": "call_0", "content": "b"},
        openai_calls(("call_0", "f", "{}")),
        {"role": "tool", "tool_call_id": "call_0", "content": "c"},
        tools=[openai_tool("f")],
    )
    sent, _ = to_claude(decoded("openai", body))
    ids = [block["id"] for m in sent["messages"] if m["role"] == "assistant" for block in m["content"]]
    answers = [(b["tool_use_id"], b["content"]) for m in sent["messages"][2::2] for b in m["content"]]
    assert len(set(ids)) == 3
    assert all(c.isalnum() or c in "_-" for identity in ids for c in identity)
    assert answers == list(zip(ids, "abc", strict=True))
    assert to_claude(decoded("openai", body))[0] == sent


def test_calls_and_results_of_the_oldest_form_without_ids_find_each_other() -> None:
    body = openai(
        user("go"),
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    )
    sent, _ = to_claude(decoded("openai", body))
    assert sent["messages"][2]["content"][0]["tool_use_id"] == sent["messages"][1]["content"][0]["id"]


def test_a_call_without_a_result_and_a_result_without_a_call_are_never_sent_as_such() -> None:
    body, outbound = to_claude(
        decoded(
            "openai",
            openai(
                user("go"),
                openai_calls(("c1", "f", "{}")),
                user("never mind"),
                {"role": "assistant", "content": "ok"},
                {"role": "tool", "tool_call_id": "gone", "content": "late"},
            ),
        )
    )
    kinds = [[b["type"] for b in m["content"]] for m in body["messages"] if isinstance(m["content"], list)]
    assert kinds == [["tool_use"], ["tool_result", "text"]]
    assert body["messages"][-1] == user("late")
    assert len(outbound.losses) == 2


def test_words_before_a_result_in_its_message_are_moved_behind_it() -> None:
    chat = decoded("anthropic", ask(user("go"), said(use("toolu_A")), user([text("see"), result("toolu_A")])))
    assert to_claude(touched(chat))[0]["messages"][-1]["content"] == [result("toolu_A"), text("see")]


def test_pictures_and_files_are_sent_in_the_forms_that_claude_takes() -> None:
    jpeg = "_9j_4AAQ"  # URL-safe base64, and its declared type is wrong
    parts = (
        Media("image", "image/png", jpeg),
        Media("image", url="https://x/y.png"),
        Media("file", "application/pdf", "JVBERi0=", name="a.pdf"),
        Media("file", "text/csv", "YSxi", name="a.csv"),
    )
    body, _ = to_claude(Chat("m", (Message("user", parts),)))
    sources = [block["source"] for block in body["messages"][0]["content"]]
    assert sources == [
        {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"},
        {"type": "url", "url": "https://x/y.png"},
        {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
        {"type": "text", "media_type": "text/plain", "data": "a,b"},
    ]


@pytest.mark.parametrize(
    "part",
    [
        Media("audio", "audio/wav", "UklGRg=="),
        Media("video", "video/mp4", "AAAA"),
        Media("image", "image/heic", "AAAA"),
        Media("image", url="gs://bucket/x"),
        Media("file", file_id="files/1"),
        Media("file", "application/zip", "//79"),
    ],
)
def test_media_that_claude_takes_in_no_form_are_refused_not_dropped(part: Media) -> None:
    with pytest.raises(ClientError):
        to_claude(Chat("m", (Message("user", (Text("see"), part)),)))


def test_a_tool_that_failed_without_a_word_still_says_something() -> None:
    messages = (
        Message("user", (Text("go"),)),
        Message("assistant", (ToolCall("c1", "f", "{}"), ToolCall("c2", "f", "{}"))),
        Message("user", (ToolResult("c1", (), is_error=True), ToolResult("c2", (Text(""),)))),
    )
    failed, empty = to_claude(Chat("m", messages))[0]["messages"][2]["content"]
    assert failed["content"]
    assert failed["is_error"]
    assert "content" not in empty


# ---- properties

PARTS = st.one_of(
    st.sampled_from(["", " ", "words", "mehr Wörter"]).map(Text),
    st.just(Thinking("unsigned")),
    st.just(Thinking("foreign", "c2ln")),
)
CALLS = st.lists(st.sampled_from(["a", "b:c", "d", ""]), max_size=3)


@st.composite
def talks(draw: st.DrawFn) -> tuple[Message, ...]:
    """Chats in any order: turns cut in pieces, calls with and without results, later system texts."""
    messages: list[Message] = []
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["user", "assistant", "system", "tools"]))
        if kind == "assistant":
            calls = tuple(ToolCall(name and f"call {name}", "f.g", "{}") for name in draw(CALLS))
            messages.append(Message("assistant", (*draw(st.lists(PARTS, max_size=3)), *calls)))
        elif kind == "tools":
            results = tuple(ToolResult(name and f"call {name}", (Text("r"),), "f.g") for name in draw(CALLS))
            messages.append(Message("user", results))
        else:
            role = "system" if kind == "system" else "user"
            messages.append(Message(role, (Text(draw(st.sampled_from(["", "hello"]))),)))
    return tuple(messages)


def blocks_of(message: Json) -> list[Json]:
    content = message["content"]
    return [text(content)] if isinstance(content, str) else content


def check(messages: list[Json], *, inside: bool, prefill: bool) -> None:
    """Anthropic's placement rules."""
    roles = [m["role"] for m in messages]
    assert roles[0] == "user"
    assert prefill or roles[-1] != "assistant"
    assert all(a != b or a == "system" for a, b in pairwise(roles))
    assert inside or "system" not in roles
    assert not any((a, b) in (("assistant", "system"), ("system", "user")) for a, b in pairwise(roles))
    ids: list[str] = []
    for before, message in pairwise([user([]), *messages]):
        blocks = blocks_of(message)
        assert blocks
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        assert not any(block["type"] == "thinking" for block in blocks)
        ids.extend(block["id"] for block in blocks if block["type"] == "tool_use")
        asked = [b["id"] for b in blocks_of(before) if b["type"] == "tool_use"]
        kinds = [block["type"] for block in blocks]
        assert [b["tool_use_id"] for b in blocks[: len(asked)] if b["type"] == "tool_result"] == asked
        assert "tool_result" not in kinds[len(asked) :]
    assert len(set(ids)) == len(ids)


def _flat(message: Message) -> list[Any]:
    return [inner for part in message.parts for inner in (part.content if isinstance(part, ToolResult) else (part,))]


@settings(max_examples=150, deadline=None)
@given(messages=talks(), model=st.sampled_from([OLD, MIDDLE, NEWEST]))
def test_whatever_the_client_sends_anthropics_placement_rules_hold(messages: tuple[Message, ...], model: str) -> None:
    speaking = any(isinstance(part, ToolCall) for message in messages for part in message.parts)
    heard = any(part.text.strip() for m in messages for part in _flat(m) if isinstance(part, Text))
    if not (speaking or heard):
        with pytest.raises(ClientError, match="holds no text"):
            ANTHROPIC.encode(Chat("m", messages), Target("a", model))
        return
    outbound = ANTHROPIC.encode(Chat("m", messages), Target("a", model))
    check(json.loads(outbound.body)["messages"], inside=model != OLD, prefill=model == OLD)
    assert len(set(outbound.losses)) == len(outbound.losses)


@settings(max_examples=100, deadline=None)
@given(messages=talks())
def test_a_growing_chat_only_grows_at_its_end(messages: tuple[Message, ...]) -> None:
    """A whole exchange more leaves every block before it as it was: the prompt cache keeps hitting."""
    more = (Message("user", (Text("q"),)), Message("assistant", (Text("a"),)), Message("user", (Text("q2"),)))
    short, long = (json.loads(ANTHROPIC.encode(Chat("m", (*messages, *tail)), Target("a", OLD)).body)["messages"]
                   for tail in (more[:1], more))  # fmt: skip
    assert long[: len(short)] == short


def test_an_untouched_anthropic_history_passes_through_the_bundle_as_it_is() -> None:
    body = ask(
        user("go"), said(*SEALED), user([result("toolu_A"), result("toolu_B")]), said("x"), user("y"), tools=[tool()]
    )
    chat = decoded("anthropic", json.dumps(body, indent=2).encode())
    sent = ANTHROPIC.encode(touched(chat), Target("a", OLD))
    assert json.loads(sent.body) == body
