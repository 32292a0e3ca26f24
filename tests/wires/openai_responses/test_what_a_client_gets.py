"""What a Responses client gets: the full ceremony of a stream, whole responses, errors before and inside it."""

from __future__ import annotations

import json
from typing import Any, get_args

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
    Unknown,
    Usage,
)
from app.chat.model import Native, ToolCall
from app.errors import STATUS, ClientError, Kind, ProxyError, UpstreamError
from app.wires.openai_responses import OPENAI_RESPONSES
from tests.wires.openai_responses.speaking import (
    ASK,
    HELLO,
    STAMP,
    Json,
    body_of,
    decoded,
    events_of,
    lines,
    told,
    written,
)

GEMINI = Native("gemini", b"")
SIGNED = ToolCall("call_b", "g", '{"a":1}', "c2ln", native=Native("gemini", {}))
CUSTOM = ToolCall("call_p", "patch", "*** Begin", kind="custom")
SPOKEN: list[Event] = [
    Started("up_1", "gemini-3"),
    ThinkingDelta("Look ", GEMINI),
    ThinkingDelta("her up.", GEMINI),
    TextDelta("In "),
    TextDelta("Raum 4 🎌"),
    ToolCallDelta(0, "call_a", "f", ""),
    ToolCallDelta(0, arguments='{"n":'),
    ToolCallDelta(0, arguments="1}"),
    ToolCalled(0, ToolCall("call_a", "f", '{"n":1}')),
    ToolCalled(1, SIGNED),
    ToolCalled(2, CUSTOM),
    Unknown(GEMINI),
    Usage(9, 4, 2, 1, 3),
    Finished("tool_calls"),
]
CEREMONY = [
    ["created", "in_progress"],
    ["output_item.added", "reasoning_summary_part.added"],
    ["reasoning_summary_text.delta"] * 2,
    ["reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"],
    ["output_item.added", "content_part.added", *["output_text.delta"] * 2],
    ["output_text.done", "content_part.done", "output_item.done"],
    ["output_item.added", *["function_call_arguments.delta"] * 2, "function_call_arguments.done", "output_item.done"],
    ["output_item.added", "output_item.done"],  # reasoning that carries the next call's signature
    ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"],
    ["output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done", "output_item.done"],
    ["completed"],
]


def _output(stream: bytes) -> list[Json]:
    found: list[Json] = lines(stream)[-1]["response"]["output"]
    return found


def test_a_stream_is_the_full_ceremony_in_order_and_numbered() -> None:
    events = lines(written(SPOKEN))
    assert [event["type"] for event in events] == [f"response.{kind}" for group in CEREMONY for kind in group]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_items_have_stable_ids_of_the_customary_kind_and_their_place() -> None:
    events = lines(written(SPOKEN))
    added = {event["output_index"]: event["item"] for event in events if event["type"] == "response.output_item.added"}
    done = {event["output_index"]: event["item"] for event in events if event["type"] == "response.output_item.done"}
    assert [item["id"].split("_")[0] for item in added.values()] == ["rs", "msg", "fc", "rs", "fc", "ctc"]
    assert {place: item["id"] for place, item in added.items()} == {place: item["id"] for place, item in done.items()}
    assert events[-1]["response"]["output"] == [done[place] for place in sorted(done)]
    for event in events:
        if "item_id" in event:
            assert added[event["output_index"]]["id"] == event["item_id"]


def test_the_deltas_of_an_item_are_what_it_holds_in_the_end() -> None:
    events = lines(written(SPOKEN))
    for place, item in enumerate(events[-1]["response"]["output"]):
        said = "".join(e["delta"] for e in events if e["type"].endswith(".delta") and e["output_index"] == place)
        held = item.get("arguments", item.get("input"))
        if held is None:
            held = "".join(part["text"] for part in item.get("content", item.get("summary")))
        assert said == held


def test_an_answer_in_one_piece_is_the_response_that_the_stream_ends_with() -> None:
    assert json.loads(written(SPOKEN, stream=False)) == lines(written(SPOKEN))[-1]["response"]


@pytest.mark.parametrize("stream", [True, False])
def test_what_was_written_is_read_back_as_it_was(stream: bool) -> None:
    reply, again = told(SPOKEN), told(events_of([written(SPOKEN, stream=stream)], stream=stream))
    assert (again.text, again.thinking, again.usage and again.usage.input) == (reply.text, reply.thinking, 9)
    assert [(c.id, c.name, c.arguments, c.kind) for c in again.calls] == [
        (c.id, c.name, c.arguments, c.kind) for c in reply.calls
    ]
    assert again.finished is not None
    assert again.finished.reason == "tool_calls"


def test_the_response_says_what_was_asked_for() -> None:
    tools: list[Json] = [{"type": "function", "name": "f", "parameters": {}, "strict": None}]
    asked: Json = {
        "instructions": "be brief",
        "tools": tools,
        "tool_choice": "required",
        "temperature": 0.5,
        "metadata": {"a": "b"},
        "text": {"format": {"type": "json_object"}, "verbosity": "low"},
    }
    chat = decoded(body_of(ASK, **asked, store=False, previous_response_id="resp_before"))
    response = json.loads(written(SPOKEN, stream=False, chat=chat))
    assert {name: response[name] for name in asked} == asked
    assert (response["id"], response["object"], response["model"]) == ("resp_1", "response", "gemini-3")
    assert (response["status"], response["error"], response["incomplete_details"]) == ("completed", None, None)
    assert (response["store"], response["previous_response_id"]) == (False, "resp_before")
    assert response["created_at"] == STAMP.created
    assert response["usage"] == {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 13,
    }


def test_what_another_provider_knows_travels_with_the_client_as_ours() -> None:
    output = _output(written(SPOKEN))
    assert [item.get("encrypted_content") for item in output if item["type"] == "reasoning"] == [
        "foldline.gemini",
        "foldline.gemini.c2ln",
    ]
    chat = decoded(body_of(ASK, *output))
    assert [call.signature for call in chat.messages[1].calls] == ["", "c2ln", ""]
    thinking_then_call: list[Event] = [ThinkingDelta("hm", GEMINI), ToolCalled(0, SIGNED), Finished("tool_calls")]
    first, call = _output(written(thinking_then_call))
    assert (first["encrypted_content"], first["summary"][0]["text"]) == ("foldline.gemini.c2ln", "hm")
    assert call["call_id"] == "call_b"


@pytest.mark.parametrize("reason", get_args(FinishReason))
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_was_cut_is_incomplete_and_says_why(reason: FinishReason, stream: bool) -> None:
    data = written([TextDelta("x"), Finished(reason)], stream=stream)
    body = lines(data)[-1]["response"] if stream else json.loads(data)
    cut = {"length": "max_output_tokens", "paused": "max_output_tokens", "content_filter": "content_filter"}
    expected = ("incomplete", {"reason": cut[reason]}) if reason in cut else ("completed", None)
    assert (body["status"], body["incomplete_details"]) == expected
    assert body["output"][0]["status"] == expected[0]
    if stream:
        assert lines(data)[-1]["type"] == f"response.{expected[0]}"


def test_calls_that_grow_side_by_side_are_kept_apart() -> None:
    both: list[Event] = [
        ToolCallDelta(0, "a", "f", "["),
        ToolCallDelta(1, "b", "g", "{"),
        ToolCallDelta(0, arguments="]"),
        ToolCallDelta(1, arguments="}"),
        ToolCalled(0, ToolCall("a", "f", "[]")),
        ToolCalled(1, ToolCall("b", "g", "{}")),
        Finished("tool_calls"),
    ]
    assert [(item["call_id"], item["arguments"]) for item in _output(written(both))] == [("a", "[]"), ("b", "{}")]


def test_a_call_that_nobody_finished_is_closed_with_the_answer() -> None:
    (item,) = _output(written([ToolCallDelta(0, "a", "f", '{"x'), Finished("length")]))
    assert (item["status"], item["arguments"]) == ("incomplete", '{"x')


def test_free_text_is_told_when_it_is_whole_even_where_a_provider_sent_it_piece_by_piece() -> None:
    chat = decoded(body_of(ASK, tools=[{"type": "custom", "name": "patch"}]))
    pieces: list[Event] = [ToolCallDelta(0, "p", "patch", '{"input":"'), ToolCalled(0, CUSTOM), Finished("tool_calls")]
    (item,) = _output(written(pieces, chat=chat))
    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin")


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_of_a_tool_in_a_namespace_says_so(stream: bool) -> None:
    mail = {"type": "namespace", "name": "mail", "tools": [{"type": "function", "name": "send"}]}
    chat = decoded(body_of(ASK, tools=[mail]))
    data = written([ToolCalled(0, ToolCall("a", "mail__send", "{}")), Finished("tool_calls")], stream=stream, chat=chat)
    (item,) = _output(data) if stream else json.loads(data)["output"]
    assert (item["namespace"], item["name"]) == ("mail", "send")
    assert decoded(body_of(ASK, item)).messages[1].calls[0].name == "mail__send"


def test_an_empty_answer_is_still_a_whole_one() -> None:
    kinds = [event["type"] for event in lines(written([Finished("stop")]))]
    assert kinds == ["response.created", "response.in_progress", "response.completed"]
    assert json.loads(written([Finished("stop")], stream=False))["output"] == []


def test_a_sign_of_life_is_a_comment() -> None:
    keepalive = OPENAI_RESPONSES.writer(decoded(HELLO), STAMP, True).keepalive
    assert keepalive.startswith(b":")
    assert keepalive.endswith(b"\n")


# ---- errors


def test_an_answer_that_breaks_off_fails_with_what_was_said_and_an_error_event() -> None:
    writer = OPENAI_RESPONSES.writer(decoded(HELLO), STAMP, True)
    data = writer.write(TextDelta("In ")) + writer.fail(UpstreamError("It broke.", kind="rate_limited"))
    *_, failed, error = lines(data)
    assert failed["type"] == "response.failed"
    assert failed["response"]["status"] == "failed"
    assert failed["response"]["error"] == {"code": "rate_limit_exceeded", "message": "It broke."}
    assert error["type"] == "error"
    assert (error["code"], error["message"], error["param"]) == ("rate_limit_exceeded", "It broke.", None)
    assert error["error"]["message"] == "It broke."
    assert [event["sequence_number"] for event in lines(data)] == list(range(len(lines(data))))
    assert isinstance(events_of([data])[-1], Failed)


def test_an_error_before_the_first_word_is_still_a_well_formed_stream() -> None:
    data = OPENAI_RESPONSES.writer(decoded(HELLO), STAMP, True).fail(UpstreamError("gone"))
    assert [event["type"] for event in lines(data)] == [
        "response.created",
        "response.in_progress",
        "response.failed",
        "error",
    ]


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_of_error_has_openais_shape(kind: Kind) -> None:
    problem = OPENAI_RESPONSES.problem(ProxyError("No.", kind=kind, param="p"))
    assert problem.status == STATUS[kind]
    error = json.loads(problem.body)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["message"].partition(" (")[0], error["param"]) == ("No.", "p")


def test_a_chat_that_is_too_long_is_told_as_openai_tells_it() -> None:
    error = json.loads(OPENAI_RESPONSES.problem(ClientError("Too long.", kind="too_long")).body)["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", "input")


@pytest.mark.parametrize(
    "error",
    [
        ClientError("No such response.", kind="not_found", param="previous_response_id"),
        ClientError("No such response.", kind="not_found", code="previous_response_not_found"),
    ],
)
def test_a_response_that_is_not_known_is_told_by_the_code_that_clients_look_for(error: ClientError) -> None:
    problem = OPENAI_RESPONSES.problem(error)
    assert problem.status == 400
    said = json.loads(problem.body)["error"]
    assert (said["code"], said["param"]) == ("previous_response_not_found", "previous_response_id")


@pytest.mark.parametrize(
    ("status", "error", "kind", "code"),
    [
        (
            400,
            {"message": "Previous response with id 'resp_x' not found.", "code": "previous_response_not_found"},
            "not_found",
            "previous_response_not_found",
        ),
        (
            400,
            {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"},
            "too_long",
            "context_length_exceeded",
        ),
        (400, {"message": "No tool output found for function call c.", "param": "input"}, "bad_request", None),
        (429, {"message": "Slow down.", "code": "rate_limit_exceeded"}, "rate_limited", "rate_limit_exceeded"),
        (500, {"message": "Oops.", "type": "server_error"}, "upstream_failed", None),
    ],
)  # fmt: skip - a table
def test_openais_refusal_is_understood_and_quoted(status: int, error: Json, kind: Kind, code: Any) -> None:
    body = json.dumps({"error": error}).encode()
    failure = OPENAI_RESPONSES.failure(status, {"retry-after": "3"}, body)
    assert (failure.kind, failure.code, failure.status, failure.retry_after) == (kind, code, status, 3)
    assert OPENAI_RESPONSES.problem(failure).body == body
