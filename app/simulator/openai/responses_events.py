"""The stream of a response: every event that OpenAI sends, in its order, with numbers that rise by one."""

from __future__ import annotations

from collections.abc import Iterator

from app.simulator.directives import Directives
from app.simulator.mind.answers import parts_of
from app.simulator.openai.responses_replies import begun, ended
from app.simulator.reply import encoded
from app.simulator.shapes import Json, as_object, as_text, objects

_PIECES = 3  # in how many deltas the arguments of a call come
_MARKS: dict[str, str] = {"incomplete": "response.incomplete", "failed": "response.failed"}
_PLAIN = Directives({})


def events_of(response: Json, orders: Directives) -> tuple[bytes, ...]:
    """The events of a response, as they are sent."""
    return tuple(event({**one, "sequence_number": at}) for at, one in enumerate(_events(response, orders)))


def event(said: Json) -> bytes:
    """One event as it is sent."""
    return f"event: {said['type']}\ndata: ".encode() + encoded(said) + b"\n\n"


def failure(response: Json, number: int) -> bytes:
    """How a stream ends that fails after `number` events: at once by a plain error, later as a failed response."""
    if number == 0:
        said = as_object(ended(response, "failed")["error"])
        return event({"type": "error", **said, "param": None, "sequence_number": 0})
    return event({"type": "response.failed", "response": ended(response, "failed"), "sequence_number": number})


def merged(events: list[Json]) -> Json:
    """The response that the events of a stream say: its last snapshot, and the items that came since the first."""
    whole: Json = {}
    items: dict[int, Json] = {}
    for one in events:
        if "response" in one:
            whole = as_object(one["response"])
        if one.get("type") == "response.output_item.done":
            items[int(one.get("output_index") or 0)] = as_object(one.get("item"))
    return whole | {"output": objects(whole.get("output")) or [items[at] for at in sorted(items)]}


def _events(response: Json, orders: Directives) -> Iterator[Json]:
    start = begun(response)
    yield {"type": "response.created", "response": start}
    yield {"type": "response.in_progress", "response": start}
    for index, item in enumerate(objects(response.get("output"))):
        match item.get("type"):
            case "message":
                yield from _message(item, index, orders)
            case "reasoning":
                yield from _reasoning(item, index)
            case "function_call":
                yield from _call(item, index, "arguments", "response.function_call_arguments")
            case "custom_tool_call":
                yield from _call(item, index, "input", "response.custom_tool_call_input")
            case "web_search_call":
                yield from _search(item, index)
            case _:
                yield {"type": "response.output_item.added", "output_index": index, "item": item}
                yield {"type": "response.output_item.done", "output_index": index, "item": item}
    kind = _MARKS.get(as_text(response.get("status")), "response.completed")
    yield {"type": kind, "response": response}


def _message(item: Json, index: int, orders: Directives) -> Iterator[Json]:
    opened: Json = {**item, "content": [], "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    for at, part in enumerate(objects(item.get("content"))):
        where: Json = {"item_id": item.get("id"), "output_index": index, "content_index": at}
        key = "refusal" if part.get("type") == "refusal" else "text"
        name = f"response.{'refusal' if key == 'refusal' else 'output_text'}"
        more: Json = {} if key == "refusal" else {"logprobs": []}
        text = as_text(part.get(key))
        empty: Json = part | {key: ""} | ({"annotations": []} if "annotations" in part else {})
        yield {"type": "response.content_part.added", **where, "part": empty}
        told = 0
        for piece in parts_of(text, orders):
            yield {"type": f"{name}.delta", **where, "delta": piece, **more}
            told += len(piece)
            yield from _cited(part, where, told - len(piece), told)
        yield {"type": f"{name}.done", **where, key: text, **more}
        yield {"type": "response.content_part.done", **where, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _cited(part: Json, where: Json, before: int, now: int) -> Iterator[Json]:
    """The annotations whose words have just been said."""
    for at, annotation in enumerate(objects(part.get("annotations"))):
        if before < int(annotation.get("end_index") or 0) <= now:
            told = {"annotation_index": at, "annotation": annotation}
            yield {"type": "response.output_text.annotation.added", **where, **told}


def _search(item: Json, index: int) -> Iterator[Json]:
    opened = item | {"status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    for step in ("in_progress", "searching", "completed"):
        yield {"type": f"response.web_search_call.{step}", "output_index": index, "item_id": item.get("id")}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _reasoning(item: Json, index: int) -> Iterator[Json]:
    """The encrypted content is whole only in the last of these events."""
    opened: Json = {**item, "summary": []}
    if "encrypted_content" in item:
        opened["encrypted_content"] = as_text(item["encrypted_content"])[:12]
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    for at, part in enumerate(objects(item.get("summary"))):
        where: Json = {"item_id": item.get("id"), "output_index": index, "summary_index": at}
        text = as_text(part.get("text"))
        yield {"type": "response.reasoning_summary_part.added", **where, "part": part | {"text": ""}}
        for piece in parts_of(text, _PLAIN):
            yield {"type": "response.reasoning_summary_text.delta", **where, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **where, "text": text}
        yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _call(item: Json, index: int, key: str, name: str) -> Iterator[Json]:
    opened = item | {key: "", "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    text = as_text(item.get(key))
    size = max(1, -(-len(text) // _PIECES))
    where: Json = {"item_id": item.get("id"), "output_index": index}
    for at in range(0, len(text), size):
        yield {"type": f"{name}.delta", **where, "delta": text[at : at + size]}
    yield {"type": f"{name}.done", **where, key: text}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}
