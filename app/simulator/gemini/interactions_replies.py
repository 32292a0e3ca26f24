"""An interaction as Google writes it: the resource, and the events of its stream.

Order of a stream: interaction.created, interaction.status_update, then for each step step.start, step.delta* and
step.stop, then interaction.completed, which has no steps, and [DONE]. A step.start already holds the first text (or
the first summary), as Google's own may; a thought's signature comes as a delta; arguments come in pieces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.simulator.billing import Bill
from app.simulator.directives import Directives
from app.simulator.gemini import signatures
from app.simulator.gemini.interactions_order import signed
from app.simulator.gemini.interactions_problems import END
from app.simulator.mind.answers import parts_of
from app.simulator.mind.searching import Search
from app.simulator.mind.talk import Answer
from app.simulator.reply import Reply, encoded, json_reply, stream_reply
from app.simulator.shapes import Json, as_object, as_text, digest, dump, objects

_PIECES = 3  # in how many deltas the arguments of a call come
_SILENT = frozenset(("failed", "cancelled"))
_STATUSES = _SILENT | {"completed", "incomplete", "budget_exceeded", "requires_action", "requires_continuation"}


@dataclass(frozen=True, slots=True)
class Saying:
    """An answer on its way out.

    Attributes:
        body: the request.
        identity: the interaction's id; also made for one that is not stored, which does not show it.
        stored: whether it can be continued.
        shows_thoughts: the request asks for summaries of thoughts.
        created: as RFC 3339.
        token: the continuation token, if it stops here to be continued.
    """

    answer: Answer
    body: Json
    identity: str
    stored: bool
    orders: Directives
    bill: Bill
    shows_thoughts: bool
    created: str
    token: str = ""

    @property
    def status(self) -> str:
        """How it ended; [[finish=…]] says so in Google's words, and any other reason fails it."""
        ordered = self.orders.text("finish")
        if ordered:
            return ordered if ordered in _STATUSES else "failed"
        if self.token:
            return "requires_continuation"
        return "requires_action" if self.answer.calls else "incomplete" if self.answer.cut else "completed"


def resource(saying: Saying) -> Json:
    """The interaction with the steps that were generated."""
    status, ordered = saying.status, saying.orders.text("finish")
    body = saying.body
    whole: Json = {"id": saying.identity} if saying.stored else {}
    whole |= {"object": "interaction", "status": status}
    whole |= {key: body[key] for key in ("model", "agent") if key in body}
    whole |= {"created": saying.created, "updated": saying.created}
    if previous := as_text(body.get("previous_interaction_id")):
        whole["previous_interaction_id"] = previous
    if status not in _SILENT:
        whole["steps"] = _steps(saying)
    if status == "failed":
        code = ordered if ordered != "failed" else "api_error"
        whole["errors"] = [{"code": code.lower(), "message": "The interaction failed."}]
    if saying.token:
        whole["continuation_token"] = saying.token
    return whole | {"usage": _usage(saying.bill), "service_tier": as_text(body.get("service_tier")) or "standard"}


def whole(interaction: Json) -> Reply:
    """The interaction as one body."""
    return json_reply(interaction)


def streamed(events: tuple[bytes, ...]) -> Reply:
    """The interaction as a stream."""
    return stream_reply(events)


def events_of(interaction: Json, orders: Directives) -> tuple[bytes, ...]:
    """The events of an interaction, as they are sent, with the end mark."""
    seed = digest(interaction, length=8)
    return (*(_event(one, f"{seed}_{at}") for at, one in enumerate(_events(interaction, orders))), END)


def merged(events: list[Json]) -> Json:
    """The interaction that the events of a stream say."""
    interaction: Json = {"object": "interaction", "status": "in_progress"}
    steps: dict[int, Json] = {}
    arguments: dict[int, str] = {}
    for event in events:
        index = int(event.get("index") or 0)
        match event.get("event_type"):
            case "interaction.created" | "interaction.completed":
                interaction |= as_object(event.get("interaction"))
            case "step.start":
                steps[index] = json.loads(dump(as_object(event.get("step"))))
            case "step.delta":
                _merge(steps.setdefault(index, {}), as_object(event.get("delta")), arguments, index)
            case "error":
                interaction |= {"status": "failed", "errors": [as_object(event.get("error"))]}
            case _:
                pass
    for index, text in arguments.items():
        try:
            steps[index]["arguments"] = as_object(json.loads(text))
        except ValueError:  # a stream may be cut inside
            continue
    return interaction | {"steps": objects(interaction.get("steps")) or [steps[index] for index in sorted(steps)]}


def _merge(step: Json, delta: Json, arguments: dict[int, str], index: int) -> None:
    match delta.get("type"):
        case "text":
            content = step.setdefault("content", [])
            if not content or content[-1].get("type") != "text":
                content.append({"type": "text", "text": ""})
            content[-1]["text"] += as_text(delta.get("text"))
        case "text_annotation_delta":
            step["content"][-1]["annotations"] = objects(delta.get("annotations"))
        case "thought_summary":
            step.setdefault("summary", []).append(as_object(delta.get("content")))
        case "thought_signature":
            step["signature"] = as_text(delta.get("signature"))
        case "arguments_delta":
            arguments[index] = arguments.get(index, "") + as_text(delta.get("arguments"))
        case _:
            pass


def _steps(saying: Saying) -> list[Json]:
    answer, identity = saying.answer, saying.identity
    calls: list[Json] = [
        {
            "type": "function_call",
            "id": digest(identity, "call", at, length=12),
            "name": call.name,
            "arguments": call.arguments,
        }
        for at, call in enumerate(answer.calls)
    ]
    steps: list[Json] = []
    if answer.reasoning:
        shown = {"summary": [{"type": "text", "text": answer.reasoning}]} if saying.shows_thoughts else {}
        steps.append(signed(shown, calls, identity))
    if answer.search is not None:
        steps += _searched(answer.search, identity)
    if answer.text:
        content = {"type": "text", "text": answer.text, "annotations": _annotations(answer)}
        steps.append({"type": "model_output", "content": [content]})
    return steps + calls


def _searched(search: Search, identity: str) -> list[Json]:
    name, seal = digest(identity, "search", length=12), signatures.for_text(identity)
    found = [{"search_suggestions": f"<div>{search.query}</div>"}]
    return [
        {"type": "google_search_call", "id": name, "arguments": {"queries": [search.query]}, "signature": seal},
        {"type": "google_search_result", "call_id": name, "result": found, "signature": seal},
    ]


def _annotations(answer: Answer) -> list[Json]:
    """What the text rests on; places count its bytes."""
    text = answer.text
    return [
        {
            "type": "url_citation",
            "url": cited.page.url,
            "title": cited.page.title,
            "start_index": len(text[: cited.start].encode()),
            "end_index": len(text[: cited.end].encode()),
        }
        for cited in (answer.search.within(text) if answer.search else ())
    ]


def _usage(bill: Bill) -> Json:
    modalities = [{"modality": "text", "tokens": bill.input - bill.media}]
    modalities += [{"modality": "image", "tokens": bill.media}] if bill.media else []
    return {
        "total_input_tokens": bill.input,
        "input_tokens_by_modality": modalities,
        "total_cached_tokens": bill.cached,
        "total_output_tokens": bill.output,
        "total_tool_use_tokens": 0,
        "total_thought_tokens": bill.thought,
        "total_tokens": bill.total,
    }


def _event(event: Json, identity: str) -> bytes:
    said = event | {"event_id": identity}
    return f"event: {event['event_type']}\ndata: ".encode() + encoded(said) + b"\n\n"


def _events(interaction: Json, orders: Directives) -> Iterator[Json]:
    named = {key: interaction[key] for key in ("id", "object", "model", "agent", "created") if key in interaction}
    yield {"event_type": "interaction.created", "interaction": named | {"status": "in_progress"}}
    update: Json = {"event_type": "interaction.status_update", "status": "in_progress"}
    yield update | ({"interaction_id": interaction["id"]} if "id" in interaction else {})
    for index, step in enumerate(objects(interaction.get("steps"))):
        start, deltas = _opened(step, orders)
        yield {"event_type": "step.start", "index": index, "step": start}
        for delta in deltas:
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        yield {"event_type": "step.stop", "index": index}
    ended = {key: value for key, value in interaction.items() if key != "steps"}
    yield {"event_type": "interaction.completed", "interaction": ended}


def _opened(step: Json, orders: Directives) -> tuple[Json, list[Json]]:
    """What a step starts with, and the deltas that make it whole."""
    match step.get("type"):
        case "model_output":
            return _opened_text(step, orders)
        case "thought":
            return _opened_thought(step)
        case "function_call":
            text = dump(step.get("arguments"))
            size = max(1, -(-len(text) // _PIECES))
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            return step | {"arguments": {}}, [{"type": "arguments_delta", "arguments": piece} for piece in pieces]
        case _:
            return step, []


def _opened_text(step: Json, orders: Directives) -> tuple[Json, list[Json]]:
    content = objects(step.get("content"))
    if len(content) != 1 or content[0].get("type") != "text":
        return step, []
    parts = parts_of(as_text(content[0].get("text")), orders) or [""]
    cited = content[0].get("annotations")
    begun: Json = content[0] | {"text": parts[0]} | ({"annotations": []} if cited else {})
    deltas: list[Json] = [{"type": "text", "text": part} for part in parts[1:]]
    if cited:
        deltas.append({"type": "text_annotation_delta", "annotations": cited})
    return step | {"content": [begun]}, deltas


def _opened_thought(step: Json) -> tuple[Json, list[Json]]:
    start: Json = step | {"signature": ""}
    deltas: list[Any] = []
    if summaries := objects(step.get("summary")):
        start["summary"] = summaries[:1]
        deltas = [{"type": "thought_summary", "content": one} for one in summaries[1:]]
    return start, [*deltas, {"type": "thought_signature", "signature": as_text(step.get("signature"))}]
