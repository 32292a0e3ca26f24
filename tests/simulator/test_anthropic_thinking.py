"""Thinking that comes back: signed, bound to its conversation, whole in a tool loop; what passes and what does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

PATH = "/v1/messages"
HEADERS = {"x-api-key": "lab", "anthropic-version": "2026-10-21"}
CONTROLS = HEADERS | {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
BOUND, FREE, BUDGETED = "claude-opus-5-5", "claude-opus-5", "claude-sonnet-4-5"
TOOL = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
SHOWN = {"type": "adaptive", "display": "summarized"}
MOVED = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
MODIFIED = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
Body = dict[str, Any]


def _user(text: str) -> Body:
    return {"role": "user", "content": text}


async def _ask(http: httpx2.AsyncClient, body: Body, headers: dict[str, str] = HEADERS) -> Body:
    """The answering message, or the error's body."""
    answer = await http.post(PATH, json=body, headers=headers)
    return answer.json()


async def _talked(http: httpx2.AsyncClient, model: str, *said: str, **more: Any) -> Body:
    """A request whose messages are a conversation of these turns, answered one by one; the last one is open."""
    body: Body = {"model": model, "max_tokens": 3000, "system": "Be kind.", "tools": [TOOL], "messages": []} | more
    for text in said[:-1]:
        body["messages"] += [_user(text)]
        while True:
            answer = await _ask(http, body)
            body["messages"] += [{"role": "assistant", "content": answer["content"]}]
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            if not calls:
                break
            results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "sun"} for call in calls]
            body["messages"] += [{"role": "user", "content": results}]
    return body | {"messages": [*body["messages"], _user(said[-1])]}


async def _looping(http: httpx2.AsyncClient, model: str, **more: Any) -> Body:
    """A request in the middle of a tool loop, with two turns of thinking before and one in it."""
    body = await _talked(http, model, "hello", "remember: the code is 7", "weather in Oslo?", **more)
    answer = await _ask(http, body)
    (call,) = (block for block in answer["content"] if block["type"] == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "sun"}
    said = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]
    return body | {"messages": [*body["messages"], *said]}


def _thoughts(body: Body) -> list[Body]:
    blocks = [block for one in body["messages"] if isinstance(one["content"], list) for block in one["content"]]
    return [block for block in blocks if block["type"] == "thinking"]


def _without(body: Body, *numbers: int) -> Body:
    """The request without its thinking blocks of these numbers."""
    body = copy.deepcopy(body)
    gone = [_thoughts(body)[number] for number in numbers]
    for message in body["messages"]:
        if isinstance(message["content"], list):
            message["content"] = [block for block in message["content"] if not any(block is one for one in gone)]
    return body


def _message(body: Body) -> str:
    return body.get("error", {}).get("message", "")


@pytest.mark.parametrize("model", [BOUND, FREE, "claude-opus-4-6", "claude-fable-5-1"])
async def test_a_tool_loop_that_returns_its_thinking_goes_on(model: str, http: httpx2.AsyncClient) -> None:
    body = await _looping(http, model, thinking=SHOWN)
    assert all(thought["signature"].startswith("Eq") and thought["thinking"] for thought in _thoughts(body))
    assert (await _ask(http, body))["content"][-1]["text"] == "get_weather says: sun"


async def test_omitted_thinking_is_a_signature_and_any_text_in_it_is_ignored(http: httpx2.AsyncClient) -> None:
    body = await _looping(http, BOUND)
    assert [thought["thinking"] for thought in _thoughts(body)] == ["", "", ""]
    _thoughts(body)[-1]["thinking"] = "a text of somebody else"
    assert _message(await _ask(http, body)) == ""


EDITS: dict[str, Callable[[Body], None]] = {
    "a changed system text": lambda body: body.update(system="Be kind. It is Monday."),
    "a changed tool": lambda body: body.update(tools=[TOOL | {"description": "new"}]),
    "one tool more": lambda body: body.update(tools=[TOOL, TOOL | {"name": "other"}]),
    "a reworded message": lambda body: body["messages"][0].update(content="hello!"),
    "a reworded answer": lambda body: body["messages"][1]["content"][-1].update(text="Yes."),
    "a first turn cut off": lambda body: body.update(messages=body["messages"][2:]),
    "a message put in front": lambda body: body["messages"].insert(0, _user("Summary: …")),
}


@pytest.mark.parametrize("edit", EDITS)
async def test_a_bound_block_does_not_outlive_an_edit_before_it(edit: str, http: httpx2.AsyncClient) -> None:
    for model, refused in ((BOUND, True), (FREE, False)):
        body = await _talked(http, model, "hello", "remember: the code is 7", "bye")
        EDITS[edit](body)
        said = _message(await _ask(http, body))
        assert (MOVED in said, bool(said)) == (refused, refused)


async def test_a_bound_block_outlives_what_says_the_same(http: httpx2.AsyncClient) -> None:
    body = await _talked(http, BOUND, "hello", "remember: the code is 7", "bye")
    body["messages"][0]["content"] = [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]
    body |= {"system": [{"type": "text", "text": "Be kind."}], "max_tokens": 500, "output_config": {"effort": "low"}}
    assert _message(await _ask(http, body)) == ""


@pytest.mark.parametrize(
    ("gone", "passes"),
    [((0, 1, 2), True), ((0,), True), ((0, 1), True), ((2,), True), ((1, 2), True), ((1,), False), ((0, 2), True)],
)
async def test_thinking_may_go_from_an_end_but_not_from_the_middle(
    gone: tuple[int, ...], passes: bool, http: httpx2.AsyncClient
) -> None:
    body = await _talked(http, BOUND, "hello", "remember: the code is 7", "how many messages?", "bye")
    assert (MOVED not in _message(await _ask(http, _without(body, *gone)))) is passes


async def test_a_block_that_was_left_out_may_not_come_back(http: httpx2.AsyncClient) -> None:
    body = await _talked(http, BOUND, "hello", "remember: the code is 7", "bye")
    shorter = _without(body, 0)
    answer = await _ask(http, shorter)
    whole = body["messages"] + [{"role": "assistant", "content": answer["content"]}, _user("and?")]
    assert "An earlier thinking block" in _message(await _ask(http, body | {"messages": whole}))
    kept = shorter["messages"] + [{"role": "assistant", "content": answer["content"]}, _user("and?")]
    assert _message(await _ask(http, body | {"messages": kept})) == ""


async def test_blocks_that_no_longer_fit_are_dropped_where_the_request_allows_it(http: httpx2.AsyncClient) -> None:
    body = await _talked(http, BOUND, "hello", "remember: the code is 7", "bye")
    EDITS["a reworded message"](body)
    body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert _message(await _ask(http, body)) == "thinking.adaptive.block_binding: Extra inputs are not permitted"
    dropped = (await _ask(http, body, CONTROLS))["input_transformations"]
    assert [one["path"] for one in dropped] == ["messages.1.content.0", "messages.3.content.0"]
    assert {one["reason"] for one in dropped} == {"prefix_binding_mismatch"}


async def test_counting_checks_the_binding_too(http: httpx2.AsyncClient) -> None:
    body = await _talked(http, BOUND, "hello", "bye")
    del body["max_tokens"]
    assert (await http.post(f"{PATH}/count_tokens", json=body, headers=HEADERS)).json()["input_tokens"] > 20
    EDITS["a reworded message"](body)
    refused = await http.post(f"{PATH}/count_tokens", json=body, headers=HEADERS)
    assert MOVED in _message(refused.json())


@pytest.mark.parametrize("model", [BOUND, FREE])
async def test_thinking_of_the_running_turn_is_returned_as_it_was(model: str, http: httpx2.AsyncClient) -> None:
    body = await _looping(http, model, thinking=SHOWN)
    reworded = copy.deepcopy(body)
    _thoughts(reworded)[-1]["thinking"] += " And so on."
    assert MODIFIED in _message(await _ask(http, reworded))
    older = copy.deepcopy(body)
    _thoughts(older)[0]["thinking"] += " And so on."
    assert "messages.1.content.0: Invalid `signature` in `thinking` block" in _message(await _ask(http, older))
    foreign = copy.deepcopy(body)
    _thoughts(foreign)[-1]["signature"] = "RXF1b3RlZA=="
    assert "Invalid `signature` in `thinking` block" in _message(await _ask(http, foreign))
    made_up = copy.deepcopy(body)
    made_up["messages"][1]["content"].insert(0, {"type": "redacted_thinking", "data": "AAAA"})
    assert "Invalid `data` in `redacted_thinking` block" in _message(await _ask(http, made_up))


@pytest.mark.parametrize("model", [BOUND, FREE])
async def test_in_a_tool_loop_all_thinking_may_go_but_not_some(model: str, http: httpx2.AsyncClient) -> None:
    body = await _looping(http, model)
    assert MODIFIED in _message(await _ask(http, _without(body, 2)))
    assert _message(await _ask(http, _without(body, 0, 1))) == ""
    assert _message(await _ask(http, _without(body, 0, 1, 2))) == ""


async def test_with_a_budget_the_running_turn_begins_with_thinking(http: httpx2.AsyncClient) -> None:
    body = await _looping(http, BUDGETED, thinking={"type": "enabled", "budget_tokens": 1024})
    assert _message(await _ask(http, body)) == ""
    said = _message(await _ask(http, _without(body, 0, 1, 2)))
    assert said.startswith(
        "messages.5.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    )
    off = _without(body, 0, 1, 2) | {"thinking": {"type": "disabled"}}
    assert _message(await _ask(http, off)) == ""


async def test_a_model_leaves_out_silently_what_it_cannot_read(http: httpx2.AsyncClient) -> None:
    body = await _talked(http, "claude-fable-5-1", "hello", "bye", thinking=SHOWN)
    _thoughts(body)[0]["thinking"] = "reworded"
    assert "Invalid `signature`" in _message(await _ask(http, body))
    assert _message(await _ask(http, body | {"model": BOUND})) == ""
    older = await _talked(http, FREE, "hello", "bye", thinking=SHOWN)
    _thoughts(older)[0]["thinking"] = "reworded"
    assert "Invalid `signature`" in _message(await _ask(http, older | {"model": BOUND}))


async def test_thinking_can_be_redacted_and_comes_back(http: httpx2.AsyncClient) -> None:
    from app.simulator.anthropic.saying import REDACTS

    body = await _talked(http, FREE, f"hello {REDACTS}", "bye")
    kinds = [block["type"] for block in body["messages"][1]["content"]]
    assert kinds == ["redacted_thinking", "text"]
    assert _message(await _ask(http, body)) == ""


async def test_notes_between_tools_are_thinking_that_is_otherwise_off(http: httpx2.AsyncClient) -> None:
    body = await _talked(http, "claude-sonnet-5-5", "weather in Oslo?", "bye", thinking={"type": "between_tools"})
    kinds = [[block["type"] for block in one["content"]] for one in body["messages"] if one["role"] == "assistant"]
    assert kinds == [["tool_use"], ["thinking", "text"]]
    assert _message(await _ask(http, body)) == ""
