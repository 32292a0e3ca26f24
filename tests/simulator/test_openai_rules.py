"""OpenAI's rules, each as a request that breaks it: status, code and the sentence that clients look for."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from app.simulator.running import Running

PATH = "/v1/chat/completions"
HELLO = {"role": "user", "content": "hello"}
CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "call_2", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ],
}
FIRST, SECOND = ({"role": "tool", "tool_call_id": name, "content": "1"} for name in ("call_1", "call_2"))


def _tool(name: str = "f", schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema or {"type": "object"}, **more}}


def _image(url: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


def _format(schema: dict[str, Any], name: str = "n") -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}


def _call_id(identity: str) -> list[dict[str, Any]]:
    call = {"id": identity, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        HELLO,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": identity, "content": "1"},
    ]


OPEN = {"type": "object", "properties": {"a": {"type": "string"}}}
REFUSED: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "no model": ({"model": None}, None, "you must provide a model parameter"),
    "unknown field": ({"top_k": 3}, None, "Unrecognized request argument supplied: top_k"),
    "unknown fields": (
        {"foldline": {}, "session": 1},
        None,
        "Unrecognized request arguments supplied: foldline, session",
    ),
    "no messages": ({"messages": None}, "invalid_type", "expected an array"),
    "empty messages": ({"messages": []}, "empty_array", "empty array"),
    "unknown role": ({"messages": [{"role": "robot", "content": "x"}]}, "invalid_value", "Invalid value: 'robot'"),
    "null content": ({"messages": [{"role": "user", "content": None}]}, None, "expected a string, got null"),
    "null answer": ({"messages": [HELLO, {"role": "assistant", "content": None}]}, None, "expected a string, got null"),
    "unknown message key": (
        {"messages": [{**HELLO, "reasoning_content": "x"}]},
        "unknown_parameter",
        "reasoning_content",
    ),
    "cache mark in a part": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {}}]}]},
        "unknown_parameter",
        "messages[0].content[0].cache_control",
    ),
    "unknown part": ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "invalid_value", "'video'"),
    "picture from a tool": (
        {"messages": [HELLO, CALLS, {**FIRST, "content": _image("https://x/a.png")[0]["content"]}, SECOND]},
        "invalid_value",
        "Supported values are: 'text'",
    ),
    "picture that does not decode": ({"messages": _image("data:image/png;base64,@@@@")}, "invalid_base64", "base64"),
    "picture of no known type": ({"messages": _image("data:text/plain;base64,AAAA")}, "invalid_value", "MIME type"),
    "call without its result": (
        {"messages": [HELLO, CALLS, FIRST]},
        None,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_2",
    ),
    "result after something else": ({"messages": [HELLO, CALLS, FIRST, HELLO, SECOND]}, None, "call_2"),
    "result without its call": (
        {"messages": [HELLO, FIRST]},
        None,
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ),
    "result given twice": ({"messages": [HELLO, CALLS, FIRST, SECOND, FIRST]}, None, "preceeding message"),
    "call id of 41": ({"messages": _call_id("c" * 41)}, "string_above_max_length", "maximum length 40"),
    "tool name with a dot": ({"tools": [_tool("a.b")]}, "invalid_value", "'^[a-zA-Z0-9_-]+$'"),
    "tool name of 65": ({"tools": [_tool("a" * 65)]}, "string_above_max_length", "maximum length 64"),
    "tool schema that is no object": (
        {"tools": [_tool(schema={"type": "string"})]},
        "invalid_function_parameters",
        '"',
    ),
    "array without items": (
        {"tools": [_tool(schema={"type": "object", "properties": {"a": {"type": "array"}}})]},
        "invalid_function_parameters",
        "array schema missing items",
    ),
    "strict tool, open schema": (
        {"tools": [_tool(schema=OPEN, strict=True)]},
        "invalid_function_parameters",
        "to be false",
    ),
    "strict tool, optional field": (
        {"tools": [_tool(schema={**OPEN, "additionalProperties": False}, strict=True)]},
        "invalid_function_parameters",
        "Missing 'a'",
    ),
    "no tools in the list": ({"tools": []}, "empty_array", "tools"),
    "choice without tools": ({"tool_choice": "auto"}, None, "only allowed when 'tools' are specified"),
    "choice of an unknown tool": (
        {"tools": [_tool()], "tool_choice": {"type": "function", "function": {"name": "g"}}},
        None,
        "'g' not found",
    ),
    "max_tokens of a reasoning model": (
        {"max_tokens": 9},
        "unsupported_parameter",
        "Use 'max_completion_tokens' instead",
    ),
    "temperature of a reasoning model": ({"temperature": 0.5}, "unsupported_value", "Only the default (1)"),
    "stop of a reasoning model": ({"stop": "x"}, "unsupported_parameter", "'stop'"),
    "five stops": ({"model": "gpt-4.1", "stop": list("abcde")}, "array_above_max_length", "maximum length 4"),
    "temperature above 2": ({"model": "lab", "temperature": 2.5}, "decimal_above_max_value", "<= 2"),
    "temperature in quotes": ({"model": "lab", "temperature": "1"}, "invalid_type", "but got a string"),
    "too many answers": ({"n": 129}, "integer_above_max_value", "<= 128"),
    "output beyond the model": ({"max_completion_tokens": 10**7}, None, "supports at most 128000 completion tokens"),
    "unknown format": ({"response_format": {"type": "xml"}}, "invalid_value", "'xml'"),
    "JSON without the word": ({"response_format": {"type": "json_object"}}, None, "must contain the word 'json'"),
    "strict format, open schema": ({"response_format": _format(OPEN)}, None, "'additionalProperties' is required"),
    "format without a name": ({"response_format": _format(OPEN, "")}, "missing_required_parameter", "name"),
    "stream options, no stream": ({"stream_options": {"include_usage": True}}, None, "only allowed when 'stream'"),
    "too long": (
        {"model": "lab-1k", "messages": [{"role": "user", "content": "x" * 5000}]},
        "context_length_exceeded",
        "1000",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_broken_rule_is_refused_in_openai_s_words(name: str, http: httpx2.AsyncClient, sim: Running) -> None:
    change, code, said = REFUSED[name]
    answer = await http.post(PATH, json={"model": "gpt-5-mini", "messages": [HELLO]} | change)
    error = answer.json()["error"]
    assert answer.status_code == 400, error
    assert said in error["message"]
    assert (error["code"], error["type"]) == (code, "invalid_request_error")
    assert sim.journal.last.refused == error["message"]


ACCEPTED: dict[str, dict[str, Any]] = {
    "every role": {"messages": [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, HELLO]},
    "results in any order": {"messages": [HELLO, CALLS, SECOND, FIRST]},
    "two users in a row": {"messages": [HELLO, HELLO]},
    "echoed answer": {
        "messages": [HELLO, {"role": "assistant", "content": "x", "refusal": None, "annotations": []}, HELLO]
    },
    "a picture": {"messages": _image("data:image/png;base64,aW1n")},
    "call id of 40": {"messages": _call_id("c" * 40)},
    "strict tool": {"tools": [_tool(schema={**OPEN, "additionalProperties": False, "required": ["a"]}, strict=True)]},
    "unknown field of another's model": {"model": "qwen3-max", "top_k": 3, "enable_thinking": False},
    "max_tokens of an older model": {"model": "gpt-4.1", "max_tokens": 9, "temperature": 0.2},
    "lab": {"model": "lab", "max_tokens": 200},
}


@pytest.mark.parametrize("name", ACCEPTED)
async def test_what_openai_takes_is_answered(name: str, http: httpx2.AsyncClient) -> None:
    answer = await http.post(PATH, json={"model": "gpt-5-mini", "messages": [HELLO]} | ACCEPTED[name])
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("authorization", "code"),
    [(None, None), ("Basic lab", None), ("Bearer", None), ("Bearer bad-key", "invalid_api_key")],
)
async def test_a_missing_or_wrong_key_is_a_401(
    authorization: str | None, code: str | None, http: httpx2.AsyncClient
) -> None:
    http.headers.pop("authorization")
    headers = {"authorization": authorization} if authorization else {}
    answer = await http.post(PATH, json={"model": "lab", "messages": [HELLO]}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, code)


async def test_an_unknown_model_is_a_404(http: httpx2.AsyncClient) -> None:
    answer = await http.post(PATH, json={"model": "no-such-model", "messages": [HELLO]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"x"', b'{"model": "lab", "messages": ' + b"[" * 100_000])
async def test_what_is_no_json_object_is_a_400(raw: bytes, http: httpx2.AsyncClient) -> None:
    answer = await http.post(PATH, content=raw, headers={"content-type": "application/json"})
    assert (answer.status_code, "JSON" in answer.json()["error"]["message"]) == (400, True)


async def test_deepseek_wants_the_reasoning_of_the_running_turn_back(http: httpx2.AsyncClient) -> None:
    turn: list[dict[str, Any]] = [HELLO, {**CALLS}, FIRST, SECOND]
    body: dict[str, Any] = {"model": "deepseek-v4-pro", "messages": turn}
    refused = await http.post(PATH, json=body)
    assert (refused.status_code, "reasoning_content" in refused.json()["error"]["message"]) == (400, True)
    turn[1]["reasoning_content"] = "R"
    answer = await http.post(PATH, json=body)
    assert answer.json()["choices"][0]["message"]["reasoning_content"]
    del turn[1]["reasoning_content"]
    later = [*turn, {"role": "assistant", "content": "done"}, HELLO]
    assert (await http.post(PATH, json=body | {"messages": later})).status_code == 200
    off = {"thinking": {"type": "disabled"}}
    assert "reasoning_content" not in (await http.post(PATH, json=body | off)).json()["choices"][0]["message"]
