"""What goes out to OpenAI: the client's own bytes where nothing changed, and by OpenAI's rules where something did."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from app.chat.address import addresses
from app.chat.model import Chat, Message, Text, Tool, ToolResult
from app.context.known import Known
from app.context.mending import mend
from app.context.plan import Draft
from app.context.policy import Policy
from app.errors import ClientError
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Target
from tests.chat.talks import STYLES, TENANT, Style, Talk, as_gemini, as_openai, gemini_chat, openai_chat, talks
from tests.wires.openai_responses.speaking import (
    ASK,
    CALL,
    LOOP,
    RESULT,
    TARGET,
    THOUGHT,
    Json,
    body_of,
    decoded,
    edited,
    encoded,
)

SCHEMA: Json = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
LOOSE: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
OURS: Json = {**THOUGHT, "encrypted_content": "foldline.gemini.c2ln"}


def _chat(*messages: Json, **more: Any) -> Chat:
    return decoded({"model": "m", "messages": list(messages)} | more, client="openai")


def _fields(outbound: Any) -> list[str]:
    return [loss.field for loss in outbound.losses]


# ---- the same format


def test_a_request_that_nobody_changed_goes_out_byte_for_byte() -> None:
    raw = json.dumps(body_of(*LOOP, temperature=1.0, store=False, truncation="auto"), indent=3).encode()
    _, outbound = encoded(decoded(raw))
    assert outbound.untouched
    assert outbound.body == raw


def test_one_edited_message_leaves_the_others_as_they_were_written() -> None:
    raw = json.dumps(body_of(*LOOP, truncation="auto")).replace('"In room 4."', '"In\\u0020room 4."').encode()
    chat = decoded(raw)
    shorter = chat.messages[2].edited((ToolResult("call_a", (Text("4"),)),))
    body, outbound = encoded(edited(chat, messages=(*chat.messages[:2], shorter, *chat.messages[3:])))
    assert not outbound.untouched
    assert body["input"] == [ASK, THOUGHT, CALL, {**RESULT, "output": "4"}, *LOOP[4:]]
    assert b"In\\u0020room" in outbound.body
    assert body["truncation"] == "auto"


def test_an_edited_assistant_turn_goes_without_its_reasoning_and_so_without_ids() -> None:
    chat = decoded(body_of(*LOOP))
    turn = chat.messages[1]
    body, _ = encoded(edited(chat, messages=(chat.messages[0], turn.edited(turn.parts), *chat.messages[2:])))
    assert body["input"][1] == {name: value for name, value in CALL.items() if name != "id"}


def test_an_edited_call_keeps_its_namespace_and_loses_its_id() -> None:
    call: Json = CALL | {"namespace": "mail", "name": "send"}
    chat = decoded(body_of(ASK, THOUGHT, call, RESULT))
    turn = chat.messages[1]
    body, _ = encoded(edited(chat, messages=(chat.messages[0], turn.edited(turn.parts), chat.messages[2])))
    assert body["input"] == [ASK, {name: value for name, value in call.items() if name != "id"}, RESULT]


def test_a_renamed_model_changes_the_model_only() -> None:
    raw = body_of(*LOOP, top_p=0.25)
    body, _ = encoded(decoded(raw), Target("openai", "gpt-other"))
    assert body == raw | {"model": "gpt-other"}


def test_the_foldline_object_and_ids_of_ours_never_go_out() -> None:
    body, _ = encoded(decoded(body_of(ASK, foldline={"session": "s"}, previous_response_id="resp_ours")))
    assert body == body_of(ASK)
    body, _ = encoded(decoded(body_of(ASK, conversation="conv_ours", metadata={"a": "b"})))
    assert body == body_of(ASK, metadata={"a": "b"})


@pytest.mark.parametrize("store", [True, False])
def test_store_is_written_as_the_chat_says_it(store: bool) -> None:
    body, _ = encoded(edited(decoded(body_of(ASK)), store=store))
    assert body["store"] is store
    assert body.get("include") == (None if store else ["reasoning.encrypted_content"])


def test_a_tool_that_was_added_stands_behind_the_clients_own_and_each_of_those_is_there_once() -> None:
    mail = {"type": "namespace", "name": "mail", "tools": [{"type": "function", "name": n} for n in ("send", "read")]}
    chat = decoded(body_of(ASK, tools=[{"type": "web_search"}, mail]))
    body, _ = encoded(edited(chat, tools=(*chat.tools, Tool("fetch_rows", "Rows.", LOOSE))))
    assert body["tools"] == [
        {"type": "web_search"},
        mail,
        {"type": "function", "name": "fetch_rows", "description": "Rows.", "parameters": LOOSE, "strict": False},
    ]


def test_how_to_generate_is_changed_field_by_field() -> None:
    chat = decoded(body_of(ASK, max_output_tokens=50, temperature=0.5, text={"verbosity": "low"}))
    body, _ = encoded(edited(chat, sampling=msgspec.structs.replace(chat.sampling, max_tokens=90, temperature=None)))
    assert body == body_of(ASK, max_output_tokens=90, text={"verbosity": "low"})


def test_words_added_to_the_system_stand_in_the_instructions() -> None:
    developer = {"role": "developer", "content": "rules"}
    chat = decoded(body_of(developer, ASK, instructions="be brief"))
    body, _ = encoded(edited(chat, system=(*chat.system, Message("system", (Text("Known: Ann."),)))))
    assert body == body_of(developer, ASK, instructions="be brief\n\nKnown: Ann.")


def test_reasoning_that_we_wrote_ourselves_never_goes_to_openai() -> None:
    body, outbound = encoded(decoded(body_of(ASK, OURS, CALL, RESULT)))
    assert body["input"] == [ASK, CALL, RESULT]
    assert not outbound.untouched


def test_a_signature_in_reasoning_that_we_wrote_goes_back_to_its_call() -> None:
    chat = decoded(body_of(ASK, OURS, CALL, RESULT))
    assert chat.messages[1].calls[0].signature == "c2ln"


# ---- from other formats


def test_a_chat_is_written_as_items() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "a.b", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
    body, outbound = encoded(
        _chat(
            {"role": "system", "content": "one"},
            {"role": "developer", "content": "two"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
            {"role": "assistant", "content": "so", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "[tool error] no"},
            {"role": "system", "content": "later"},
            tools=[{"type": "function", "function": {"name": "a.b", "parameters": LOOSE}}],
            stream=True,
        )
    )
    assert body["instructions"] == "one\n\ntwo"
    name = body["tools"][0]["name"]
    assert body["input"] == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
            ],
        },
        {"role": "assistant", "content": "so"},
        {"type": "function_call", "call_id": "c", "name": name, "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "[tool error] no"},
        {"role": "system", "content": "later"},
    ]
    assert name.startswith("a_b")
    assert body["stream"] is True
    assert outbound.losses == ()


def test_a_result_with_a_picture_keeps_it() -> None:
    response = {
        "name": "f",
        "response": {"output": "see"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
    }
    chat = gemini_chat(
        [
            {"role": "user", "parts": [{"text": "x"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": response}]},
        ]
    )
    output = encoded(chat)[0]["input"][-1]
    assert output["type"] == "function_call_output"
    assert [part["type"] for part in output["output"]] == ["input_text", "input_image"]


@pytest.mark.parametrize(
    ("strict", "schema", "written", "lost"),
    [
        (None, SCHEMA, False, False),
        (True, SCHEMA, True, False),
        (True, LOOSE, False, True),
        (False, SCHEMA, False, False),
    ],
)
def test_strict_is_always_said_and_true_only_where_the_schema_allows_it(
    strict: bool | None, schema: Json, written: bool, lost: bool
) -> None:
    function = {"name": "f", "parameters": schema} | ({} if strict is None else {"strict": strict})
    body, outbound = encoded(
        _chat({"role": "user", "content": "x"}, tools=[{"type": "function", "function": function}])
    )
    assert body["tools"][0]["strict"] is written
    assert _fields(outbound) == (["tools.f"] if lost else [])


def test_a_free_text_tool_keeps_its_grammar_flat() -> None:
    grammar = {"syntax": "lark", "definition": "start: /a/"}
    custom = {"name": "p", "description": "d", "format": {"type": "grammar", "grammar": grammar}}
    body, _ = encoded(_chat({"role": "user", "content": "x"}, tools=[{"type": "custom", "custom": custom}]))
    assert body["tools"] == [
        {"type": "custom", "name": "p", "description": "d", "format": {"type": "grammar", **grammar}}
    ]


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "f"}}, {"type": "function", "name": "f"}),
        ({"type": "custom", "custom": {"name": "p"}}, {"type": "custom", "name": "p"}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
            },
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        ),
    ],
)  # fmt: skip - a table
def test_the_choice_of_tools_is_said_flat(choice: Any, written: Any) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "p"}}]
    body, _ = encoded(_chat({"role": "user", "content": "x"}, tools=tools, tool_choice=choice))
    assert body["tool_choice"] == written


def test_fields_that_both_of_openais_formats_have_are_handed_on() -> None:
    same = {"metadata": {"a": "b"}, "prompt_cache_key": "k", "user": "u", "service_tier": "flex", "store": False}
    body, outbound = encoded(_chat({"role": "user", "content": "x"}, verbosity="low", **same))
    assert {name: body[name] for name in same} == same
    assert body["text"] == {"verbosity": "low"}
    assert body["include"] == ["reasoning.encrypted_content"]
    assert outbound.losses == ()


def test_what_this_api_cannot_say_is_reported_each_once() -> None:
    more = {"stop": ["x"], "seed": 1, "presence_penalty": 0.5, "frequency_penalty": 0.5, "logit_bias": {"1": 1}}
    body, outbound = encoded(_chat({"role": "user", "content": "x"}, max_tokens=5, **more))
    assert sorted(_fields(outbound)) == sorted([*more, "max_tokens"])
    assert set(body) == {"model", "input", "max_output_tokens"}
    assert body["max_output_tokens"] == 16


@pytest.mark.parametrize(
    ("model", "effort", "kept"),
    [("gpt-4.1", None, True), ("gpt-5-chat-latest", None, True), ("gpt-5.5", None, False), ("gpt-5.5", "none", True)],
)
def test_a_model_that_reasons_is_asked_without_what_it_refuses(model: str, effort: str | None, kept: bool) -> None:
    more = {"temperature": 0.5, "top_p": 1} | ({"reasoning_effort": effort} if effort else {})
    body, outbound = encoded(_chat({"role": "user", "content": "x"}, **more), Target("openai", model))
    assert ("temperature" in body) is kept
    assert body["top_p"] == 1
    assert _fields(outbound) == ([] if kept else ["temperature"])


def test_a_stream_that_is_asked_for_whole_has_no_options_of_a_stream() -> None:
    chat = decoded(body_of(ASK, stream=True, stream_options={"include_obfuscation": False}))
    assert encoded(edited(chat, stream=False))[0] == body_of(ASK)


def test_more_than_one_answer_is_refused() -> None:
    with pytest.raises(ClientError) as raised:
        encoded(_chat({"role": "user", "content": "x"}, n=2))
    assert raised.value.param == "n"


def test_structured_output_and_reasoning_are_said_in_this_formats_words() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "a b", "schema": SCHEMA, "description": "d"}}
    body, _ = encoded(_chat({"role": "user", "content": "x"}, response_format=wanted, reasoning_effort="low"))
    name = body["text"]["format"].pop("name")
    assert body["text"] == {"format": {"type": "json_schema", "schema": SCHEMA, "strict": True, "description": "d"}}
    assert " " not in name
    assert body["reasoning"] == {"effort": "low"}
    thinking = {"thinkingConfig": {"thinkingBudget": 9000, "includeThoughts": True}}
    body, outbound = encoded(gemini_chat([{"role": "user", "parts": [{"text": "x"}]}], generationConfig=thinking))
    assert body["reasoning"] == {"effort": "medium", "summary": "auto"}
    assert _fields(outbound) == ["reasoning"]


def test_json_mode_says_json_in_the_input() -> None:
    body, outbound = encoded(_chat({"role": "user", "content": "x"}, response_format={"type": "json_object"}))
    assert "JSON" in body["input"][0]["content"]
    assert body["text"] == {"format": {"type": "json_object"}}
    assert _fields(outbound) == ["response_format"]


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}},
        {"inlineData": {"mimeType": "audio/ogg", "data": "AAAA"}},
        {"inlineData": {"mimeType": "image/heic", "data": "AAAA"}},
    ],
)
def test_what_openai_reads_in_no_form_is_refused(part: Json) -> None:
    with pytest.raises(ClientError):
        encoded(gemini_chat([{"role": "user", "parts": [part]}]))


def test_a_file_that_openai_keeps_may_be_named_by_either_of_its_formats() -> None:
    file = {"type": "file", "file": {"file_id": "file-1"}}
    body, _ = encoded(_chat({"role": "user", "content": [file]}))
    assert body["input"][0]["content"] == [{"type": "input_file", "file_id": "file-1"}]


@settings(max_examples=40, deadline=None)
@given(talk=talks(steps=2), style=STYLES)
def test_a_talk_from_any_format_says_the_same_in_this_one(talk: Talk, style: Style) -> None:
    for asked in (openai_chat(as_openai(talk, style)[0]), gemini_chat(as_gemini(talk, style)[0])):
        chat = mend(Draft(asked), Known(), Policy()).chat
        again = decoded(OPENAI_RESPONSES.encode(chat, TARGET).body)
        assert addresses(again.messages, TENANT)[-1] == addresses(chat.messages, TENANT)[-1]
