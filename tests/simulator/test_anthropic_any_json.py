"""Whatever JSON a client sends, Anthropic's side answers in its own words; it never falls over."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import httpx2
import pytest

from app.simulator.app import create_simulator

HEADERS = {
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "context-management-2025-06-27,message-threads-2026-08-12,thinking-binding-controls-2026-08-01",
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string", "enum": ["x"]}, "b": {"type": "array", "items": {"$ref": "#/$defs/c"}}},
    "$defs": {"c": {"anyOf": [{"type": "integer"}]}},
    "required": ["a"],
    "additionalProperties": False,
}
MARK = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
COUNTED: dict[str, Any] = {
    "model": "claude-opus-5",
    "system": [{"type": "text", "text": "s", **MARK}],
    "tools": [{"name": "f", "input_schema": SCHEMA, "strict": True}, {"type": "bash_20250124", "name": "bash"}],
    "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
    "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": SCHEMA}},
    "context_management": {"edits": []},
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "京 hi", **MARK},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                {"type": "text", "text": "hm", "citations": [{"a": 1}]},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"a": "x"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "1"}]},
                {"type": "text", "text": "what is my name?"},
            ],
        },
        {"role": "system", "content": "be kind"},
    ],
}
MORE = {"max_tokens": 900, "stop_sequences": ["zzz"], "metadata": {"user_id": "u"}, "service_tier": "auto", "top_p": 1}
PLAIN: list[Any] = [None, True, 0, -1, 1.5, 10**20, "", "x", [], {}, [None], ["x"], [{}], {"a": None}, {"$ref": "#"}]
JUNK: list[Any] = [
    *PLAIN,
    {"type": "thinking", "thinking": 1, "signature": "EqgB"},
    {"type": "text"},
    {"type": ["text"]},
    [[]],
    "\ud800",
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
    if chance.random() < 0.8:
        around[place[-1]] = copy.deepcopy(chance.choice(JUNK))
    else:
        del around[place[-1]]
    return body


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", COUNTED | MORE),
        ("/v1/messages", COUNTED | MORE | {"stream": True}),
        ("/v1/messages/count_tokens", COUNTED),
    ],
)
async def test_any_json_gets_a_proper_answer(path: str, body: dict[str, Any]) -> None:
    chance = Random(7)
    transport = httpx2.ASGITransport(app=create_simulator())
    async with httpx2.AsyncClient(transport=transport, base_url="http://x", headers=HEADERS) as client:
        first = await client.post(path, json=body)
        assert first.status_code == 200, first.text
        for _ in range(120):
            spoilt = _spoilt(body, chance)
            answer = await client.post(path, content=json.dumps(spoilt))
            assert answer.status_code in (200, 400, 404), spoilt
            assert answer.status_code == 200 or answer.json()["error"]["message"], spoilt


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
async def test_what_is_nested_too_deeply_is_refused_and_not_fallen_over(path: str) -> None:
    deep: Any = {"type": "object"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"a": deep}}
    transport = httpx2.ASGITransport(app=create_simulator())
    async with httpx2.AsyncClient(transport=transport, base_url="http://x", headers=HEADERS) as client:
        body = {"model": "lab", "messages": [{"role": "user", "content": "hello"}]}
        raw = json.dumps(body | {"tools": [{"name": "f", "input_schema": deep}]})
        answer = await client.post(path, content=raw)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
