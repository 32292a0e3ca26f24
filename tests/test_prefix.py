"""Consecutive requests of one chat extend one serialized prefix: that is what providers' prompt caches live on."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from app.wires.openai_chat.names import legal
from tests.context.folding import words
from tests.engine.folding import folding_stage
from tests.engine.scripts import Given, Stage, call, gemini_says, openai_says
from tests.wires.talking import PAIRS, Json

TURNS = 12
LISTS = {"openai": "messages", "gemini": "contents"}
TOOL: dict[str, Json] = {
    "openai": {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read.file",
                    "parameters": {"type": "object", "properties": {"p": {"type": "string"}}},
                },
            }
        ]
    },
    "gemini": {
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read.file", "parameters": {"type": "OBJECT", "properties": {"p": {"type": "STRING"}}}}
                ]
            }
        ]
    },
}


def _answer(upstream: str, turn: int, name: str) -> Given:
    """Every third answer is words with a late signature, the others call one tool or two at once."""
    arguments = {"p": f"ünï/{turn}", "n": 10**25}
    calls = 0 if turn % 3 == 2 else 1 + turn % 2
    if upstream == "openai":
        listed = [call(f"call_{turn}_{i}", name, json.dumps(arguments)) for i in range(calls)]
        return openai_says(f"words {turn}", listed, reasoning_content=f"thought {turn}")
    parts: list[Json] = [{"text": f"words {turn}"}]
    parts += [{"functionCall": {"name": name, "args": arguments}} for _ in range(calls)]
    parts[-1 if not calls else 1] |= {"thoughtSignature": f"c2ln{turn:04d}"}
    return gemini_says({"text": "hm", "thought": True}, *parts)


def _user(client: str, text: str) -> Json:
    return {"role": "user", "content": text} if client == "openai" else {"role": "user", "parts": [{"text": text}]}


def _echoed(client: str, seen: Any) -> list[Json]:
    """The answer as a client keeps it that knows no vendor fields: signatures and reasoning are gone."""
    reply = seen.reply
    if client == "openai":
        calls = [call(c.id, c.name, c.arguments) for c in reply.calls]
        return [{"role": "assistant", "content": reply.text} | ({"tool_calls": calls} if calls else {})]
    parts: list[Json] = [{"text": reply.text}]
    parts += [{"functionCall": {"id": c.id, "name": c.name, "args": json.loads(c.arguments)}} for c in reply.calls]
    return [{"role": "model", "parts": parts}]


def _results(client: str, seen: Any, turn: int) -> list[Json]:
    calls = seen.reply.calls
    if client == "openai":
        return [{"role": "tool", "tool_call_id": c.id, "content": f"result {turn} {c.id}"} for c in reversed(calls)]
    parts = [
        {"functionResponse": {"id": c.id, "name": c.name, "response": {"output": f"result {turn}"}}} for c in calls
    ]
    return [{"role": "user", "parts": parts}]


async def _chat(client: str, upstream: str) -> list[bytes]:
    """The list of messages of each request that the provider got, as raw bytes."""
    stage = await Stage.open(upstream)
    history = [_user(client, "begin")]
    for turn in range(TURNS):
        name = legal("read.file") if (client, upstream) == ("gemini", "openai") else "read.file"
        stage.replies(_answer(upstream, turn, name))
        seen = await stage.says(client, {LISTS[client]: history, **TOOL[client]})
        assert seen.reply.failed is None
        history = [*history, *_echoed(client, seen)]
        history += _results(client, seen, turn) if seen.reply.calls else [_user(client, f"question {turn}")]
    fields = [msgspec.json.decode(got.raw, type=dict[str, msgspec.Raw]) for got in stage.got]
    return [msgspec.json.format(bytes(each[LISTS[upstream]]), indent=-1) for each in fields]


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
async def test_each_request_begins_with_all_that_was_sent_before_it(client: str, upstream: str) -> None:
    sent = await _chat(client, upstream)
    assert len(sent) == TURNS
    for turn, (before, after) in enumerate(pairwise(sent)):
        if upstream == "openai" and turn % 3 == 2:
            # plain reasoning goes back only inside the running tool loop: it leaves once, when the loop is over
            assert _without_reasoning(after).startswith(_without_reasoning(before).removesuffix(b"]"))
        else:
            assert after.startswith(before.removesuffix(b"]")), f"turn {turn + 1} moved the prefix"


def _without_reasoning(data: bytes) -> bytes:
    return re.sub(rb',"reasoning_content":"[^"]*"', b"", data)


FOLDED = {"fold_at_tokens": 500, "fold_to_tokens": 250, "keep_recent": 2, "summary_tokens": 80}


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
@pytest.mark.parametrize("summariser", ["works", "fails"])
async def test_a_long_chat_moves_its_beginning_only_where_its_plan_says_so(
    client: str, upstream: str, summariser: str
) -> None:
    stage = await folding_stage(upstream, policy=FOLDED)
    if summariser == "fails":
        stage.summariser = lambda body: ""
    history: list[Json] = []
    plans: list[str] = []
    for turn in range(40):
        history.append(_user(client, words(30, turn)))
        seen = await stage.says(client, {LISTS[client]: history})
        assert seen.reply.text == "fine"
        await stage.settled()
        plans.append(seen.headers["x-foldline-plan"])
        history += _echoed(client, seen)
    fields = [msgspec.json.decode(got.raw, type=dict[str, msgspec.Raw]) for got in stage.chats]
    sent = [msgspec.json.format(bytes(each[LISTS[upstream]]), indent=-1) for each in fields]
    moved = 0
    for (one, before), (two, after) in pairwise(zip(plans, sent, strict=True)):
        if not after.startswith(before.removesuffix(b"]")):
            assert one != two, "the plan says that the line moved"
            moved += 1
    assert 0 < moved <= 8
