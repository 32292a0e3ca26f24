"""What messages hold, across both formats: words, media, calls, results, names, ids, reasoning, and back again."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from app.chat.events import Finished, TextDelta, ToolCalled
from app.chat.model import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.gemini.names import BYPASS, legal, signs
from app.wires.openai_chat.names import legal as openai_legal
from app.wires.toolnames import short_id
from app.wires.wire import Target
from tests.wires.talking import HELLO, OLDER, TARGETS, WIRES, Json, decoded, events_of, sent, sse, written

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


# ---- calls and results


def _loop(arguments: Any, result: Any = "ok", name: str = "f", identity: str = "c1") -> Json:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": identity, "content": result},
        ],
    }


@pytest.mark.parametrize(
    "number", ["10000000000000000000000000", "0.1", "1e-7", "1.0", "-0", "1E+2", "123456789.123456789123456789"]
)
@pytest.mark.parametrize("client", ["openai", "gemini"])
def test_a_number_in_arguments_is_spelled_as_it_was(number: str, client: str) -> None:
    if client == "openai":
        raw = WIRES["gemini"].encode(decoded("openai", _loop(f'{{"n": {number}}}')), TARGETS["gemini"]).body
        assert f'"n": {number}}}'.encode() in raw
    else:
        body = f'{{"contents": [{{"role": "model", "parts": [{{"functionCall": {{"name": "f", "args": {{"n": {number}}}}}}}]}}]}}'
        raw = WIRES["openai"].encode(decoded("gemini", body.encode()), TARGETS["openai"]).body
        assert json.loads(raw)["messages"][0]["tool_calls"][0]["function"]["arguments"] == f'{{"n":{number}}}'


@pytest.mark.parametrize(
    "arguments", ["{oops", "[1]", "null", '"x"', "5", '{"a": tru}', '{"a": 1} trailing', '{"a": 01}', "{'a': 1}"]
)
def test_arguments_that_are_no_object_survive_the_way_to_gemini_and_back(arguments: str) -> None:
    body, _ = sent("openai", "gemini", _loop(arguments))
    part = body["contents"][1]["parts"][0]
    assert part["functionCall"]["args"] == {"_raw": arguments}
    back = sent("gemini", "openai", {"contents": body["contents"]})[0]
    assert back["messages"][1]["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize("arguments", ["{oops", '{"a": tru}', "[1]"])
def test_arguments_that_a_model_garbled_reach_a_gemini_client_and_come_back_as_they_were(arguments: str) -> None:
    stream = written("gemini", [ToolCalled(0, ToolCall("c", "f", arguments)), Finished("tool_calls")], stream=False)
    part = json.loads(stream)["candidates"][0]["content"]["parts"][0]
    assert part["functionCall"]["args"] == {"_raw": arguments}
    call = decoded("gemini", {"contents": [{"role": "model", "parts": [part]}]}).messages[0].calls[0]
    assert call.arguments == arguments


@pytest.mark.parametrize("arguments", ["", "  ", "{}", None])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    assert sent("openai", "gemini", _loop(arguments))[0]["contents"][1]["parts"][0]["functionCall"]["args"] == {}


def test_an_argument_that_happens_to_be_called_raw_among_others_is_left_alone() -> None:
    body = {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"_raw": "x", "b": 1}}}]}]}
    assert decoded("gemini", body).messages[0].calls[0].arguments == '{"_raw":"x","b":1}'


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"output": "words"}, "words"),
        ({"output": {"a": 1}}, '{"a":1}'),
        ({"output": 5}, "5"),
        ({"error": "bad"}, "[tool error] bad"),
        ({"rows": [1], "total": 2}, '{"rows":[1],"total":2}'),
        ({"output": "a", "log": "b"}, '{"output":"a","log":"b"}'),
        ({}, "{}"),
    ],
)
def test_a_gemini_result_becomes_a_tool_message(response: Json, text: str) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": response}}]},
    ]
    assert sent("gemini", "openai", {"contents": contents})[0]["messages"][2] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": text,
    }


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ("words", {"output": "words"}),
        ("[tool error] bad", {"error": "bad"}),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], {"output": "ab"}),
        ("", {"output": ""}),
        (None, {"output": ""}),
    ],
)
def test_a_tool_message_becomes_a_gemini_result_under_its_calls_name(content: Any, response: Json) -> None:
    part = sent("openai", "gemini", _loop("{}", content, name="look.up"))[0]["contents"][2]["parts"][0]
    assert part == {"functionResponse": {"name": "look.up", "response": response}}


def test_pictures_in_a_result_go_inside_for_gemini_3_beside_it_for_older_ones_and_behind_it_for_openai() -> None:
    picture: Json = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    result = ToolResult("c1", (Text("see"), Media("image", "image/png", PNG)), "f")
    chat = msgspec.structs.replace(decoded("openai", HELLO["openai"]), native=None, messages=(
        Message("user", (Text("go"),)), Message("assistant", (ToolCall("c1", "f", "{}"),)), Message("user", (result,))))  # fmt: skip
    newer = json.loads(WIRES["gemini"].encode(chat, TARGETS["gemini"]).body)["contents"][2]["parts"]
    assert newer[0]["functionResponse"]["parts"] == [picture]
    older = json.loads(WIRES["gemini"].encode(chat, OLDER).body)["contents"][2]["parts"]
    assert "parts" not in older[0]["functionResponse"]
    assert older[1] == picture
    messages = json.loads(WIRES["openai"].encode(chat, TARGETS["openai"]).body)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[3]["content"] == [{"type": "image_url", "image_url": {"url": DATA_URL}}]


def test_results_stand_in_the_order_of_their_calls_and_before_any_words() -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in "abc"]
    results = [{"role": "tool", "tool_call_id": i, "content": i} for i in "cab"]
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": calls},
            *results,
            {"role": "user", "content": "and"},
        ],
    }
    parts = sent("openai", "gemini", body)[0]["contents"][2]["parts"]
    assert [p["functionResponse"]["response"]["output"] for p in parts[:-1]] == ["a", "b", "c"]
    assert parts[-1] == {"text": "and"}


def test_the_older_function_messages_are_understood() -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    contents = sent("openai", "gemini", {"model": "m", "messages": messages})[0]["contents"]
    assert contents[1]["parts"][0]["functionCall"] == {"name": "f", "args": {"a": 1}}
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"output": "1"}


def test_a_custom_tools_text_is_one_string_for_gemini() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    body = {
        "model": "m",
        "tools": [{"type": "custom", "custom": {"name": "sql"}}],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
        ],
    }
    got, _ = sent("openai", "gemini", body)
    assert got["contents"][1]["parts"][0]["functionCall"] == {"name": "sql", "args": {"input": "select 1"}}
    assert got["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["required"] == ["input"]


# ---- names and ids


@pytest.mark.parametrize("name", ["f", "a.b", "a-b_C9", "x" * 64])
def test_a_name_that_gemini_takes_is_left_alone(name: str) -> None:
    assert legal(name) == name


@pytest.mark.parametrize("name", ["1f", "a b", "日本", "", "x" * 65, "a:b", "a/b", "-x", "\ud800"])
def test_a_name_that_is_not_legal_becomes_one_that_is_always_the_same(name: str) -> None:
    for rule, allowed in ((legal, "_.-"), (openai_legal, "_-")):
        changed = rule(name)
        assert rule(changed) == changed == rule(name)
        assert len(changed) <= 64
        assert all(c.isascii() and (c.isalnum() or c in allowed) for c in changed)


def test_two_names_never_fall_together() -> None:
    for rule in (legal, openai_legal):
        assert len({rule(name) for name in ("a b", "a/b", "a_b", "x" * 70, "x" * 71)}) == 5


@pytest.mark.parametrize(
    ("client", "upstream", "name"),
    [("openai", "gemini", "1st tool"), ("gemini", "openai", "geo:find"), ("gemini", "openai", "y" * 100)],
)
def test_a_renamed_tool_answers_under_its_own_name(client: str, upstream: str, name: str) -> None:
    tools: Json = (
        {"tools": [{"type": "function", "function": {"name": name}}]}
        if client == "openai"
        else {"tools": [{"functionDeclarations": [{"name": name}]}]}
    )
    body = HELLO[client] | tools
    got, _ = sent(client, upstream, body)
    there = (
        got["tools"][0]["functionDeclarations"][0]["name"]
        if upstream == "gemini"
        else got["tools"][0]["function"]["name"]
    )
    assert there != name
    call = {"id": "c", "index": 0, "function": {"name": there, "arguments": "{}"}}
    answers = {
        "gemini": sse(
            {"candidates": [{"content": {"parts": [{"functionCall": {"name": there}}]}, "finishReason": "STOP"}]}
        ),
        "openai": sse(
            {"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
        ),
    }
    events = events_of(upstream, [answers[upstream]], chat=decoded(client, body))
    assert [event.call.name for event in events if isinstance(event, ToolCalled)] == [name]


def test_a_tool_that_came_in_the_providers_own_format_keeps_its_name() -> None:
    body = HELLO["gemini"] | {"tools": [{"functionDeclarations": [{"name": "geo:find"}]}]}
    stream = sse(
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "geo:find"}}]}, "finishReason": "STOP"}]}
    )
    events = events_of("gemini", [stream], chat=decoded("gemini", body))
    assert [event.call.name for event in events if isinstance(event, ToolCalled)] == ["geo:find"]


def test_an_id_that_is_too_long_for_openai_is_shortened_the_same_way_in_call_and_result() -> None:
    long = "x" * 60
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"id": long, "name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": long, "name": "f", "response": {}}}]},
    ]
    messages = sent("gemini", "openai", {"contents": contents})[0]["messages"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == short_id(long)
    assert len(short_id(long)) <= 40
    assert short_id("call_1") == "call_1"


# ---- reasoning

EFFORTS: dict[str, tuple[Any, Any, Any, Any]] = {
    # effort: gemini-3-flash, gemini-3.8-flash (no minimal), gemini-2.5-flash, gemini-2.5-pro
    "none": ("MINIMAL", "LOW", 0, 128),
    "minimal": ("MINIMAL", "LOW", 1024, 1024),
    "low": ("LOW", "LOW", 1024, 1024),
    "medium": ("MEDIUM", "MEDIUM", 8192, 8192),
    "high": ("HIGH", "HIGH", 24576, 24576),
    "xhigh": ("HIGH", "HIGH", 24576, 24576),
    "max": ("HIGH", "HIGH", -1, -1),
}
FAMILIES = ("gemini-3-flash-preview", "gemini-3.8-flash", "gemini-2.5-flash", "models/gemini-2.5-pro")


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("family", range(4))
def test_effort_becomes_a_level_or_a_budget_as_the_model_family_wants_it(effort: str, family: int) -> None:
    body = HELLO["openai"] | {"reasoning_effort": effort}
    config = sent("openai", "gemini", body, Target("gemini", FAMILIES[family]))[0]["generationConfig"]["thinkingConfig"]
    assert config == {("thinkingLevel" if family < 2 else "thinkingBudget"): EFFORTS[effort][family]}


@pytest.mark.parametrize(
    ("budget", "effort"), [(0, "none"), (512, "low"), (4096, "medium"), (12288, "high"), (-1, None)]
)
def test_a_budget_becomes_the_nearest_effort(budget: int, effort: str | None) -> None:
    body = HELLO["gemini"] | {"generationConfig": {"thinkingConfig": {"thinkingBudget": budget}}}
    assert sent("gemini", "openai", body)[0].get("reasoning_effort") == effort


@pytest.mark.parametrize("level", ["MINIMAL", "low", "Medium", "HIGH", "XHIGH"])
def test_a_level_becomes_an_effort(level: str) -> None:
    body = HELLO["gemini"] | {"generationConfig": {"thinking_config": {"thinking_level": level}}}
    assert sent("gemini", "openai", body)[0]["reasoning_effort"] == level.lower()


@pytest.mark.parametrize(
    ("model", "wanted"),
    [("gemini-3-flash", True), ("gemini-3.1-pro-preview", True), ("gemini-4", True), ("gemini-flash-latest", True),
     ("gemini-2.5-pro", False), ("gemini-2.0-flash", False), ("gemma-3-27b", False)],
)  # fmt: skip
def test_signatures_are_asked_of_the_models_that_demand_them(model: str, wanted: bool) -> None:
    assert signs(model) is wanted
    parts = sent("openai", "gemini", _loop("{}"), Target("gemini", model))[0]["contents"][1]["parts"]
    assert (parts[0].get("thoughtSignature") == BYPASS) is wanted


def test_a_signature_that_an_openai_client_carried_for_gemini_is_used() -> None:
    for where in (
        {"extra_content": {"google": {"thought_signature": "c2ln"}}},
        {"provider_specific_fields": {"thought_signature": "c2ln"}},
    ):
        body = _loop("{}")
        body["messages"][1]["tool_calls"][0] |= where
        assert sent("openai", "gemini", body)[0]["contents"][1]["parts"][0]["thoughtSignature"] == "c2ln"


@pytest.mark.parametrize("client", ["openai", "gemini"])
def test_another_providers_reasoning_is_not_sent_on(client: str) -> None:
    bodies: dict[str, Json] = {
        "openai": {
            "model": "m",
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "a", "reasoning_content": "SECRET"},
                {"role": "user", "content": "q"},
            ],
        },
        "gemini": {
            "contents": [
                {"parts": [{"text": "q"}]},
                {
                    "role": "model",
                    "parts": [{"text": "SECRET", "thought": True, "thoughtSignature": "c2ln"}, {"text": "a"}],
                },
                {"parts": [{"text": "q"}]},
            ]
        },
    }
    chat = decoded(client, bodies[client])
    assert any(isinstance(part, Thinking) for part in chat.messages[1].parts)
    assert b"SECRET" not in sent(client, "gemini" if client == "openai" else "openai", bodies[client])[1].body


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


@pytest.mark.parametrize(
    ("client", "change", "param"),
    [
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
    ],
)
def test_a_mistake_is_named_by_its_place(client: str, change: Json, param: str | None) -> None:
    if param is None:
        decoded(client, HELLO[client] | change)
        return
    with pytest.raises(ClientError) as refusal:
        decoded(client, HELLO[client] | change)
    assert (refusal.value.param or "").startswith(param)


def test_text_events_are_never_trimmed() -> None:
    assert b'"content":"  a \\n"' in written("openai", [TextDelta("  a \n"), Finished("stop")])
