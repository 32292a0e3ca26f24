"""What an Anthropic client gets: the full ceremony of a stream, whichever provider answered, and whole messages."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.events import (
    Event,
    Finished,
    FinishReason,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalled,
    Usage,
)
from app.chat.model import ToolCall
from app.errors import ClientError, UpstreamError
from app.wires.anthropic import ANTHROPIC
from app.wires.anthropic.names import UNSIGNED
from tests.wires.anthropic.saying import (
    Json,
    ask,
    block,
    decoded,
    end,
    events_of,
    frames,
    start,
    stream,
    text,
    use,
    written,
)
from tests.wires.talking import STAMP, gemini_chunk, openai_chunk, plain, sse

CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}
OTHER = {"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}}
FROM_OPENAI = sse(
    {"id": "c1", "choices": [], "prompt_filter_results": []},
    openai_chunk({"role": "assistant", "content": ""}),
    openai_chunk({"reasoning_content": "hm"}),
    openai_chunk({"content": "Hi"}),
    openai_chunk({"tool_calls": [CALL]}),
    openai_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]}),
    openai_chunk({"tool_calls": [OTHER]}),
    openai_chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
    openai_chunk({}, "tool_calls"),
    {"id": "c1", "choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}},
    "[DONE]",
)
FROM_GEMINI = sse(
    gemini_chunk({"text": "hm", "thought": True}),
    gemini_chunk({"text": "Hi"}),
    gemini_chunk({"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}}),
    gemini_chunk({"functionCall": {"id": "c2", "name": "g"}}, finish="STOP"),
    {"usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5}},
    end="\r\n\r\n",
)
FROM_CLAUDE = stream(
    start({"input_tokens": 11, "output_tokens": 1}),
    *block(0, {"type": "thinking", "thinking": "", "signature": ""},
           {"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "EqSig"}),
    *block(1, text(""), {"type": "text_delta", "text": "Hi"}),
    *block(2, use("c1", "f"), {"type": "input_json_delta", "partial_json": '{"a":1}'}),
    *block(3, use("c2", "g")),
    *end("tool_use", {"output_tokens": 5}),
)  # fmt: skip
STREAMS = {"openai": FROM_OPENAI, "gemini": FROM_GEMINI, "anthropic": FROM_CLAUDE}


def content_of(events: list[Json]) -> list[Json]:
    """The content as the SDK's stream helper adds it up; asserts what that relies on."""
    assert events[0]["type"] == "message_start"
    assert [event["type"] for event in events[-2:]] == ["message_delta", "message_stop"]
    blocks: list[Json] = []
    for before, event in pairwise(events):
        match event["type"]:
            case "content_block_start":
                assert before["type"] in ("message_start", "content_block_stop")
                assert event["index"] == len(blocks)
                blocks.append(dict(event["content_block"]))
            case "content_block_delta":
                assert event["index"] == len(blocks) - 1
                assert before["type"] in ("content_block_start", "content_block_delta")
                grow(blocks[-1], event["delta"])
            case "content_block_stop":
                assert event["index"] == len(blocks) - 1
                if blocks[-1]["type"] == "tool_use":
                    blocks[-1]["input"] = json.loads(blocks[-1].pop("json", "{}"))
            case _:
                assert event["type"] in ("message_delta", "message_stop")
    return blocks


def grow(block_: Json, delta: Json) -> None:
    match delta["type"]:
        case "text_delta":
            block_["text"] += delta["text"]
        case "thinking_delta":
            block_["thinking"] += delta["thinking"]
        case "signature_delta":
            block_["signature"] += delta["signature"]
        case "input_json_delta":
            block_["json"] = block_.get("json", "") + delta["partial_json"]
        case _:
            block_.setdefault("citations", []).append(delta["citation"])


@pytest.mark.parametrize("upstream", STREAMS)
def test_a_client_gets_the_full_ceremony_whichever_provider_answers(upstream: str) -> None:
    events = frames(written(events_of(upstream, [STREAMS[upstream]])))
    signature = "EqSig" if upstream == "anthropic" else UNSIGNED
    assert content_of(events) == [
        {"type": "thinking", "thinking": "hm", "signature": signature},
        text("Hi"),
        use("c1", "f", a=1),
        use("c2", "g"),
    ]
    message = events[0]["message"]
    assert message["id"] == "msg_1"
    assert (message["role"], message["content"], message["stop_reason"]) == ("assistant", [], None)
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["input_tokens"] == 11
    assert events[-2]["usage"]["output_tokens"] == 5


@pytest.mark.parametrize("upstream", STREAMS)
def test_a_whole_message_is_the_sum_of_the_stream(upstream: str) -> None:
    events = events_of(upstream, [STREAMS[upstream]])
    streamed = frames(written(events))
    whole = json.loads(written(events, streamed=False))
    assert whole["content"] == content_of(streamed)
    assert whole["stop_reason"] == "tool_use"
    assert whole["usage"] == streamed[-2]["usage"]
    assert (whole["id"], whole["type"], whole["role"]) == ("msg_1", "message", "assistant")


def test_the_prompts_tokens_stand_at_the_start_where_they_are_known_by_then() -> None:
    (first, *_) = frames(written([Started("x", "m"), Usage(input=100, cached=60, cache_written=30), Finished("stop")]))
    usage = first["message"]["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]) == (
        10,
        60,
        30,
    )


def test_a_client_that_asked_for_no_thinking_finds_its_answer_in_the_first_block() -> None:
    chat = decoded("anthropic", ask())
    for upstream in ("openai", "gemini"):
        blocks = content_of(frames(written(events_of(upstream, [STREAMS[upstream]]), chat=chat)))
        assert blocks[0] == text("Hi")


def test_claudes_own_thinking_reaches_the_client_even_when_its_text_is_left_out() -> None:
    omitted = {"type": "thinking", "thinking": "", "signature": ""}
    data = stream(
        start(),
        *block(0, omitted, {"type": "signature_delta", "signature": "Eq1"}),
        *block(1, {"type": "redacted_thinking", "data": "ZA=="}),
        *block(2, omitted, {"type": "signature_delta", "signature": "Eq2"}),
        *block(3, text("x")),
        *end("end_turn"),
    )
    blocks = content_of(frames(written(events_of("anthropic", [data]), chat=decoded("anthropic", ask()))))
    assert [b.get("signature") or b.get("data") or b["text"] for b in blocks] == ["Eq1", "ZA==", "Eq2", "x"]


def test_two_thoughts_in_a_row_stay_two_blocks_each_with_its_signature() -> None:
    pieces = [
        ({"type": "thinking_delta", "thinking": t}, {"type": "signature_delta", "signature": s})
        for t, s in ("ab", "cd")
    ]
    data = stream(
        start(),
        *(e for i, deltas in enumerate(pieces) for e in block(i, {"type": "thinking", "thinking": ""}, *deltas)),
        *end("end_turn"),
    )
    blocks = content_of(frames(written(events_of("anthropic", [data]))))
    assert [(b["thinking"], b["signature"]) for b in blocks] == [("a", "b"), ("c", "d")]


def test_server_tools_and_citations_reach_the_client_of_the_same_format() -> None:
    found: Json = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
    data = stream(
        start(),
        *block(0, {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}},
               {"type": "input_json_delta", "partial_json": '{"q":1}'}),
        *block(1, found),
        *block(2, text(""), {"type": "text_delta", "text": "A"},
               {"type": "citations_delta", "citation": {"url": "u"}}),
        *end("pause_turn"),
    )  # fmt: skip
    events = frames(written(events_of("anthropic", [data])))
    assert events[-2]["delta"]["stop_reason"] == "pause_turn", "this client knows how to go on"
    blocks = content_of(events)
    assert blocks[0]["json"] == '{"q":1}'
    assert blocks[1:] == [found, text("A", citations=[{"url": "u"}])]
    whole = json.dumps({"content": [found, text("A", citations=[{"url": "u"}])], "stop_reason": "end_turn"}).encode()
    again = content_of(frames(written(events_of("anthropic", [whole], streamed=False))))
    assert again == [found, text("A", citations=[{"url": "u"}])]


def test_which_stop_sequence_it_was_is_passed_on() -> None:
    data = stream(start(), *block(0, text("x")), *end("stop_sequence", stop_sequence="END"))
    events = events_of("anthropic", [data])
    assert frames(written(events))[-2]["delta"]["stop_sequence"] == "END"
    assert json.loads(written(events, streamed=False))["stop_sequence"] == "END"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("content_filter", "refusal"),
        ("paused", "max_tokens"),
        ("malformed_call", "end_turn"),
    ],
)
def test_every_reason_has_its_name(reason: FinishReason, expected: str) -> None:
    assert frames(written([Started(), Finished(reason)]))[-2]["delta"]["stop_reason"] == expected


def test_an_empty_answer_is_still_a_well_formed_one() -> None:
    assert content_of(frames(written([Finished("stop")]))) == []
    assert json.loads(written([Finished("stop")], streamed=False))["content"] == []


def test_a_call_whose_arguments_are_no_object_is_still_one_that_the_sdk_can_read() -> None:
    events: list[Event] = [
        ToolCalled(0, ToolCall("c1", "f", "oops")),
        ToolCalled(1, ToolCall("c2", "g", "a b", kind="custom")),
    ]
    inputs = [b["input"] for b in content_of(frames(written(events)))]
    assert inputs == [{"_raw": "oops"}, {"input": "a b"}]
    halves: list[Event] = [
        ToolCallDelta(0, "c1", "f", '{"a":'),
        ToolCalled(0, ToolCall("c1", "f", '{"a":')),
        Finished("length"),
    ]
    assert json.loads(written(halves, streamed=False))["content"][0]["input"] == {"_raw": '{"a":'}


def test_the_keepalive_is_a_ping_and_an_error_inside_a_stream_is_an_error_event() -> None:
    writer = ANTHROPIC.writer(decoded("anthropic", ask()), STAMP, True)
    assert writer.keepalive == b'event: ping\ndata: {"type": "ping"}\n\n'
    assert writer.content_type.startswith("text/event-stream")
    (event,) = frames(writer.fail(UpstreamError("gone", kind="overloaded")))
    assert event == {"type": "error", "error": {"type": "overloaded_error", "message": "gone"}}
    whole = json.loads(ANTHROPIC.writer(decoded("anthropic", ask()), STAMP, False).fail(ClientError("no")))
    assert whole["error"]["type"] == "invalid_request_error"


EVENTS = st.lists(
    st.one_of(
        st.sampled_from(["", "a"]).map(TextDelta),
        st.sampled_from(["", "t"]).map(ThinkingDelta),
        st.builds(Usage, input=st.integers(0, 9), output=st.integers(0, 9)),
        st.sampled_from([0, 1, 2]),
    ),
    max_size=12,
)


@settings(max_examples=120, deadline=None)
@given(said=EVENTS)
def test_however_pieces_of_calls_and_words_are_mixed_blocks_stay_one_after_another(said: list[Any]) -> None:
    """Numbers are pieces of the call of that index, which end together, as an OpenAI stream tells them."""
    calls: dict[int, int] = {}
    events: list[Event] = [Started("r", "m")]
    for item in said:
        if not isinstance(item, int):
            events.append(item)
            continue
        first = item not in calls
        calls[item] = calls.get(item, 0) + 1
        events.append(ToolCallDelta(item, f"c{item}" if first else "", "f" if first else "", "1"))
    events += [ToolCalled(index, ToolCall(f"c{index}", "f", "1" * count)) for index, count in sorted(calls.items())]
    blocks = content_of(frames(written([*events, Finished("stop")])))
    assert sorted((b["id"], str(b["input"])) for b in blocks if b["type"] == "tool_use") == sorted(
        (f"c{index}", "1" * count) for index, count in calls.items()
    )
    words = [b for b in blocks if b["type"] != "tool_use"]
    assert "".join(b.get("text", "") for b in words) == "".join(e.text for e in events if isinstance(e, TextDelta))
    assert "".join(b.get("thinking", "") for b in words) == "".join(
        e.text for e in events if isinstance(e, ThinkingDelta)
    )


@pytest.mark.parametrize("upstream", STREAMS)
def test_what_was_written_is_read_back_as_the_same_answer(upstream: str) -> None:
    events = events_of(upstream, [STREAMS[upstream]])
    again = events_of("anthropic", [written(events)])
    assert plain([e for e in again if isinstance(e, ToolCalled)]) == [
        ToolCalled(0, ToolCall("c1", "f", '{"a":1}')),
        ToolCalled(1, ToolCall("c2", "g", "{}")),
    ]
