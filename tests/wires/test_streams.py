"""Answers: the same events however the bytes are cut, and what each client sees of each provider's answer."""

from __future__ import annotations

import itertools
import json

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
    ToolCallDelta,
    ToolCalled,
)
from app.chat.model import ToolCall
from app.chat.reply import Reply
from app.errors import UpstreamError
from tests.wires.talking import (
    HELLO,
    PAIRS,
    STAMP,
    WIRES,
    Json,
    decoded,
    events_of,
    gemini_chunk,
    lines,
    openai_chunk,
    plain,
    sse,
    written,
)

OPENAI_STREAM = b": OPENROUTER PROCESSING\n\n" + sse(
    openai_chunk({"role": "assistant", "content": ""}),
    openai_chunk({"reasoning_content": "hm "}),
    openai_chunk({"content": "Grüße"}),
    openai_chunk({"content": " 日本 🎌"}),
    openai_chunk(
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]}
    ),
    openai_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"n":'}}]}),
    openai_chunk({"tool_calls": [{"index": 0, "function": {"arguments": "10000000000000000000000000}"}}]}),
    openai_chunk(
        {"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}
    ),
    openai_chunk({}, "tool_calls"),
    {
        "id": "r1",
        "choices": [],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 1}},
    },
    "[DONE]",
)
GEMINI_STREAM = sse(
    gemini_chunk({"text": "hm ", "thought": True}),
    gemini_chunk({"text": "Grüße"}),
    gemini_chunk({"text": " 日本 🎌"}),
    gemini_chunk({"functionCall": {"id": "c1", "name": "f", "args": {"n": 10**25}}, "thoughtSignature": "c2ln"}),
    gemini_chunk({"functionCall": {"name": "g"}}, finish="STOP"),
    {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 1}},
    end="\r\n\r\n",
)
STREAMS = {"openai": OPENAI_STREAM, "gemini": GEMINI_STREAM}


def _cut(data: bytes, cuts: list[int]) -> list[bytes]:
    marks = [0, *sorted({cut % len(data) for cut in cuts}), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(marks)]


@pytest.mark.parametrize("upstream", STREAMS)
def test_a_stream_fed_one_byte_at_a_time_gives_the_same_events(upstream: str) -> None:
    data = STREAMS[upstream]
    assert plain(events_of(upstream, [bytes([byte]) for byte in data])) == plain(events_of(upstream, [data]))


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(0, 10_000), max_size=8))
def test_a_stream_cut_anywhere_gives_every_client_the_same_bytes(client: str, upstream: str, cuts: list[int]) -> None:
    data = STREAMS[upstream]
    assert written(client, events_of(upstream, _cut(data, cuts))) == written(client, events_of(upstream, [data]))


@pytest.mark.parametrize("upstream", STREAMS)
def test_both_providers_tell_the_same_story(upstream: str) -> None:
    reply = Reply()
    for event in events_of(upstream, [STREAMS[upstream]]):
        reply.add(event)
    assert (reply.text, reply.thinking) == ("Grüße 日本 🎌", "hm ")
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("f", '{"n":10000000000000000000000000}'),
        ("g", "{}"),
    ]
    assert reply.finished is not None
    assert reply.finished.reason == "tool_calls"
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.reasoning) == (9, 4, 1)
    assert (reply.id, reply.model) == ("r1", "m1")


@pytest.mark.parametrize("upstream", STREAMS)
def test_a_stream_that_breaks_off_anywhere_before_its_end_is_an_error_and_never_a_clean_end(upstream: str) -> None:
    data = STREAMS[upstream]
    end = data.index(b'"finish_reason": "tool_calls"') if upstream == "openai" else data.index(b'"finishReason"')
    for cut in range(0, end, 7):
        events = events_of(upstream, [data[:cut]])
        assert isinstance(events[-1], Failed)
        assert not any(isinstance(event, Finished) for event in events)


@pytest.mark.parametrize("upstream", STREAMS)
def test_a_stream_ends_with_exactly_one_terminal_event(upstream: str) -> None:
    events = events_of(upstream, [STREAMS[upstream] + STREAMS[upstream]])
    assert sum(isinstance(event, Finished | Failed) for event in events) == 1
    assert isinstance(events[-1], Finished)


def test_openai_needs_no_end_marker_but_a_finish_reason() -> None:
    assert isinstance(events_of("openai", [sse(openai_chunk({"content": "x"}, "stop"))])[-1], Finished)
    assert isinstance(events_of("openai", [sse(openai_chunk({"content": "x"}))])[-1], Failed)


# ---- what a client sees


@pytest.mark.parametrize("upstream", STREAMS)
def test_an_openai_client_can_join_what_it_gets_as_the_sdk_does(upstream: str) -> None:
    chat = decoded("openai", HELLO["openai"] | {"stream": True, "stream_options": {"include_usage": True}})
    chunks = lines(written("openai", events_of(upstream, [STREAMS[upstream]]), chat=chat))
    assert chunks.pop() == "[DONE]"
    assert {(c["id"], c["created"], c["object"]) for c in chunks} == {
        ("chatcmpl-1", STAMP.created, "chat.completion.chunk")
    }
    assert {c["model"] for c in chunks} == {"m1"}
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    usage = chunks.pop()
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] == 13
    assert all(chunk["usage"] is None for chunk in chunks)
    assert chunks[-1]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "tool_calls"}
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(d.get("content", "") for d in deltas) == "Grüße 日本 🎌"
    assert "".join(d.get("reasoning_content", "") for d in deltas) == "hm "
    calls = _joined([call for d in deltas for call in d.get("tool_calls", ())])
    assert [call["function"]["name"] for call in calls] == ["f", "g"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"n": 10**25}
    assert len({call["id"] for call in calls}) == 2


def _joined(pieces: list[Json]) -> list[Json]:
    """Calls from their pieces, strings added up as the SDK's helper does: what is said twice is doubled."""
    calls: list[Json] = []
    for piece in pieces:
        if piece["index"] == len(calls):
            calls.append({"id": "", "function": {"name": "", "arguments": ""}})
        else:
            assert piece.keys() == {"index", "function"}
            assert piece["function"].keys() == {"arguments"}
        call: Json = calls[int(piece["index"])]
        call["id"] += piece.get("id", "")
        for key in ("name", "arguments"):
            call["function"][key] += piece["function"].get(key, "")
    return calls


@pytest.mark.parametrize("upstream", STREAMS)
def test_a_gemini_client_gets_data_lines_only_and_whole_calls(upstream: str) -> None:
    stream = written("gemini", events_of(upstream, [STREAMS[upstream]]))
    assert all(line.startswith("data: {") for line in stream.decode().split("\r\n") if line)
    chunks = lines(stream)
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    assert "".join(p["text"] for p in parts if "text" in p and not p.get("thought")) == "Grüße 日本 🎌"
    assert "".join(p["text"] for p in parts if p.get("thought")) == "hm "
    assert [p["functionCall"]["args"] for p in parts if "functionCall" in p] == [{"n": 10**25}, {}]
    assert [c["candidates"][0].get("finishReason") for c in chunks][-1] == "STOP"
    assert chunks[-1]["usageMetadata"] == {
        "promptTokenCount": 9,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 1,
        "cachedContentTokenCount": 0,
        "totalTokenCount": 13,
    }
    assert b"continuationToken" not in stream


def test_without_alt_sse_a_gemini_client_gets_one_json_array() -> None:
    chat = msgspec.structs.replace(decoded("gemini", HELLO["gemini"], stream=True), framing="array")
    chunks = json.loads(written("gemini", events_of("openai", [OPENAI_STREAM]), chat=chat))
    assert chunks[0]["candidates"][0]["content"]["parts"] == [{"text": "hm ", "thought": True}]
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    writer = WIRES["gemini"].writer(chat, STAMP, True)
    broken = writer.write(TextDelta("x")) + writer.fail(UpstreamError("gone"))
    assert json.loads(broken)[-1]["error"]["message"] == "gone"


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
def test_an_answer_in_one_piece_says_the_same_as_the_stream(client: str, upstream: str) -> None:
    body = json.loads(written(client, events_of(upstream, [STREAMS[upstream]]), stream=False))
    again = events_of(client, [json.dumps(body).encode()], stream=False)
    reply = Reply()
    for event in again:
        reply.add(event)
    assert (reply.text, reply.thinking) == ("Grüße 日本 🎌", "hm ")
    assert [call.name for call in reply.calls] == ["f", "g"]
    assert json.loads(reply.calls[0].arguments) == {"n": 10**25}
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.reasoning) == (9, 4, 1)
    assert reply.finished is not None
    assert reply.finished.reason == "tool_calls"


@pytest.mark.parametrize("client", STREAMS)
def test_an_empty_answer_is_still_a_well_formed_one(client: str) -> None:
    chunks = lines(written(client, [Finished("stop")]))
    assert len([c for c in chunks if c != "[DONE]"]) == (2 if client == "openai" else 1)


def test_a_call_whose_pieces_held_no_arguments_still_gets_an_object() -> None:
    """Claude streams a call without arguments as no piece at all; clients parse what they put together as JSON."""
    call = ToolCall("c1", "now", "{}")
    events: list[Event] = [
        Started("r", "m"),
        ToolCallDelta(0, "c1", "now"),
        ToolCalled(0, call),
        Finished("tool_calls"),
    ]
    pieces = [
        said["function"].get("arguments", "")
        for line in lines(written("openai", events))
        if line != "[DONE]"
        for choice in line["choices"]
        for said in choice["delta"].get("tool_calls", [])
    ]
    assert "".join(pieces) == "{}"
