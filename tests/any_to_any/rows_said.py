"""The rows about what stands in a conversation: system texts, media, calls and their results."""

from __future__ import annotations

from typing import Any

from tests.any_to_any.clients import Format, Json, picture
from tests.any_to_any.rows import Row, Sign, holds, said
from tests.any_to_any.rows_asked import F

PNG = picture()
PDF = "JVBERi0xLjQK"
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
ADDRESS = "https://example.com/a.png"
LATER = "From now on in French."
TALK: list[Json] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "so?"},
    {"role": "system", "content": LATER},
]


def shown(chat: Any = None, responses: Any = None, anthropic: Any = None, google: Any = None, steps: Any = None) -> Any:
    """A user's message with one part in it, for the formats that have such a part."""
    bodies: dict[Format, Json] = {}
    if chat:
        bodies["chat"] = {"messages": [{"role": "user", "content": [{"type": "text", "text": "look"}, chat]}]}
    if responses:
        content = [{"type": "input_text", "text": "look"}, responses]
        bodies["responses"] = {"input": [{"role": "user", "content": content}]}
    if anthropic:
        content = [anthropic, {"type": "text", "text": "look"}]
        bodies["anthropic"] = {"messages": [{"role": "user", "content": content}]}
    if google:
        bodies["generate"] = {"contents": [{"role": "user", "parts": [google, {"text": "look"}]}]}
    if steps:
        bodies["interactions"] = {
            "input": [{"type": "user_input", "content": [steps, {"type": "text", "text": "look"}]}]
        }
    return bodies


def loop(result: str, error: bool = False, image: bool = False) -> dict[Format, Json]:
    """A call and its result."""
    openai = ("[tool error] " if error else "") + result
    text: Json = {"type": "text", "text": result}
    bodies: dict[Format, Json] = {
        "chat": {
            "messages": [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"town":"Oslo"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": openai},
            ]
        },
        "responses": {
            "input": [
                {"role": "user", "content": "go"},
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"town":"Oslo"}'},
                {
                    "type": "function_call_output",
                    "call_id": "c1",
                    "output": [
                        {"type": "input_text", "text": openai},
                        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
                    ]
                    if image
                    else openai,
                },
            ]
        },
        "anthropic": {
            "messages": [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"town": "Oslo"}}],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c1",
                            "content": [
                                text,
                                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                            ]
                            if image
                            else result,
                        }
                        | ({"is_error": True} if error else {})
                    ],
                },
            ]
        },
        "generate": {
            "contents": [
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f", "args": {"town": "Oslo"}}}]},
                {
                    "role": "user",
                    "parts": [
                        {
                            "functionResponse": {
                                "id": "c1",
                                "name": "f",
                                "response": {"error" if error else "output": result},
                            }
                            | ({"parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]} if image else {})
                        }
                    ],
                },
            ]
        },
        "interactions": {
            "input": [
                {"type": "user_input", "content": [{"type": "text", "text": "go"}]},
                {"type": "function_call", "id": "c1", "name": "f", "arguments": {"town": "Oslo"}},
                {
                    "type": "function_result",
                    "call_id": "c1",
                    "name": "f",
                    "result": [text, {"type": "image", "data": PNG, "mime_type": "image/png"}] if image else result,
                }
                | ({"is_error": True} if error else {}),
            ]
        },
    }
    return {name: F[name] | body for name, body in bodies.items()}


def _without(rows: dict[Format, Json], *names: Format) -> dict[Format, Json]:
    return {name: body for name, body in rows.items() if name not in names}


IMAGE: dict[Format, Sign] = {
    "chat": ("messages.content.image_url.url", holds(PNG)),
    "responses": ("input.content.image_url", holds(PNG)),
    "anthropic": ("messages.content.source.data", PNG),
    "generate": ("contents.parts.inlineData.data", PNG),
    "interactions": ("input.content.data", PNG),
}

SAID_ROWS = (
    Row(
        "system text",
        {
            "chat": {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]},
            "responses": {"instructions": "Be brief."},
            "anthropic": {"system": "Be brief."},
            "generate": {"systemInstruction": {"parts": [{"text": "Be brief."}]}},
            "interactions": {"system_instruction": "Be brief."},
        },
        {
            "chat": ("messages", lambda one: one == {"role": "system", "content": "Be brief."}),
            "responses": ("instructions", "Be brief."),
            "anthropic": ("system", "Be brief."),
            "generate": ("systemInstruction.parts.text", "Be brief."),
            "interactions": ("system_instruction", "Be brief."),
        },
    ),
    Row(
        "later system message",
        {"chat": {"messages": TALK}, "responses": {"input": TALK}, "anthropic": {"messages": TALK}},
        {
            "chat": ("messages", lambda one: one["role"] == "system" and LATER in str(one)),
            "responses": ("input", lambda one: one["role"] == "system" and LATER in str(one)),
            "anthropic": ("messages", lambda one: one["role"] == "system" and LATER in str(one)),
        },
        said("system-reminder", "anthropic", "generate", "interactions"),
    ),
    Row(
        "image by value",
        shown(
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
            {"type": "image", "data": PNG, "mime_type": "image/png"},
        ),
        IMAGE,
    ),
    Row(
        "image by https URL",
        shown(
            {"type": "image_url", "image_url": {"url": ADDRESS}},
            {"type": "input_image", "image_url": ADDRESS, "detail": "auto"},
            {"type": "image", "source": {"type": "url", "url": ADDRESS}},
            {"fileData": {"mimeType": "image/png", "fileUri": ADDRESS}},
            {"type": "image", "uri": ADDRESS, "mime_type": "image/png"},
        ),
        {
            "chat": ("messages.content.image_url.url", ADDRESS),
            "responses": ("input.content.image_url", ADDRESS),
            "anthropic": ("messages.content.source.url", ADDRESS),
            "generate": ("contents.parts.fileData.fileUri", ADDRESS),
            "interactions": ("input.content.uri", ADDRESS),
        },
    ),
    Row(
        "image detail: low",
        shown(
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
            None,
            {
                "inlineData": {"mimeType": "image/png", "data": PNG},
                "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
            },
            {"type": "image", "data": PNG, "mime_type": "image/png", "resolution": "low"},
        ),
        {
            "chat": ("messages.content.image_url.detail", "low"),
            "responses": ("input.content.detail", "low"),
            "generate": "contents.parts.mediaResolution",
            "interactions": ("input.content.resolution", "low"),
        },
    ),
    Row(
        "PDF by value",
        shown(
            {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"}},
            {"type": "input_file", "file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
            {"inlineData": {"mimeType": "application/pdf", "data": PDF}},
            {"type": "document", "data": PDF, "mime_type": "application/pdf"},
        ),
        {
            "chat": ("messages.content.file.file_data", holds(PDF)),
            "responses": ("input.content.file_data", holds(PDF)),
            "anthropic": ("messages.content.source.data", PDF),
            "generate": ("contents.parts.inlineData.data", PDF),
            "interactions": ("input.content.data", PDF),
        },
    ),
    Row(
        "audio",
        shown(
            {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
            {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
            None,
            {"inlineData": {"mimeType": "audio/wav", "data": WAV}},
            {"type": "audio", "data": WAV, "mime_type": "audio/wav"},
        ),
        {
            "chat": ("messages.content.input_audio.data", WAV),
            "responses": ("input.content.input_audio.data", WAV),
            "generate": ("contents.parts.inlineData.data", WAV),
            "interactions": ("input.content.data", WAV),
        },
    ),
    Row(
        "video",
        shown(
            google={"inlineData": {"mimeType": "video/mp4", "data": WAV}},
            steps={"type": "video", "data": WAV, "mime_type": "video/mp4"},
        ),
        {
            "generate": ("contents.parts.inlineData.data", WAV),
            "interactions": ("input.content.data", WAV),
        },
    ),
    Row(
        "file by a provider's id",
        shown(
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "input_file", "file_id": "file-1"},
            {"type": "document", "source": {"type": "file", "file_id": "file-1"}},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://files/file-1"}},
            {"type": "document", "uri": "gs://files/file-1", "mime_type": "application/pdf"},
        ),
        said("file-1"),
    ),
    Row(
        "name of a speaker",
        {"chat": {"messages": [{"role": "user", "name": "ann", "content": "hi"}]}},
        {"chat": ("messages.name", "ann")},
        said("ann", "responses", "anthropic", "generate", "interactions"),
    ),
    Row(
        "tool call",
        loop("rain"),
        {
            "chat": ("messages.tool_calls.function.name", "f"),
            "responses": ("input.name", "f"),
            "anthropic": ("messages.content.name", "f"),
            "generate": ("contents.parts.functionCall.args.town", "Oslo"),
            "interactions": ("input.arguments.town", "Oslo"),
        },
    ),
    Row(
        "tool result",
        loop("rain"),
        {
            "chat": ("messages", lambda one: one["role"] == "tool" and one["content"] == "rain"),
            "responses": ("input.output", "rain"),
            "anthropic": ("messages.content", lambda one: "tool_use_id" in one and "rain" in str(one["content"])),
            "generate": ("contents.parts.functionResponse.response.output", "rain"),
            "interactions": ("input.result", holds("rain")),
        },
    ),
    Row(
        "tool result that is an error",
        _without(loop("broke", error=True), "chat", "responses"),
        {
            "anthropic": ("messages.content.is_error", True),
            "generate": ("contents.parts.functionResponse.response.error", "broke"),
            "interactions": ("input.is_error", True),
        },
        {
            "chat": ("messages.content", "[tool error] broke"),
            "responses": ("input.output", "[tool error] broke"),
        },
    ),
    Row(
        "image in a tool result",
        _without(loop("rain", image=True), "chat"),
        {
            "responses": ("input.output.image_url", holds(PNG)),
            "anthropic": ("messages.content.content.source.data", PNG),
            "generate": ("contents.parts.functionResponse.parts.inlineData.data", PNG),
            "interactions": ("input.result.data", PNG),
        },
        {
            "chat": IMAGE["chat"],
            "responses": IMAGE["responses"],
            "anthropic": IMAGE["anthropic"],
            "generate": IMAGE["generate"],
            "interactions": IMAGE["interactions"],
        },
    ),
    Row(
        "part of an unknown kind",
        shown(
            {"type": "brand_new", "x": 1},
            {"type": "input_new", "x": 1},
            {"type": "brand_new", "x": 1},
            {"brandNew": {"x": 1}},
            {"type": "brand_new", "x": 1},
        ),
        said("_new", "chat", "responses", "anthropic", "interactions") | said("brandNew", "generate"),
    ),
)
