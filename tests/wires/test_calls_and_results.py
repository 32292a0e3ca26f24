"""Calls, their arguments, their results, across both formats and back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from app.chat.events import Finished, ToolCalled
from app.chat.model import Chat, Media, Message, Native, Text, Thinking, ToolCall, ToolResult
from app.wires.gemini import GEMINI
from tests.wires.talking import HELLO, OLDER, TARGETS, WIRES, Json, decoded, sent, tool_loop, written

PNG = "iVBORw0KGgo="
DATA_URL = f"data:image/png;base64,{PNG}"


# ---- calls and results


@pytest.mark.parametrize(
    "number", ["10000000000000000000000000", "0.1", "1e-7", "1.0", "-0", "1E+2", "123456789.123456789123456789"]
)
@pytest.mark.parametrize("client", ["openai", "gemini"])
def test_a_number_in_arguments_is_spelled_as_it_was(number: str, client: str) -> None:
    if client == "openai":
        raw = WIRES["gemini"].encode(decoded("openai", tool_loop(f'{{"n": {number}}}')), TARGETS["gemini"]).body
        assert f'"n": {number}}}'.encode() in raw
    else:
        body = '{"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"n": N}}}]}]}'
        body = body.replace("N}", f"{number}}}")
        raw = WIRES["openai"].encode(decoded("gemini", body.encode()), TARGETS["openai"]).body
        assert json.loads(raw)["messages"][0]["tool_calls"][0]["function"]["arguments"] == f'{{"n":{number}}}'


@pytest.mark.parametrize(
    "arguments", ["{oops", "[1]", "null", '"x"', "5", '{"a": tru}', '{"a": 1} trailing', '{"a": 01}', "{'a': 1}"]
)
def test_arguments_that_are_no_object_survive_the_way_to_gemini_and_back(arguments: str) -> None:
    body, _ = sent("openai", "gemini", tool_loop(arguments))
    part = body["contents"][1]["parts"][0]
    assert part["functionCall"]["args"] == {"_raw": arguments}
    back = sent("gemini", "openai", {"contents": body["contents"]})[0]
    assert back["messages"][1]["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize("arguments", ["{oops", '{"a": tru}', "[1]"])
def test_arguments_that_a_model_garbled_reach_a_gemini_client_and_come_back_as_they_were(arguments: str) -> None:
    stream = written("gemini", [ToolCalled(0, ToolCall("c", "f", arguments)), Finished("tool_calls")], stream=False)
    part = json.loads(stream)["candidates"][0]["content"]["parts"][0]
    assert part["functionCall"]["args"] == {"_raw": arguments}
    call = decoded("gemini", {"contents": [{"role": "model", "parts": [part]}]}).messages[0].calls[0]
    assert call.arguments == arguments


@pytest.mark.parametrize("arguments", ["", "  ", "{}", None])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    assert sent("openai", "gemini", tool_loop(arguments))[0]["contents"][1]["parts"][0]["functionCall"]["args"] == {}


def test_an_argument_that_happens_to_be_called_raw_among_others_is_left_alone() -> None:
    body = {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"_raw": "x", "b": 1}}}]}]}
    assert decoded("gemini", body).messages[0].calls[0].arguments == '{"_raw":"x","b":1}'


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"output": "words"}, "words"),
        ({"output": {"a": 1}}, '{"a":1}'),
        ({"output": 5}, "5"),
        ({"error": "bad"}, "[tool error] bad"),
        ({"rows": [1], "total": 2}, '{"rows":[1],"total":2}'),
        ({"output": "a", "log": "b"}, '{"output":"a","log":"b"}'),
        ({}, "{}"),
    ],
)
def test_a_gemini_result_becomes_a_tool_message(response: Json, text: str) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": response}}]},
    ]
    assert sent("gemini", "openai", {"contents": contents})[0]["messages"][2] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": text,
    }


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ("words", {"output": "words"}),
        ("[tool error] bad", {"error": "bad"}),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], {"output": "ab"}),
        ("", {"output": ""}),
        (None, {"output": ""}),
    ],
)
def test_a_tool_message_becomes_a_gemini_result_under_its_calls_name(content: Any, response: Json) -> None:
    part = sent("openai", "gemini", tool_loop("{}", content, name="look.up"))[0]["contents"][2]["parts"][0]
    assert part == {"functionResponse": {"name": "look.up", "response": response}}


def test_pictures_in_a_result_go_inside_for_gemini_3_beside_it_for_older_ones_and_behind_it_for_openai() -> None:
    picture: Json = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    result = ToolResult("c1", (Text("see"), Media("image", "image/png", PNG)), "f")
    chat = msgspec.structs.replace(
        decoded("openai", HELLO["openai"]),
        native=None,
        messages=(
            Message("user", (Text("go"),)),
            Message("assistant", (ToolCall("c1", "f", "{}"),)),
            Message("user", (result,)),
        ),
    )
    newer = json.loads(WIRES["gemini"].encode(chat, TARGETS["gemini"]).body)["contents"][2]["parts"]
    assert newer[0]["functionResponse"]["parts"] == [picture]
    older = json.loads(WIRES["gemini"].encode(chat, OLDER).body)["contents"][2]["parts"]
    assert "parts" not in older[0]["functionResponse"]
    assert older[1] == picture
    messages = json.loads(WIRES["openai"].encode(chat, TARGETS["openai"]).body)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[3]["content"] == [{"type": "image_url", "image_url": {"url": DATA_URL}}]


def test_results_stand_in_the_order_of_their_calls_and_before_any_words() -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in "abc"]
    results = [{"role": "tool", "tool_call_id": i, "content": i} for i in "cab"]
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": calls},
            *results,
            {"role": "user", "content": "and"},
        ],
    }
    parts = sent("openai", "gemini", body)[0]["contents"][2]["parts"]
    assert [p["functionResponse"]["response"]["output"] for p in parts[:-1]] == ["a", "b", "c"]
    assert parts[-1] == {"text": "and"}


def test_the_older_function_messages_are_understood() -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    contents = sent("openai", "gemini", {"model": "m", "messages": messages})[0]["contents"]
    assert contents[1]["parts"][0]["functionCall"] == {"name": "f", "args": {"a": 1}}
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"output": "1"}


def test_a_custom_tools_text_is_one_string_for_gemini() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    body = {
        "model": "m",
        "tools": [{"type": "custom", "custom": {"name": "sql"}}],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
        ],
    }
    got, _ = sent("openai", "gemini", body)
    assert got["contents"][1]["parts"][0]["functionCall"] == {"name": "sql", "args": {"input": "select 1"}}
    assert got["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["required"] == ["input"]


def test_what_another_format_calls_a_signature_does_not_keep_gemini_s_own_from_going_back() -> None:
    sealed = b'[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"}]'
    foreign = Native("anthropic", msgspec.Raw(b'{"type":"thinking","thinking":"hm","signature":"Eq"}'))
    said = Message("assistant", (Thinking("hm", "Eq", foreign), ToolCall("t1", "f", "{}")), Native("anthropic", b""))
    asked = Message("user", (Text("x"),))
    answer = Message("user", (ToolResult("t1", (Text("r"),)),))
    chat = Chat("m", (asked, GEMINI.restore(said, sealed, in_loop=True), answer))
    got = json.loads(GEMINI.encode(chat, TARGETS["gemini"]).body)
    assert got["contents"][1]["parts"] == json.loads(sealed)
