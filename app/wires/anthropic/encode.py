"""Chat → a Messages request.

A chat that came in this format goes out as its own bytes. Where something was changed, only that is rebuilt, between
the raw slices of the rest; messages of other formats are bundled to turns (bundle.py).
"""

from __future__ import annotations

from typing import Any

import msgspec

from app.chat.model import Chat, Loss, Message, Native, Opaque, Part, Text, Thinking
from app.wires.anthropic import marks as cache_marks
from app.wires.anthropic import parts
from app.wires.anthropic.bundle import Bundle, Sealed
from app.wires.anthropic.generation import generation, output_format
from app.wires.anthropic.models import Claude, claude
from app.wires.anthropic.names import NAME
from app.wires.anthropic.options import said_in, sampling_of, tools_of
from app.wires.anthropic.tools import tool_choice, tools
from app.wires.envelope import ANYTHING, RAW_LIST, Envelope, as_object
from app.wires.envelope import encode as to_json
from app.wires.unsaid import refuse_held
from app.wires.wire import Outbound, Target

PATH = "/messages"
OURS = "foldline"
BY_MODEL = ("temperature", "top_p", "top_k", "thinking", "max_tokens")
"""Fields that one Claude takes and another refuses: written anew where a route renames the model."""

COUNTED = frozenset(
    (
        *("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"),
        *("mcp_servers", "context_management"),
    )
)
"""What messages/count_tokens takes (https://platform.claude.com/docs/en/api/messages-count-tokens)."""

_LIST = msgspec.json.Decoder(list[msgspec.Raw])


def encode(chat: Chat, target: Target, marks: bool = False) -> Outbound:
    """The request. Raises ClientError for content that Claude cannot take at all.

    `marks`: where the client set no cache marks, they are set for it.
    """
    rules = claude(target.model)
    envelope = chat.native.body if chat.native and chat.native.wire == NAME else None
    if not isinstance(envelope, Envelope):
        losses: list[Loss] = []
        return _outbound(_anew(chat, target, rules, losses), losses, marks)
    kept = chat.messages is envelope.messages and chat.system is envelope.system and not envelope.mended
    kept = kept and (rules.inside or not any(message.role == "system" for message in chat.messages))
    same = kept and target.model == envelope.model and _same_tools(chat, envelope)
    marked = marks and cache_marks.SPELLED not in envelope.raw
    if same and not marked and OURS not in envelope.fields:
        return Outbound(PATH, envelope.raw, untouched=True)
    losses = []
    return _outbound(_spliced(chat, target, rules, envelope, kept, losses), losses, marks)


def count_body(chat: Chat, target: Target) -> bytes:
    """The body for messages/count_tokens: the same request, without what that endpoint refuses. Raises ClientError."""
    fields = msgspec.json.decode(encode(chat, target).body, type=dict[str, msgspec.Raw])
    return to_json({name: raw for name, raw in fields.items() if name in COUNTED})


def _outbound(body: dict[str, Any], losses: list[Loss], marks: bool) -> Outbound:
    """Each loss once; marks of ours only where there are none, and never more than four."""
    raw = to_json(body)
    count = raw.count(cache_marks.SPELLED)
    if marks and not count:
        raw = to_json(cache_marks.set_marks(body))
    elif count > cache_marks.MOST and not all(isinstance(message, msgspec.Raw) for message in body["messages"]):
        raw = to_json(cache_marks.limited(body))
    return Outbound(PATH, raw, tuple(dict.fromkeys(losses)))


def _same_tools(chat: Chat, envelope: Envelope) -> bool:
    return chat.tools == tools_of(envelope.fields)


# ---- a client of this format


def _spliced(
    chat: Chat, target: Target, rules: Claude, envelope: Envelope, kept: bool, losses: list[Loss]
) -> dict[str, Any]:
    body: dict[str, Any] = {name: raw for name, raw in envelope.fields.items() if name != OURS}
    body["model"] = target.model
    if target.model != envelope.model:
        _refit(body, chat, target, rules, losses)
    if not _same_tools(chat, envelope):
        body["tools"] = tools(chat, losses)
    if chat.sampling.tool_choice != sampling_of(said_in(envelope.fields)).tool_choice:
        body["tool_choice"] = tool_choice(chat, rules, losses)
    if chat.system is not envelope.system:
        body.pop("system", None)
        body |= _system(chat.system, "")
    if not kept or "messages" not in body or target.model != envelope.model:
        budget = as_object(ANYTHING.decode(to_json(body.get("thinking")))).get("type") == "enabled"
        _bundled(chat, rules, budget, body, losses)
    else:  # one by one, so that a mark can be set
        body["messages"] = list(RAW_LIST.decode(body["messages"]))
    return body


def _refit(body: dict[str, Any], chat: Chat, target: Target, rules: Claude, losses: list[Loss]) -> None:
    """What the client said for the model that it named, as the model takes it that it gets."""
    for name in BY_MODEL:
        body.pop(name, None)
    choice = tool_choice(chat, rules, losses) if chat.tools and chat.sampling.tool_choice else None
    if choice is not None:
        body["tool_choice"] = choice
    fresh = generation(chat, target, rules, _is_forced(choice), losses)
    config = as_object(ANYTHING.decode(body.pop("output_config", b"null")))
    config.pop("effort", None)
    config |= as_object(fresh.pop("output_config", None))
    if "format" in config and not rules.formats:
        del config["format"]
        losses.append(Loss("output_config.format", "This model cannot be held to a schema: the format was left out."))
    fresh.pop("stop_sequences", None)
    body |= fresh | ({"output_config": config} if config else {})


# ---- a client of another format


def _anew(chat: Chat, target: Target, rules: Claude, losses: list[Loss]) -> dict[str, Any]:
    refuse_held(chat)
    losses.extend(Loss(name, "Claude has no such field.") for name in chat.rest)
    wanted, words = output_format(chat, rules, losses)
    body: dict[str, Any] = {"model": target.model}
    if declared := tools(chat, losses):
        body["tools"] = declared
        if (choice := tool_choice(chat, rules, losses)) is not None:
            body["tool_choice"] = choice
    body |= _system(chat.system, words)
    body["messages"] = []  # here, so that the fields stand in the order in which Anthropic caches them
    body |= generation(chat, target, rules, _is_forced(body.get("tool_choice")), losses)
    if wanted:
        body["output_config"] = {**as_object(body.get("output_config")), "format": wanted}
    budget = as_object(body.get("thinking")).get("type") == "enabled"
    _bundled(chat, rules, budget, body, losses)
    if chat.stream:
        body["stream"] = True
    return body


def _is_forced(choice: Any) -> bool:
    return as_object(choice).get("type") in ("any", "tool")


def _bundled(chat: Chat, rules: Claude, budget: bool, body: dict[str, Any], losses: list[Loss]) -> None:
    """The messages. With a thinking budget, a running tool loop must begin its last turn with thinking: where that was
    lost, this request goes without (https://platform.claude.com/docs/en/build-with-claude/extended-thinking)."""
    bundle = Bundle(chat.messages, rules, prefill=rules.prefill and not budget)
    losses.extend(bundle.losses)
    body["messages"] = bundle.written()
    if budget and bundle.unthought:
        del body["thinking"]
        losses.append(Loss("reasoning", "The thinking of the running tool loop is lost: this request goes without."))


def _system(system: tuple[Message, ...], words: str) -> dict[str, Any]:
    """The root's system text: the client's own, a string, or blocks where a block holds more than words."""
    if len(system) == 1 and not words and (raw := parts.own(system[0].native)) is not None:
        return {"system": raw}
    told = [part for message in system for part in cache_marks.on_last_part(message).parts]
    blocks = [block for part in told if (block := _told(part)) is not None]
    if words:
        blocks.append({"type": "text", "text": words})
    if not blocks:
        return {}
    if not any(map(_in_blocks, system)) and all(as_object(block).keys() == {"type", "text"} for block in blocks):
        return {"system": "\n\n".join(str(as_object(block)["text"]) for block in blocks)}
    return {"system": blocks}


def _in_blocks(message: Message) -> bool:
    """Whether the client wrote this system text as a list of blocks."""
    raw = parts.own(message.native)
    return isinstance(raw, msgspec.Raw) and bytes(memoryview(raw)[:1]) == b"["


def _told(part: Part) -> Any:
    if isinstance(part, Text):
        return parts.text(part) if part.text.strip() else None
    return parts.own(part.native) if isinstance(part, Opaque) else None


# ---- what the provider said before


def restore(message: Message, sealed: bytes, in_loop: bool) -> Message:
    """The assistant turn as Anthropic's own blocks, in place of what the client made of it.

    A client of this format knows the rules: what it sends back stands. Only where it dropped thinking inside the
    running tool loop, which would be refused, is it put back for it.
    """
    blocks = tuple(_LIST.decode(sealed))
    said = message.parts
    if any((isinstance(part, Thinking) and part.signature) or isinstance(part, Opaque) for part in said):
        return message
    speaks_it = message.native is not None and message.native.wire == NAME
    if (speaks_it and not in_loop) or not blocks:
        return message
    return message.carrying(Native(NAME, Sealed(blocks)))
