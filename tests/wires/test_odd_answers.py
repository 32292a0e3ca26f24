"""What providers do that the rules do not foresee: late signatures, missing ids, strange chunks, plain rubbish."""

from __future__ import annotations

import json

import pytest

from app.chat.events import (
    Failed,
    Finished,
    Started,
    ToolCalled,
    Unknown,
)
from app.chat.model import ToolCall
from tests.wires.talking import (
    HELLO,
    WIRES,
    Json,
    decoded,
    events_of,
    gemini_chunk,
    lines,
    openai_chunk,
    sse,
    written,
)

STREAMS = ("openai", "gemini")


# ---- what providers do that the rules do not foresee


def test_a_late_signature_in_an_empty_part_is_kept() -> None:
    reader = WIRES["gemini"].reader(decoded("gemini", HELLO["gemini"]), True, str)
    reader.feed(
        sse(
            gemini_chunk({"text": "a"}),
            gemini_chunk({"text": "b"}),
            gemini_chunk({"text": "", "thoughtSignature": "bGF0ZQ=="}, finish="STOP"),
        )
    )
    reader.close()
    assert json.loads(reader.sealed()) == [{"text": "ab"}, {"text": "", "thoughtSignature": "bGF0ZQ=="}]


def test_an_answer_of_mere_words_leaves_nothing_to_put_back() -> None:
    reader = WIRES["gemini"].reader(decoded("gemini", HELLO["gemini"]), True, str)
    reader.feed(sse(gemini_chunk({"text": "th", "thought": True}), gemini_chunk({"text": "a"}, finish="STOP")))
    assert reader.sealed() == b""
    plain = WIRES["openai"].reader(decoded("openai", HELLO["openai"]), True, str)
    plain.feed(sse(openai_chunk({"content": "x"}, "stop"), "[DONE]"))
    assert plain.sealed() == b""


def test_streamed_reasoning_details_are_joined_by_index_to_be_put_back() -> None:
    reader = WIRES["openai"].reader(decoded("openai", HELLO["openai"]), True, str)
    first = {"type": "reasoning.text", "text": "a", "index": 0}
    reader.feed(sse(openai_chunk({"reasoning_details": [first], "reasoning": "a"})))
    reader.feed(sse(openai_chunk({"reasoning_details": [{**first, "text": "b", "signature": "s"}], "reasoning": "b"})))
    reader.feed(
        sse(
            openai_chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "d", "index": 1}]}, "stop"),
            "[DONE]",
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
            "gemini",
            [sse(gemini_chunk({"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}, finish="STOP"))],
        )
        if isinstance(e, ToolCalled)
    ]
    assert [(call.id, call.arguments) for call in calls] == [("call_1", "{}"), ("call_2", "{}")]


@pytest.mark.parametrize("given", ["x" * 41, "a.b", "ünï", "same"])
def test_an_id_that_another_provider_would_refuse_is_not_shown_to_the_client(given: str) -> None:
    parts = [{"functionCall": {"name": "f", "id": given}}] * 2
    calls = [
        e.call for e in events_of("gemini", [sse(gemini_chunk(*parts, finish="STOP"))]) if isinstance(e, ToolCalled)
    ]
    assert [call.id for call in calls] == (["same", "call_1"] if given == "same" else ["call_1", "call_2"])


def test_a_server_that_numbers_no_calls_begins_a_new_one_with_each_new_id() -> None:
    def piece(identity: str | None, name: str | None, arguments: str) -> Json:
        return openai_chunk({"tool_calls": [{"id": identity, "function": {"name": name, "arguments": arguments}}]})

    stream = sse(
        piece("a", "f", '{"x":'),
        piece(None, None, "1}"),
        piece("b", "g", ""),
        piece("b", None, "{}"),
        openai_chunk({}, "stop"),
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
    good = (
        openai_chunk({"content": "x"}, "stop") if upstream == "openai" else gemini_chunk({"text": "x"}, finish="STOP")
    )
    strange: Json = {"choices": "soon"} if upstream == "openai" else {"candidates": "soon"}
    events = events_of(upstream, [sse(strange, good)])
    assert isinstance(events[0], Unknown)
    assert isinstance(events[-1], Finished)


def test_parts_that_only_gemini_has_are_kept_for_gemini_and_dropped_for_others() -> None:
    code: Json = {"executableCode": {"language": "PYTHON", "code": "1"}}
    picture: Json = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    stream = sse(gemini_chunk({"text": "a"}, code, picture, {"text": "b"}, finish="STOP"))
    reader = WIRES["gemini"].reader(decoded("gemini", HELLO["gemini"]), True, str)
    events = reader.feed(stream) + reader.close()
    assert json.loads(reader.sealed()) == [{"text": "a"}, code, picture, {"text": "b"}]
    body = json.loads(written("openai", events, stream=False))
    assert body["choices"][0]["message"]["content"] == "ab"


def test_a_second_candidate_never_mixes_with_the_first() -> None:
    other: Json = {"index": 1, "delta": {"content": "NO"}, "finish_reason": None}
    stream = sse(openai_chunk({"content": "yes"}), {"id": "r", "choices": [other]}, openai_chunk({}, "stop"), "[DONE]")
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
    stream = sse(gemini_chunk({"functionCall": {"name": "sql", "args": {"input": "select 1"}}}, finish="STOP"))
    events = events_of("gemini", [stream], chat=chat)
    call = json.loads(written("openai", events, stream=False, chat=chat))["choices"][0]["message"]["tool_calls"][0]
    assert call == {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    delta = lines(written("openai", events, chat=chat))[1]["choices"][0]["delta"]
    assert delta == {"tool_calls": [{"index": 0, **call}]}


def test_a_streamed_custom_call_is_put_together() -> None:
    def piece(**custom: str) -> Json:
        return openai_chunk(
            {
                "tool_calls": [
                    {"index": 0, **({"id": "c"} if "name" in custom else {}), "type": "custom", "custom": custom}
                ]
            }
        )

    events = events_of(
        "openai", [sse(piece(name="sql", input="sel"), piece(input="ect 1"), openai_chunk({}, "tool_calls"), "[DONE]")]
    )
    assert [e.call for e in events if isinstance(e, ToolCalled)] == [ToolCall("c", "sql", "select 1", kind="custom")]
