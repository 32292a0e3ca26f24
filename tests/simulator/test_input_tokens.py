"""OpenAI's token count, and Gemini's, are as strict as the calls that they count for."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

PATH = "/v1/responses/input_tokens"
PIXEL = "data:image/png;base64,AAAA"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"city":"Oslo"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "rain"}
HELLO = {"role": "user", "content": "hello"}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"model": None}, "you must provide a model parameter"),
    "a field of chats": ({"messages": [HELLO]}, "Unknown parameter: 'messages'."),
    "a field of answers": ({"stream": True}, "Unknown parameter: 'stream'."),
    "input of another kind": ({"input": 5}, "Invalid type for 'input'"),
    "an empty input": ({"input": []}, "empty array"),
    "an item that is none": ({"input": ["x"]}, "Invalid type for 'input[0]'"),
    "an unknown item": ({"input": [{"type": "thought"}]}, "Invalid value: 'thought'"),
    "an unknown key": ({"input": [HELLO | {"name": "me"}]}, "Unknown parameter: 'input[0].name'."),
    "a tool's role": ({"input": [{"role": "tool", "content": "x"}]}, "Invalid value: 'tool'"),
    "a chat's part": ({"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}, "'text'"),
    "the user's part from the assistant": (
        {"input": [HELLO, {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]},
        "Supported values are: 'output_text' and 'refusal'.",
    ),
    "a picture as an object": (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": {"url": PIXEL}}]}]},
        "image_url",
    ),
    "a call without its id": ({"input": [HELLO, {**CALL, "call_id": ""}]}, "input[1].call_id"),
    "a call without its result": ({"input": [HELLO, CALL]}, "did not have response messages: c1"),
    "a result without its call": ({"input": [HELLO, OUTPUT]}, "must be a response to a preceeding message"),
    "a result of another kind": (
        {"input": [HELLO, CALL, {**OUTPUT, "type": "custom_tool_call_output"}]},
        "No tool call found for custom tool call output with call_id c1.",
    ),
    "a chat's tool": ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "'tools[0].function'"),
    "an open schema that does not say strict": (
        {"tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]},
        "additionalProperties",
    ),
    "a response that is not kept": ({"previous_response_id": "resp_1"}, "'resp_1' not found"),
}


async def _count(http: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    body = {"model": "gpt-4.1", "input": "hello"} | fields
    return await http.post(PATH, json={name: value for name, value in body.items() if value is not None})


@pytest.mark.parametrize("name", REFUSED)
async def test_what_the_api_does_not_take_is_refused(http: httpx2.AsyncClient, name: str) -> None:
    fields, words = REFUSED[name]
    answer = await _count(http, **fields)
    assert answer.status_code in (400, 404)
    assert words in answer.json()["error"]["message"]


async def test_the_same_talk_counts_as_much_as_the_chat_that_says_it(http: httpx2.AsyncClient) -> None:
    items = [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": PIXEL}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look"}]},
        CALL,
        OUTPUT,
        {"role": "user", "content": "and now?"},
    ]
    tool = {"name": "f", "parameters": SCHEMA, "strict": False}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"city":"Oslo"}'}}
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, picture]},
        {"role": "assistant", "content": "I look", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "user", "content": "and now?"},
    ]
    count = await _count(http, input=items, instructions="be brief", tools=[{"type": "function", **tool}])
    body = {"model": "gpt-4.1", "messages": messages, "tools": [{"type": "function", "function": tool}]}
    chat = await http.post("/v1/chat/completions", json=body)
    assert count.json()["input_tokens"] == chat.json()["usage"]["prompt_tokens"]


async def test_the_official_sdk_can_ask(chat: openai.AsyncOpenAI) -> None:
    count = await chat.responses.input_tokens.count(model="gpt-4.1", input="hello there", instructions="be brief")
    assert (count.object, count.input_tokens) == ("response.input_tokens", 3 + 2 + 4 + 4)


@pytest.mark.parametrize("model", [None, "gemini-2.5-flash", "models/gemini-2.5-pro"])
async def test_geminis_count_of_a_whole_request_needs_its_models_full_name(
    http: httpx2.AsyncClient, model: str | None
) -> None:
    request = {"contents": [{"parts": [{"text": "hi"}]}], **({"model": model} if model else {})}
    path = "/v1beta/models/gemini-2.5-flash:countTokens"
    answer = await http.post(path, json={"generateContentRequest": request})
    assert answer.json()["error"]["message"].strip() == "* GenerateContentRequest.model: unexpected model name format"
