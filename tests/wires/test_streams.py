"""Answers: the same events however the bytes are cut, and what each client sees of each provider's answer."""

from __future__ import annotations

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
from app.chat.model import ToolCall
from app.chat.reply import Reply
from app.errors import UpstreamError
from app.wires.gemini.names import FINISH_IN as GEMINI_FINISH
from app.wires.openai_chat.names import FINISH_IN as OPENAI_FINISH
from tests.wires.talking import HELLO, PAIRS, STAMP, WIRES, Json, decoded, events_of, lines, sse, written


def _openai(delta: Json, finish: str | None = None, **more: Any) -> Json:
    return {"id": "r1", "model": "m1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def _gemini(*parts: Json, finish: str = "", **more: Any) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    return {
        "candidates": [candidate | ({"finishReason": finish} if finish else {})],
        "responseId": "r1",
        "modelVersion": "m1",
        **more,
    }


OPENAI_STREAM = b": OPENROUTER PROCESSING\n\n" + sse(
    _openai({"role": "assistant", "content": ""}),
    _openai({"reasoning_content": "hm "}),
    _openai({"content": "Grüße"}),
    _openai({"content": " 日本 🎌"}),
    _openai({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
    _openai({"tool_calls": [{"index": 0, "function": {"arguments": '{"n":'}}]}),
    _openai({"tool_calls": [{"index": 0, "function": {"arguments": "10000000000000000000000000}"}}]}),
    _openai(
        {"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}
    ),
    _openai({}, "tool_calls"),
    {
        "id": "r1",
        "choices": [],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 1}},
    },
    "[DONE]",
)
GEMINI_STREAM = sse(
    _gemini({"text": "hm ", "thought": True}),
    _gemini({"text": "Grüße"}),
    _gemini({"text": " 日本 🎌"}),
    _gemini({"functionCall": {"id": "c1", "name": "f", "args": {"n": 10**25}}, "thoughtSignature": "c2ln"}),
    _gemini({"functionCall": {"name": "g"}}, finish="STOP"),
    {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 1}},
    end="\r\n\r\n",
)
STREAMS = {"openai": OPENAI_STREAM, "gemini": GEMINI_STREAM}


def _plain(events: list[Event]) -> list[Any]:
    """Events without the chunks that they came in."""
    return [msgspec.structs.replace(e, native=None) if hasattr(e, "native") else e for e in events]


def _cut(data: bytes, cuts: list[int]) -> list[bytes]:
    marks = [0, *sorted({cut % len(data) for cut in cuts}), len(data)]
    return [data[a:b] for a, b in zip(marks, marks[1:], strict=False)]


@pytest.mark.parametrize("upstream", STREAMS)
def test_a_stream_fed_one_byte_at_a_time_gives_the_same_events(upstream: str) -> None:
    data = STREAMS[upstream]
    assert _plain(events_of(upstream, [bytes([byte]) for byte in data])) == _plain(events_of(upstream, [data]))


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
    assert isinstance(events_of("openai", [sse(_openai({"content": "x"}, "stop"))])[-1], Finished)
    assert isinstance(events_of("openai", [sse(_openai({"content": "x"}))])[-1], Failed)


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
        call = calls[piece["index"]]
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


# ---- finish reasons

OPENAI_SEES = {"stop": "stop", "length": "length", "content_filter": "content_filter", "paused": "length"}
GEMINI_SEES = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "tool_calls": "STOP"}
SAID_BY_GEMINI = (
    "FINISH_REASON_UNSPECIFIED STOP MAX_TOKENS SAFETY RECITATION LANGUAGE OTHER BLOCKLIST PROHIBITED_CONTENT SPII"
    " MALFORMED_FUNCTION_CALL IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_OTHER NO_IMAGE IMAGE_RECITATION"
    " UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE ESCALATION"
    " PUP_LIMITED_DISABLED CONTINUATION MODEL_ARMOR"
).split()
SAFETY = set(
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR".split()
)
MALFORMED = set(
    "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE".split()
)


@pytest.mark.parametrize("reason", SAID_BY_GEMINI)
def test_every_finish_reason_of_gemini_means_something_to_an_openai_client(reason: str) -> None:
    events = events_of("gemini", [sse(_gemini({"text": "x"}, finish=reason))])
    if reason in MALFORMED:
        assert isinstance(events[-1], Failed), "an unusable call is an error, never an empty stop"
        assert events[-1].error.code == reason
        return
    finish = lines(written("openai", events))[-2]["choices"][0]["finish_reason"]
    expected = (
        "content_filter" if reason in SAFETY else {"MAX_TOKENS": "length", "CONTINUATION": "length"}.get(reason, "stop")
    )
    assert finish == expected


@pytest.mark.parametrize(
    ("reason", "gemini"),
    [("stop", "STOP"), ("length", "MAX_TOKENS"), ("tool_calls", "STOP"), ("content_filter", "SAFETY"), ("function_call", "STOP"),
     ("eos", "STOP"), ("sensitive", "SAFETY"), ("made_up", "STOP")],
)  # fmt: skip
def test_every_finish_reason_of_openai_means_something_to_a_gemini_client(reason: str, gemini: str) -> None:
    stream = written("gemini", events_of("openai", [sse(_openai({"content": "x"}, reason), "[DONE]")]))
    assert lines(stream)[-1]["candidates"][0]["finishReason"] == gemini


def test_the_tables_know_every_reason_of_their_format() -> None:
    assert set(GEMINI_FINISH) <= set(SAID_BY_GEMINI)
    assert {"stop", "length", "tool_calls", "content_filter", "function_call"} <= set(OPENAI_FINISH)


def test_a_blocked_prompt_is_a_filtered_answer_not_an_error() -> None:
    blocked: Json = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}
    body = json.loads(
        written("openai", events_of("gemini", [json.dumps(blocked).encode()], stream=False), stream=False)
    )
    choice = body["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("content_filter", "")
    assert body["usage"]["prompt_tokens"] == 4
    assert (
        lines(written("openai", events_of("gemini", [sse(blocked)])))[-2]["choices"][0]["finish_reason"]
        == "content_filter"
    )


# ---- what providers do that the rules do not foresee


def test_a_late_signature_in_an_empty_part_is_kept() -> None:
    reader = WIRES["gemini"].reader(decoded("gemini", HELLO["gemini"]), True, str)
    reader.feed(
        sse(
            _gemini({"text": "a"}),
            _gemini({"text": "b"}),
            _gemini({"text": "", "thoughtSignature": "bGF0ZQ=="}, finish="STOP"),
        )
    )
    reader.close()
    assert json.loads(reader.sealed()) == [{"text": "ab"}, {"text": "", "thoughtSignature": "bGF0ZQ=="}]


def test_an_answer_of_mere_words_leaves_nothing_to_put_back() -> None:
    reader = WIRES["gemini"].reader(decoded("gemini", HELLO["gemini"]), True, str)
    reader.feed(sse(_gemini({"text": "th", "thought": True}), _gemini({"text": "a"}, finish="STOP")))
    assert reader.sealed() == b""
    plain = WIRES["openai"].reader(decoded("openai", HELLO["openai"]), True, str)
    plain.feed(sse(_openai({"content": "x"}, "stop"), "[DONE]"))
    assert plain.sealed() == b""


def test_streamed_reasoning_details_are_joined_by_index_to_be_put_back() -> None:
    reader = WIRES["openai"].reader(decoded("openai", HELLO["openai"]), True, str)
    first = {"type": "reasoning.text", "text": "a", "index": 0}
    reader.feed(sse(_openai({"reasoning_details": [first], "reasoning": "a"})))
    reader.feed(sse(_openai({"reasoning_details": [{**first, "text": "b", "signature": "s"}], "reasoning": "b"})))
    reader.feed(
        sse(
            _openai({"reasoning_details": [{"type": "reasoning.encrypted", "data": "d", "index": 1}]}, "stop"), "[DONE]"
        )
    )
    kept = json.loads(reader.sealed())["message"]
    assert kept["reasoning"] == "ab"
    assert [block.get("text", block.get("data")) for block in kept["reasoning_details"]] == ["ab", "d"]
    assert kept["reasoning_details"][0]["signature"] == "s"


def test_calls_without_ids_get_ids_that_differ_and_calls_without_arguments_an_empty_object() -> None:
    calls = [
        e.call
        for e in events_of(
            "gemini", [sse(_gemini({"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}, finish="STOP"))]
        )
        if isinstance(e, ToolCalled)
    ]
    assert [(call.id, call.arguments) for call in calls] == [("call_1", "{}"), ("call_2", "{}")]


@pytest.mark.parametrize("given", ["x" * 41, "a.b", "ünï", "same"])
def test_an_id_that_another_provider_would_refuse_is_not_shown_to_the_client(given: str) -> None:
    parts = [{"functionCall": {"name": "f", "id": given}}] * 2
    calls = [e.call for e in events_of("gemini", [sse(_gemini(*parts, finish="STOP"))]) if isinstance(e, ToolCalled)]
    assert [call.id for call in calls] == (["same", "call_1"] if given == "same" else ["call_1", "call_2"])


def test_a_server_that_numbers_no_calls_begins_a_new_one_with_each_new_id() -> None:
    def piece(identity: str | None, name: str | None, arguments: str) -> Json:
        return _openai({"tool_calls": [{"id": identity, "function": {"name": name, "arguments": arguments}}]})

    stream = sse(
        piece("a", "f", '{"x":'),
        piece(None, None, "1}"),
        piece("b", "g", ""),
        piece("b", None, "{}"),
        _openai({}, "stop"),
        "[DONE]",
    )
    calls = [e.call for e in events_of("openai", [stream]) if isinstance(e, ToolCalled)]
    assert calls == [ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", "{}")]


@pytest.mark.parametrize("upstream", STREAMS)
@pytest.mark.parametrize("stream", [True, False])
def test_an_error_in_place_of_an_answer_is_understood(upstream: str, stream: bool) -> None:
    error: Json = (
        {"message": "busy", "type": "server_error", "code": "overloaded"}
        if upstream == "openai"
        else {"code": 503, "message": "busy", "status": "UNAVAILABLE"}
    )
    data = sse({"error": error}) if stream else json.dumps({"error": error}).encode()
    (failed,) = events_of(upstream, [data], stream=stream)
    assert isinstance(failed, Failed)
    assert failed.error.message == "busy"


@pytest.mark.parametrize("upstream", STREAMS)
@pytest.mark.parametrize(
    "data", [b"data: {oops\n\n", b"data: " + b"[" * 2000 + b"\n\n", b"<html>bad gateway</html>", b""]
)
def test_rubbish_in_place_of_a_stream_is_one_error_and_no_crash(upstream: str, data: bytes) -> None:
    events = events_of(upstream, [data])
    assert [type(event) for event in events if not isinstance(event, Unknown)] == [Failed]


@pytest.mark.parametrize("upstream", STREAMS)
@pytest.mark.parametrize("data", [b"{oops", b"[]", b"{}", b"null", b"<html>", b'"x"', b"[" * 2000])
def test_rubbish_in_place_of_an_answer_is_one_error_and_no_crash(upstream: str, data: bytes) -> None:
    events = events_of(upstream, [data], stream=False)
    assert [e for e in events if not isinstance(e, Started)] == [events[-1]]
    assert isinstance(events[-1], Failed)


@pytest.mark.parametrize("upstream", STREAMS)
def test_a_chunk_of_unknown_shape_is_passed_over(upstream: str) -> None:
    good = _openai({"content": "x"}, "stop") if upstream == "openai" else _gemini({"text": "x"}, finish="STOP")
    strange: Json = {"choices": "soon"} if upstream == "openai" else {"candidates": "soon"}
    events = events_of(upstream, [sse(strange, good)])
    assert isinstance(events[0], Unknown)
    assert isinstance(events[-1], Finished)


def test_parts_that_only_gemini_has_are_kept_for_gemini_and_dropped_for_others() -> None:
    code: Json = {"executableCode": {"language": "PYTHON", "code": "1"}}
    picture: Json = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    stream = sse(_gemini({"text": "a"}, code, picture, {"text": "b"}, finish="STOP"))
    reader = WIRES["gemini"].reader(decoded("gemini", HELLO["gemini"]), True, str)
    events = reader.feed(stream) + reader.close()
    assert json.loads(reader.sealed()) == [{"text": "a"}, code, picture, {"text": "b"}]
    body = json.loads(written("openai", events, stream=False))
    assert body["choices"][0]["message"]["content"] == "ab"


def test_a_second_candidate_never_mixes_with_the_first() -> None:
    other: Json = {"index": 1, "delta": {"content": "NO"}, "finish_reason": None}
    stream = sse(_openai({"content": "yes"}), {"id": "r", "choices": [other]}, _openai({}, "stop"), "[DONE]")
    assert b"NO" not in written("gemini", events_of("openai", [stream]))
    both = {
        "candidates": [
            {"index": 1, "content": {"parts": [{"text": "NO"}]}},
            {"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"},
        ]
    }
    assert b"NO" not in written("openai", events_of("gemini", [sse(both)]))


def test_a_custom_tool_answers_as_a_custom_call_in_both_forms() -> None:
    chat = decoded("openai", HELLO["openai"] | {"tools": [{"type": "custom", "custom": {"name": "sql"}}]})
    stream = sse(_gemini({"functionCall": {"name": "sql", "args": {"input": "select 1"}}}, finish="STOP"))
    events = events_of("gemini", [stream], chat=chat)
    call = json.loads(written("openai", events, stream=False, chat=chat))["choices"][0]["message"]["tool_calls"][0]
    assert call == {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    delta = lines(written("openai", events, chat=chat))[1]["choices"][0]["delta"]
    assert delta == {"tool_calls": [{"index": 0, **call}]}


def test_a_streamed_custom_call_is_put_together() -> None:
    def piece(**custom: str) -> Json:
        return _openai(
            {
                "tool_calls": [
                    {"index": 0, **({"id": "c"} if "name" in custom else {}), "type": "custom", "custom": custom}
                ]
            }
        )

    events = events_of(
        "openai", [sse(piece(name="sql", input="sel"), piece(input="ect 1"), _openai({}, "tool_calls"), "[DONE]")]
    )
    assert [e.call for e in events if isinstance(e, ToolCalled)] == [ToolCall("c", "sql", "select 1", kind="custom")]


# ---- response fields: what crosses, and what is knowingly left behind

OPENAI_LEFT = (
    "service_tier",
    "system_fingerprint",
    "logprobs",
    "annotations",
    "audio",
    "citations",
    "created",
    "moderation",
    "object",
)
GEMINI_LEFT = (
    "safetyRatings citationMetadata groundingMetadata urlContextMetadata avgLogprobs logprobsResult continuationToken tokenCount"
    " finishMessage modelStatus createTime"
).split()


def test_response_fields_that_only_openai_has_do_not_reach_a_gemini_client() -> None:
    message = {
        "role": "assistant",
        "content": "x",
        "refusal": None,
        "annotations": [{"type": "url_citation"}],
        "audio": {"id": "a"},
    }
    body = {"id": "r1", "object": "chat.completion", "created": 1, "model": "m1", "service_tier": "default", "system_fingerprint": "f",
            "choices": [{"index": 0, "finish_reason": "stop", "logprobs": {"content": []}, "message": message}], "citations": [], "moderation": {},
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1}}}  # fmt: skip
    got = written("gemini", events_of("openai", [json.dumps(body).encode()], stream=False), stream=False)
    assert not [name for name in OPENAI_LEFT if f'"{name}"'.encode() in got]
    assert json.loads(got)["usageMetadata"]["cachedContentTokenCount"] == 2
    assert json.loads(got)["modelVersion"] == "m1"


def test_response_fields_that_only_gemini_has_do_not_reach_an_openai_client() -> None:
    body = _gemini({"text": "x"}, finish="STOP", modelStatus={}, createTime="2026-01-01T00:00:00Z", usageMetadata={
        "promptTokenCount": 5, "toolUsePromptTokenCount": 2, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "cachedContentTokenCount": 1})  # fmt: skip
    body["candidates"][0] |= {name: {} for name in GEMINI_LEFT if name not in ("finishMessage",)} | {
        "finishMessage": "m"
    }
    got = json.loads(written("openai", events_of("gemini", [json.dumps(body).encode()], stream=False), stream=False))
    assert not [name for name in GEMINI_LEFT if name in str(got)]
    assert got["usage"] == {
        "prompt_tokens": 7,
        "completion_tokens": 7,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }


def test_a_refusal_is_the_answers_words() -> None:
    body = {"id": "r", "choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}
    assert TextDelta("I cannot.") in _plain(events_of("openai", [json.dumps(body).encode()], stream=False))


def test_usage_is_a_running_total_and_the_last_one_counts() -> None:
    totals = [{"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": n}} for n in (1, 2, 3)]
    stream = sse(_gemini({"text": "a"}), *totals, _gemini({"text": "b"}, finish="STOP"))
    assert [e.output for e in events_of("gemini", [stream]) if isinstance(e, Usage)] == [1, 2, 3]
    assert lines(written("gemini", events_of("gemini", [stream])))[-1]["usageMetadata"]["candidatesTokenCount"] == 3


def test_thoughts_stay_thoughts_and_pieces_of_calls_are_said_once() -> None:
    events = [
        ThinkingDelta("t"),
        ToolCallDelta(3, "c", "f", "{"),
        ToolCallDelta(3, arguments="}"),
        ToolCalled(3, ToolCall("c", "f", "{}")),
        Finished("tool_calls"),
    ]
    stream = written("openai", events)
    assert stream.count(b'"id":"c"') == 1
    assert stream.count(b'"name":"f"') == 1
    assert b'"index":3' not in stream
