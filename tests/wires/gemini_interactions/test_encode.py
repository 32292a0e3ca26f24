"""What Gemini gets: a chat of any format as steps, or a client's own bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat.model import Message, Text
from app.errors import ClientError
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.wire import Target
from tests.wires.gemini_interactions.speaking import (
    HELLO,
    MODEL,
    TARGET,
    Json,
    call,
    changed,
    decoded,
    encoded,
    said,
    text,
    user,
)
from tests.wires.gemini_interactions.test_decode import LOOP, THOUGHT

USER: Json = {"role": "user", "content": "go"}


def _calls(*calls: tuple[str, str, str]) -> Json:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls],
    }


def _result(identity: str, content: Any) -> Json:
    return {"role": "tool", "tool_call_id": identity, "content": content}


# ---- from another format


def test_a_tool_loop_becomes_steps_in_the_order_in_which_things_were_said() -> None:
    chat = said(
        {"role": "system", "content": "one"},
        {"role": "system", "content": "two"},
        USER,
        _calls(("c1", "f", '{"a":1.0}'), ("c2", "g", "")),
        _result("c2", "[tool error] no"),
        _result("c1", "yes"),
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "thanks"},
    )
    outbound = GEMINI_INTERACTIONS.encode(chat, Target("gemini", "models/" + MODEL))
    body = json.loads(outbound.body)
    assert outbound.path == "/interactions"
    assert b'"arguments":{"a":1.0}' in outbound.body
    assert body == {
        "model": MODEL,
        "system_instruction": "one\n\ntwo",
        "input": [
            user("go"),
            call("c1", "f", a=1.0),
            call("c2", "g"),
            {"type": "function_result", "call_id": "c2", "name": "g", "result": "no", "is_error": True},
            {"type": "function_result", "call_id": "c1", "name": "f", "result": "yes"},
            {"type": "model_output", "content": [text("done")]},
            user("thanks"),
        ],
    }


@pytest.mark.parametrize(("arguments", "sent"), [("{broken", {"_raw": "{broken"}), ("[1]", {"_raw": "[1]"}), ("", {})])
def test_arguments_that_are_no_object_are_carried_under_a_key(arguments: str, sent: Json) -> None:
    body, _ = encoded(said(USER, _calls(("c1", "f", arguments)), _result("c1", "x")))
    assert body["input"][1]["arguments"] == sent


def test_what_was_carried_under_a_key_comes_back_as_it_was() -> None:
    steps = [user("go"), call("c1", _raw="{broken"), {"type": "function_result", "call_id": "c1", "result": "x"}]
    assert decoded({"model": MODEL, "input": steps}).messages[1].calls[0].arguments == "{broken"


def test_a_later_system_message_stays_where_it_was_said() -> None:
    body, _ = encoded(
        said(USER, {"role": "assistant", "content": "ok"}, {"role": "system", "content": "now brief"}, USER)
    )
    assert body["input"][2] == user("<system-reminder>\nnow brief\n</system-reminder>")
    assert "system_instruction" not in body


def test_calls_without_ids_and_ids_that_come_again_are_told_apart() -> None:
    older: Json = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    body, _ = encoded(said(USER, older, {"role": "function", "name": "f", "content": "x"}))
    _, made, answer = body["input"]
    assert made["id"] == answer["call_id"] != ""
    again = [_calls(("call_0", "f", "{}")), _result("call_0", "x")]
    body, _ = encoded(said(USER, *again, *again))
    ids = [step.get("id") or step.get("call_id") for step in body["input"][1:]]
    assert ids[0] == ids[1] != ids[2] == ids[3]


def test_tool_names_that_gemini_refuses_are_changed_the_same_way_everywhere() -> None:
    tool = {"type": "function", "function": {"name": "a b", "parameters": {"properties": {"x": {"type": "string"}}}}}
    chat = said(USER, _calls(("c1", "a b", "{}")), _result("c1", "x"), tools=[tool], tool_choice="required")
    body, _ = encoded(chat)
    name = body["tools"][0]["name"]
    assert name != "a b"
    assert [body["input"][1]["name"], body["input"][2]["name"]] == [name, name]
    assert body["generation_config"] == {"tool_choice": "any"}


def test_pictures_sounds_and_files_go_as_contents() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,_-8", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://x.example/a.webp?x"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
    ]
    body, outbound = encoded(said({"role": "user", "content": parts}))
    assert body["input"][0]["content"] == [
        {"type": "image", "data": "/+8=", "mime_type": "image/png", "resolution": "low"},
        {"type": "image", "uri": "https://x.example/a.webp?x", "mime_type": "image/webp"},
        {"type": "audio", "data": "AAAA", "mime_type": "audio/mp3"},
        {"type": "document", "data": "AAAA", "mime_type": "application/pdf"},
    ]
    assert outbound.losses == ()


def test_a_picture_in_a_result_stays_in_it() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    body, _ = encoded(said(USER, _calls(("c1", "f", "{}")), _result("c1", [{"type": "text", "text": "see"}, picture])))
    assert body["input"][2]["result"] == [text("see"), {"type": "image", "data": "AAAA", "mime_type": "image/png"}]


def test_a_file_of_another_provider_is_refused_with_what_to_do() -> None:
    with pytest.raises(ClientError, match="Send its bytes instead"):
        encoded(said({"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}))


def test_a_history_that_ends_with_the_model_is_asked_to_go_on() -> None:
    body, outbound = encoded(said(USER, {"role": "assistant", "content": "Once upon"}))
    assert body["input"][-1]["type"] == "user_input"
    assert [loss.field for loss in outbound.losses] == ["messages[-1]"]


def test_nothing_to_send_is_refused() -> None:
    with pytest.raises(ClientError, match="holds no text"):
        encoded(said({"role": "user", "content": ""}))


@pytest.mark.parametrize(
    ("model", "effort", "level"),
    [
        (MODEL, "none", "low"),
        (MODEL, "minimal", "low"),
        ("gemini-3.5-flash", "minimal", "minimal"),
        (MODEL, "medium", "medium"),
        (MODEL, "xhigh", "high"),
        (MODEL, "max", "high"),
        ("gemini-2.5-flash", "low", None),
    ],
)
def test_effort_becomes_a_level_that_the_model_knows(model: str, effort: str, level: str | None) -> None:
    body, outbound = encoded(said(USER, reasoning_effort=effort), Target("gemini", model))
    assert body.get("generation_config", {}).get("thinking_level") == level
    assert (level is None) == bool(outbound.losses)


def test_a_budget_becomes_the_nearest_level_and_summaries_are_asked_for() -> None:
    config = {"thinkingConfig": {"thinkingBudget": 9000, "includeThoughts": True}}
    chat = decoded({"contents": [{"parts": [{"text": "hi"}]}], "generationConfig": config}, "gemini")
    body, outbound = encoded(chat)
    assert body["generation_config"] == {"thinking_level": "medium", "thinking_summaries": "auto"}
    assert [loss.field for loss in outbound.losses] == ["reasoning"]


def test_what_the_format_cannot_say_is_told_once_each() -> None:
    chat = said(
        USER,
        temperature=0.5,
        top_p=0.5,
        presence_penalty=1,
        frequency_penalty=1,
        stop=["1", "2", "3", "4", "5", "6"],
        seed=7,
        max_completion_tokens=50,
        parallel_tool_calls=False,
        logit_bias={"1": 1},
        tools=[{"type": "function", "function": {"name": "f", "strict": True}}],
        response_format={"type": "json_object"},
    )
    body, outbound = encoded(chat)
    config = {
        "max_output_tokens": 50,
        "seed": 7,
        "stop_sequences": ["1", "2", "3", "4", "5"],
        "tool_choice": "validated",
        "temperature": 0.5,
        "top_p": 0.5,
    }
    assert body["generation_config"] == config
    assert body["response_format"] == {"type": "text", "mime_type": "application/json"}
    assert body["tools"] == [{"type": "function", "name": "f"}]
    fields = sorted(loss.field for loss in outbound.losses)
    assert fields == [*("frequency_penalty", "logit_bias", "parallel_tool_calls", "presence_penalty", "stop")]


def test_a_schema_goes_with_the_response_format() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body, _ = encoded(said(USER, response_format=form))
    assert body["response_format"]["schema"] == {"type": "object", "properties": {"a": {"type": "integer"}}}


def test_more_than_one_answer_is_refused() -> None:
    with pytest.raises(ClientError, match="more than one answer"):
        encoded(said(USER, n=2))


def test_googles_own_tools_and_fields_move_between_its_two_formats() -> None:
    body, outbound = encoded(
        decoded(
            {
                "contents": [{"parts": [{"text": "hi"}]}],
                "tools": [{"googleSearch": {}}, {"computerUse": {}}],
                "labels": {"a": "b"},
                "serviceTier": "flex",
                "safetySettings": [],
            },
            "gemini",
        )
    )
    assert body["tools"] == [{"type": "google_search"}]
    assert (body["labels"], body["service_tier"]) == ({"a": "b"}, "flex")
    assert sorted(loss.field for loss in outbound.losses) == ["safetySettings", "tools.computerUse"]


# ---- the same format


def test_an_untouched_body_goes_out_byte_for_byte() -> None:
    raw = json.dumps({"input": LOOP, "model": MODEL, "new_field": {"x": 1e2}, "store": False}, indent=1).encode()
    outbound = GEMINI_INTERACTIONS.encode(decoded(raw), TARGET)
    assert outbound.untouched
    assert outbound.body == raw


def test_our_own_options_never_reach_gemini_and_all_else_is_as_it_was() -> None:
    raw = (
        b'{"model":"gemini-3.8-flash","foldline":{"session":"s"},"input":[ {"type":"text","text":"\\u0041"} ],"x":1.50}'
    )
    chat = decoded(raw)
    assert chat.options == {"session": "s"}
    outbound = GEMINI_INTERACTIONS.encode(chat, TARGET)
    assert outbound.body == b'{"model":"gemini-3.8-flash","x":1.50,"input":[ {"type":"text","text":"\\u0041"} ]}'


def test_where_one_message_was_changed_the_others_are_spliced_in_as_they_were() -> None:
    raw = (
        b'{"model":"gemini-3.8-flash","input":[{"type":"user_input","content":[{"type":"text","text":"a"}]},'
        b'{"type":"thought",  "signature":"c2ln"},{"type":"function_call","arguments":{"n":1.50},"id":"c1","name":"f"},'
        b'{"type":"function_result","call_id":"c1","result":"long","extra":1},{"type":"user_input","content":"go"}]}'
    )
    chat = decoded(raw)
    first = chat.messages[0].edited((Text("b"),))
    outbound = GEMINI_INTERACTIONS.encode(changed(chat, messages=(first, *chat.messages[1:])), TARGET)
    assert outbound.body == raw.replace(b'"a"', b'"b"')


def test_an_edited_assistant_message_keeps_its_thought_before_its_call() -> None:
    chat = decoded({"model": MODEL, "input": LOOP[:6]})
    turn = chat.messages[1]
    edited = turn.edited((*turn.parts, Text("and")))
    body, _ = encoded(changed(chat, messages=(chat.messages[0], edited, *chat.messages[2:])))
    assert body["input"][1:4] == LOOP[1:4]
    assert body["input"][4] == {"type": "model_output", "content": [text("and")]}


def test_a_renamed_model_new_tools_and_a_new_system_prompt_are_written_and_nothing_else() -> None:
    tools = [{"type": "function", "name": "f", "strange": True}, {"type": "google_search"}]
    chat = decoded(
        {"model": "models/x", "input": "hi", "tools": tools, "system_instruction": "a", "labels": {"a": "b"}}
    )
    body, _ = encoded(chat)
    assert body == {"model": MODEL, "input": "hi", "tools": tools, "system_instruction": "a", "labels": {"a": "b"}}
    extra = said(USER, tools=[{"type": "function", "function": {"name": "fetch_rows"}}]).tools
    more = changed(chat, tools=(*chat.tools, *extra), system=(Message("system", (Text("b"),)),), store=False)
    body, _ = encoded(more)
    assert body["tools"] == [*tools, {"type": "function", "name": "fetch_rows"}]
    assert (body["system_instruction"], body["store"], body["input"]) == ("b", False, "hi")


def test_the_body_of_an_agent_is_never_given_a_model() -> None:
    chat = decoded({"agent": "antigravity", "input": "hi", "environment": "remote", "foldline": {}})
    body, _ = encoded(chat, Target("gemini", "renamed"))
    assert body == {"agent": "antigravity", "environment": "remote", "input": "hi"}


def test_steps_of_this_format_leave_words_behind_in_another() -> None:
    body, outbound = json_of_openai(decoded({"model": MODEL, "input": LOOP}))
    assert [message["role"] for message in body["messages"]] == [
        *("user", "assistant", "tool", "tool", "assistant", "user")
    ]
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a":1}'}
    assert body["messages"][3]["content"] == "[tool error] timeout"
    assert body["messages"][4]["content"] == "done"
    assert any("only its own provider" in loss.reason for loss in outbound.losses)


def json_of_openai(chat: Any) -> tuple[Json, Any]:
    """What an OpenAI provider gets."""
    from app.wires.openai_chat import OPENAI_CHAT

    outbound = OPENAI_CHAT.encode(chat, Target("openai", "gpt-x"))
    return json.loads(outbound.body), outbound


def test_a_thought_of_another_provider_is_not_shown_to_gemini() -> None:
    foreign = said(USER, {"role": "assistant", "content": "ok", "reasoning_content": "secret"}, USER)
    body, outbound = encoded(foreign)
    assert "secret" not in json.dumps(body)
    assert outbound.losses == ()
    assert THOUGHT in encoded(decoded(HELLO | {"input": LOOP, "foldline": {}}))[0]["input"]
