"""A valid request, changed anywhere in any way, is answered or refused; it never makes Foldline fail."""

from __future__ import annotations

import asyncio
import copy
import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import hypothesis
from hypothesis import strategies as st

from tests.faults.conftest import Pair
from tests.faults.rawclient import CHAT, GEMINI, GEMINI_STREAM

PIXEL = "data:image/png;base64,iVBORw0KGgo="
OPENAI: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": PIXEL}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q":"x"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "[1,2]"},
        {"role": "assistant", "content": "two", "reasoning_content": "count"},
        {"role": "user", "content": "thanks"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {"q": {}}}}}
    ],
    "tool_choice": {"type": "function", "function": {"name": "find"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": {"type": "object"}}},
    "stream": True,
    "stream_options": {"include_usage": True},
    "stop": ["x"],
    "metadata": {"user_id": "u", "session_id": "s"},
    "foldline": {"session": "s", "keep_recent": 2, "chain": "never", "off": False},
}
GEMINI_CHAT: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}],
        },
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "find", "args": {"q": "x"}}, "thoughtSignature": "c2ln"}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"output": [1, 2]}}}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "two"}]},
        {"role": "user", "parts": [{"text": "thanks"}, {"fileData": {"fileUri": "gs://x", "mimeType": "text/plain"}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "find", "parameters": {"type": "OBJECT", "properties": {"q": {}}}}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["find"]}},
    "generationConfig": {"temperature": 1, "stopSequences": ["x"], "thinkingConfig": {"thinkingLevel": "low"}},
    "foldline": {"session": "s"},
}

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.sampled_from(
        ["", "\ud83d", "\x00", "text", "user", "assistant", "tool", "data:", "data:,", "é" * 300, "-1", "{"]
    ),
    st.recursive(
        st.none() | st.text(max_size=5),
        lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=5), x),
        max_leaves=5,
    ),
)
Path = tuple[str | int, ...]
ROUTES = {
    CHAT: OPENAI,
    GEMINI: GEMINI_CHAT,
    GEMINI_STREAM: GEMINI_CHAT,
    "/v1beta/models/lab:streamGenerateContent": GEMINI_CHAT,
}


def paths(value: Any, here: Path = ()) -> list[Path]:
    """Every place in a JSON value."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType] (JSON)
    found = [here] if here else []
    for key, inner in items:
        found += paths(inner, (*here, key))
    return found


PLACES = {path: paths(body) for path, body in ROUTES.items()}


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, bytes]:
    """A path and a body with up to three changes: a value replaced, removed, doubled or wrapped."""
    path = draw(st.sampled_from(list(ROUTES)))
    body = copy.deepcopy(ROUTES[path])
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(PLACES[path]))
        parent: Any = body
        try:
            for step in place[:-1]:
                parent = parent[step]
            last: Any = place[-1]
            match draw(st.sampled_from(["replace", "replace", "remove", "double", "wrap"])):
                case "replace":
                    parent[last] = draw(ODD)
                case "remove":
                    del parent[last]
                case "double":
                    parent[last] = [parent[last], copy.deepcopy(parent[last])]
                case _:
                    parent[last] = {"x": parent[last]}
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return path, json.dumps(body).encode()


async def test_no_change_to_a_request_makes_foldline_fail(patient: Pair) -> None:
    where = urlsplit(patient.url)

    @hypothesis.settings(
        max_examples=300,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    )
    @hypothesis.given(changed())
    def answers(asked: tuple[str, bytes]) -> None:
        path, body = asked
        connection.request("POST", path, body, {"content-type": "application/json", "authorization": "Bearer lab"})
        response = connection.getresponse()
        said = response.read()
        assert response.status < 500, (path, body, said)

    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=10)
    try:
        await asyncio.to_thread(answers)
    finally:
        connection.close()
