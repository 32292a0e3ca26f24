"""Whole answers of each provider as a script prescribes them: words, calls behind them, and what they cost."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from app.simulator.gemini.signatures import for_call, for_text
from tests.chaining.provider import Json
from tests.fetching.conftest import MODELS, Kind

Called = tuple[str, Json]
"""A tool's name, and the arguments."""

READ, SPOKEN = 6000, 10
"""Tokens that each answer costs."""

_NUMBERS = itertools.count(1)


def says(kind: Kind, text: str, calls: Sequence[Called] = (), **how: Any) -> Json:
    """An entry of a script; `how` are its other fields."""
    number = next(_NUMBERS)
    return {"json": _BODIES[kind](kind, text, calls, number), **how}


def _chat(kind: Kind, text: str, calls: Sequence[Called], number: int) -> Json:
    message: Json = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for at, (name, arguments) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": READ, "completion_tokens": SPOKEN, "total_tokens": READ + SPOKEN}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": MODELS[kind],
        "choices": [choice],
        "usage": usage,
    }


def _responses(kind: Kind, text: str, calls: Sequence[Called], number: int) -> Json:
    words: Json = {"type": "output_text", "text": text, "annotations": []}
    output: list[Json] = [
        {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [words]}
    ]
    output += [
        {
            "type": "function_call",
            "id": f"fc_{number}_{at}",
            "call_id": f"call_{number}_{at}",
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for at, (name, arguments) in enumerate(calls)
    ]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": MODELS[kind],
        "output": output,
        "usage": {"input_tokens": READ, "output_tokens": SPOKEN, "total_tokens": READ + SPOKEN},
    }


def _interactions(kind: Kind, text: str, calls: Sequence[Called], number: int) -> Json:
    steps: list[Json] = [{"type": "model_output", "content": [{"type": "text", "text": text}]}]
    steps += [
        {"type": "function_call", "id": f"call_{number}_{at}", "name": name, "arguments": arguments}
        for at, (name, arguments) in enumerate(calls)
    ]
    return {
        "id": f"v1_{number}",
        "object": "interaction",
        "status": "requires_action" if calls else "completed",
        "model": MODELS[kind],
        "steps": steps,
        "usage": {"total_input_tokens": READ, "total_output_tokens": SPOKEN, "total_tokens": READ + SPOKEN},
    }


def _generate(kind: Kind, text: str, calls: Sequence[Called], number: int) -> Json:
    parts: list[Json] = [{"text": text}]
    parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in calls]
    if calls:  # the first call of a step carries the signature
        name, arguments = calls[0]
        parts[1]["thoughtSignature"] = for_call(name, arguments, f"r{number}")
    else:
        parts[0]["thoughtSignature"] = for_text(f"r{number}")
    usage = {"promptTokenCount": READ, "candidatesTokenCount": SPOKEN, "totalTokenCount": READ + SPOKEN}
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": usage,
        "modelVersion": MODELS[kind],
        "responseId": f"r{number}",
    }


def _anthropic(kind: Kind, text: str, calls: Sequence[Called], number: int) -> Json:
    content: list[Json] = [{"type": "text", "text": text}]
    content += [
        {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name, "input": arguments}
        for at, (name, arguments) in enumerate(calls)
    ]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": MODELS[kind],
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": READ, "output_tokens": SPOKEN},
    }


_BODIES: dict[Kind, Any] = {
    "chat": _chat,
    "responses": _responses,
    "interactions": _interactions,
    "generate": _generate,
    "anthropic": _anthropic,
}
