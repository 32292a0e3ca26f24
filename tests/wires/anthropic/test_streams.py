"""Claude's answers: the same events however the bytes are cut, streamed or whole; nothing of them lost."""

from __future__ import annotations

import itertools
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.events import (
    Event,
    Failed,
    Finished,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalled,
    Unknown,
    Usage,
)
from app.chat.model import Message
from app.chat.reply import Reply
from app.errors import UpstreamError
from app.wires.anthropic import ANTHROPIC
from app.wires.wire import Stamp, Target
from tests.wires.anthropic.saying import (
    OLD,
    WIRES,
    Json,
    ask,
    block,
    decoded,
    end,
    events_of,
    openai,
    openai_tool,
    said,
    start,
    stream,
    text,
    thought,
    to_claude,
    use,
    user,
)
from tests.wires.talking import new_ids, plain

BIG = '{"n":10000000000000000000000000}'
SEARCH = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "n": 1.0}],
}
ANSWER = stream(
    start(),
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "h"},
        {"type": "thinking_delta", "thinking": "m "},
        {"type": "signature_delta", "signature": "EqSig"},
    ),
    {"type": "ping"},
    *block(1, {"type": "redacted_thinking", "data": "ZGF0YQ=="}),
    *block(2, {"type": "text", "text": ""}, *({"type": "text_delta", "text": t} for t in ("Grüße", " 日本 🎌"))),
    {"type": "something_new", "x": 1},
    *block(
        3,
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"n":1000000000000'},
        {"type": "input_json_delta", "partial_json": "0000000000000}"},
    ),
    *block(4, {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}}),
    *end("tool_use", {"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 7}}),
)
WHOLE: Json = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "m1",
    "content": [
        thought("hm "),
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        text("Grüße 日本 🎌"),
        use("toolu_1", n=10**25),
        use("toolu_2", "g"),
    ],
    "stop_reason": "tool_use",
    "usage": {
        "input_tokens": 5,
        "cache_read_input_tokens": 90,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 7},
    },
}


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def reply_of(events: list[Event]) -> Reply:
    reply = Reply()
    for event in events:
        reply.add(event)
    return reply


def sealed_of(data: bytes, *, streamed: bool = True) -> bytes:
    reader = ANTHROPIC.reader(decoded("openai", openai()), streamed, new_ids())
    reader.feed(data)
    reader.close()
    return reader.sealed()


def test_a_stream_says_everything_once_and_in_order() -> None:
    events = events_of("anthropic", [ANSWER])
    assert [type(e) for e in events if not isinstance(e, Unknown)] == [
        *(Started, Usage, ThinkingDelta, ThinkingDelta, TextDelta, TextDelta),
        *(ToolCallDelta, ToolCallDelta, ToolCallDelta, ToolCalled, ToolCallDelta, ToolCalled, Usage, Finished),
    ]
    reply = reply_of(events)
    assert (reply.text, reply.thinking) == ("Grüße 日本 🎌", "hm ")
    assert [(c.id, c.name, c.arguments) for c in reply.calls] == [("toolu_1", "f", BIG), ("toolu_2", "g", "{}")]
    assert (reply.id, reply.model) == ("msg_01", "m1")
    assert reply.finished is not None
    assert reply.finished.reason == "tool_calls"


def test_usage_counts_what_was_cached_and_the_last_word_stands() -> None:
    usage = [event for event in events_of("anthropic", [ANSWER]) if isinstance(event, Usage)]
    assert (usage[0].input, usage[0].cached) == (95, 90)
    assert (usage[1].input, usage[1].cached, usage[1].output, usage[1].reasoning) == (95, 90, 20, 7)
    again = stream(
        start({"input_tokens": 1, "output_tokens": 1}),
        *end("end_turn", {"input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 3}),
    )
    last = [event for event in events_of("anthropic", [again]) if isinstance(event, Usage)][-1]
    assert (last.input, last.cache_written, last.output) == (15, 5, 3)


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(1, len(ANSWER) - 1), max_size=8))
def test_a_stream_cut_anywhere_gives_the_same_events(cuts: list[int]) -> None:
    marks = [0, *sorted(set(cuts)), len(ANSWER)]
    pieces = [ANSWER[a:b] for a, b in itertools.pairwise(marks)]
    assert plain(events_of("anthropic", pieces)) == plain(events_of("anthropic", [ANSWER]))


def test_a_stream_fed_one_byte_at_a_time_gives_the_same_events() -> None:
    assert plain(events_of("anthropic", [bytes([b]) for b in ANSWER])) == plain(events_of("anthropic", [ANSWER]))
    crlf = ANSWER.replace(b"\n", b"\r\n")
    assert plain(events_of("anthropic", [bytes([b]) for b in crlf])) == plain(events_of("anthropic", [ANSWER]))


def test_an_answer_in_one_piece_says_the_same_as_the_stream() -> None:
    whole = reply_of(events_of("anthropic", [json.dumps(WHOLE).encode()], streamed=False))
    streamed = reply_of(events_of("anthropic", [ANSWER]))
    assert whole.message == streamed.message
    assert plain([whole.usage]) == plain([streamed.usage])  # pyright: ignore[reportArgumentType]  # None would differ too (both have one)
    assert plain([whole.finished]) == plain([streamed.finished])  # pyright: ignore[reportArgumentType]


# ---- what goes back to Claude


def test_the_sealed_blocks_are_what_claude_said_streamed_or_whole() -> None:
    assert json.loads(sealed_of(ANSWER)) == WHOLE["content"]
    spaced = json.dumps(WHOLE, indent=1, ensure_ascii=False).encode()
    kept = sealed_of(spaced, streamed=False)
    assert json.loads(kept) == WHOLE["content"]


def test_a_whole_answers_blocks_are_kept_byte_for_byte() -> None:
    first = b'{ "type":"thinking", "signature" : "Eq", "thinking":"caf\\u00e9" }'
    body = b'{"id":"m","type":"message","content":[' + first + b'],"stop_reason":"end_turn","usage":{}}'
    assert sealed_of(body, streamed=False) == b"[" + first + b"]"


def test_an_answer_of_plain_words_and_calls_needs_no_seal() -> None:
    data = stream(
        start(), *block(0, text(""), {"type": "text_delta", "text": "hi"}), *block(1, use("toolu_1")), *end("tool_use")
    )
    assert sealed_of(data) == b""


def test_thinking_without_a_signature_is_not_sealed() -> None:
    unsigned = {"type": "thinking", "thinking": "", "signature": ""}
    data = stream(start(), *block(0, unsigned, {"type": "thinking_delta", "thinking": "x"}), *end("end_turn"))
    assert json.loads(sealed_of(data) or b"[]") == []


def test_a_broken_answer_seals_nothing() -> None:
    assert sealed_of(ANSWER[: ANSWER.index(b"event: message_delta")]) == b""


def test_a_turn_goes_round_through_a_client_that_knows_nothing_of_thinking() -> None:
    """Claude → an OpenAI client → Claude: the blocks that Claude gets back are its own, in one message."""
    chat = decoded("openai", openai(user("go"), tools=[openai_tool("f"), openai_tool("g")]))
    reader = ANTHROPIC.reader(chat, True, new_ids())
    events = [*reader.feed(ANSWER), *reader.close()]
    writer = WIRES["openai"].writer(chat, Stamp("1", 0), False)
    for event in events:
        writer.write(event)
    message: Any = json.loads(writer.close())["choices"][0]["message"]
    message.pop("reasoning_content")
    answers = [{"role": "tool", "tool_call_id": call["id"], "content": "r"} for call in message["tool_calls"]]
    again = decoded("openai", openai(user("go"), message, *answers, tools=[openai_tool("f"), openai_tool("g")]))
    back = ANTHROPIC.restore(again.messages[1], reader.sealed(), in_loop=True)
    body, _ = to_claude(msgspec.structs.replace(again, messages=(again.messages[0], back, *again.messages[2:])))
    assert body["messages"][1]["content"] == WHOLE["content"]
    assert [r["tool_use_id"] for r in body["messages"][2]["content"]] == ["toolu_1", "toolu_2"]


# ---- ends


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "paused"),
        ("a_new_one", "stop"),
    ],
)
def test_every_reason_to_stop_has_its_neutral_name(reason: str, expected: str) -> None:
    last = events_of("anthropic", [stream(start(), *end(reason))])[-1]
    assert isinstance(last, Finished)
    assert last.reason == expected


def test_a_stream_without_its_end_is_broken_and_never_a_short_answer() -> None:
    stop = ANSWER.index(b'event: message_stop\ndata: {"type": "message_stop"')
    for cut in range(0, stop, 11):
        events = events_of("anthropic", [ANSWER[:cut]])
        assert isinstance(events[-1], Failed)
        assert not any(isinstance(event, Finished) for event in events)


def test_nothing_is_said_after_the_end() -> None:
    events = events_of("anthropic", [ANSWER + ANSWER])
    assert sum(isinstance(event, Finished | Failed) for event in events) == 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("overloaded_error", "overloaded"), ("api_error", "upstream_failed"), ("rate_limit_error", "rate_limited")],
)
def test_an_error_event_fails_the_answer_in_the_providers_words(kind: str, expected: str) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}
    events = events_of("anthropic", [stream(start(), error, *end("end_turn"))])
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, UpstreamError)
    assert (events[-1].error.kind, events[-1].error.message) == (expected, "Overloaded")
    assert events[-1].error.wire == "anthropic"


@pytest.mark.parametrize(
    "body", [b"nonsense", b"{}", b'{"content":[]}', b'{"content":"x","stop_reason":"end_turn"}', b"[]"]
)
def test_an_answer_that_is_no_message_is_a_failure(body: bytes) -> None:
    (event,) = events_of("anthropic", [body], streamed=False)
    assert isinstance(event, Failed)


def test_odd_chunks_do_not_end_a_stream_and_broken_ones_fail_it() -> None:
    odd = stream(start(), {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}}, *end("end_turn"))
    assert isinstance(events_of("anthropic", [odd])[-1], Finished)
    broken = stream(start()) + b"event: x\ndata: {not json\n\n"
    assert isinstance(events_of("anthropic", [broken])[-1], Failed)


# ---- pauses


def test_a_paused_answer_goes_on_from_where_it_stopped_and_is_sealed_as_one_turn() -> None:
    searched = [
        *block(0, text(""), {"type": "text_delta", "text": "Let me see."}),
        *block(
            1,
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"query":'},
            {"type": "input_json_delta", "partial_json": '"x"}'},
        ),
    ]
    chat = decoded("anthropic", ask(user("go"), tools=[{"type": "web_search_20260318", "name": "web_search"}]))
    reader = ANTHROPIC.reader(chat, True, new_ids())
    events = reader.feed(stream(start(), *searched, *end("pause_turn")))
    assert kinds(events)[-1] == "Finished"
    assert "ToolCalled" not in kinds(events), "a server's tool is not the client's to call"
    onward = reader.onward(chat)
    assert onward is not None
    body, outbound = to_claude(onward, "claude-opus-5-5")
    use_ = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    assert body["messages"] == [user("go"), said("Let me see.", use_)]
    assert "messages[-1]" not in {loss.field for loss in outbound.losses}
    second = ANTHROPIC.reader(onward, True, new_ids())
    second.feed(stream(start(), *block(0, SEARCH), *block(1, text("Found.")), *end("end_turn")))
    assert json.loads(second.sealed()) == [text("Let me see."), use_, SEARCH, text("Found.")]
    assert second.onward(onward) is None


def test_an_answer_that_ended_is_not_gone_on_with() -> None:
    chat = decoded("openai", openai())
    reader = ANTHROPIC.reader(chat, True, new_ids())
    reader.feed(ANSWER)
    assert reader.onward(chat) is None
    assert reader.handle() == ""


# ---- names and ids


def test_renamed_tools_come_back_under_the_clients_name() -> None:
    chat = decoded("openai", openai(tools=[openai_tool("my.tool")]))
    renamed = to_claude(chat)[0]["tools"][0]["name"]
    data = stream(start(), *block(0, use("toolu_1", renamed)), *end("tool_use"))
    (call,) = reply_of(events_of("anthropic", [data], chat=chat)).calls
    assert call.name == "my.tool"


def test_free_text_tools_get_their_words_back() -> None:
    custom = {"type": "custom", "custom": {"name": "patch", "description": "d"}}
    chat = decoded("openai", openai(tools=[custom]))
    body, outbound = to_claude(chat)
    assert body["tools"][0]["input_schema"]["required"] == ["input"]
    assert [loss.field for loss in outbound.losses] == ["tools.patch"]
    spelled = {"type": "input_json_delta", "partial_json": '{"input": "*** Begin\\n"}'}
    data = stream(start(), *block(0, use("toolu_1", "patch"), spelled), *end("tool_use"))
    events = events_of("anthropic", [data], chat=chat)
    (call,) = reply_of(events).calls
    assert (call.kind, call.arguments) == ("custom", "*** Begin\n")
    assert not any(isinstance(event, ToolCallDelta) for event in events)


def test_a_call_without_a_usable_id_gets_one_of_ours_and_its_result_still_finds_it() -> None:
    data = stream(start(), *block(0, use("", "f")), *block(1, use("bad id", "f")), *end("tool_use"))
    reader = ANTHROPIC.reader(decoded("openai", openai(tools=[openai_tool("f")])), True, new_ids())
    calls = reply_of(reader.feed(data)).calls
    assert len({call.id for call in calls}) == 2
    assert all(call.id.startswith("toolu_") for call in calls)
    assert reader.sealed(), "the provider's own ids are kept"


def test_arguments_cut_off_by_the_length_limit_do_not_break_the_seal() -> None:
    cut = {"type": "input_json_delta", "partial_json": '{"a":'}
    data = stream(start(), *block(0, thought("x")), *block(1, use("toolu_1"), cut), *end("max_tokens"))
    assert json.loads(sealed_of(data))[1]["input"] == {"_raw": '{"a":'}
    assert reply_of(events_of("anthropic", [data])).calls[0].arguments == '{"a":'


def test_a_sealed_turn_stands_for_the_clients_message_whatever_it_said_before() -> None:
    message = ANTHROPIC.restore(Message("assistant", ()), json.dumps([thought("x"), text("y")]).encode(), in_loop=False)
    chat = decoded("openai", openai(user("a"), {"role": "assistant", "content": "y"}, user("b")))
    sent = ANTHROPIC.encode(
        msgspec.structs.replace(chat, messages=(chat.messages[0], message, chat.messages[2])), Target("a", OLD)
    )
    assert json.loads(sent.body)["messages"][1] == said(thought("x"), "y")


def test_a_name_in_other_letter_case_is_the_clients_tool_and_goes_back_as_claude_wrote_it() -> None:
    chat = decoded("openai", openai(tools=[openai_tool("readFile"), openai_tool("my.Tool")]))
    renamed = to_claude(chat)[0]["tools"][1]["name"]
    data = stream(
        start(), *block(0, use("toolu_1", "ReadFile")), *block(1, use("toolu_2", renamed.upper())), *end("tool_use")
    )
    reader = ANTHROPIC.reader(chat, True, new_ids())
    calls = reply_of(reader.feed(data)).calls
    assert [call.name for call in calls] == ["readFile", "my.Tool"]
    assert json.loads(reader.sealed())[0]["name"] == "ReadFile"


def test_fields_of_a_call_that_no_client_keeps_are_sealed() -> None:
    data = stream(start(), *block(0, use("toolu_1") | {"caller": {"type": "code_execution"}}), *end("tool_use"))
    assert json.loads(sealed_of(data))[0]["caller"] == {"type": "code_execution"}
