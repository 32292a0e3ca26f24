"""Tool exchanges in either format: the model calls `stat`, once or several times at once, and gets the results."""

from __future__ import annotations

import json

from tests.cases.exchanges import pairing_faults, turn_faults
from tests.folding.call import Call, Json
from tests.folding.words import prose

TOOL: dict[str, Json] = {
    "openai": {"type": "function", "function": {"name": "stat", "parameters": {"type": "object", "properties": {}}}},
    "gemini": {"functionDeclarations": [{"name": "stat", "parameters": {"type": "OBJECT", "properties": {}}}]},
}


def exchange(wire: str, number: int, calls: int = 1, tokens: int = 100, signature: str = "") -> list[Json]:
    """The model calls `stat` so many times at once, and gets the results."""
    results = [f"result {number}.{at} {prose(tokens, number)}" for at in range(calls)]
    if wire == "gemini":
        signed = [{"thoughtSignature": signature} if signature and at == 0 else {} for at in range(calls)]
        asked = [
            {"functionCall": {"name": "stat", "args": {"n": f"{number}.{at}"}}, **signed[at]} for at in range(calls)
        ]
        given = [{"functionResponse": {"name": "stat", "response": {"output": text}}} for text in results]
        return [{"role": "model", "parts": asked}, {"role": "user", "parts": given}]
    ids = [f"call_{number}_{at}" for at in range(calls)]
    asked = [
        {"id": one, "type": "function", "function": {"name": "stat", "arguments": json.dumps({"n": f"{number}.{at}"})}}
        for at, one in enumerate(ids)
    ]
    given = [{"role": "tool", "tool_call_id": one, "content": text} for one, text in zip(ids, results, strict=True)]
    return [{"role": "assistant", "content": None, "tool_calls": asked}, *given]


def faults(call: Call) -> list[str]:
    """What the provider would refuse in this history."""
    return turn_faults(call.messages) if call.wire == "gemini" else pairing_faults(call.messages)
