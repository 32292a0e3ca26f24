"""Answers of Gemini: every way in which they say things, whole and in pieces, and what each end means."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.citations import Citation
from app.chat.events import (
    Cited,
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
from app.chat.model import Native, ToolCall
from app.chat.reply import Reply
from app.errors import UpstreamError
from tests.wires.gemini_interactions.speaking import (
    MODEL,
    Json,
    answered,
    call,
    completed,
    created,
    delta,
    encoded,
    model,
    read,
    said,
    start,
    stop,
    stream,
    text,
)

USAGE: Json = {
    "total_input_tokens": 17,
    "total_output_tokens": 3,
    "total_thought_tokens": 195,
    "total_cached_tokens": 5,
    "total_tool_use_tokens": 2,
    "total_tokens": 217,
}
STREAM = stream(
    created(),
    {"event_type": "interaction.status_update", "interaction_id": "v1_up", "status": "in_progress"},
    start(0, type="thought", signature="", summary=[text("h")]),
    delta(0, type="thought_summary", content=text("m 日")),
    delta(0, type="thought_signature", signature="EpoG+/="),
    stop(0),
    start(1, type="model_output", content=[text("Grü")]),
    delta(1, type="text", text="ße 🎌"),
    delta(1, type="text_annotation_delta", annotations=[{"type": "url_citation", "url": "u"}]),
    stop(1),
    start(2, type="function_call", id="c1", name="f", arguments={}),
    delta(2, type="arguments_delta", arguments='{"n":'),
    delta(2, type="arguments_delta", arguments="10000000000000000000000000}"),
    stop(2),
    start(3, type="function_call", id="c2", name="g", arguments={"a": 1}, extra="x"),
    stop(3),
    completed("requires_action", usage=USAGE),
)
STEPS: list[Json] = [
    {"type": "thought", "signature": "EpoG+/=", "summary": [text("hm 日")]},
    {"type": "model_output", "content": [text("Grüße 🎌") | {"annotations": [{"type": "url_citation", "url": "u"}]}]},
    call("c1", "f", n=10**25),
    call("c2", "g", a=1) | {"extra": "x"},
]
WHOLE = json.dumps(
    {
        "id": "v1_up",
        "object": "interaction",
        "status": "requires_action",
        "model": MODEL,
        "steps": STEPS,
        "usage": USAGE,
    },
    indent=1,
    ensure_ascii=False,
).encode()


def _reply(events: list[Event]) -> Reply:
    reply = Reply()
    for event in events:
        reply.add(event)
    return reply


def test_a_stream_is_told_in_its_order() -> None:
    assert answered(STREAM) == [
        Started("v1_up", MODEL),
        ThinkingDelta("h"),
        ThinkingDelta("m 日"),
        TextDelta("Grü"),
        TextDelta("ße 🎌"),
        Cited(Citation("u", end=7, native=Native("gemini_interactions", {"type": "url_citation", "url": "u"}))),
        ToolCallDelta(0, "c1", "f"),
        ToolCallDelta(0, arguments='{"n":'),
        ToolCallDelta(0, arguments="10000000000000000000000000}"),
        ToolCalled(0, ToolCall("c1", "f", '{"n":10000000000000000000000000}')),
        ToolCallDelta(1, "c2", "g"),
        ToolCallDelta(1, arguments='{"a":1}'),
        ToolCalled(1, ToolCall("c2", "g", '{"a":1}')),
        Usage(input=19, output=198, cached=5, reasoning=195),
        Finished("tool_calls"),
    ]


def test_an_answer_in_one_piece_says_the_same() -> None:
    streamed, whole = _reply(read(STREAM)[0]), _reply(read(WHOLE, streamed=False)[0])
    assert streamed.message == whole.message
    assert (streamed.thinking, streamed.text) == ("hm 日", "Grüße 🎌")
    assert (streamed.id, streamed.model) == (whole.id, whole.model) == ("v1_up", MODEL)
    assert whole.usage is not None
    assert (whole.usage.input, whole.usage.output) == (19, 198)
    assert whole.finished is not None
    assert whole.finished.reason == "tool_calls"


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(1, len(STREAM) - 1), max_size=8))
def test_a_stream_cut_anywhere_gives_the_same_events(cuts: list[int]) -> None:
    marks = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in itertools.pairwise(marks)]
    assert read(pieces)[0] == read(STREAM)[0]


def test_a_stream_fed_one_byte_at_a_time_gives_the_same_events() -> None:
    assert read([bytes([byte]) for byte in STREAM])[0] == read(STREAM)[0]


def test_other_ways_to_frame_a_stream_give_the_same_events() -> None:
    expected = read(STREAM)[0]
    for other in (
        b"\xef\xbb\xbf" + STREAM.replace(b"\n", b"\r\n"),
        STREAM.replace(b"data: ", b"data:").replace(b"event: ", b"id: 7\nevent:"),
        STREAM.replace(b"\n\n", b"\n\n: ping\n\n"),
        STREAM[: STREAM.index(b"event: done")],
    ):
        assert read(other)[0] == expected


def test_a_stream_that_breaks_off_anywhere_before_its_end_is_an_error_and_never_a_clean_end() -> None:
    for cut in range(0, STREAM.index(b'"event_type": "interaction.completed"'), 11):
        events, reader = read(STREAM[:cut])
        assert isinstance(events[-1], Failed)
        assert not any(isinstance(event, Finished) for event in events)
        assert reader.handle() == ""


def test_a_stream_ends_once() -> None:
    events, _ = read(STREAM + STREAM)
    assert sum(isinstance(event, Finished | Failed) for event in events) == 1
    assert events == read(STREAM)[0]


# ---- what is kept for Gemini itself


def test_the_steps_are_kept_as_gemini_would_have_written_them_whole() -> None:
    sealed = read(STREAM)[1].sealed()
    assert json.loads(sealed) == STEPS
    assert b'"signature":"EpoG+/="' in sealed
    assert b'"arguments":{"n":10000000000000000000000000}' in sealed
    assert json.loads(read(WHOLE, streamed=False)[1].sealed()) == STEPS


def test_the_steps_of_a_whole_answer_are_kept_byte_for_byte() -> None:
    step = b'{"signature" : "a","type":"thought", "n":1.50}'
    body = b'{"id":"v1_up","status":"completed","steps":[' + step + b"]}"
    assert read(body, streamed=False)[1].sealed() == b"[" + step + b"]"


def test_mere_words_are_not_worth_keeping() -> None:
    plain = stream(created(), start(0, type="model_output", content=[]), delta(0, type="text", text="a"), completed())
    assert read(plain)[1].sealed() == b""
    body = json.dumps({"id": "v1", "status": "completed", "steps": [model("a")]}).encode()
    assert read(body, streamed=False)[1].sealed() == b""


def test_steps_that_google_runs_itself_are_kept_and_passed_as_unknown() -> None:
    data = stream(
        created(),
        start(0, type="google_search_call", id="s1"),
        delta(0, type="google_search_call", arguments={"queries": ["x"]}, signature="sg="),
        stop(0),
        start(1, type="ponder_result", call_id="s1", result=[1.5]),
        stop(1),
        start(2, type="model_output"),
        delta(2, type="text", text="a"),
        delta(2, type="image", data="AAAA", mime_type="image/png"),
        delta(2, type="text", text="b"),
        completed(),
    )
    events, reader = read(data)
    assert _reply(events).text == "ab"
    assert sum(isinstance(event, Unknown) for event in events) == 4
    assert json.loads(reader.sealed()) == [
        {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["x"]}, "signature": "sg="},
        {"type": "ponder_result", "call_id": "s1", "result": [1.5]},
        {
            "type": "model_output",
            "content": [text("a"), {"type": "image", "data": "AAAA", "mime_type": "image/png"}, text("b")],
        },
    ]


def test_steps_that_come_only_at_the_end_are_told_then() -> None:
    events, reader = read(stream(created(), completed("requires_action", steps=STEPS)))
    assert _reply(events).message == _reply(read(STREAM)[0]).message
    assert json.loads(reader.sealed()) == STEPS


def test_a_delta_whose_beginning_was_left_out_is_not_lost() -> None:
    data = stream(created(), delta(0, type="text", text="a"), delta(0, type="text", text="b"), completed())
    assert _reply(read(data)[0]).text == "ab"


def test_steps_that_are_never_said_to_end_end_with_the_answer() -> None:
    data = stream(created(), start(0, type="function_call", id="c1", name="f", arguments={"a": 1}), completed())
    assert [event.call for event in read(data)[0] if isinstance(event, ToolCalled)] == [ToolCall("c1", "f", '{"a":1}')]


# ---- calls


def test_ids_that_clients_cannot_use_are_replaced_and_none_comes_twice() -> None:
    steps = [call("c1"), call("c1"), call("a/b c"), call("x" * 41)]
    body = json.dumps({"id": "v1", "status": "requires_action", "steps": steps}).encode()
    events, reader = read(body, streamed=False)
    assert [e.call.id for e in events if isinstance(e, ToolCalled)] == ["c1", "call_1", "call_2", "call_3"]
    assert json.loads(reader.sealed()) == steps


def test_tools_are_called_by_the_clients_names_and_free_text_is_unwrapped() -> None:
    tools: list[Json] = [
        {"type": "function", "function": {"name": "a b"}},
        {"type": "custom", "custom": {"name": "sql"}},
    ]
    chat = said({"role": "user", "content": "go"}, tools=tools)
    name = encoded(chat)[0]["tools"][0]["name"]
    data = stream(
        created(),
        start(0, type="function_call", id="c1", name=name, arguments={}),
        stop(0),
        start(1, type="function_call", id="c2", name="sql", arguments={}),
        delta(1, type="arguments_delta", arguments='{"input":"select '),
        delta(1, type="arguments_delta", arguments='1"}'),
        stop(1),
        completed("requires_action"),
    )
    events, _ = read(data, chat=chat)
    assert [event.call for event in events if isinstance(event, ToolCalled)] == [
        ToolCall("c1", "a b", "{}"),
        ToolCall("c2", "sql", "select 1", kind="custom"),
    ]
    assert [e.name for e in events if isinstance(e, ToolCallDelta) and e.name] == ["a b"]


# ---- how it ends


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", "stop"),
        ("incomplete", "length"),
        ("budget_exceeded", "length"),
        ("requires_continuation", "paused"),
        ("idle", "stop"),
        ("a_new_one", "stop"),
    ],
)
def test_the_status_tells_how_an_answer_ended(status: str, reason: str) -> None:
    assert answered(stream(created(), completed(status)))[-1] == Finished(reason)  # pyright: ignore[reportArgumentType] (a table of words)
    body = json.dumps({"id": "v1", "status": status}).encode()  # an incomplete one may have no steps
    assert answered(body, streamed=False)[-1] == Finished(reason)  # pyright: ignore[reportArgumentType] (a table of words)


def _failure(data: bytes, **more: Any) -> UpstreamError:
    failed = read(data, **more)[0][-1]
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, UpstreamError)
    return failed.error


@pytest.mark.parametrize(
    ("code", "kind", "status"),
    [
        ("rate_limit_exceeded", "rate_limited", 429),
        ("service_unavailable", "overloaded", 503),
        ("deadline_exceeded", "timeout", 504),
        ("api_error", "upstream_failed", 500),
        ("permission_denied", "forbidden", 403),
        ("something_new", "upstream_failed", 500),
    ],
)
def test_an_error_inside_a_stream_is_understood(code: str, kind: str, status: int) -> None:
    error = _failure(stream(created(), {"event_type": "error", "error": {"code": code, "message": "words"}}))
    assert (error.kind, error.status, error.code, error.message) == (kind, status, code, "words")
    assert error.wire == "gemini_interactions"


def test_an_interaction_that_failed_is_an_error_however_it_is_told() -> None:
    fault = {"code": "invalid_request", "message": "no such tool"}
    places: list[Json] = [{"errors": [fault]}, {"steps": [{"type": "model_output", "content": [], "error": fault}]}]
    for place in places:
        error = _failure(stream(created(), completed("failed", **place)))
        assert (error.message, error.status) == ("no such tool", 400)
        body = json.dumps({"id": "v1", "status": "failed", **place}).encode()
        assert _failure(body, streamed=False).message == "no such tool"
    assert _failure(stream(created(), completed("failed"))).kind == "upstream_failed"
    assert _failure(stream(created(), completed("cancelled"))).kind == "cancelled"
    assert "background" in _failure(b'{"id":"v1","status":"queued"}', streamed=False).message


@pytest.mark.parametrize("code", ["safety", "recitation", "blocklist", "prohibited_content", "spii", "content_blocked"])
def test_output_that_was_held_back_is_an_end_and_not_an_error(code: str) -> None:
    error = {"code": code, "message": "blocked"}
    assert answered(stream(created(), {"event_type": "error", "error": error}))[-1] == Finished("content_filter")
    assert answered(stream(created(), completed("failed", errors=[error])))[-1] == Finished("content_filter")
    body = json.dumps({"id": "v1", "status": "failed", "errors": [error]}).encode()
    assert answered(body, streamed=False)[-1] == Finished("content_filter")


@pytest.mark.parametrize("code", ["malformed_function_call", "unexpected_tool_call", "missing_thought_signature"])
def test_a_call_of_no_use_is_told_so_that_it_can_be_asked_for_again(code: str) -> None:
    error = _failure(stream(created(), {"event_type": "error", "error": {"code": code, "message": "x"}}))
    assert (error.code, error.wire, error.kind) == (code, "", "upstream_failed")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"status":5}',
        b'{"id":"v1","status":"completed","steps":[5]}',
        b'{"error":{"code":"api_error"}}',
    ],
)
def test_an_answer_that_is_none_is_an_error_and_never_raises(body: bytes) -> None:
    assert isinstance(_failure(body, streamed=False), UpstreamError)
    assert isinstance(_failure(b"data: " + body + b"\n\n"), UpstreamError)


def test_events_of_no_known_kind_are_passed_on_and_end_nothing() -> None:
    odd: list[Json] = [{"event_type": "interaction.mood", "x": 1}, {"event_type": "step.delta", "index": "one"}]
    events, _ = read(stream(created(), *odd, completed()))
    assert [type(event) for event in events] == [Started, Unknown, Unknown, Finished]


def test_a_thought_without_a_summary_says_nothing_and_is_kept() -> None:
    data = stream(created(), start(0, type="thought", signature="s"), stop(0), completed())
    events, reader = read(data)
    assert [type(event) for event in events] == [Started, Finished]
    assert json.loads(reader.sealed()) == [{"type": "thought", "signature": "s"}]
