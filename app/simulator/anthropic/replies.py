"""Messages as Anthropic writes them: one body, or events in the order that its stream keeps.

Order of a stream: message_start with what the prompt takes, each block from its start over its deltas to its stop (a
ping after the first start), message_delta with the reason and the usage of the whole, message_stop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.simulator.anthropic.cache import Spent
from app.simulator.anthropic.loops import call_id
from app.simulator.anthropic.problems import head_of
from app.simulator.anthropic.searching import search_blocks
from app.simulator.anthropic.thoughts import Thought, signature
from app.simulator.directives import Directives
from app.simulator.estimate import tokens
from app.simulator.mind.answers import parts_of
from app.simulator.mind.talk import Answer
from app.simulator.reply import Reply, encoded, stream_reply
from app.simulator.shapes import Json, as_list, as_object, as_text, dump, objects


@dataclass(frozen=True, slots=True)
class Ending:
    """Why an answer ended: the reason, the stop sequence if one was met, and details of a refusal."""

    reason: str = "end_turn"
    sequence: str | None = None
    details: Json | None = None


@dataclass(frozen=True, slots=True)
class Saying:
    """An answer on its way out.

    Attributes:
        model: the name as asked for.
        seed: ids come from it: the same request has the same.
        thought: what is signed, if the model thought; `shown` tells whether its text goes out, `redacted` hides it.
        before, behind: blocks of tools that the provider runs, around the text.
        more: further fields of the message.
    """

    answer: Answer
    model: str
    seed: str
    spent: Spent
    ending: Ending
    thought: Thought | None = None
    shown: bool = False
    redacted: bool = False
    before: tuple[Json, ...] = ()
    behind: tuple[Json, ...] = ()
    more: tuple[tuple[str, object], ...] = ()


def message_of(saying: Saying) -> Json:
    """The answer as one message."""
    ending = saying.ending
    return {
        "id": f"msg_{saying.seed}",
        "type": "message",
        "role": "assistant",
        "model": saying.model,
        "content": list(_content(saying)),
        "stop_reason": ending.reason,
        "stop_sequence": ending.sequence,
        "stop_details": ending.details,
        "usage": _compactions(saying) if ending.reason == "compaction" else _usage(saying),
        **dict(saying.more),
    }


def streamed(message: Json, orders: Directives, seed: str) -> Reply:
    """A message as a stream, its text in the portions that the orders ask for."""
    events = events_of(message, lambda text: parts_of(text, orders))
    return stream_reply(tuple(piece_of(event) for event in events), headers=head_of(seed))


def piece_of(event: Json) -> bytes:
    """One server-sent event. Clients of Anthropic go by its `event:` line."""
    return b"event: " + as_text(event.get("type")).encode() + b"\ndata: " + encoded(event) + b"\n\n"


def events_of(message: Json, portions: Callable[[str], list[str]]) -> Iterator[Json]:
    """The events that say what a message says."""
    usage = as_object(message.get("usage"))
    first = {**usage, "output_tokens": 1}
    first.pop("output_tokens_details", None)
    empty: Json = {"content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None, "usage": first}
    yield {"type": "message_start", "message": {**message, **empty}}
    blocks = objects(message.get("content"))
    if not blocks:
        yield {"type": "ping"}
    for index, block in enumerate(blocks):
        start, deltas = _parted(block, portions)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {key: message.get(key) for key in ("stop_reason", "stop_sequence", "stop_details")}
    ended: Json = {"type": "message_delta", "delta": delta, "usage": _cumulative(usage)}
    if "context_management" in message:
        ended["context_management"] = message["context_management"]
    yield ended
    yield {"type": "message_stop"}


def merged(events: list[Json]) -> Json:
    """The message that a stream's events say; an error event as its body."""
    message: Json = {"type": "message", "role": "assistant", "content": []}
    blocks: dict[int, Json] = {}
    inputs: dict[int, str] = {}
    for event in events:
        index = event.get("index")
        at = index if isinstance(index, int) else 0
        match event.get("type"):
            case "error":
                return event
            case "message_start":
                message |= as_object(event.get("message"))
            case "content_block_start":
                blocks[at] = dict(as_object(event.get("content_block")))
            case "content_block_delta":
                _add(blocks.setdefault(at, {}), as_object(event.get("delta")), inputs, at)
            case "message_delta":
                message |= as_object(event.get("delta"))
                message["usage"] = as_object(message.get("usage")) | as_object(event.get("usage"))
            case _:
                continue
    for at, text in inputs.items():
        blocks[at]["input"] = _parsed(text)
    return message | {"content": [blocks[at] for at in sorted(blocks)]}


def _content(saying: Saying) -> Iterator[Json]:
    if saying.thought is not None and saying.redacted:
        yield {"type": "redacted_thinking", "data": signature(saying.thought)}
    elif saying.thought is not None:
        text = saying.answer.reasoning if saying.shown else ""
        yield {"type": "thinking", "thinking": text, "signature": signature(saying.thought)}
    yield from saying.before
    search = saying.answer.search
    if search is not None and saying.answer.text:
        yield from search_blocks(search, saying.answer.text, saying.seed)
    elif saying.answer.text:
        yield {"type": "text", "text": saying.answer.text, "citations": None}
    for index, call in enumerate(saying.answer.calls):
        name = call_id(saying.seed, index, thought=saying.thought is not None)
        yield {"type": "tool_use", "id": name, "name": call.name, "input": call.arguments}
    yield from saying.behind


def _usage(saying: Saying) -> Json:
    answer, spent = saying.answer, saying.spent
    thinking = saying.thought.spent if saying.thought is not None else 0
    spoken = tokens(answer.text) + sum(tokens(call.name) + tokens(dump(call.arguments)) for call in answer.calls)
    return {
        "input_tokens": spent.fresh,
        "cache_creation_input_tokens": spent.made_5m + spent.made_1h,
        "cache_read_input_tokens": spent.read,
        "cache_creation": {"ephemeral_5m_input_tokens": spent.made_5m, "ephemeral_1h_input_tokens": spent.made_1h},
        "output_tokens": thinking + spoken,
        "output_tokens_details": {"thinking_tokens": thinking},
        "service_tier": "standard",
    }


def _compactions(saying: Saying) -> Json:
    """The usage of a summary: nothing at the top, as no answer was made."""
    usage = _usage(saying)
    written = sum(tokens(as_text(block.get("content"))) for block in saying.behind)
    once = {key: usage[key] for key in usage if key not in ("output_tokens_details", "service_tier")}
    nothing = dict.fromkeys(("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), 0)
    return usage | nothing | {"iterations": [{"type": "compaction", **once, "output_tokens": written}]}


def _cumulative(usage: Json) -> Json:
    """The usage of a stream's end: the sums alone, without what message_start has said for good."""
    kept = {key: value for key, value in usage.items() if key not in ("cache_creation", "service_tier")}
    return kept or {"output_tokens": 1}


def _parted(block: Json, portions: Callable[[str], list[str]]) -> tuple[Json, list[Json]]:
    """A block as it starts, and the deltas that fill it."""
    match block.get("type"):
        case "text":
            texts: list[Json] = [{"type": "text_delta", "text": one} for one in portions(as_text(block.get("text")))]
            cited = [{"type": "citations_delta", "citation": one} for one in as_list(block.get("citations"))]
            return {**block, "text": "", **({"citations": []} if cited else {})}, [*texts, *cited]
        case "thinking":
            thought = parts_of(as_text(block.get("thinking")), Directives({}))
            said: list[Json] = [{"type": "thinking_delta", "thinking": one} for one in thought]
            signed: Json = {"type": "signature_delta", "signature": as_text(block.get("signature"))}
            return {**block, "thinking": "", "signature": ""}, [*said, signed]
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            given = dump(block.get("input"))
            half = max(1, len(given) // 2)
            pieces = ["", given[:half], given[half:]] if block.get("input") else [""]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": one} for one in pieces]
        case _:
            return block, []


def _add(block: Json, delta: Json, inputs: dict[int, str], at: int) -> None:
    match delta.get("type"):
        case "text_delta":
            block["text"] = as_text(block.get("text")) + as_text(delta.get("text"))
        case "thinking_delta":
            block["thinking"] = as_text(block.get("thinking")) + as_text(delta.get("thinking"))
        case "signature_delta":
            block["signature"] = as_text(block.get("signature")) + as_text(delta.get("signature"))
        case "citations_delta":
            block["citations"] = [*as_list(block.get("citations")), delta.get("citation")]
        case "input_json_delta":
            if delta.get("partial_json"):
                inputs[at] = inputs.get(at, "") + as_text(delta["partial_json"])
        case _:
            block |= {key: value for key, value in delta.items() if key != "type"}


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:  # a prescribed stream may be broken on purpose
        return {}
