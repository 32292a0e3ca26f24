"""Anthropic's rules, each as a request that breaks it: status, and the sentence that clients look for."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from app.simulator.running import Running

PATH = "/v1/messages"
OLD = {"x-api-key": "lab", "anthropic-version": "2023-06-01"}
HELLO = {"role": "user", "content": "hello"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
TOOL = {"name": "f", "input_schema": SCHEMA}
FIRST: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
SECOND = FIRST | {"id": "toolu_2"}
ONE: dict[str, Any] = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"}
TWO = ONE | {"tool_use_id": "toolu_2"}
FORMAT = {"type": "json_schema", "schema": SCHEMA | {"additionalProperties": False}}
MARK = {"cache_control": {"type": "ephemeral"}}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
CITATION = {"type": "char_location", "cited_text": "d", "document_index": 0}
THINKS = {"thinking": {"type": "adaptive"}}


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def _user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def _model(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def _messages(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def _tools(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "tools": [TOOL], **more}


def _budget(tokens: Any, **more: Any) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}, **more}


PREFILL = "does not support assistant message prefill. The conversation must end with a user message."
PAIR = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"model": None}, "model: Input should be a valid string"),
    "no max_tokens": ({"max_tokens": ...}, "max_tokens: Field required"),
    "max_tokens beyond the model": (
        {"max_tokens": 64_001, "model": "claude-sonnet-4-5"},
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
    ),
    "max_tokens below nothing": ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
    "no messages": ({"messages": ...}, "messages: Field required"),
    "empty messages": ({"messages": []}, "messages: at least one message is required"),
    "unknown field": ({"n": 1}, "n: Extra inputs are not permitted"),
    "foldline's own field": ({"foldline": {}}, "foldline: Extra inputs are not permitted"),
    "field of a beta that is off": ({"context_management": {"edits": []}}, "context_management: Extra inputs"),
    "safeguards without their beta": ({"safeguards": []}, "safeguards: Extra inputs"),
    "unknown metadata": ({"metadata": {"trace": "x"}}, "metadata.trace: Extra inputs are not permitted"),
    "stream in quotes": ({"stream": "yes"}, "stream: Input should be a valid boolean"),
    "one stop as a string": ({"stop_sequences": "x"}, "stop_sequences: Input should be a valid list"),
    "stop of blanks": ({"stop_sequences": [" "]}, "each stop sequence must contain non-whitespace"),
    "unknown role": (_messages({"role": "robot", "content": "x"}), "messages.0.role: Input should be 'user', "),
    "assistant first": (_messages(_model(_text("x")), HELLO), 'messages: first message must use the "user" role'),
    "assistant last": (_messages(HELLO, _model(_text("x"))), PREFILL),
    "blank at the end of a prefill": (
        _messages(HELLO, _model(_text("x ")), model="claude-haiku-4-5"),
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "unknown message key": (_messages(HELLO | {"name": "x"}), "messages.0.name: Extra inputs are not permitted"),
    "empty message": (_messages(HELLO, _model(), HELLO), "messages.1: all messages must have non-empty content"),
    "empty text": (_messages(_user(_text(""))), "messages: text content blocks must be non-empty"),
    "blank text": (_messages(_user(_text(" \n"))), "messages: text content blocks must contain non-whitespace text"),
    "empty system text": ({"system": [_text("")]}, "system: text content blocks must be non-empty"),
    "system of a picture": ({"system": [PICTURE]}, "system.0.type: Input should be 'text'"),
    "unknown block": (_messages(_user({"type": "video"})), "Input tag 'video' found using 'type' does not match any"),
    "unknown key in a block": (
        _messages(_user(_text("x", index=1))),
        "messages.0.content.0.text.index: Extra inputs are not permitted",
    ),
    "picture from the assistant": (_messages(HELLO, _model(PICTURE), HELLO), "`image` blocks can only be in `user`"),
    "call from the user": (_messages(_user(FIRST)), "`tool_use` blocks can only be in `assistant` messages"),
    "result from the assistant": (_messages(HELLO, _model(ONE), HELLO), "`tool_result` blocks can only be in `user`"),
    "picture that does not decode": (
        _messages(_user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "@@"}})),
        "Could not process image",
    ),
    "picture of no known type": (
        _messages(_user({"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "AAAA"}})),
        "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),
    "picture over plain http": (
        _messages(_user({"type": "image", "source": {"type": "url", "url": "http://x/a.png"}})),
        "Only HTTPS URLs are supported.",
    ),
    "arguments as a string": (
        _tools(HELLO, _model(FIRST | {"input": "{}"}), _user(ONE)),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "id with a dot": (
        _tools(HELLO, _model(FIRST | {"id": "call.1"}), _user(ONE | {"tool_use_id": "call.1"})),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "tool name with a dot": (
        {"tools": [TOOL | {"name": "a.b"}]},
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
    ),
    "call never answered": (
        _tools(HELLO, _model(FIRST, SECOND), HELLO),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1, toolu_2. "
        f"{PAIR}",
    ),
    "call unanswered at the end": (_tools(HELLO, _model(FIRST)), "immediately after: toolu_1."),
    "one of two calls answered": (_tools(HELLO, _model(FIRST, SECOND), _user(ONE)), "immediately after: toolu_2."),
    "result behind a text": (_tools(HELLO, _model(FIRST), _user(_text("so"), ONE)), "immediately after: toolu_1."),
    "result a message too late": (
        _tools(HELLO, _model(FIRST, SECOND), _user(ONE), _user(TWO)),
        "immediately after: toolu_2.",
    ),
    "result without its call": (
        _tools(_user(ONE)),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` "
        "block must have a corresponding `tool_use` block in the previous message.",
    ),
    "result given twice": (_tools(HELLO, _model(FIRST), _user(ONE, ONE)), "each tool_use must have a single result."),
    "id used twice": (
        _tools(HELLO, _model(FIRST), _user(ONE), _model(FIRST), _user(ONE)),
        "messages: `tool_use` ids must be unique",
    ),
    "picture in an error": (
        _tools(HELLO, _model(FIRST), _user(ONE | {"is_error": True, "content": [PICTURE]})),
        "all content must be type `text` if `is_error` is true",
    ),
    "calls but no tools": (
        _messages(HELLO, _model(FIRST), _user(ONE)),
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    ),
    "system between call and result": (
        _tools(HELLO, _model(FIRST), {"role": "system", "content": "x"}, _user(ONE), model="claude-opus-5"),
        "immediately after: toolu_1.",
    ),
    "tool of OpenAI": (
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        "tools.0: Input tag 'function' found using 'type' does not match any of the expected tags: 'custom'",
    ),
    "tool without a schema": ({"tools": [{"name": "f"}]}, "tools.0.custom.input_schema: Field required"),
    "tool schema that is no object": (
        {"tools": [{"name": "f", "input_schema": {"type": "string"}}]},
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    "tool schema with a choice at its root": (
        {"tools": [{"name": "f", "input_schema": {"type": "object", "anyOf": [{}]}}]},
        "input_schema does not support oneOf, allOf, or anyOf at the top level",
    ),
    "tool schema in Google's types": (
        {"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {"a": {"type": "STRING"}}}}]},
        "JSON schema is invalid. It must match JSON Schema draft 2020-12",
    ),
    "two tools of one name": ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
    "strict tool, open schema": (
        {"tools": [TOOL | {"strict": True}]},
        "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    "choice as a string": ({"tools": [TOOL], "tool_choice": "auto"}, "tool_choice: Input should be an object"),
    "choice in OpenAI's words": (
        {"tools": [TOOL], "tool_choice": {"type": "required"}},
        "tool_choice: Input tag 'required' found using 'type'",
    ),
    "choice without tools": ({"tool_choice": {"type": "auto"}}, "tool_choice may only be specified while providing"),
    "choice of an unknown tool": (
        {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "g"}},
        "Tool 'g' not found in provided tools",
    ),
    "five cache marks": (
        {"system": [_text(f"{number}", **MARK) for number in range(5)]},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "the automatic mark as the fifth": (
        {"system": [_text(f"{number}", **MARK) for number in range(4)], **MARK},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "an hour after five minutes": (
        {
            "system": [_text("a", **MARK)],
            "messages": [_user(_text("b", cache_control={"type": "ephemeral", "ttl": "1h"}))],
        },
        "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
    ),
    "a mark for two hours": (
        {"system": [_text("a", cache_control={"type": "ephemeral", "ttl": "2h"})]},
        "system.0.cache_control.ttl: Input should be '5m' or '1h'",
    ),
    "thinking marked": (
        _messages(HELLO, _model({"type": "thinking", "thinking": "t", "signature": "s", **MARK}), HELLO),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    "citations on some documents": (
        _messages(_user(DOCUMENT | {"citations": {"enabled": True}}, DOCUMENT)),
        "Citations must be enabled on all or none of the documents",
    ),
    "budget below 1024": (
        _budget(1023),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "budget not below max_tokens": (
        _budget(2000, max_tokens=2000),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    "forced call with a budget": (
        _budget(1024, max_tokens=2000, tools=[TOOL], tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "temperature while thinking": (
        THINKS | {"temperature": 0.5},
        "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
    ),
    "top_p while thinking": (THINKS | {"top_p": 0.9}, "`top_p` must be greater than or equal to 0.95 or unset"),
    "top_k while thinking": (THINKS | {"top_k": 3}, "`top_k` must be unset when thinking is enabled."),
    "temperature and top_p": (
        {"temperature": 1, "top_p": 1},
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    ),
    "temperature above 1": ({"temperature": 1.5}, "temperature: Input should be less than or equal to 1"),
    "unknown effort": ({"output_config": {"effort": "minimal"}}, "output_config.effort: Input should be 'low', "),
    "format without additionalProperties": (
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    "format with a limit": (
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "integer", "minimum": 1}}}},
        "For 'integer' type, property minimum is not supported",
    ),
    "format that contains itself": (
        {"output_config": {"format": {"type": "json_schema", "schema": {"anyOf": [{"$ref": "#"}]}}}},
        "Recursive schemas are not supported",
    ),
    "format of OpenAI": (
        {"output_config": {"format": {"type": "json_object"}}},
        "output_config.format: Input tag 'json_object'",
    ),
}


def _body(change: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "claude-sonnet-4-6", "max_tokens": 4000, "messages": [HELLO]} | change
    return {name: value for name, value in body.items() if value is not ...}


async def _said(http: httpx2.AsyncClient, change: dict[str, Any], headers: dict[str, str] = OLD) -> tuple[int, str]:
    answer = await http.post(PATH, json=_body(change), headers=headers)
    error = answer.json().get("error", {})
    return answer.status_code, error.get("message", "")


@pytest.mark.parametrize("name", REFUSED)
async def test_a_broken_rule_is_a_400_in_anthropics_words(name: str, sim: Running, http: httpx2.AsyncClient) -> None:
    change, sentence = REFUSED[name]
    answer = await http.post(PATH, json=_body(change), headers=OLD)
    body = answer.json()
    assert (answer.status_code, body["type"]) == (400, "error")
    assert body["error"]["type"] == "invalid_request_error"
    assert sentence in body["error"]["message"]
    assert body["request_id"] == answer.headers["request-id"]
    assert sim.journal.last.refused == body["error"]["message"]


ALLOWED: dict[str, dict[str, Any]] = {
    "nothing but the least": {},
    "messages of one role in a row": _messages(HELLO, HELLO),
    "results, then a text": _tools(HELLO, _model(FIRST, SECOND), _user(TWO, ONE, _text("go on"))),
    "a result without content": _tools(HELLO, _model(FIRST), _user({"type": "tool_result", "tool_use_id": "toolu_1"})),
    "a picture and a document": _messages(_user(PICTURE, DOCUMENT, _text("what is it?"))),
    "a beginning of the answer": _messages(HELLO, _model(_text("I")), model="claude-haiku-4-5"),
    "four cache marks": {"system": [_text(f"{number}", **MARK) for number in range(4)]},
    "an hour before five minutes": {
        "system": [_text("a", cache_control={"type": "ephemeral", "ttl": "1h"})],
        "messages": [_user(_text("b", **MARK))],
    },
    "a tool of Anthropic's own": {"tools": [{"type": "bash_20250124", "name": "bash"}]},
    "a schema for the answer": {"output_config": {"format": FORMAT, "effort": "max"}},
    "temperature": {"temperature": 0.3},
    "citations in a user's text": _messages(_user(_text("x", citations=[CITATION]))),
    "a document from the assistant": _messages(HELLO, _model(DOCUMENT), HELLO),
    "a warm cache and nothing else": {"max_tokens": 0},
}


@pytest.mark.parametrize("name", ALLOWED)
async def test_what_the_rules_allow_is_answered(name: str, http: httpx2.AsyncClient) -> None:
    assert await _said(http, ALLOWED[name]) == (200, "")


async def test_what_claude_code_sends_of_a_terminal_is_answered(http: httpx2.AsyncClient) -> None:
    body = _body({"safeguards": [{"type": "dangerous_tool_use", "classifier_context": {"v": 1}}]})
    answer = await http.post(PATH, json=body, headers=OLD | {"anthropic-beta": "dangerous-tool-use-2026-09-03"})
    assert answer.status_code == 200, answer.text
