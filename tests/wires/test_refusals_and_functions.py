"""What only OpenAI's formats tell apart: the words by which a model declines, and the older way to call functions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat.events import Event, Finished, Started, TextDelta, ToolCallDelta, ToolCalled
from app.chat.model import Chat, ToolCall
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Inbound, Stamp, Wire

STAMP = Stamp("1", 2)
NO = "I cannot help with that."
HELLO: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
FUNCTION: dict[str, Any] = {"name": "look", "parameters": {"type": "object", "properties": {}}}
CALL = ToolCall("call_1", "look", '{"a":1}')
CALLED: list[Event] = [
    Started("x", "m"),
    ToolCallDelta(0, "call_1", "look", ""),
    ToolCallDelta(0, arguments='{"a":1}'),
    ToolCalled(0, CALL),
    ToolCalled(1, ToolCall("call_2", "look", "{}")),
    Finished("tool_calls"),
]

CHAT_WHOLE = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "refusal": NO}}]}
PART = {"type": "refusal", "refusal": NO}
ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [PART]}
RESPONSE = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [ITEM]}
CHUNKS: list[dict[str, Any]] = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "refusal": NO[:7]}}]},
    {"choices": [{"index": 0, "delta": {"refusal": NO[7:]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
AT = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
EVENTS = [
    {"type": "response.created", "response": RESPONSE | {"status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM | {"content": []}},
    {"type": "response.refusal.delta", "delta": NO, **AT},
    {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
    {"type": "response.completed", "response": RESPONSE},
]
ANSWERS = {
    "chat": (OPENAI_CHAT, json.dumps(CHAT_WHOLE).encode()),
    "responses": (OPENAI_RESPONSES, json.dumps(RESPONSE).encode()),
    "chat, streamed": (OPENAI_CHAT, b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in CHUNKS)),
    "responses, streamed": (OPENAI_RESPONSES, b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in EVENTS)),
}


@pytest.fixture(params=ANSWERS)
def declined(request: pytest.FixtureRequest) -> list[Event]:
    """What a model of OpenAI said that declines."""
    wire, said = ANSWERS[request.param]
    reader = wire.reader(_asked(OPENAI_CHAT, HELLO), "streamed" in request.param, lambda: "new")
    return [*reader.feed(said), *reader.close()]


def test_a_refusal_is_one_for_clients_of_chat_completions(declined: list[Event]) -> None:
    message = json.loads(_written(OPENAI_CHAT, HELLO, declined))["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == (None, NO)
    deltas = [one["choices"][0]["delta"] for one in _data(_written(OPENAI_CHAT, HELLO | {"stream": True}, declined))]
    assert "".join(delta.get("refusal") or "" for delta in deltas) == NO
    assert not any(delta.get("content") for delta in deltas)


def test_a_refusal_is_one_for_clients_of_responses(declined: list[Event]) -> None:
    asked = {"model": "m", "input": "hello"}
    output = json.loads(_written(OPENAI_RESPONSES, asked, declined))["output"]
    assert [item["content"] for item in output] == [[PART]]
    told = _data(_written(OPENAI_RESPONSES, asked | {"stream": True}, declined))
    kinds = [each["type"].removeprefix("response.") for each in told]
    assert kinds == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *["refusal.delta"] * (len(kinds) - 8),
        *("refusal.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert told[-1]["response"]["output"][0]["content"] == [PART]
    assert [each["sequence_number"] for each in told] == list(range(len(told)))


def test_a_client_of_functions_gets_a_function_call() -> None:
    asked = HELLO | {"functions": [FUNCTION]}
    choice = json.loads(_written(OPENAI_CHAT, asked, CALLED))["choices"][0]
    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "look", "arguments": '{"a":1}'}
    assert "tool_calls" not in choice["message"]
    choices = [one["choices"][0] for one in _data(_written(OPENAI_CHAT, asked | {"stream": True}, CALLED))]
    pieces = [one["delta"]["function_call"] for one in choices if "function_call" in one["delta"]]
    assert pieces == [{"name": "look", "arguments": ""}, {"arguments": '{"a":1}'}]
    assert choices[-1]["finish_reason"] == "function_call"


def test_a_client_of_tools_gets_tool_calls() -> None:
    asked = HELLO | {"tools": [{"type": "function", "function": FUNCTION}]}
    choice = json.loads(_written(OPENAI_CHAT, asked, CALLED))["choices"][0]
    assert (choice["finish_reason"], len(choice["message"]["tool_calls"])) == ("tool_calls", 2)


def _asked(wire: Wire, body: dict[str, Any]) -> Chat:
    return wire.decode(Inbound(json.dumps(body).encode()))


def _written(wire: Wire, body: dict[str, Any], events: list[Event]) -> bytes:
    writer = wire.writer(_asked(wire, body), STAMP, bool(body.get("stream")))
    return b"".join(map(writer.write, events)) + writer.close()


def _data(stream: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in stream.split(b"\n") if line.startswith(b"data: {")]


def test_a_refusal_is_words_to_everybody_else(declined: list[Event]) -> None:
    assert "".join(event.text for event in declined if isinstance(event, TextDelta)) == NO
