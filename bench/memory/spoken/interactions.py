"""Gemini's Interactions: the history is inherited by id, system text and tools are not."""

from __future__ import annotations

import json

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

ROLES = {"user_input": "user", "function_result": "tool"}


class _Raw(msgspec.Struct):
    input: list[msgspec.Raw] | str
    model: str = ""
    system_instruction: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")
    generation_config: Item | None = None
    previous_interaction_id: str = ""
    store: bool = True
    stream: bool = False


def _read(data: bytes, _model: str, history: History) -> Body:
    try:
        given = msgspec.json.decode(data, type=_Raw)
    except msgspec.MsgspecError as error:
        raise UnreadableError(str(error)) from error
    system = bytes(given.system_instruction)
    first = [Said(system, "system", json.loads(system))] if system else []
    held = before(history, given.previous_interaction_id)
    if isinstance(given.input, str):
        new = [Said(raw(given.input), "user", given.input)]
    else:
        new = joined(_step(bytes(step)) for step in given.input)
    return made(
        [*first, *held, *new],
        tools=bytes(given.tools),
        model=given.model,
        stream=given.stream,
        limit=(given.generation_config or {}).get("max_output_tokens") or 0,
        held=len(held),
        before=given.previous_interaction_id,
        chain=(*held, *new),
        store=given.store,
        size=len(data),
    )


def _step(written: bytes) -> Said:
    step: Item = json.loads(written)
    match step.get("type"):
        case "function_call":
            words = f"{step['name']} {json.dumps(step.get('arguments'), ensure_ascii=False)}"
            return Said(written, "assistant", words, (step["id"],))
        case "function_result":
            return Said(written, "tool", text_of(step.get("result")), answers=step["call_id"])
        case kind:
            return Said(written, ROLES.get(str(kind), "assistant"), text_of(step.get("content")))


def _steps(message: Item) -> list[Item]:
    content = [{"type": "text", "text": words_of(message)}]
    steps: list[Item] = [{"type": "model_output", "content": content}] if words_of(message) else []
    for identity, name, arguments in calls_of(message):
        steps.append({"type": "function_call", "id": identity, "name": name, "arguments": json.loads(arguments)})
    return steps


def _kept(message: Item) -> list[Said]:
    return joined(_step(raw(step)) for step in _steps(message))


def _whole(told: Told) -> Item:
    usage = {
        "total_input_tokens": told.asked.tokens,
        "total_cached_tokens": told.cached,
        "total_output_tokens": told.answered,
        "total_thought_tokens": 0,
        "total_tool_use_tokens": 0,
        "total_tokens": told.asked.tokens + told.answered,
    }
    return {
        **({"id": told.id} if told.id else {}),
        "object": "interaction",
        "status": "requires_action" if told.calls else "completed",
        "model": told.asked.model,
        "created": "2027-01-15T08:00:00Z",
        "updated": "2027-01-15T08:00:00Z",
        "steps": _steps(told.message),
        "usage": usage,
    }


INTERACTIONS = Api(
    "interactions",
    "/v1beta/interactions",
    kind="gemini",
    setting="gemini_api",
    value="interactions",
    model="gemini-2.5-flash",
    read=_read,
    whole=_whole,
    kept=_kept,
)
