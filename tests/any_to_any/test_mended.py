"""What a provider would refuse, or a client would miss, is mended on the way: each case told by itself."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from app.chat.events import ToolCallDelta, ToolCalled
from app.chat.model import Chat, Text, Tool, ToolCall, ToolChoice
from app.errors import ClientError
from app.wires.wire import Inbound, Target
from tests.any_to_any.clients import FORMATS, Format, Json
from tests.any_to_any.conftest import World
from tests.any_to_any.rows import HELLO
from tests.any_to_any.rows_asked import F
from tests.any_to_any.table import NEWEST, WIRES

FETCH = Tool("fetch_rows", "Reads rows.", {"type": "object", "properties": {"handle": {"type": "string"}}})
COMPATIBLE = Target("other", "qwen3-coder", own=False)


def _decoded(client: Format, **more: Any) -> Chat:
    body = HELLO[client] | ({} if client == "generate" else {"model": NEWEST[client]}) | more
    return WIRES[client].decode(Inbound(json.dumps(body).encode(), NEWEST[client] if client == "generate" else ""))


def _sent(chat: Chat, upstream: Format, target: Target | None = None) -> Json:
    outbound = WIRES[upstream].encode(chat, target or Target("u", NEWEST[upstream]))
    return json.loads(outbound.body)


def _edited(chat: Chat) -> Chat:
    """The chat as a step leaves it that changed a message, with a tool of the proxy's own beside the client's."""
    messages = tuple(message.edited((*message.parts, Text("more"))) for message in chat.messages)
    return msgspec.structs.replace(chat, messages=messages, tools=(*chat.tools, FETCH))


async def test_claude_clients_reach_a_reasoning_model_with_all_that_they_always_send(world: World) -> None:
    talk = world.client("anthropic", "chat", most=300_000)
    answer = await talk.sdk.messages.create(
        model="gpt-5",
        max_tokens=300_000,
        messages=[{"role": "user", "content": "Say: ahoy"}],
        extra_body={"temperature": 0.3, "stop_sequences": ["x"], "top_k": 3},
        timeout=30,
    )
    assert answer.content[0].text == "ahoy"
    sent = world.sim.journal.last.body
    assert sent["max_completion_tokens"] == 128_000, "as much as the model gives"
    assert sent.keys().isdisjoint(("temperature", "stop", "top_k", "max_tokens"))
    assert world.refused == []


@pytest.mark.parametrize("format_", FORMATS)
def test_a_tool_of_ours_is_offered_beside_the_clients_own_in_the_same_format(format_: Format) -> None:
    chat = _edited(_decoded(format_, **F[format_]))
    said = json.dumps(_sent(chat, format_)["tools"])
    assert "fetch_rows" in said
    assert '"town"' in said, "the client's own tool stays"
    unchanged = msgspec.structs.replace(chat, tools=chat.tools[:-1])
    assert _sent(unchanged, format_)["tools"] == F[format_]["tools"]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_choice_of_ours_replaces_the_clients_in_the_same_format(format_: Format) -> None:
    chat = _edited(_decoded(format_, **F[format_]))
    forbidden = msgspec.structs.replace(
        chat, sampling=msgspec.structs.replace(chat.sampling, tool_choice=ToolChoice("none"))
    )
    said = _sent(forbidden, format_)
    chosen: dict[Format, Any] = {
        "chat": said.get("tool_choice"),
        "responses": said.get("tool_choice"),
        "anthropic": said.get("tool_choice", {}).get("type") if isinstance(said.get("tool_choice"), dict) else None,
        "generate": said.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode", "").lower(),
        "interactions": said.get("generation_config", {}).get("tool_choice"),
    }
    assert chosen[format_] == "none"


def test_free_text_tools_reach_a_compatible_server_as_functions_and_come_back_as_free_text() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
    chat = _decoded("responses", tools=[{"type": "custom", "name": "patch", "format": grammar}])
    sent = _sent(chat, "chat", COMPATIBLE)
    assert sent["tools"][0]["function"]["parameters"]["required"] == ["input"]
    pieces = ['{"inp', 'ut":"*** Begin', ' \\"x\\""}']
    calls: list[Json] = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    calls[0] |= {"id": "c1", "type": "function"}
    calls[0]["function"]["name"] = "patch"
    reader = WIRES["chat"].reader(chat, True, lambda: "1")
    stream: list[Json] = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    stream.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    events = [e for body in stream for e in reader.feed(b"data: " + json.dumps(body).encode() + b"\n\n")]
    events += reader.close()
    assert not any(isinstance(event, ToolCallDelta) for event in events)
    (called,) = (event for event in events if isinstance(event, ToolCalled))
    assert called.call == ToolCall("c1", "patch", '*** Begin "x"', kind="custom")


def test_free_text_tools_and_their_grammar_go_between_openais_two_formats() -> None:
    flat = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
    sent = _sent(_decoded("responses", tools=[{"type": "custom", "name": "patch", "format": flat}]), "chat")
    nested = sent["tools"][0]["custom"]["format"]
    assert nested == {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /.+/"}}
    back = _sent(_decoded("chat", tools=sent["tools"]), "responses")
    assert back["tools"][0]["format"] == flat


@pytest.mark.parametrize("mime", ["image/heic", "audio/ogg"])
def test_media_that_openai_would_refuse_are_refused_with_what_to_send_instead(mime: str) -> None:
    part = {"inlineData": {"mimeType": mime, "data": "AAAA"}}
    chat = _decoded("generate", contents=[{"role": "user", "parts": [part]}])
    for upstream in ("chat", "responses"):
        with pytest.raises(ClientError, match="Send"):
            _sent(chat, upstream)
    assert _sent(chat, "chat", COMPATIBLE)["messages"], "another server may read more"


def test_a_file_that_openai_keeps_is_named_in_both_of_its_formats_and_google_s_in_both_of_its() -> None:
    file = _decoded("responses", input=[{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}])
    assert _sent(file, "chat")["messages"][0]["content"] == [{"type": "file", "file": {"file_id": "file-1"}}]
    step = {"type": "document", "uri": "gs://b/f.pdf", "mime_type": "application/pdf"}
    kept = _decoded("interactions", input=[{"type": "user_input", "content": [step]}])
    (part,) = _sent(kept, "generate")["contents"][0]["parts"]
    assert part == {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/f.pdf"}}


def test_a_wrong_key_is_told_to_a_client_of_googles_as_google_tells_it() -> None:
    body = json.dumps(
        {
            "error": {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
            }
        }
    ).encode()
    error = WIRES["generate"].failure(400, {}, body)
    own, other = WIRES["generate"].problem(error), WIRES["chat"].problem(error)
    assert (own.status, own.body) == (400, body)
    assert other.status == 401
