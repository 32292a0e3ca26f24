"""The same format on both sides, and nothing to change: bytes go out as they came, and come back as they came."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.any_to_any.clients import FORMATS, Format, Json
from tests.any_to_any.conftest import MODELS, World
from tests.any_to_any.rows_answers import HELLOS

ODD = (
    b'"x_big":10000000000000000000000000,\t"x_unknown" : null,"x_num": 1.50,'
    b'"x_text":"Caf\\u00e9 \\ud83d\\ude80 \\/ na\xc3\xafve"'
)
"""What a decoder would spell otherwise, or leave out."""

PATHS: dict[Format, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "generate": f"/v1beta/models/{MODELS['generate']}:",
    "interactions": "/v1beta/interactions",
}
SAID: dict[Format, bytes] = {
    "chat": b'"messages" :[ {"role":"user","content":"hi","x_vendor":{"a":[-0.0,1e2]}} ]',
    "responses": b'"input" :[ {"role":"user","content":[{"type":"new","x":1},{"type":"input_text","text":"hi"}]} ]',
    "anthropic": b'"max_tokens":50, "messages" :[ {"role":"user",'
    b'"content":[{"type":"brand_new"},{"type":"text","text":"hi"}]} ]',
    "generate": b'"contents" :[ {"role":"user","parts":[{"brandNew":{"x":1.0}},{"text":"hi"}]} ]',
    "interactions": b'"input" :[ {"type":"user_input","content":[{"type":"brand_new"},{"type":"text","text":"hi"}]} ]',
}
EVENTS: dict[Format, list[str]] = {
    "chat": [
        ": a comment",
        'id: 41\nevent: message\ndata:{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"caf\\u00e9"}}]}',
        'data: {"x_progress": 1.50, "n": 10000000000000000000000000}',
        'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"x_new":"é"},"finish_reason":"stop"}]}',
        "data:   [DONE]",
    ],
    "responses": [
        'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_9",'
        '"object":"response","model":"m","status":"in_progress","output":[]}}',
        'event: response.brand_new\ndata: {"type":"response.brand_new","x": 1.50}',
        ": a comment",
        'event: response.completed\ndata: {"type":"response.completed","sequence_number":9,"response":{"id":"resp_9",'
        '"object":"response","model":"m","status":"completed","x_new":1.0,"output":[]}}',
    ],
    "anthropic": [
        'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_9","type":"message",'
        '"role":"assistant","model":"m","content":[],"stop_reason":null,'
        '"usage":{"input_tokens":1,"output_tokens":1,"x": 1.50}}}',
        'event: ping\ndata: {"type": "ping"}',
        'event: brand_new\ndata: {"type":"brand_new","x": 1.50}',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
        '"content_block":{"type":"new_block","x":10000000000000000000000000}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
        '"usage":{"output_tokens":2}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
    ],
    "generate": [
        'data: {"candidates": [{"index":0,"content":{"role":"model","parts":[{"brandNew":{"x": 1.50}}]}}]}',
        'data: {"candidates": [{"content":{"role":"model","parts":[{"text":"caf\\u00e9"}]},"finishReason":"STOP"}],'
        '"xNew":10000000000000000000000000}',
    ],
    "interactions": [
        'event: interaction.created\ndata: {"event_type":"interaction.created","interaction":{"id":"v1_9",'
        '"status":"in_progress","model":"m"},"event_id":"1"}',
        'event: step.start\ndata: {"event_type":"step.start","index":0,"step":{"type":"brand_new","x": 1.50}}',
        'event: step.stop\ndata: {"event_type":"step.stop","index":0}',
        'event: brand.new\ndata: {"event_type":"brand.new","n":10000000000000000000000000}',
        'event: interaction.completed\ndata: {"event_type":"interaction.completed","interaction":{"id":"v1_9",'
        '"status":"completed","model":"m","usage":{"total_input_tokens":1,"total_output_tokens":1}},"event_id":"9"}',
        "event: done\ndata: [DONE]",
    ],
}


def _body(format_: Format, stream: bool) -> bytes:
    model = b"" if format_ == "generate" else b'"model":"%b",' % MODELS[format_].encode()
    flag = b'"stream" : true,' if stream and format_ != "generate" else b""
    return b"{ " + model + flag + SAID[format_] + b",\n" + ODD + b" }\n"


async def _asked(world: World, url: str, format_: Format, body: bytes, stream: bool) -> httpx2.Response:
    verb = ("streamGenerateContent?alt=sse" if stream else "generateContent") if format_ == "generate" else ""
    headers = {
        "content-type": "application/json",
        "authorization": f"Bearer {world.key}",
        "x-goog-api-key": world.key,
        "anthropic-version": "2023-06-01",
    }
    return await world.http.post(url + PATHS[format_] + verb, content=body, headers=headers)


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_stream_goes_through_as_it_is_with_unknown_fields_and_events(world: World, format_: Format) -> None:
    world.sim.script([{"sse": EVENTS[format_]}])
    body = _body(format_, stream=True)
    answer = await _asked(world, world.url(format_), format_, body, stream=True)
    assert answer.status_code == 200, answer.text
    assert world.sim.journal.calls()[-1].raw == body
    assert answer.content == "".join(event + "\n\n" for event in EVENTS[format_]).encode()


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_whole_answer_goes_through_as_it_is_with_unknown_fields(world: World, format_: Format) -> None:
    said: Json = HELLOS[format_] | {"x_big": 10**25, "x_num": 1.50, "x_none": None, "x_text": "né"}
    world.sim.script([{"json": said}, {"json": said}])
    body = _body(format_, stream=False)
    answer = await _asked(world, world.url(format_), format_, body, stream=False)
    direct = await _asked(world, world.sim.url, format_, body, stream=False)
    assert world.sim.journal.calls()[0].raw == body
    assert answer.content == direct.content
    assert answer.headers["content-type"] == direct.headers["content-type"]
    got: Any = json.loads(answer.content)
    assert got == said


@pytest.mark.parametrize("format_", FORMATS)
async def test_an_error_goes_through_as_it_is(world: World, format_: Format) -> None:
    error: Json = {"error": {"message": "No.", "code": 422, "status": "X_OWN", "x_more": [1.0]}, "x_request": "r"}
    if format_ == "interactions":
        error["error"]["code"] = "x_own"
    if format_ == "anthropic":
        error["type"] = "error"
    world.sim.script([{"status": 422, "json": error}])
    answer = await _asked(world, world.url(format_), format_, _body(format_, stream=False), stream=False)
    assert (answer.status_code, answer.json()) == (422, error)
