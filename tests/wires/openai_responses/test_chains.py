"""Chains and what is put back: what OpenAI holds is not sent again, what it said goes back as it said it."""

from __future__ import annotations

import json
from typing import Any

from app.chat.model import Chat, Message, Text
from app.wires.openai_responses import OPENAI_RESPONSES
from tests.wires.openai_responses.speaking import (
    ASK,
    CALL,
    LOOP,
    RESULT,
    SAID,
    THOUGHT,
    Json,
    body_of,
    decoded,
    edited,
    encoded,
)


def _chat(*messages: Json, **more: Any) -> Chat:
    return decoded({"model": "m", "messages": list(messages)} | more, client="openai")


# ---- chains


def test_where_the_provider_holds_the_beginning_only_what_is_new_is_sent() -> None:
    chat = decoded(body_of(*LOOP, instructions="be brief", tools=[{"type": "web_search"}]))
    body, _ = encoded(edited(chat, after="resp_up", since=4))
    assert body["previous_response_id"] == "resp_up"
    assert body["input"] == LOOP[5:]
    assert body["instructions"] == "be brief"
    assert body["tools"] == [{"type": "web_search"}]


def test_system_items_that_the_provider_holds_are_not_sent_again() -> None:
    developer: Json = {"role": "developer", "content": "rules"}
    chat = decoded(body_of(developer, *LOOP, instructions="be brief"))
    body, _ = encoded(edited(chat, after="resp_up", since=4))
    assert (body["instructions"], body["input"]) == ("be brief", LOOP[5:])


def test_a_result_behind_a_handle_names_its_call_as_the_provider_did() -> None:
    call = {"id": "client_1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    chat = _chat(
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "client_1", "content": "Room 4"},
    )
    sealed = json.dumps([THOUGHT, CALL]).encode()
    turn = OPENAI_RESPONSES.restore(chat.messages[1], sealed, in_loop=True)
    whole = edited(chat, messages=(chat.messages[0], turn, chat.messages[2]))
    body, _ = encoded(edited(whole, after="resp_up", since=2))
    assert body["input"] == [{"type": "function_call_output", "call_id": "call_a", "output": "Room 4"}]
    body, _ = encoded(whole)
    assert body["input"][1:3] == [THOUGHT, CALL]
    assert body["input"][3]["call_id"] == "call_a"


def test_a_client_of_this_format_has_its_result_put_under_the_providers_id() -> None:
    theirs = {**CALL, "call_id": "call_theirs"}
    chat = decoded(body_of(ASK, CALL, RESULT))
    turn = OPENAI_RESPONSES.restore(chat.messages[1], json.dumps([THOUGHT, theirs]).encode(), in_loop=True)
    body, _ = encoded(edited(chat, messages=(chat.messages[0], turn, chat.messages[2])))
    assert body["input"] == [ASK, THOUGHT, theirs, {**RESULT, "call_id": "call_theirs"}]


# ---- what was kept


def test_a_turn_that_the_client_gave_back_whole_is_left_alone() -> None:
    message = decoded(body_of(ASK, THOUGHT, CALL, RESULT)).messages[1]
    assert OPENAI_RESPONSES.restore(message, json.dumps([THOUGHT, CALL]).encode(), in_loop=True) is message


def test_where_nothing_is_stored_reasoning_goes_only_with_its_encrypted_content() -> None:
    bare = {name: value for name, value in THOUGHT.items() if name != "encrypted_content"}
    turn = OPENAI_RESPONSES.restore(
        Message("assistant", (Text("x"),)), json.dumps([bare, THOUGHT, SAID]).encode(), in_loop=False
    )
    chat = _chat({"role": "user", "content": "x"})
    whole = edited(chat, messages=(*chat.messages, turn, *chat.messages))
    body, _ = encoded(edited(whole, store=False))
    assert body["input"][1:3] == [THOUGHT, SAID]
    assert body["include"] == ["reasoning.encrypted_content"]
    body, _ = encoded(whole)
    assert body["input"][1:4] == [bare, THOUGHT, SAID]


def test_reasoning_without_what_it_led_to_never_goes_out() -> None:
    chat = decoded(body_of(ASK, SAID, THOUGHT, ASK))
    body, _ = encoded(edited(chat, messages=(*chat.messages[:2], chat.messages[2].edited((Text("Where?"),)))))
    assert [item.get("type", item.get("role")) for item in body["input"]] == ["user", "message", "user"]
