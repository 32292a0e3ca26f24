"""A kept response as the events of a stream, once more: the ceremony of the first time, each text in one piece.

The last event holds the response as it is kept. Source of names and order: the event types of OpenAI's Python SDK.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.wires.envelope import ANYTHING, as_list, as_object, as_text, encode

Json = dict[str, Any]

SPOKEN = {"output_text": ("response.output_text", "text"), "refusal": ("response.refusal", "refusal")}
"""Type of a part of a message → the name of its events, and of the field that has its words."""

ARGUED = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
}
"""The same for calls."""

ENDS = {"incomplete": "response.incomplete", "failed": "response.failed", "cancelled": "response.failed"}


def replayed(resource: bytes, after: int = -1) -> bytes:
    """The events numbered above `after`, from 0; the last one always, so that a follower learns how it ended."""
    events = list(_events(as_object(ANYTHING.decode(resource))))
    first = min(after + 1, len(events) - 1)
    return b"".join(_written(event, number) for number, event in enumerate(events) if number >= first)


def _written(event: Json, number: int) -> bytes:
    data = encode({"type": event["type"], "sequence_number": number, **event})
    return b"event: " + event["type"].encode() + b"\ndata: " + data + b"\n\n"


def _events(response: Json) -> Iterator[Json]:
    begun: Json = {**response, "status": "in_progress", "output": [], "usage": None, "completed_at": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(map(as_object, as_list(response.get("output")))):
        started, inner = _item(item, {"item_id": item.get("id"), "output_index": index})
        yield {"type": "response.output_item.added", "output_index": index, "item": started}
        yield from inner
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    kind = ENDS.get(as_text(response.get("status")), "response.completed")
    yield {"type": kind, "response": response}


def _item(item: Json, where: Json) -> tuple[Json, Iterator[Json]]:
    """The item as it began, and the events until it is done. One that we do not know began as it ended."""
    match item.get("type"):
        case "message":
            return item | {"content": [], "status": "in_progress"}, _message(item, where)
        case "reasoning":
            return item | {"summary": []}, _reasoning(item, where)
        case "function_call" | "custom_tool_call" as kind:
            name, field = ARGUED[kind]
            return item | {field: "", "status": "in_progress"}, _words(name, field, as_text(item.get(field)), where)
        case _:
            return item, iter(())


def _message(item: Json, where: Json) -> Iterator[Json]:
    for index, part in enumerate(map(as_object, as_list(item.get("content")))):
        at = where | {"content_index": index}
        name, field = SPOKEN.get(as_text(part.get("type")), ("", ""))
        yield {"type": "response.content_part.added", **at, "part": part | ({field: ""} if field else {})}
        if name:
            more: Json = {"logprobs": []} if field == "text" else {}
            yield from _words(name, field, as_text(part.get(field)), at | more)
        yield {"type": "response.content_part.done", **at, "part": part}


def _reasoning(item: Json, where: Json) -> Iterator[Json]:
    for index, part in enumerate(map(as_object, as_list(item.get("summary")))):
        at = where | {"summary_index": index}
        yield {"type": "response.reasoning_summary_part.added", **at, "part": part | {"text": ""}}
        yield from _words("response.reasoning_summary_text", "text", as_text(part.get("text")), at)
        yield {"type": "response.reasoning_summary_part.done", **at, "part": part}


def _words(name: str, field: str, words: str, where: Json) -> Iterator[Json]:
    if words:
        yield {"type": name + ".delta", **where, "delta": words}
    yield {"type": name + ".done", **where, field: words}
