"""What clients of this format send, in every form that the API and its older clients know."""

from __future__ import annotations

import json

import pytest

from app.chat.model import Media, Opaque, Reasoning, Text, Thinking, ToolCall, ToolChoice, ToolResult
from app.errors import ClientError
from tests.wires.gemini_interactions.speaking import HELLO, MODEL, Json, call, decoded, encoded, model, text, user

PICTURE: Json = {"type": "image", "data": "AAAA", "mime_type": "image/png", "resolution": "high"}
THOUGHT: Json = {"type": "thought", "signature": "c2ln", "summary": [text("hm")]}
SEARCH: Json = {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["x"]}, "signature": "c2c="}
FOUND: Json = {"type": "google_search_result", "call_id": "s1", "result": [{"search_suggestions": "<a>"}]}
LOOP: list[Json] = [
    user("go"),
    THOUGHT,
    call("c1", a=1),
    call("c2", "g"),
    {"type": "function_result", "call_id": "c1", "name": "f", "result": {"rows": 3}},
    {"type": "function_result", "call_id": "c2", "name": "g", "result": "timeout", "is_error": True},
    SEARCH,
    FOUND,
    model("done"),
    user("thanks"),
]


@pytest.mark.parametrize(
    "said",
    [
        "hi",
        text("hi"),
        [text("hi")],
        [{"text": "hi"}],
        [user("hi")],
        [{"role": "user", "content": "hi"}],
        [{"role": "user", "content": [text("hi")]}],
        [{"role": "user", "content": text("hi")}],
        [{"type": "user_input", "content": "hi"}],
    ],
)
def test_every_form_of_input_says_the_same(said: object) -> None:
    (message,) = decoded({"model": MODEL, "input": said}).messages
    assert (message.role, [getattr(part, "text", None) for part in message.parts]) == ("user", ["hi"])
    body, _ = encoded(decoded({"model": MODEL, "input": said, "foldline": {}}))
    assert body["input"] in (said, [user("hi")])


def test_steps_become_messages_in_which_calls_made_together_stay_together() -> None:
    chat = decoded({"model": MODEL, "input": LOOP})
    assert [message.role for message in chat.messages] == ["user", "assistant", "user", "user", "assistant", "user"]
    thought, first, second = chat.messages[1].parts
    assert isinstance(thought, Thinking)
    assert (thought.text, thought.signature) == ("hm", "c2ln")
    assert isinstance(first, ToolCall)
    assert (first.id, first.name, first.arguments) == ("c1", "f", '{"a":1}')
    assert isinstance(second, ToolCall)
    (good,), (bad,) = chat.messages[2].parts, chat.messages[3].parts
    assert isinstance(good, ToolResult)
    assert (good.call_id, good.name, good.text, good.is_error) == ("c1", "f", '{"rows":3}', False)
    assert isinstance(bad, ToolResult)
    assert (bad.text, bad.is_error) == ("timeout", True)
    search, found, words = chat.messages[4].parts
    assert isinstance(search, Opaque)
    assert isinstance(found, Opaque)
    assert words == Text("done")


def test_an_answer_sent_back_with_roles_is_the_models() -> None:
    turns = [
        {"role": "user", "content": "a"},
        {"role": "model", "content": [text("b")]},
        {"role": "user", "content": "c"},
    ]
    chat = decoded({"model": MODEL, "input": turns})
    assert [message.role for message in chat.messages] == ["user", "assistant", "user"]
    body, outbound = encoded(chat)
    assert body["input"] == [user("a"), model("b"), user("c")]
    assert not outbound.untouched


def test_pictures_documents_and_files_of_google_are_read() -> None:
    document = {"type": "document", "uri": "https://x.example/a.pdf", "mime_type": "application/pdf"}
    upload = {
        "type": "video",
        "uri": "https://generativelanguage.googleapis.com/v1beta/files/a",
        "mime_type": "video/mp4",
    }
    (message,) = decoded({"model": MODEL, "input": [text("see"), PICTURE, document, upload]}).messages
    _, picture, pdf, film = message.parts
    assert isinstance(picture, Media)
    assert (picture.kind, picture.mime, picture.data, picture.detail) == ("image", "image/png", "AAAA", "high")
    assert isinstance(pdf, Media)
    assert (pdf.kind, pdf.url) == ("file", "https://x.example/a.pdf")
    assert isinstance(film, Media)
    assert (film.kind, film.url, film.file_id[-7:]) == ("video", "", "files/a")


def test_a_result_may_be_contents_or_any_json() -> None:
    results = [[text("see"), PICTURE], [1, 2], {"a": 1.0}, "words", [], None]
    steps = [{"type": "function_result", "call_id": f"c{i}", "result": result} for i, result in enumerate(results)]
    chat = decoded({"model": MODEL, "input": steps})
    parts = [message.parts[0] for message in chat.messages]
    assert all(isinstance(part, ToolResult) for part in parts)
    said = [part.text for part in parts if isinstance(part, ToolResult)]
    assert said == ["see", "[1,2]", '{"a":1.0}', "words", "[]", "null"]


def test_arguments_written_as_text_are_read() -> None:
    asked: Json = {"type": "function_call", "id": "c", "name": "f", "arguments": '{"a": 1}'}
    chat = decoded({"model": MODEL, "input": [user("go"), asked, {"type": "function_result", "call_id": "c"}]})
    assert chat.messages[1].calls[0].arguments == '{"a": 1}'
    assert chat.messages[2].results[0].text == ""


def test_unknown_steps_and_contents_are_kept_for_their_own_provider() -> None:
    steps = [{"type": "user_input", "content": [{"type": "hologram", "x": 1}]}, {"type": "ponder_call", "id": "p"}]
    chat = decoded({"model": MODEL, "input": [*steps, user("and?")]})
    assert isinstance(chat.messages[0].parts[0], Opaque)
    assert isinstance(chat.messages[1].parts[0], Opaque)
    assert encoded(chat)[1].untouched


def test_how_to_generate_is_read() -> None:
    config = {
        "max_output_tokens": 9,
        "seed": 7,
        "stop_sequences": ["x"],
        "thinking_level": "low",
        "thinking_summaries": "auto",
        "temperature": 1,
        "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["f"]}},
        "speech_config": [],
    }
    form = {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}}
    tools = [
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
        {"type": "url_context"},
    ]
    body = HELLO | {
        "generation_config": config,
        "response_format": form,
        "tools": tools,
        "system_instruction": "be brief",
    }
    chat = decoded(body | {"store": False, "stream": True, "service_tier": "flex"})
    s = chat.sampling
    assert (s.max_tokens, s.seed, s.stop, s.temperature) == (9, 7, ("x",), 1)
    assert s.reasoning == Reasoning("low", show=True)
    assert s.tool_choice == ToolChoice("required", ("f",))
    assert s.output is not None
    assert s.output.schema == {"type": "object"}
    assert [(tool.name, tool.kind) for tool in chat.tools] == [("f", "function"), ("url_context", "hosted")]
    assert [part for message in chat.system for part in message.parts] == [Text("be brief")]
    assert (chat.store, chat.stream) == (False, True)
    assert chat.rest.keys() == {"service_tier", "generation_config.speech_config"}


def test_what_a_client_goes_on_from_is_its_own_id() -> None:
    chat = decoded(HELLO | {"previous_interaction_id": "v1_ours"})
    assert (chat.continues, chat.after, chat.resume) == ("v1_ours", "", "")
    hop = decoded({"model": MODEL, "previous_interaction_id": "v1_ours", "continuation_token": "t"})
    assert (hop.messages, hop.continues, hop.resume) == ((), "v1_ours", "t")


def test_an_agent_stands_where_a_model_would() -> None:
    body: Json = {"agent": "deep-research-preview-04-2026", "input": "dig", "agent_config": {"type": "deep-research"}}
    chat = decoded(body)
    assert chat.model == "deep-research-preview-04-2026"
    assert chat.rest.keys() == {"agent", "agent_config"}
    assert encoded(chat)[1].untouched


MISTAKES: list[tuple[Json, str]] = [
    ({"input": "hi"}, "model"),
    ({"model": "m"}, "input"),
    ({"model": "m", "input": []}, "input"),
    ({"model": "m", "input": ["a", "b"]}, "input"),
    ({"model": "m", "input": 5}, "input"),
    ({"model": "m", "agent": "a", "input": "x"}, "agent"),
    ({"model": "m", "input": [{"role": "robot", "content": "x"}, user("x")]}, "input[0].type"),
    ({"model": "m", "input": [{"type": "function_result", "result": 1}]}, "input[0].call_id"),
    ({"model": "m", "input": [{"type": "function_call", "id": "c", "arguments": {}}]}, "input[0].name"),
    ({"model": "m", "input": [{"type": "text", "text": 5}]}, "input[0].text"),
    ({"model": "m", "input": "x", "generation_config": {"seed": "x"}}, "generation_config"),
    ({"model": "m", "input": "x", "tools": [{"type": "function"}]}, "tools[0].name"),
    ({"model": "m", "input": "x", "system_instruction": {"parts": []}}, "system_instruction"),
]


@pytest.mark.parametrize(("body", "field"), MISTAKES)
def test_a_mistake_is_named_by_its_field(body: Json, field: str) -> None:
    with pytest.raises(ClientError) as caught:
        decoded(body)
    assert caught.value.param == field
    assert caught.value.status == 400


def test_half_of_a_split_emoji_does_not_refuse_the_chat() -> None:
    chat = decoded(json.dumps({"model": MODEL, "input": "a\ud83d"}).encode())
    assert chat.messages[0].parts == (Text("a\N{REPLACEMENT CHARACTER}"),)
    assert not encoded(chat)[1].untouched
