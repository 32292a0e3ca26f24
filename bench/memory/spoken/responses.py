"""OpenAI's Responses: the items are inherited by id, instructions and tools are not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import msgspec

from bench.memory.bodies import Body, Said, made
from bench.memory.spoken.api import (
    Api,
    History,
    Item,
    Told,
    UnreadableError,
    before,
    calls_of,
    joined,
    raw,
    text_of,
    words_of,
)


class _Raw(msgspec.Struct):
    input: list[msgspec.Raw] | str
    model: str = ""
    instructions: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")
    max_output_tokens: int | None = None
    previous_response_id: str = ""
    store: bool = True
    stream: bool = False


def _read(data: bytes, _model: str, history: History) -> Body:
    try:
        given = msgspec.json.decode(data, type=_Raw)
    except msgspec.MsgspecError as error:
        raise UnreadableError(str(error)) from error
    system = bytes(given.instructions)
    first = [Said(system, "system", json.loads(system))] if system else []
    held = before(history, given.previous_response_id)
    if isinstance(given.input, str):
        new = [Said(raw(given.input), "user", given.input)]
    else:
        new = joined(_item(bytes(item)) for item in given.input)
    return made(
        [*first, *held, *new],
        tools=bytes(given.tools),
        model=given.model,
        stream=given.stream,
        limit=given.max_output_tokens or 0,
        held=len(held),
        before=given.previous_response_id,
        chain=(*held, *new),
        store=given.store,
        size=len(data),
    )


def _item(written: bytes) -> Said:
    item: Item = json.loads(written)
    match item.get("type", "message"):
        case "function_call":
            return Said(written, "assistant", f"{item['name']} {item['arguments']}", (item["call_id"],))
        case "function_call_output":
            return Said(written, "tool", text_of(item.get("output")), answers=item["call_id"])
        case "message":
            return Said(written, item["role"], text_of(item.get("content")))
        case _:  # reasoning
            return Said(written, "assistant", "")


def _output(message: Item) -> list[Item]:
    number = hashlib.sha256(raw(message)).hexdigest()[:24]
    part: Item = {"type": "output_text", "text": words_of(message), "annotations": [], "logprobs": []}
    items: list[Item] = []
    if words_of(message):
        items.append(
            {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
        )
    for at, (identity, name, arguments) in enumerate(calls_of(message)):
        named = {"type": "function_call", "id": f"fc_{number}{at}", "call_id": identity, "name": name}
        items.append({**named, "arguments": arguments, "status": "completed"})
    return items


def _kept(message: Item) -> list[Said]:
    return joined(_item(raw(item)) for item in _output(message))


def _whole(told: Told) -> Item:
    usage = {
        "input_tokens": told.asked.tokens,
        "input_tokens_details": {"cached_tokens": told.cached},
        "output_tokens": told.answered,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": told.asked.tokens + told.answered,
    }
    return {
        "id": told.id or f"resp_{hashlib.sha256(raw(told.message)).hexdigest()[:24]}",
        "object": "response",
        "created_at": 1_800_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": told.asked.model,
        "output": _output(told.message),
        "previous_response_id": told.asked.before or None,
        "store": told.asked.store,
        "usage": usage,
    }


def _streamed(told: Told) -> Iterator[Item]:
    whole = _whole(told)
    yield {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    for at, item in enumerate(whole["output"]):
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": whole}


RESPONSES = Api(
    "responses",
    "/v1/responses",
    kind="openai",
    setting="openai_api",
    value="responses",
    model="gpt-4.1",
    read=_read,
    whole=_whole,
    kept=_kept,
    streamed=_streamed,
)
