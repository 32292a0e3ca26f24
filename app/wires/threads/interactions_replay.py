"""A kept interaction as the events of a stream, once more: each step begins as it ended, its words in one piece.

Order of events: https://ai.google.dev/gemini-api/docs/interactions (streaming).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.errors import ClientError
from app.wires.envelope import ANYTHING, as_list, as_object, as_text, encode

Json = dict[str, Any]
DONE = b"event: done\ndata: [DONE]\n\n"


def replayed(resource: bytes, after: str = "") -> bytes:
    """The events behind the one with the id `after` (numbers from 1), and the mark of the end.

    Raises:
        ClientError: `after` is no number: it is none of our events.
    """
    if after and not (after.isascii() and after.isdigit() and len(after) < 10):
        raise no_event(after)
    events = list(_events(as_object(ANYTHING.decode(resource))))
    first = min(int(after or 0), len(events) - 1)
    return b"".join(_written(event, place + 1) for place, event in enumerate(events) if place >= first) + DONE


def no_event(said: str) -> ClientError:
    """The error for an event that is none of the interaction's."""
    return ClientError(f"last_event_id: this interaction has no event {said[:80]!r}.", param="last_event_id")


def _written(event: Json, number: int) -> bytes:
    return b"event: " + event["event_type"].encode() + b"\ndata: " + encode(event | {"event_id": str(number)}) + b"\n\n"


def _events(interaction: Json) -> Iterator[Json]:
    ended = {name: value for name, value in interaction.items() if name != "steps"}
    begun = {name: value for name, value in ended.items() if name not in ("usage", "errors", "continuation_token")}
    yield {"event_type": "interaction.created", "interaction": begun | {"status": "in_progress"}}
    update = {"interaction_id": interaction.get("id"), "status": "in_progress"}
    yield {"event_type": "interaction.status_update", **update}
    for index, step in enumerate(map(as_object, as_list(interaction.get("steps")))):
        start, deltas = _step(step)
        yield {"event_type": "step.start", "index": index, "step": start}
        for delta in deltas:
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        yield {"event_type": "step.stop", "index": index}
    yield {"event_type": "interaction.completed", "interaction": ended}


def _step(step: Json) -> tuple[Json, list[Json]]:
    """What a step starts with, and what makes it whole. What is not words begins as it ended."""
    match step.get("type"):
        case "model_output" if all(_is_plain(part) for part in as_list(step.get("content"))):
            texts = [as_text(as_object(part).get("text")) for part in as_list(step.get("content"))]
            return {"type": "model_output"}, [{"type": "text", "text": text} for text in texts]
        case "thought":
            start = {name: value for name, value in step.items() if name not in ("summary", "signature")}
            deltas = [{"type": "thought_summary", "content": part} for part in as_list(step.get("summary"))]
            if signature := step.get("signature"):
                deltas.append({"type": "thought_signature", "signature": signature})
            return start, deltas
        case "function_call":
            arguments = encode(step.get("arguments") or {}).decode()
            return step | {"arguments": {}}, [{"type": "arguments_delta", "arguments": arguments}]
        case _:
            return step, []


def _is_plain(part: Any) -> bool:
    said = as_object(part)
    return said.get("type") == "text" and not said.get("annotations")
