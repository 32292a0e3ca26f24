"""Going on from what Gemini holds: only what is new is sent, under the ids that Gemini knows."""

from __future__ import annotations

import json

from app.chat.model import Chat, Message, Text, Thinking, ToolCall, ToolResult
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from tests.wires.gemini_interactions.speaking import (
    HELLO,
    MODEL,
    TARGET,
    Json,
    call,
    changed,
    completed,
    created,
    decoded,
    delta,
    encoded,
    read,
    said,
    start,
    stop,
    stream,
    text,
    user,
)

THOUGHT: Json = {"type": "thought", "signature": "c2ln+/=", "summary": [text("hm")]}
CALLS = [THOUGHT, call("own-1", "f", a=1), call("own-2", "f")]
TOOL = [{"type": "function", "name": "f"}]


def _loop(**more: object) -> Chat:
    """An OpenAI client's tool loop, with ids of its own."""
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": a}}
        for i, a in ((1, '{"a":1}'), (2, ""))
    ]
    return said(
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        tools=[{"type": "function", "function": {"name": "f"}}],
        reasoning_effort="low",
        **more,
    )


def _restored(chat: Chat) -> Chat:
    turn = GEMINI_INTERACTIONS.restore(chat.messages[1], json.dumps(CALLS).encode(), in_loop=True)
    return changed(chat, messages=(chat.messages[0], turn, *chat.messages[2:]))


def test_only_what_is_new_is_sent_and_everything_that_a_chain_does_not_inherit_is_sent_again() -> None:
    body, _ = encoded(changed(_restored(_loop()), after="v1_up", since=2))
    assert body == {
        "model": MODEL,
        "system_instruction": "be brief",
        "previous_interaction_id": "v1_up",
        "input": [
            {"type": "function_result", "call_id": "own-2", "name": "f", "result": "two"},
            {"type": "function_result", "call_id": "own-1", "name": "f", "result": "one"},
        ],
        "tools": TOOL,
        "generation_config": {"thinking_level": "low"},
    }


def test_without_a_handle_the_same_turn_goes_out_whole_with_googles_own_steps() -> None:
    outbound = GEMINI_INTERACTIONS.encode(_restored(_loop()), TARGET)
    body = json.loads(outbound.body)
    assert body["input"][:4] == [user("go"), *CALLS]
    assert [step["call_id"] for step in body["input"][4:]] == ["own-2", "own-1"]
    assert json.dumps(THOUGHT).encode() in outbound.body


def test_the_clients_own_ids_serve_where_nothing_was_kept_of_the_calls() -> None:
    body, _ = encoded(changed(_loop(), after="v1_up", since=2))
    assert [step["call_id"] for step in body["input"]] == ["c2", "c1"]


def test_a_new_question_after_a_loop_goes_alone() -> None:
    chat = _restored(_loop())
    messages = (*chat.messages, Message("assistant", (Text("done"),)), Message("user", (Text("next"),)))
    body, _ = encoded(changed(chat, messages=messages, after="v1_up2", since=5))
    assert body["input"] == [user("next")]


def test_a_result_for_an_earlier_batch_is_never_matched_to_a_later_one() -> None:
    messages = (
        Message("assistant", (ToolCall("c", "f", "{}"),)),
        Message("user", (ToolResult("c", (Text("1"),)),)),
        Message("assistant", (ToolCall("c", "f", "{}"),)),
        Message("user", (ToolResult("c", (Text("2"),)),)),
    )
    body, _ = encoded(Chat(MODEL, messages))
    ids = [step.get("id") or step["call_id"] for step in body["input"]]
    assert ids == ["c", "c", "c_2", "c_2"]
    body, _ = encoded(Chat(MODEL, messages, after="v1_up", since=3))
    assert [step["call_id"] for step in body["input"]] == ["c_2"]


# ---- clients of this very format


def test_an_id_of_ours_never_reaches_gemini_but_the_one_that_gemini_gave_does() -> None:
    raw = json.dumps({"model": MODEL, "previous_interaction_id": "v1_ours", "input": "and?", "tools": TOOL}).encode()
    chat = decoded(raw)
    body, outbound = encoded(changed(chat, after="v1_up"))
    assert body == {"model": MODEL, "tools": TOOL, "previous_interaction_id": "v1_up", "input": "and?"}
    assert not outbound.untouched
    body, _ = encoded(chat)
    assert "previous_interaction_id" not in body
    whole = (Message("user", (Text("first"),)), Message("assistant", (Text("yes"),)), *chat.messages)
    body, _ = encoded(changed(chat, messages=whole))
    assert body["input"] == [user("first"), {"type": "model_output", "content": [text("yes")]}, user("and?")]
    body, _ = encoded(changed(chat, messages=whole, after="v1_up", since=2))
    assert (body["previous_interaction_id"], body["input"]) == ("v1_up", [user("and?")])


def test_an_id_that_gemini_itself_gave_the_client_goes_through_untouched() -> None:
    raw = json.dumps({"model": MODEL, "previous_interaction_id": "v1_up", "input": "and?"}).encode()
    outbound = GEMINI_INTERACTIONS.encode(changed(decoded(raw), after="v1_up"), TARGET)
    assert (outbound.untouched, outbound.body) == (True, raw)


def test_results_of_such_a_client_are_sent_under_geminis_ids_with_all_else_as_it_was() -> None:
    results = [{"type": "function_result", "call_id": "call_1", "name": "f", "result": {"x": 1.5}, "extra": True}]
    chat = decoded({"model": MODEL, "previous_interaction_id": "v1_ours", "input": results, "tools": TOOL})
    asked = Message("assistant", (ToolCall("call_1", "f", '{"a":1}'),))
    turn = GEMINI_INTERACTIONS.restore(asked, json.dumps(CALLS[:2]).encode(), in_loop=True)
    whole = (Message("user", (Text("go"),)), turn, *chat.messages)
    body, _ = encoded(changed(chat, messages=whole, after="v1_up", since=2))
    assert body["input"] == [results[0] | {"call_id": "own-1"}]


def test_steps_that_a_client_gave_back_itself_are_left_as_they_are() -> None:
    steps = [user("go"), *CALLS, {"type": "function_result", "call_id": "own-1", "result": "x"}]
    chat = decoded({"model": MODEL, "input": steps})
    sealed = json.dumps(CALLS).encode()
    assert GEMINI_INTERACTIONS.restore(chat.messages[1], sealed, in_loop=True) is chat.messages[1]
    bare = decoded({"model": MODEL, "input": [user("go"), *CALLS[1:], steps[-1]]})
    back = GEMINI_INTERACTIONS.restore(bare.messages[1], sealed, in_loop=True)
    body, _ = encoded(changed(bare, messages=(bare.messages[0], back, bare.messages[2])))
    assert body["input"] == steps


def test_a_thought_of_another_provider_does_not_stand_for_googles_own() -> None:
    parts = (Thinking("hm", "sig-of-another"), ToolCall("c1", "f", '{"a":1}'))
    back = GEMINI_INTERACTIONS.restore(Message("assistant", parts), json.dumps(CALLS[:2]).encode(), in_loop=True)
    body, _ = encoded(Chat(MODEL, (back, Message("user", (ToolResult("c1", (Text("x"),)),)))))
    assert body["input"][:2] == CALLS[:2]
    assert body["input"][2]["call_id"] == "own-1"


# ---- an answer that was paused


def _paused(chat: Chat, identity: str = "v1_hop1") -> Chat | None:
    data = stream(
        created(identity),
        start(0, type="model_output"),
        delta(0, type="text", text="half"),
        stop(0),
        completed("requires_continuation", identity, continuation_token="tok+/="),
    )
    return read(data, chat=chat)[1].onward(chat)


def test_the_rest_of_a_stored_answer_is_asked_for_by_the_id_of_its_hop_and_without_input() -> None:
    chat = decoded(HELLO | {"tools": TOOL, "system_instruction": "s", "previous_interaction_id": "v1_ours"})
    onward = _paused(changed(chat, after="v1_up"))
    assert onward is not None
    body, _ = encoded(onward)
    assert body == {
        "model": MODEL,
        "tools": TOOL,
        "system_instruction": "s",
        "previous_interaction_id": "v1_hop1",
        "continuation_token": "tok+/=",
    }
    again = _paused(onward, "v1_hop2")
    assert again is not None
    assert (again.after, again.resume) == ("v1_hop2", "tok+/=")


def test_the_rest_of_an_answer_that_is_not_stored_is_asked_for_with_the_original_input() -> None:
    onward = _paused(decoded(HELLO | {"store": False}))
    assert onward is not None
    body, _ = encoded(onward)
    assert body == HELLO | {"store": False, "continuation_token": "tok+/="}
    onward = _paused(changed(_loop(), store=False))
    assert onward is not None
    body, _ = encoded(onward)
    assert len(body["input"]) == 5
    assert (body["continuation_token"], body["store"]) == ("tok+/=", False)


def test_an_answer_that_ended_has_no_rest() -> None:
    for status in ("completed", "incomplete", "requires_action", "failed"):
        chat = decoded(HELLO)
        _, reader = read(stream(created(), completed(status, continuation_token="t")), chat=chat)
        assert reader.onward(chat) is None
    _, reader = read(stream(created(), completed("requires_continuation")), chat=chat)
    assert reader.onward(chat) is None


def test_a_clients_own_continuation_goes_through_untouched_where_its_id_is_geminis() -> None:
    raw = json.dumps({"model": MODEL, "previous_interaction_id": "v1_up", "continuation_token": "t"}).encode()
    chat = decoded(raw)
    assert GEMINI_INTERACTIONS.encode(changed(chat, after="v1_up"), TARGET).body == raw
    body, _ = encoded(changed(chat, after="v1_other"))
    assert body == {"model": MODEL, "previous_interaction_id": "v1_other", "continuation_token": "t"}


# ---- what may be gone on from


def test_only_a_stored_answer_that_is_whole_can_be_gone_on_from() -> None:
    handles = {
        status: read(stream(created(), completed(status)))[1].handle()
        for status in ("completed", "requires_action", "incomplete", "failed", "cancelled", "requires_continuation")
    }
    assert {status for status, handle in handles.items() if handle} == {"completed", "requires_action", "incomplete"}
    assert set(handles.values()) == {"v1_up", ""}
    not_kept = decoded(HELLO | {"store": False})
    assert read(stream(created(), completed()), chat=not_kept)[1].handle() == ""
    assert read(stream(created(), done=False))[1].handle() == ""
    assert read(b'{"status":"completed","steps":[]}', streamed=False)[1].handle() == ""
    assert read(b'{"id":"v1_w","status":"completed","steps":[]}', streamed=False)[1].handle() == "v1_w"
    error: Json = {"event_type": "error", "error": {"code": "api_error", "message": "x"}}
    assert read(stream(created(), error, completed()))[1].handle() == ""
