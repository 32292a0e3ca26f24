"""Whatever JSON a client sends, the simulator answers in the provider's words; it never falls over."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import httpx2
import pytest

from app.simulator.app import create_simulator

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "enum": ["x"]},
        "b": {"type": "array", "items": {"anyOf": [{"type": "integer"}]}},
    },
    "required": ["a"],
    "additionalProperties": False,
}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OPENAI: dict[str, Any] = {
    "model": "gpt-4.1",
    "stream": True,
    "stream_options": {"include_usage": True},
    "stop": ["a"],
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "messages": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "user", "content": "what is my name?"},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-4.1",
    "instructions": "s",
    "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
    "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": False}],
    "tool_choice": {"type": "function", "name": "f"},
    "input": [
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "1"}]},
        {"role": "user", "content": "what is my name?"},
    ],
}
GEMINI: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "skip_thought_signature_validator"}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]},
    ],
    "systemInstruction": {"parts": [{"text": "s"}]},
    "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "generationConfig": {"stopSequences": ["a"], "responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
}
JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**20,
    "",
    "x",
    [],
    {},
    [None],
    ["x"],
    [{}],
    {"a": None},
    {"$ref": "#"},
]


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())  # type: ignore[arg-type]  # any JSON
    elif isinstance(value, list):
        inner = list(enumerate(value))  # type: ignore[arg-type]  # any JSON
    return [place, *(found for key, one in inner for found in _places(one, (*place, key)))]


def _spoilt(body: dict[str, Any], chance: Random) -> Any:
    """The body with one value replaced by junk, or taken out."""
    body = copy.deepcopy(body)
    place = chance.choice(_places(body)[1:])
    around: Any = body
    for key in place[:-1]:
        around = around[key]
    if chance.random() < 0.75:
        around[place[-1]] = copy.deepcopy(chance.choice(JUNK))
    else:
        del around[place[-1]]
    return body


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", OPENAI),
        ("/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse", GEMINI),
        (
            "/v1beta/models/gemini-3.5-flash:countTokens",
            {"generateContentRequest": {"model": "models/gemini-3.5-flash", **GEMINI}},
        ),
        ("/v1/responses/input_tokens", RESPONSES),
    ],
)
async def test_any_json_gets_a_proper_answer(path: str, body: dict[str, Any]) -> None:
    chance = Random(7)
    headers = {"authorization": "Bearer k"}
    transport = httpx2.ASGITransport(app=create_simulator())
    async with httpx2.AsyncClient(transport=transport, base_url="http://x", headers=headers) as client:
        assert (await client.post(path, json=body)).status_code == 200
        for _ in range(80):
            spoilt = _spoilt(body, chance)
            answer = await client.post(path, json=spoilt)
            assert answer.status_code in (200, 400, 403, 404), spoilt
            assert answer.status_code == 200 or answer.json()["error"]["message"], spoilt
