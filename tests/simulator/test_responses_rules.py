"""What OpenAI Responses refuse, each rule with the sentence and the code that users quote."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

PATH = "/v1/responses"
USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "x"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hm"}]}
CLOSED: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
TOOL: dict[str, Any] = {"type": "function", "name": "f", "parameters": CLOSED}
GONE = object()  # a field that is left out

REFUSED: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "an unknown field": ({"foldline": {}}, "unknown_parameter", "Unknown parameter: 'foldline'."),
    "a chat's messages": ({"messages": []}, "unknown_parameter", "Unknown parameter: 'messages'."),
    "a chat's cap": ({"max_tokens": 5}, "unknown_parameter", "'max_tokens'"),
    "stop sequences": ({"stop": ["a"]}, "unknown_parameter", "'stop'"),
    "a chat's format": ({"response_format": {"type": "text"}}, "unknown_parameter", "'response_format'"),
    "no model": ({"model": GONE}, None, "you must provide a model parameter"),
    "no input": ({"input": GONE}, "missing_required_parameter", "Missing required parameter: 'input'."),
    "an empty input": ({"input": []}, "empty_array", "Invalid 'input': empty array."),
    "input of another kind": ({"input": 5}, "invalid_type", "Invalid type for 'input'"),
    "an unknown item": ({"input": [{"type": "thought"}]}, "invalid_value", "Invalid value: 'thought'."),
    "an unknown key of an item": ({"input": [CALL | {"x": 1}, OUTPUT]}, "unknown_parameter", "'input[0].x'"),
    "an unknown key of a message": ({"input": [USER, USER | {"name": "me"}]}, "unknown_parameter", "'input[1].name'"),
    "the user's part from the assistant": (
        {"input": [USER, {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}, USER]},
        "invalid_value",
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    ),
    "a chat's part": (
        {"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        "invalid_value",
        "Invalid value: 'text'.",
    ),
    "a tool's role": ({"input": [{"role": "tool", "content": "x"}]}, "invalid_value", "Invalid value: 'tool'."),
    "a call without its output": ({"input": [USER, CALL]}, None, "No tool output found for function call c1."),
    "an output without its call": (
        {"input": [USER, OUTPUT]},
        None,
        "No tool call found for function call output with call_id c1.",
    ),
    "an output before its call": (
        {"input": [USER, OUTPUT, CALL]},
        None,
        "No tool call found for function call output with call_id c1.",
    ),
    "a custom call without its output": (
        {"input": [USER, CUSTOM]},
        None,
        "No tool output found for custom tool call c1.",
    ),
    "an output of another kind": (
        {"input": [USER, CUSTOM, OUTPUT]},
        None,
        "No tool call found for function call output with call_id c1.",
    ),
    "an output without its text": (
        {"input": [USER, CALL, {"type": "function_call_output", "call_id": "c1"}]},
        "missing_required_parameter",
        "'input[2].output'",
    ),
    "arguments as an object": (
        {"input": [USER, CALL | {"arguments": {}}, OUTPUT]},
        "missing_required_parameter",
        "'input[1].arguments'",
    ),
    "an id of another kind": (
        {"input": [USER, SAID | {"id": "chatcmpl-1"}, USER]},
        "invalid_value",
        "Invalid 'input[1].id': 'chatcmpl-1'. Expected an ID that begins with 'msg'.",
    ),
    "a call's id as the item's": (
        {"input": [USER, CALL | {"id": "call_1"}, OUTPUT]},
        "invalid_value",
        "Expected an ID that begins with 'fc'.",
    ),
    "an item twice": (
        {"input": [USER, SAID | {"id": "msg_1"}, SAID | {"id": "msg_1"}, USER]},
        None,
        "Duplicate item found with id msg_1.",
    ),
    "encrypted content that is made up": (
        {"input": [USER, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAx"}, SAID, USER]},
        "invalid_encrypted_content",
        "could not be verified",
    ),
    "an unknown previous": (
        {"previous_response_id": "resp_x"},
        "previous_response_not_found",
        "Previous response with id 'resp_x' not found.",
    ),
    "both ways to go on": (
        {"previous_response_id": "resp_x", "conversation": "conv_x"},
        "mutually_exclusive_parameters",
        "Mutually exclusive parameters.",
    ),
    "background without store": ({"background": True, "store": False}, None, "Background mode"),
    "options of no stream": ({"stream_options": {"include_obfuscation": False}}, None, "'stream_options'"),
    "a very low cap": ({"max_output_tokens": 5}, "integer_below_min_value", "Expected a value >= 16, but got 5"),
    "an unknown include": ({"include": ["logprobs"]}, "invalid_value", "Invalid value: 'logprobs'."),
    "an unknown effort": ({"reasoning": {"effort": "huge"}}, "invalid_value", "Invalid value: 'huge'."),
    "an unknown key of reasoning": ({"reasoning": {"budget": 1}}, "unknown_parameter", "'reasoning.budget'"),
    "effort for a model that does not reason": (
        {"model": "gpt-4.1", "reasoning": {"effort": "low"}},
        "unsupported_parameter",
        "'reasoning.effort' is not supported with this model.",
    ),
    "temperature of a model that reasons": ({"temperature": 0.5}, "unsupported_value", "'temperature'"),
    "an unknown truncation": ({"truncation": "middle"}, "invalid_value", "Invalid value: 'middle'."),
    "a chat's tool": (
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        "unknown_parameter",
        "'tools[0].function'",
    ),
    "an unknown tool": ({"tools": [{"type": "google_search"}]}, "invalid_value", "Invalid value: 'google_search'."),
    "an open schema that does not say strict": (
        {"tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]},
        "invalid_function_parameters",
        "additionalProperties",
    ),
    "a choice without tools": ({"tool_choice": "required"}, None, "must be specified with 'tools' parameter"),
    "a choice of no tool": (
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "g"}},
        None,
        "Tool choice 'g' not found",
    ),
    "a nested schema": (
        {"text": {"format": {"type": "json_schema", "json_schema": {"name": "n", "schema": CLOSED}}}},
        "unknown_parameter",
        "'text.format.json_schema'",
    ),
    "JSON that nobody asked for": ({"text": {"format": {"type": "json_object"}}}, None, "must contain the word 'json'"),
}


async def _post(http: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    body = {"model": "gpt-5.5", "input": "hi"} | fields
    return await http.post(PATH, json={name: value for name, value in body.items() if value is not GONE})


@pytest.mark.parametrize("name", REFUSED)
async def test_what_the_api_does_not_take_is_refused(http: httpx2.AsyncClient, name: str) -> None:
    fields, code, words = REFUSED[name]
    answer = await _post(http, **fields)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["code"]) == (400, "invalid_request_error", code), answer.text
    assert words in error["message"]


TAKEN: dict[str, dict[str, Any]] = {
    "nulls": {"instructions": None, "tools": None, "previous_response_id": None, "reasoning": {"effort": None}},
    "no tools at all": {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True},
    "a call and its output apart": {"input": [USER, CALL, SAID, OUTPUT]},
    "an output with parts": {"input": [USER, CALL, OUTPUT | {"output": [{"type": "input_text", "text": "x"}]}]},
    "a phase": {"input": [USER, SAID | {"phase": "final_answer", "id": "msg_1", "status": "completed"}, USER]},
    "a hosted tool": {"tools": [{"type": "web_search"}, TOOL]},
    "a hosted tool's call": {"input": [USER, {"type": "web_search_call", "id": "ws_1", "status": "completed"}, USER]},
    "settings": {
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k",
        "service_tier": "auto",
        "text": {"verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"},
    },
    "JSON": {"input": "say it in JSON", "text": {"format": {"type": "json_object"}}},
}


@pytest.mark.parametrize("name", TAKEN)
async def test_what_the_api_takes_is_answered(http: httpx2.AsyncClient, name: str) -> None:
    answer = await _post(http, **TAKEN[name])
    assert (answer.status_code, answer.json().get("status")) == (200, "completed"), answer.text


async def test_calls_of_the_turn_before_want_their_outputs(chat: openai.AsyncOpenAI) -> None:
    tool: Any = TOOL | {"name": "get_weather"}
    first = await chat.responses.create(model="gpt-5.5", input="call get_weather with {}", tools=[tool])
    call: Any = first.output[-1]
    with pytest.raises(openai.BadRequestError, match=f"No tool output found for function call {call.call_id}."):
        await chat.responses.create(model="gpt-5.5", input="and?", previous_response_id=first.id)
    again: Any = [call.model_dump(exclude_none=True), OUTPUT | {"call_id": call.call_id}]
    with pytest.raises(openai.BadRequestError, match=f"Duplicate item found with id {call.id}"):
        await chat.responses.create(model="gpt-5.5", input=again, previous_response_id=first.id)


async def _reasoned(chat: openai.AsyncOpenAI, **fields: Any) -> list[Any]:
    made = await chat.responses.create(model="gpt-5.5", input="hello", stream=False, **fields)
    return [item.model_dump(exclude_none=True) for item in made.output]


async def test_reasoning_is_followed_by_what_it_led_to(chat: openai.AsyncOpenAI) -> None:
    reasoning, message = await _reasoned(chat, store=False)
    alone: Any = [USER, reasoning, USER]
    said = f"Item '{reasoning['id']}' of type 'reasoning' was provided without its required following item."
    with pytest.raises(openai.BadRequestError, match=said):
        await chat.responses.create(model="gpt-5.5", input=alone)
    whole: Any = [USER, reasoning, message, USER]
    assert (await chat.responses.create(model="gpt-5.5", input=whole)).status == "completed"


async def test_an_id_names_only_what_is_kept(chat: openai.AsyncOpenAI) -> None:
    for store in (True, False):
        reasoning, message = await _reasoned(chat, store=store)
        del reasoning["encrypted_content"]
        for items in ([reasoning, message], [{"type": "item_reference", "id": message["id"]}]):
            given: Any = [USER, *items, USER]
            if store:
                assert (await chat.responses.create(model="gpt-5.5", input=given)).status == "completed"
                continue
            with pytest.raises(openai.NotFoundError, match=f"Item with id '{items[0]['id']}' not found"):
                await chat.responses.create(model="gpt-5.5", input=given)


@pytest.mark.parametrize(
    ("key", "model", "reason"),
    [("other", "gpt-5.5", "organization_mismatch"), ("lab", "gpt-5-mini", "model_mismatch"), ("lab", "gpt-5.5", "")],
)
async def test_reasoning_of_others_is_left_out_and_told(
    chat: openai.AsyncOpenAI, key: str, model: str, reason: str
) -> None:
    reasoning, message = await _reasoned(chat, store=False)
    given: Any = [USER, reasoning, message, USER]
    answer = await chat.with_options(api_key=key).responses.create(model=model, input=given)
    told: list[Any] = answer.model_dump().get("input_transformations") or []
    assert [one["reason"] for one in told] == ([reason] if reason else [])


async def test_a_context_that_is_too_long_is_refused_or_cut(http: httpx2.AsyncClient) -> None:
    first = await _post(http, model="lab-1k", input="x" * 3600)
    asked = "y" * 400 + " how many messages?"
    chained = {"model": "lab-1k", "previous_response_id": first.json()["id"], "input": asked}
    answer = await _post(http, **chained)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "context_length_exceeded", "input")
    assert error["message"].startswith("Your input exceeds the context window of this model.")
    cut = await _post(http, **chained, truncation="auto")
    assert (cut.status_code, "I see 2 messages" in cut.text) == (200, True)


async def test_each_status_has_its_class(chat: openai.AsyncOpenAI) -> None:
    classes = {401: openai.AuthenticationError, 404: openai.NotFoundError, 429: openai.RateLimitError}
    for status, wanted in {**classes, 503: openai.InternalServerError}.items():
        with pytest.raises(wanted):
            await chat.responses.create(model="gpt-5.5", input=f"[[fail={status}]]")
    with pytest.raises(openai.AuthenticationError):
        await chat.with_options(api_key="bad-key").responses.create(model="gpt-5.5", input="x")
    with pytest.raises(openai.NotFoundError):
        await chat.responses.create(model="no-such-model", input="x")
