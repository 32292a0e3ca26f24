"""A Responses client's body: what it means, whatever way it is written, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from app.chat.model import Media, OutputFormat, Reasoning, Text, Thinking, ToolCall, ToolChoice, ToolResult
from app.errors import ClientError
from app.wires.openai_responses import confined
from tests.chat.talks import Style, Talk, marks, openai_marks, talks
from tests.wires.openai_responses.speaking import (
    ASK,
    CALL,
    HELLO,
    LOOP,
    RESULT,
    SAID,
    THOUGHT,
    Json,
    as_items,
    body_of,
    decoded,
    edited,
)


def _roles(body: Json) -> list[tuple[str, list[str]]]:
    return [(m.role, [type(part).__name__ for part in m.parts]) for m in decoded(body).messages]


def test_a_string_is_one_user_message() -> None:
    (message,) = decoded(HELLO).messages
    assert (message.role, message.parts) == ("user", (Text("hi"),))


def test_what_the_model_said_in_one_turn_is_one_assistant_message() -> None:
    assert _roles(body_of(*LOOP)) == [
        ("user", ["Text"]),
        ("assistant", ["Thinking", "ToolCall"]),
        ("user", ["ToolResult"]),
        ("assistant", ["Text"]),
        ("user", ["Text"]),
    ]
    chat = decoded(body_of(THOUGHT, SAID, CALL, RESULT))
    thought, words, call = chat.messages[0].parts
    assert isinstance(thought, Thinking)
    assert (thought.text, thought.signature) == ("Look her up.", "gAAAAA-1")
    assert words == Text("In room 4.")
    assert call == ToolCall("call_a", "find", '{"who": "Ann"}')
    assert chat.messages[1].results == (ToolResult("call_a", (Text("Room 4"),)),)


@settings(max_examples=40, deadline=None)
@given(talk=talks(steps=3))
def test_a_talk_has_the_same_addresses_as_in_chat_completions(talk: Talk) -> None:
    items, ends = as_items(talk)
    assert marks(decoded(body_of(*items)), ends) == openai_marks(talk, Style())


def test_instructions_and_leading_developer_items_are_the_system_and_later_ones_stay_where_they_were_said() -> None:
    developer: Json = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]}
    chat = decoded(body_of(developer, ASK, developer, instructions="be brief"))
    assert [message.parts for message in chat.system] == [(Text("be brief"),), (Text("rules"),)]
    assert [message.role for message in chat.messages] == ["user", "system"]


def test_in_an_input_that_goes_on_from_a_response_no_item_stands_first() -> None:
    developer = {"role": "developer", "content": "now be terse"}
    chat = decoded(body_of(developer, ASK, previous_response_id="resp_1", instructions="be brief"))
    assert [message.parts for message in chat.system] == [(Text("be brief"),)]
    assert [message.role for message in chat.messages] == ["system", "user"]
    assert chat.continues == "resp_1"
    assert chat.after == ""


@pytest.mark.parametrize("conversation", ["conv_1", {"id": "conv_1"}])
def test_a_conversation_is_named_by_its_id_or_by_an_object(conversation: Any) -> None:
    assert decoded(body_of(ASK, conversation=conversation)).conversation == "conv_1"


def test_a_response_may_be_gone_on_from_without_any_input() -> None:
    chat = decoded({"model": "m", "previous_response_id": "resp_1"})
    assert (chat.continues, chat.messages) == ("resp_1", ())


@pytest.mark.parametrize("store", [True, False, None])
def test_store_is_what_the_client_said(store: bool | None) -> None:
    assert decoded(body_of(ASK) | ({} if store is None else {"store": store})).store is store


def test_how_to_generate_is_read() -> None:
    schema: Json = {"type": "object", "properties": {}}
    chat = decoded(
        body_of(
            ASK,
            max_output_tokens=99,
            temperature=0.5,
            top_p=0.9,
            parallel_tool_calls=False,
            reasoning={"effort": "high", "summary": "auto"},
            text={"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}},
            tool_choice={"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
            stream=True,
        )
    )
    said = chat.sampling
    assert (said.max_tokens, said.temperature, said.top_p, said.parallel_tools) == (99, 0.5, 0.9, False)
    assert said.reasoning == Reasoning("high", show=True)
    assert said.output == OutputFormat("n", schema, True)
    assert said.tool_choice == ToolChoice("required", ("f",))
    assert chat.stream
    assert chat.rest == {}


def test_what_is_not_modelled_is_kept_for_its_own_wire_and_the_foldline_object_is_not() -> None:
    chat = decoded(
        body_of(
            ASK,
            truncation="auto",
            prompt_cache_key="k",
            include=["reasoning.encrypted_content"],
            text={"verbosity": "low"},
            tool_choice={"type": "image_generation"},
            foldline={"session": "s"},
        )
    )
    assert set(chat.rest) == {"truncation", "prompt_cache_key", "text", "tool_choice"}
    assert chat.options == {"session": "s"}


def test_tools_are_functions_free_text_and_what_openai_runs() -> None:
    tools: list[Json] = [
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True},
        {"type": "custom", "name": "patch", "description": "p"},
        {"type": "web_search"},
        {"type": "namespace", "name": "mail", "tools": [{"type": "function", "name": "send"}]},
    ]
    found = decoded(body_of(ASK, tools=tools)).tools
    assert [(tool.name, tool.kind, tool.strict) for tool in found] == [
        ("f", "function", True),
        ("patch", "custom", None),
        ("web_search", "hosted", None),
        ("mail__send", "function", None),
    ]
    assert found[0].schema == {"type": "object"}


def test_a_custom_call_carries_free_text() -> None:
    call = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}
    output = {"type": "custom_tool_call_output", "call_id": "c", "output": "[tool error] no such file"}
    asked, answered = decoded(body_of(ASK, call, output)).messages[1:]
    assert asked.calls == (ToolCall("c", "patch", "*** Begin", kind="custom"),)
    assert answered.results == (ToolResult("c", (Text("no such file"),), is_error=True),)


def test_pictures_and_files_are_taken_apart() -> None:
    content: list[Json] = [
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
    ]
    (message,) = decoded(body_of({"role": "user", "content": content})).messages
    found = [part for part in message.parts if isinstance(part, Media)]
    assert [(m.kind, m.mime, m.data, m.url, m.file_id, m.detail) for m in found] == [
        ("image", "image/png", "AAAA", "", "", "low"),
        ("image", "", "", "", "file-1", ""),
        ("file", "application/pdf", "AAAA", "", "", ""),
        ("file", "", "", "https://example.com/a.pdf", "", ""),
    ]


@pytest.mark.parametrize(
    ("item", "role"),
    [
        ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, "assistant"),
        ({"type": "something_new", "x": 1}, "assistant"),
        ({"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "x"}]}, "user"),
        ({"type": "compaction", "encrypted_content": "g"}, "user"),
    ],
)
def test_an_item_that_is_not_known_is_carried(item: Json, role: str) -> None:
    assert _roles(body_of(ASK, item))[1] == (role, ["Opaque"])


def test_two_different_pasts_that_only_openai_can_read_are_two_different_chats() -> None:
    def mark(blob: str) -> bytes:
        return marks(decoded(body_of({"type": "compaction", "encrypted_content": blob}, ASK)), [2])[0]

    assert mark("a") != mark("b")


def test_a_result_whose_call_is_only_referred_to_is_carried_with_the_reference() -> None:
    chat = decoded(body_of(ASK, {"type": "item_reference", "id": "fc_1"}, RESULT))
    assert [type(part).__name__ for message in chat.messages for part in message.parts] == ["Text", "Opaque", "Opaque"]
    refused = confined(chat)
    assert isinstance(refused, ClientError)
    assert refused.param == "input"


@pytest.mark.parametrize(("field", "value"), [("prompt", {"id": "pmpt_1"}), ("background", True)])
def test_what_only_openai_can_do_is_known_as_such(field: str, value: Any) -> None:
    refused = confined(decoded(body_of(ASK) | {field: value}))
    assert refused is not None
    assert refused.param == field
    assert confined(decoded(body_of(ASK, background=False))) is None


def test_a_prompt_template_needs_neither_model_nor_input() -> None:
    assert decoded({"prompt": {"id": "pmpt_1"}}).model == ""


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"model": "m"}, "input"),
        ({"model": "m", "input": []}, "input"),
        ({"model": "m", "input": 3}, "input"),
        ({"input": "hi"}, "model"),
        (body_of({"role": "tool", "content": "x"}), "input[0].role"),
        (body_of(ASK, {"content": "x"}), "input[1].type"),
        (body_of(ASK, {"type": "function_call", "name": "f", "arguments": "{}"}), "input[1]"),
        (body_of(ASK, {"type": "function_call", "call_id": "", "name": "f"}), "input[1].call_id"),
        (body_of({"role": "user", "content": [{"type": "input_image"}]}), "input[0].content[0].image_url"),
        (body_of({"role": "user", "content": [{"type": "input_text"}]}), "input[0].content[0].text"),
        (body_of(ASK, tools=[{"type": "function"}]), "tools[0].name"),
        (body_of(ASK, tool_choice="sometimes"), "tool_choice"),
        (body_of(ASK, text={"format": {"type": "json_schema"}}), "text.format.schema"),
        (body_of(ASK, max_output_tokens="many"), "max_output_tokens"),
        (body_of(ASK, previous_response_id="r", conversation="c"), "conversation"),
    ],
)
def test_a_mistake_is_refused_with_the_name_of_its_field(body: Json, param: str) -> None:
    with pytest.raises(ClientError) as raised:
        decoded(body)
    assert raised.value.param == param
    assert raised.value.status == 400


@pytest.mark.parametrize("body", [b"[]", b"{", b"\xff", b'"x"'])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(ClientError):
        decoded(body)


def test_only_what_is_new_is_read_of_a_chat_that_goes_on() -> None:
    filler: Json = {"role": "user", "content": "x" * 5000}
    first = body_of(filler, *LOOP, instructions="be brief", stream=True)
    before = decoded(first)
    more = body_of(filler, *LOOP, SAID, ASK, instructions="be brief", stream=True)
    after = decoded(more, before)
    assert edited(after, native=None) == edited(decoded(more), native=None)
    assert all(a is b for a, b in zip(after.messages, before.messages[:-1], strict=False))
    last = body_of(filler, *LOOP, SAID, ASK, THOUGHT, CALL, RESULT, instructions="be long", stream=True)
    again = decoded(last, after)
    assert edited(again, native=None) == edited(decoded(last), native=None)
    assert again.system[0].parts == (Text("be long"),)


def test_more_of_a_turn_that_was_read_before_is_read_with_that_turn() -> None:
    filler: Json = {"role": "user", "content": "x" * 5000}
    before = decoded(body_of(filler, THOUGHT, CALL, RESULT))
    more = body_of(filler, THOUGHT, CALL, {**CALL, "call_id": "call_b"}, RESULT)
    assert decoded(more, before) == decoded(more)
    assert len(decoded(more, before).messages[1].calls) == 2


def test_a_body_that_ended_inside_a_turn_is_not_read_on_from_its_middle() -> None:
    filler: Json = {"role": "user", "content": "x" * 5000}
    before = decoded(body_of(filler, THOUGHT, CALL))
    more = body_of(filler, THOUGHT, CALL, RESULT)
    assert edited(decoded(more, before), native=None) == edited(decoded(more), native=None)


def test_half_an_emoji_is_mended() -> None:
    body = json.dumps(body_of({"role": "user", "content": "a"})).replace('"a"', '"\\ud83d"').encode()
    assert decoded(body).messages[0].parts == (Text("\ufffd"),)
