"""What Gemini Interactions refuses, each rule with the place that breaks it."""

from __future__ import annotations

import base64
import copy
from typing import Any

import httpx2
import pytest

PATH = "/v1/interactions"
MODEL = "gemini-3.8-flash"
USER = {"type": "user_input", "content": [{"type": "text", "text": "hi"}]}
TEXT = {"type": "string", "maxLength": 5}
CALL: dict[str, Any] = {"type": "function_call", "id": "c1", "name": "f", "arguments": {}}
RESULT = {"type": "function_result", "call_id": "c1", "result": "ok"}
SAID = {"type": "model_output", "content": [{"type": "text", "text": "hm"}]}
TOOL: dict[str, Any] = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER_TOOL: dict[str, Any] = {"type": "function", "name": "get_weather", "parameters": WEATHER}

GONE = object()  # a field that is left out

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown field": ({"foldline": {}}, "parameter_unknown", "'foldline'"),
    "camelCase": ({"systemInstruction": "x"}, "parameter_unknown", "'systemInstruction'"),
    "a chat's field": ({"messages": []}, "parameter_unknown", "'messages'"),
    "a null": ({"tools": None}, "invalid_request", "tools: must be a list"),
    "no input": ({"input": GONE}, "invalid_request", "input: is required"),
    "an empty list": ({"input": []}, "invalid_request", "input:"),
    "a list of strings": ({"input": ["hi"]}, "invalid_request", "input[0]"),
    "turns with roles": ({"input": [{"role": "user", "content": "hi"}]}, "invalid_request", "input[0].type"),
    "a step in place of a list": ({"input": USER}, "invalid_request", "unknown content type 'user_input'"),
    "an unknown step": ({"input": [{"type": "reasoning"}]}, "invalid_request", "unknown step type 'reasoning'"),
    "an unknown content": (
        {"input": [{"type": "user_input", "content": [{"type": "input_text", "text": "x"}]}]},
        "invalid_request",
        "input[0].content[0].type",
    ),
    "content as a string": ({"input": [{"type": "user_input", "content": "x"}]}, "invalid_request", "list of contents"),
    "a step without its content": ({"input": [{"type": "user_input"}]}, "invalid_request", "content: is required"),
    "an unknown key in a step": ({"input": [USER | {"role": "user"}]}, "parameter_unknown", "'input[0].role'"),
    "a text in a thought": ({"input": [{"type": "thought", "text": "x"}, USER]}, "parameter_unknown", "input[0].text"),
    "a call without its id": ({"input": [USER, {**CALL, "id": 5}, RESULT]}, "invalid_request", "input[1].id"),
    "arguments as a string": (
        {"input": [USER, {**CALL, "arguments": "{}"}, RESULT]},
        "invalid_request",
        "input[1].arguments: must be an object",
    ),
    "camelCase in a content": (
        {"input": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
        "parameter_unknown",
        "mimeType",
    ),
    "data that is no base64": (
        {"input": [{"type": "image", "data": "?", "mime_type": "image/png"}]},
        "invalid_request",
        "base64",
    ),
    "data and uri": (
        {"input": [{"type": "image", "data": "AAAA", "uri": "x", "mime_type": "image/png"}]},
        "invalid_request",
        "exactly one of data and uri",
    ),
    "data of no kind": ({"input": [{"type": "image", "data": "AAAA"}]}, "invalid_request", "mime_type"),
    "a call without its result": ({"input": [USER, CALL, USER]}, "invalid_request", "missing for: c1"),
    "a call at the end": ({"input": [USER, CALL]}, "invalid_request", "missing for: c1"),
    "a result without its call": ({"input": [USER, RESULT]}, "invalid_request", "no function call 'c1'"),
    "a second result": ({"input": [USER, CALL, RESULT, RESULT]}, "invalid_request", "no function call 'c1'"),
    "a result of another name": (
        {"input": [USER, CALL, RESULT | {"name": "g"}]},
        "invalid_request",
        "input[2].name",
    ),
    "half of the results": (
        {"input": [USER, CALL, {**CALL, "id": "c2"}, RESULT, SAID, USER]},
        "invalid_request",
        "missing for: c2",
    ),
    "two calls with one id": ({"input": [USER, CALL, CALL, RESULT]}, "invalid_request", "another call has the id"),
    "an end with what the model said": ({"input": [USER, SAID]}, "invalid_request", "must end with user input"),
    "instructions as an object": (
        {"system_instruction": {"parts": [{"text": "x"}]}},
        "invalid_request",
        "system_instruction: must be a string",
    ),
    "model and agent": ({"agent": "deep-research-preview-04-2026"}, "invalid_request", "Exactly one of"),
    "neither": ({"model": GONE}, "invalid_request", "Exactly one of"),
    "an agent's field": ({"agent_config": {"type": "dynamic"}}, "invalid_request", "agent_config: may not"),
    "an unknown model": ({"model": "no-such"}, "model_not_found", "no-such"),
    "a model with its prefix": ({"model": "models/gemini-3.8-flash"}, "model_not_found", "models/"),
    "background without store": ({"background": True, "store": False}, "invalid_request", "background"),
    "explicit caching": ({"cached_content": "cachedContents/x"}, "invalid_request", "cached_content"),
    "an unknown service tier": ({"service_tier": "fast"}, "invalid_request", "service_tier"),
    "an unknown previous": ({"previous_interaction_id": "v1_x"}, "not_found", "not found"),
    "a nested function": (
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        "parameter_unknown",
        "tools[0].function",
    ),
    "declarations": ({"tools": [{"function_declarations": []}]}, "invalid_request", "tools[0].type"),
    "a function's bad name": ({"tools": [TOOL | {"name": "a b"}]}, "invalid_request", "tools[0].name"),
    "a name twice": ({"tools": [TOOL, TOOL]}, "invalid_request", "Duplicate"),
    "a schema of no object": (
        {"tools": [TOOL | {"parameters": {"type": "string"}}]},
        "invalid_request",
        "must describe an object",
    ),
    "an unknown setting": ({"generation_config": {"top_k": 1}}, "parameter_unknown", "generation_config.top_k"),
    "a budget": ({"generation_config": {"thinking_config": {}}}, "parameter_unknown", "thinking_config"),
    "a level that the model has not": (
        {"generation_config": {"thinking_level": "minimal"}},
        "invalid_request",
        "low, medium, high",
    ),
    "summaries as a flag": ({"generation_config": {"thinking_summaries": True}}, "invalid_request", "summaries"),
    "no tokens": ({"generation_config": {"max_output_tokens": 0}}, "invalid_request", "max_output_tokens"),
    "many stops": ({"generation_config": {"stop_sequences": list("abcdef")}}, "invalid_request", "stop_sequences"),
    "a choice at the root": ({"tool_choice": "any"}, "parameter_unknown", "tool_choice"),
    "an unknown choice": ({"generation_config": {"tool_choice": "required"}}, "invalid_request", "tool_choice"),
    "a choice without tools": ({"generation_config": {"tool_choice": "any"}}, "invalid_request", "needs functions"),
    "a choice of no tool": (
        {"tools": [TOOL], "generation_config": {"tool_choice": {"allowed_tools": {"mode": "any", "tools": ["g"]}}}},
        "invalid_request",
        "there is no function 'g'",
    ),
    "a bare schema": ({"response_format": {"type": "object", "properties": {}}}, "invalid_request", "response_format"),
    "a schema without its type": (
        {"response_format": {"type": "text", "schema": {"type": "object"}}},
        "invalid_request",
        "application/json",
    ),
}


async def _post(http: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    body = {"model": MODEL, "input": "hi"} | fields
    return await http.post(PATH, json={name: value for name, value in body.items() if value is not GONE})


@pytest.mark.parametrize("name", REFUSED)
async def test_what_the_api_does_not_take_is_refused(http: httpx2.AsyncClient, name: str) -> None:
    fields, code, words = REFUSED[name]
    answer = await _post(http, **fields)
    error = answer.json()["error"]
    assert (error["code"], words in error["message"]) == (code, True), answer.text
    assert answer.status_code == (404 if code in ("not_found", "model_not_found") else 400)


TAKEN: dict[str, dict[str, Any]] = {
    "a content": {"input": {"type": "text", "text": "hi"}},
    "contents": {"input": [{"type": "text", "text": "hi"}, {"type": "image", "uri": "https://x.example/a.png"}]},
    "steps": {"input": [USER, CALL, RESULT, SAID, USER]},
    "parallel calls": {"input": [USER, CALL, {**CALL, "id": "c2"}, RESULT, {**RESULT, "call_id": "c2"}]},
    "a result with parts": {"input": [USER, CALL, RESULT | {"result": [{"type": "text", "text": "x"}]}]},
    "a failed call": {"input": [USER, CALL, RESULT | {"result": {"error": "x"}, "is_error": True}]},
    "an agent": {"model": GONE, "agent": "antigravity-preview-09-2026", "environment": "remote"},
    "keywords that are not looked at": {
        "tools": [TOOL | {"parameters": {"type": "object", "properties": {"maxLength": TEXT}, "minProperties": 1}}]
    },
    "a temperature": {"generation_config": {"temperature": 0.2, "seed": 7}},
    "formats": {"response_format": [{"type": "text"}, {"type": "image", "aspect_ratio": "1:1"}]},
    "settings": {"labels": {"a": "b"}, "safety_settings": [], "service_tier": "flex"},
}


@pytest.mark.parametrize("name", TAKEN)
async def test_what_the_api_takes_is_answered(http: httpx2.AsyncClient, name: str) -> None:
    answer = await _post(http, **TAKEN[name])
    assert (answer.status_code, answer.json().get("status")) == (200, "completed"), answer.text


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1alpha", "v1beta1", "v1beta1/projects/p/locations/l"])
async def test_every_version_serves_it(http: httpx2.AsyncClient, version: str) -> None:
    answer = await http.post(f"/{version}/interactions", json={"model": MODEL, "input": "hi"})
    assert (await http.get(f"/{version}/interactions/{answer.json()['id']}")).status_code == 200


async def test_a_key_is_needed(http: httpx2.AsyncClient) -> None:
    for key in ("", "bad-key"):
        headers = {"x-goog-api-key": key, "authorization": ""}
        answer = await http.post(PATH, json={"model": MODEL, "input": "hi"}, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "authentication")


async def test_each_status_has_its_own_word(http: httpx2.AsyncClient) -> None:
    codes = {429: "rate_limit_exceeded", 500: "api_error", 503: "service_unavailable", 402: "payment_required"}
    for status, code in codes.items():
        answer = await _post(http, input=f"[[fail={status}]] [[retry=3]]")
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert answer.headers.get("retry-after") == ("3" if status == 429 else None)


async def test_results_answer_all_calls_of_the_turn_before(http: httpx2.AsyncClient) -> None:
    first = (await _post(http, input="Weather in Oslo and Bergen?", tools=[WEATHER_TOOL])).json()
    ids = [step["id"] for step in first["steps"] if step["type"] == "function_call"]
    chained = {"previous_interaction_id": first["id"]}
    results = [RESULT | {"call_id": identity} for identity in ids]
    for wrong in ("hi", results[:1], [RESULT, *results], [*results, results[0]]):
        answer = await _post(http, **chained, input=wrong)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request"), wrong
    assert (await _post(http, **chained, input=results[::-1])).status_code == 200
    assert (await _post(http, **chained, input=[*results, USER])).status_code == 200


async def test_a_window_can_be_too_small_for_a_chain(http: httpx2.AsyncClient) -> None:
    first = await _post(http, model="lab-1k", input="x" * 3800)
    second = await _post(http, model="lab-1k", input="x" * 300, previous_interaction_id=first.json()["id"])
    assert (first.status_code, second.status_code) == (200, 400)
    assert "exceeds the maximum number of tokens allowed (1000)" in second.text


@pytest.fixture
async def steps(http: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """A thought with two calls, as the simulator issued them, and their results."""
    body = {"input": "Weather in Oslo and Bergen?", "generation_config": {"thinking_summaries": "auto"}}
    made = (await _post(http, **body, tools=[WEATHER_TOOL], store=False)).json()["steps"]
    calls = [step for step in made if step["type"] == "function_call"]
    return [USER, *made, *({"type": "function_result", "call_id": call["id"], "result": "sun"} for call in calls)]


async def test_thoughts_come_back_as_they_were(http: httpx2.AsyncClient, steps: list[dict[str, Any]]) -> None:
    assert (await _post(http, input=steps, store=False)).status_code == 200
    without = [step for step in steps if step["type"] != "thought"]
    assert (await _post(http, input=without, store=False)).status_code == 200


def _other_summary(steps: list[Any]) -> None:
    steps[1]["summary"][0]["text"] = "I thought of something else."


def _no_summary(steps: list[Any]) -> None:
    del steps[1]["summary"]


def _other_arguments(steps: list[Any]) -> None:
    steps[2]["arguments"] = {"city": "Rome"}


def _other_id(steps: list[Any]) -> None:
    steps[2]["id"] = steps[4]["call_id"] = "mine"


def _moved(steps: list[Any]) -> None:
    steps.insert(0, steps.pop(1))


def _made_up(steps: list[Any]) -> None:
    steps[1]["signature"] = base64.b64encode(b"made up").decode()


@pytest.mark.parametrize("change", [_other_summary, _no_summary, _other_arguments, _other_id, _moved, _made_up])
async def test_a_thought_that_was_changed_or_torn_from_its_calls_is_refused(
    http: httpx2.AsyncClient, steps: list[dict[str, Any]], change: Any
) -> None:
    changed = copy.deepcopy(steps)
    change(changed)
    answer = await _post(http, input=changed, store=False)
    assert (answer.status_code, "Corrupted thought signature" in answer.text) == (400, True)


async def test_the_documented_bypass_passes(http: httpx2.AsyncClient, steps: list[dict[str, Any]]) -> None:
    steps[1] |= {"signature": "skip_thought_signature_validator"}
    assert (await _post(http, input=steps, store=False)).status_code == 200
