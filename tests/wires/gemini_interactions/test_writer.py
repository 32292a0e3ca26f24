"""What clients of this format get, byte by byte: Google's order of events, and the same as one resource."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.chat.events import (
    Event,
    Failed,
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
from app.chat.reply import Reply
from app.errors import UpstreamError
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from tests.wires.gemini_interactions.speaking import (
    HELLO,
    MODEL,
    STAMP,
    Json,
    answered,
    completed,
    created,
    decoded,
    delta,
    frames,
    model,
    read,
    start,
    stop,
    stream,
    text,
    written,
)
from tests.wires.gemini_interactions.test_reader import STREAM

TALK: list[Event] = [
    Started("up", "gemini-served"),
    ThinkingDelta("h"),
    ThinkingDelta("m"),
    TextDelta("Grü"),
    TextDelta("ße"),
    ToolCallDelta(0, "c1", "f"),
    ToolCallDelta(0, arguments='{"a":'),
    ToolCallDelta(0, arguments="1.50}"),
    ToolCalled(0, ToolCall("c1", "f", '{"a":1.50}')),
    Usage(input=17, output=198, cached=5, reasoning=195),
    Finished("tool_calls"),
]
HERE = Path(__file__).parent
USAGE: Json = {
    "total_input_tokens": 17,
    "total_output_tokens": 3,
    "total_thought_tokens": 195,
    "total_cached_tokens": 5,
    "total_tool_use_tokens": 0,
    "total_tokens": 215,
}


def test_a_stream_has_googles_order_byte_by_byte() -> None:
    assert written(TALK) == (HERE / "stream.txt").read_bytes()


def test_each_event_goes_out_the_moment_it_comes() -> None:
    writer = GEMINI_INTERACTIONS.writer(decoded(HELLO), STAMP, True)
    sizes = [len(writer.write(event)) for event in TALK]
    assert all(sizes[:9])
    assert sizes[9:] == [0, 0]
    assert writer.content_type.startswith("text/event-stream")


def test_an_answer_in_one_piece_is_the_whole_resource() -> None:
    body = written(TALK, streamed=False, chat=decoded(HELLO | {"previous_interaction_id": "v1_before"}))
    assert b'"arguments":{"a":1.50}' in body
    assert json.loads(body) == {
        "id": "v1_abc",
        "object": "interaction",
        "status": "requires_action",
        "model": "gemini-served",
        "created": "2026-09-21T14:13:20Z",
        "updated": "2026-09-21T14:13:20Z",
        "previous_interaction_id": "v1_before",
        "steps": [
            {"type": "thought", "summary": [text("hm")]},
            {"type": "model_output", "content": [text("Grüße")]},
            {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1.5}},
        ],
        "usage": USAGE,
    }


def test_what_is_written_is_read_back_as_the_same_answer() -> None:
    for streamed in (True, False):
        reply, back = Reply(), Reply()
        for event in TALK:
            reply.add(event)
        for event in read(written(TALK, streamed=streamed), streamed=streamed)[0]:
            back.add(event)
        assert back.message == reply.message
        assert (back.usage and back.usage.output, back.finished and back.finished.reason) == (198, "tool_calls")


def test_what_is_not_stored_has_no_id() -> None:
    chat = decoded(HELLO | {"store": False})
    assert "id" not in json.loads(written(TALK, streamed=False, chat=chat))
    assert b"v1_abc" not in written(TALK, chat=chat)


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        ("stop", "completed", None),
        ("length", "incomplete", None),
        ("tool_calls", "requires_action", None),
        ("paused", "incomplete", None),
        ("content_filter", "failed", "safety"),
        ("malformed_call", "failed", "malformed_function_call"),
    ],
)
def test_the_status_says_why_an_answer_ended(reason: FinishReason, status: str, code: str | None) -> None:
    events: list[Event] = [TextDelta("x"), Finished(reason)]
    whole = json.loads(written(events, streamed=False))
    ended = frames(written(events))[-2][1]["interaction"]
    for said in (whole, ended):
        assert said["status"] == status
        assert "continuation_token" not in said
        assert [error["code"] for error in said.get("errors", [])] == ([code] if code else [])


def test_calls_whose_pieces_mix_are_written_one_after_the_other() -> None:
    events: list[Event] = [
        ToolCallDelta(0, "c1", "f", '{"a"'),
        ToolCallDelta(1, "c2", "g", '{"b"'),
        ToolCallDelta(0, arguments=":1}"),
        TextDelta("said between"),
        ToolCallDelta(1, arguments=":2}"),
        ToolCalled(0, ToolCall("c1", "f", '{"a":1}')),
        ToolCalled(1, ToolCall("c2", "g", '{"b":2}')),
        Finished("tool_calls"),
    ]
    out = written(events)
    _one_after_the_other(out)
    calls = [event.call for event in answered(out) if isinstance(event, ToolCalled)]
    assert calls == [ToolCall("c1", "f", '{"a":1}'), ToolCall("c2", "g", '{"b":2}')]
    assert [event.text for event in answered(out) if isinstance(event, TextDelta)] == ["said between"]


def test_a_call_that_is_never_told_to_be_whole_loses_nothing() -> None:
    out = written(
        [ToolCallDelta(0, "c1", "f", "{}"), ToolCallDelta(1, "c2", "g", "{}"), TextDelta("x"), Finished("stop")]
    )
    _one_after_the_other(out)
    events = answered(out)
    assert [event.call.id for event in events if isinstance(event, ToolCalled)] == ["c1", "c2"]
    assert TextDelta("x") in events


def _one_after_the_other(out: bytes) -> None:
    """No step begins before the one before it ended, and numbers rise."""
    opened: int | None = None
    begun = -1
    for name, body in frames(out):
        if name == "step.start":
            assert opened is None
            assert body["index"] == begun + 1
            opened = begun = body["index"]
        elif name == "step.delta":
            assert body["index"] == opened
        elif name == "step.stop":
            assert body["index"] == opened
            opened = None
    assert opened is None
    ids = [int(body["event_id"]) for _, body in frames(out) if body != "[DONE]"]
    assert ids == list(range(1, len(ids) + 1))


def test_the_stream_of_another_answer_of_gemini_keeps_the_order() -> None:
    _one_after_the_other(written(read(STREAM)[0]))


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (ToolCall("c", "f", '{"a":1.50}'), '{"a":1.50}'),
        (ToolCall("c", "f", ""), "{}"),
        (ToolCall("c", "f", "{broken"), '{"_raw":"{broken"}'),
        (ToolCall("c", "sql", "select 1", kind="custom"), '{"input":"select 1"}'),
    ],
)
def test_a_call_that_comes_whole_is_told_as_one_piece(call: ToolCall, arguments: str) -> None:
    found = frames(written([ToolCalled(0, call), Finished("tool_calls")]))
    deltas = [body["delta"] for name, body in found if name == "step.delta"]
    assert deltas == [{"type": "arguments_delta", "arguments": arguments}]
    (step,) = json.loads(written([ToolCalled(0, call)], streamed=False))["steps"]
    assert step["arguments"] == json.loads(arguments)


def test_steps_that_google_ran_itself_reach_its_clients_as_they_were_under_numbers_of_their_own() -> None:
    search: Json = {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["x"]}}
    note: Json = {"type": "text_annotation_delta", "annotations": [{"type": "url_citation", "url": "u"}]}
    upstream = stream(
        created(),
        start(4, **search),
        stop(4),
        start(7, type="model_output"),
        delta(7, type="text", text="a"),
        delta(7, **note),
        completed(),
    )
    out = written(read(upstream)[0])
    _one_after_the_other(out)
    found = frames(out)
    assert [body["step"] for name, body in found if name == "step.start"] == [search, {"type": "model_output"}]
    assert [body["delta"] for name, body in found if name == "step.delta"] == [text("a"), note]
    whole = json.dumps({"id": "v1", "status": "completed", "steps": [search, model("a")]}).encode()
    steps = json.loads(written(read(whole, streamed=False)[0], streamed=False))["steps"]
    assert steps == [search, model("a")]


def test_an_answer_of_nothing_is_still_a_whole_ceremony() -> None:
    names = [name for name, _ in frames(written([Finished("stop")]))]
    assert names == ["interaction.created", "interaction.status_update", "interaction.completed", "done"]
    body = json.loads(written([], streamed=False))
    assert (body["status"], body["steps"], body["model"]) == ("completed", [], MODEL)


def test_an_error_inside_a_stream_is_an_event_with_a_word_for_its_code() -> None:
    writer = GEMINI_INTERACTIONS.writer(decoded(HELLO), STAMP, True)
    begun = writer.write(TextDelta("x"))
    broken = writer.write(Failed(UpstreamError("gone", kind="overloaded")))
    name, body = frames(broken)[0]
    error: Json = {"code": "service_unavailable", "message": "gone"}
    assert (name, body) == ("error", {"event_type": "error", "error": error, "event_id": "5"})
    assert frames(begun)[-1][1]["event_id"] == "4"
    whole: Any = GEMINI_INTERACTIONS.writer(decoded(HELLO), STAMP, False).fail(UpstreamError("gone", kind="overloaded"))
    assert json.loads(whole) == {"error": error}
