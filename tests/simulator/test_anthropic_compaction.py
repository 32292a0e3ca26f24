"""Compaction on demand: the whole conversation becomes one signed block, which later requests send in its place."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

PATH = "/v1/messages"
OFF = {"x-api-key": "lab", "anthropic-version": "2026-10-21"}
HEADERS = OFF | {"anthropic-beta": "compact-2026-09-04"}
MODEL = "claude-opus-5-5"
Body = dict[str, Any]


def _user(text: str) -> Body:
    return {"role": "user", "content": text}


async def _ask(http: httpx2.AsyncClient, messages: list[Body], **more: Any) -> Body:
    headers = more.pop("headers", HEADERS)
    body = {"model": MODEL, "max_tokens": 3000, "messages": messages} | more
    return (await http.post(PATH, json=body, headers=headers)).json()


async def _talked(http: httpx2.AsyncClient, *said: str) -> list[Body]:
    messages: list[Body] = []
    for text in said:
        messages.append(_user(text))
        answer = await _ask(http, messages)
        messages.append({"role": "assistant", "content": answer["content"]})
    return messages


async def _compacted(http: httpx2.AsyncClient, messages: list[Body], **more: Any) -> Body:
    return await _ask(http, messages, compaction={"type": "summarize"}, **more)


def _code(answer: Body) -> str:
    return answer["error"].get("details", {}).get("error_code", "")


async def test_a_block_with_the_summary_is_all_that_comes(http: httpx2.AsyncClient) -> None:
    talk = await _talked(http, "The port is 8080 in Oslo.", "hello")
    answer = await _compacted(http, talk)
    (block,) = answer["content"]
    assert (answer["stop_reason"], block["type"], "8080" in block["content"]) == ("compaction", "compaction", True)
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (0, 0)
    (spent,) = answer["usage"]["iterations"]
    assert spent["type"] == "compaction"
    assert spent["input_tokens"] > spent["output_tokens"] > 0
    events = (await http.post(PATH, json={"model": MODEL, "max_tokens": 9, "messages": talk, "stream": True,
                                          "compaction": {"type": "summarize"}}, headers=HEADERS)).text  # fmt: skip
    assert ("8080" in events, "content_block_delta" in events) == (True, False)


async def test_kept_turns_keep_their_thinking_behind_the_block(http: httpx2.AsyncClient) -> None:
    talk = await _talked(http, "The port is 8080 in Oslo.", "hello", "bye")
    block = (await _compacted(http, talk[:4]))["content"][0]
    begins: list[Body] = [{"role": "assistant", "content": [block]}]
    onward = await _ask(http, [*begins, *talk[4:], _user("what is the port?")])
    assert "8080" in onward["content"][-1]["text"]
    reworded = [*begins, _user("bye!"), talk[5], _user("what is the port?")]
    assert "bound to a different conversation" in (await _ask(http, reworded))["error"]["message"]
    later = [*begins, *talk[4:], _user("what is the port?"), {"role": "assistant", "content": onward["content"]}]
    assert "content" in await _ask(http, [*later, _user("thanks")])
    inside = [{"role": "user", "content": [block, {"type": "text", "text": "what is the port?"}]}]
    assert "8080" in (await _ask(http, inside))["content"][-1]["text"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"signature": "Eq"}, "compaction_signature_invalid"),
        ({"content": "The port is 9090."}, "compaction_content_mismatch"),
    ],
)
async def test_a_changed_block_is_refused(change: Body, code: str, http: httpx2.AsyncClient) -> None:
    block = (await _compacted(http, await _talked(http, "The port is 8080.")))["content"][0]
    assert _code(await _ask(http, [{"role": "assistant", "content": [block | change]}, _user("hello")])) == code


async def test_a_block_stands_first_once_and_with_its_beta(http: httpx2.AsyncClient) -> None:
    talk = await _talked(http, "The port is 8080.")
    first: Body = {"role": "assistant", "content": (await _compacted(http, talk))["content"]}
    assert _code(await _ask(http, [_user("hello"), first, _user("so?")])) == "compaction_block_misplaced"
    twice = [{"role": "assistant", "content": first["content"] * 2}, _user("so?")]
    assert _code(await _ask(http, twice)) == "compaction_block_ambiguous"
    assert _code(await _compacted(http, [first])) == "compaction_nothing_to_summarize"
    off = await _ask(http, [first, _user("so?")], headers=OFF)
    assert "compact-2026-09-04" in off["error"]["message"]
    unknown = await _compacted(http, talk, headers=OFF)
    assert unknown["error"]["message"] == "compaction: Extra inputs are not permitted"
    clashing = await _compacted(http, talk, stop_sequences=["x"])
    assert clashing["error"]["message"] == "compaction: cannot be combined with stop_sequences"
