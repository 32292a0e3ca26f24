"""OpenAI's Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bench.memory.bodies import Body, body
from bench.memory.spoken.api import Api, History, Item, Told, UnreadableError


def _read(data: bytes, _model: str, _history: History) -> Body:
    try:
        return body(data)
    except msgspec.MsgspecError as error:
        raise UnreadableError(str(error)) from error


def _usage(told: Told) -> Item:
    return {
        "prompt_tokens": told.asked.tokens,
        "completion_tokens": told.answered,
        "total_tokens": told.asked.tokens + told.answered,
        "prompt_tokens_details": {"cached_tokens": told.cached},
    }


def _head(told: Told) -> Item:
    return {"id": f"chatcmpl-{told.id}", "created": 1_800_000_000, "model": told.asked.model}


def _finish(told: Told) -> str:
    return "tool_calls" if told.calls else "stop"


def _whole(told: Told) -> Item:
    choice = {"index": 0, "message": told.message, "finish_reason": _finish(told)}
    return {**_head(told), "object": "chat.completion", "choices": [choice], "usage": _usage(told)}


def _streamed(told: Told) -> Iterable[Item]:
    asked_for: list[Item] = told.message.get("tool_calls") or []
    calls = [{"index": number, **call} for number, call in enumerate(asked_for)]
    delta: Item = {**told.message, **({"tool_calls": calls} if calls else {})}
    chunk = {**_head(told), "object": "chat.completion.chunk"}
    yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(told)}]}
    yield {**chunk, "choices": [], "usage": _usage(told)}


CHAT = Api(
    "chat",
    "/v1/chat/completions",
    kind="openai",
    setting="openai_api",
    value="chat",
    model="gpt-4.1",
    read=_read,
    whole=_whole,
    streamed=_streamed,
)
