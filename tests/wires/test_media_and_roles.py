"""Media, roles and system texts across both formats; bodies that must be mended or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat.events import Finished, TextDelta
from app.chat.model import Opaque, Text
from app.errors import ClientError
from tests.wires.talking import HELLO, OLDER, TARGETS, WIRES, Json, decoded, sent, written

PNG = "iVBORw0KGgo="
DATA_URL = f"data:image/png;base64,{PNG}"


def _user(*parts: Json) -> Json:
    return {"model": "m", "messages": [{"role": "user", "content": list(parts)}]}


def _said(*parts: Json) -> Json:
    return {"contents": [{"role": "user", "parts": list(parts)}]}


# ---- media

OPENAI_MEDIA: list[tuple[str, Json, Json]] = [
    (
        "image",
        {"type": "image_url", "image_url": {"url": DATA_URL}},
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
    ),
    (
        "image as bare string",
        {"type": "image_url", "image_url": DATA_URL},
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
    ),
    (
        "image by address",
        {"type": "image_url", "image_url": {"url": "https://x.test/a.webp?b=c.png"}},
        {"fileData": {"mimeType": "image/webp", "fileUri": "https://x.test/a.webp?b=c.png"}},
    ),
    (
        "audio",
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        {"inlineData": {"mimeType": "audio/mp3", "data": "AAAA"}},
    ),
    (
        "file",
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
    ),
]


@pytest.mark.parametrize(
    ("part", "becomes"), [case[1:] for case in OPENAI_MEDIA], ids=[case[0] for case in OPENAI_MEDIA]
)
def test_media_of_an_openai_client_reach_gemini(part: Json, becomes: Json) -> None:
    body, _ = sent("openai", "gemini", _user({"type": "text", "text": "see"}, part))
    assert body["contents"][0]["parts"] == [{"text": "see"}, becomes]


GEMINI_MEDIA: list[tuple[str, Json, Json]] = [
    (
        "image",
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"type": "image_url", "image_url": {"url": DATA_URL}},
    ),
    (
        "snake case",
        {"inline_data": {"mime_type": "image/png", "data": PNG}},
        {"type": "image_url", "image_url": {"url": DATA_URL}},
    ),
    (
        "audio",
        {"inlineData": {"mimeType": "audio/x-wav", "data": "AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ),
    (
        "mpeg",
        {"inlineData": {"mimeType": "audio/mpeg", "data": "AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
    ),
    (
        "file",
        {"inlineData": {"mimeType": "application/pdf", "data": "AAAA", "displayName": "a.pdf"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
    ),
    (
        "image by address",
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://x.test/a.jpg"}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.jpg"}},
    ),
]


@pytest.mark.parametrize(
    ("part", "becomes"), [case[1:] for case in GEMINI_MEDIA], ids=[case[0] for case in GEMINI_MEDIA]
)
def test_media_of_a_gemini_client_reach_openai(part: Json, becomes: Json) -> None:
    body, _ = sent("gemini", "openai", _said(part))
    assert body["messages"][0]["content"] == [becomes]


@pytest.mark.parametrize(
    ("client", "body"),
    [
        ("gemini", _said({"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}})),
        ("gemini", _said({"fileData": {"mimeType": "audio/mp3", "fileUri": "https://x.test/a.mp3"}})),
        (
            "gemini",
            _said(
                {
                    "fileData": {
                        "mimeType": "image/png",
                        "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a",
                    }
                }
            ),
        ),
        ("gemini", _said({"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a.png"}})),
        ("openai", _user({"type": "file", "file": {"file_id": "file-1"}})),
    ],
)
def test_media_that_the_other_provider_cannot_read_are_refused_and_never_silently_dropped(
    client: str, body: Json
) -> None:
    with pytest.raises(ClientError) as refusal:
        sent(client, "openai" if client == "gemini" else "gemini", body)
    assert refusal.value.message.endswith(".")


@pytest.mark.parametrize(
    ("detail", "level"),
    [("low", "LOW"), ("high", "HIGH"), ("original", "ULTRA_HIGH"), ("auto", ""), (None, "")],
)
def test_a_pictures_detail_becomes_its_resolution_for_gemini_3_only(detail: str | None, level: str) -> None:
    body = _user({"type": "image_url", "image_url": {"url": DATA_URL} | ({"detail": detail} if detail else {})})
    newer = sent("openai", "gemini", body)[0]["contents"][0]["parts"][0]
    assert newer.get("mediaResolution") == ({"level": f"MEDIA_RESOLUTION_{level}"} if level else None)
    assert "mediaResolution" not in sent("openai", "gemini", body, OLDER)[0]["contents"][0]["parts"][0]


def test_parts_that_nobody_models_go_to_their_own_wire_only_and_are_said_to_be_lost_elsewhere() -> None:
    code: Json = {"executableCode": {"language": "PYTHON", "code": "1"}}
    body = {"contents": [{"parts": [{"text": "x"}, code]}]}
    chat = decoded("gemini", body)
    assert isinstance(chat.messages[0].parts[1], Opaque)
    got, outbound = sent("gemini", "openai", body)
    assert got["messages"] == [{"role": "user", "content": "x"}]
    assert [loss.field for loss in outbound.losses] == ["messages"]
    strange = _user({"type": "text", "text": "x"}, {"type": "hologram", "hologram": {}})
    assert [loss.field for loss in sent("openai", "gemini", strange)[1].losses] == ["messages"]


def test_a_picture_that_the_model_made_is_said_to_be_lost_where_there_is_no_place_for_it() -> None:
    body = {
        "contents": [
            {"parts": [{"text": "draw"}]},
            {"role": "model", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}, {"text": "here"}]},
            {"parts": [{"text": "thanks"}]},
        ]
    }
    got, outbound = sent("gemini", "openai", body)
    assert got["messages"][1] == {"role": "assistant", "content": "here"}
    assert "image" in outbound.losses[0].reason


# ---- roles and system texts


def test_leading_system_texts_join_and_a_later_one_stays_where_it_was_said() -> None:
    messages = [
        {"role": "system", "content": "a"},
        {"role": "developer", "content": [{"type": "text", "text": "b"}]},
        {"role": "user", "content": "hi"},
        {"role": "system", "content": "later"},
        {"role": "user", "content": "go"},
    ]
    body, _ = sent("openai", "gemini", {"model": "m", "messages": messages})
    assert body["systemInstruction"] == {"parts": [{"text": "a\n\nb"}]}
    texts = [part["text"] for part in body["contents"][0]["parts"]]
    assert texts == ["hi", "<system-reminder>\nlater\n</system-reminder>", "go"]


def test_gemini_gets_the_user_first_and_last_and_is_told_why() -> None:
    body, outbound = sent("openai", "gemini", {"model": "m", "messages": [{"role": "assistant", "content": "prefill"}]})
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    assert len(outbound.losses) == 2


def test_neighbours_of_the_same_role_are_one_content() -> None:
    said = [
        {"role": role, "content": text}
        for role, text in (("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"), ("user", "e"))
    ]
    body, _ = sent("openai", "gemini", {"model": "m", "messages": said})
    assert [[part["text"] for part in content["parts"]] for content in body["contents"]] == [
        ["a", "b"],
        ["c", "d"],
        ["e"],
    ]


def test_a_conversation_that_says_nothing_is_refused() -> None:
    with pytest.raises(ClientError):
        sent("openai", "gemini", {"model": "m", "messages": [{"role": "user", "content": ""}]})


@pytest.mark.parametrize(
    "contents",
    [
        "hello",
        {"parts": [{"text": "hello"}]},
        [{"parts": [{"text": "hello"}]}],
        [{"role": "", "parts": [{"text": "hello"}]}],
    ],
)
def test_contents_may_be_written_in_short(contents: Any) -> None:
    assert sent("gemini", "openai", {"contents": contents})[0]["messages"] == [{"role": "user", "content": "hello"}]


# ---- mended bodies, deep bodies


@pytest.mark.parametrize("client", ["openai", "gemini"])
def test_half_of_a_split_emoji_is_mended_and_a_whole_one_is_kept(client: str) -> None:
    text = rb'"\ud83d cut, \ud83c\udf8c whole, \\ud800 spelled"'
    raw = json.dumps(HELLO[client]).encode().replace(b'"hi"', text)
    chat = decoded(client, raw)
    assert chat.messages[0].parts[0] == Text("\ufffd cut, 🎌 whole, \\ud800 spelled")
    outbound = WIRES[client].encode(chat, TARGETS[client])
    assert not outbound.untouched
    assert b"\\ud83d cut" not in outbound.body


@pytest.mark.parametrize("client", ["openai", "gemini"])
@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b'"x"', b"\xff\xfe", b'{"a": "\xff"}', b'{"messages": ' + b"[" * 100_000]
)
def test_a_body_that_cannot_be_read_is_refused_with_a_sentence(client: str, raw: bytes) -> None:
    with pytest.raises(ClientError) as refusal:
        decoded(client, raw)
    assert refusal.value.status == 400
    assert refusal.value.message.endswith(".")


MISTAKES: list[tuple[str, Json, str | None]] = [
    ("openai", {"messages": "hi"}, "messages"),
    ("openai", {"messages": [{"content": "x"}]}, "messages[0]"),
    ("openai", {"messages": [{"role": "user", "content": 5}]}, "messages[0]"),
    ("openai", {"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
    ("openai", {"model": 5}, "model"),
    ("openai", {"temperature": "hot"}, "temperature"),
    ("openai", {"tools": [{"type": "function", "function": {}}]}, "tools[0]"),
    ("openai", {"tool_choice": "sometimes"}, "tool_choice"),
    ("openai", {"response_format": {"type": "json_schema"}}, "response_format"),
    ("gemini", {"contents": [{"role": "robot", "parts": []}]}, "contents[0].role"),
    ("gemini", {"contents": [{"parts": [{"text": 5}]}]}, "contents[0].parts[0].text"),
    ("gemini", {"generationConfig": {"maxOutputTokens": "many"}}, "generationConfig"),
    ("gemini", {"toolConfig": "x"}, None),
]


@pytest.mark.parametrize(("client", "change", "param"), MISTAKES)
def test_a_mistake_is_named_by_its_place(client: str, change: Json, param: str | None) -> None:
    if param is None:
        decoded(client, HELLO[client] | change)
        return
    with pytest.raises(ClientError) as refusal:
        decoded(client, HELLO[client] | change)
    assert (refusal.value.param or "").startswith(param)


def test_text_events_are_never_trimmed() -> None:
    assert b'"content":"  a \\n"' in written("openai", [TextDelta("  a \n"), Finished("stop")])
