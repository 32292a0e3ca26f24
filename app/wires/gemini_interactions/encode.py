"""Chat → an Interactions request.

A chat that came in this format goes out as its own bytes. Where something was changed, only that is written anew,
between the raw slices of the rest. The id that a client continues from is never sent: `Chat.after` is the one that
Gemini knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.chat.model import Chat, Loss, Message, Text
from app.wires.envelope import Envelope
from app.wires.envelope import encode as to_json
from app.wires.gemini_interactions.generation import generation_config, response_format, tool_choice
from app.wires.gemini_interactions.names import NAME, PATH
from app.wires.gemini_interactions.options import Fields, config_of, tool_choice_of, tools_of
from app.wires.gemini_interactions.steps import steps_of
from app.wires.gemini_interactions.tools import tools
from app.wires.unsaid import lost_marks, refuse_held
from app.wires.wire import Outbound, Target

NOT_SENT = frozenset(("foldline", "input", "previous_interaction_id", "continuation_token"))
"""Fields of a client's body that are ours, or that the chat itself tells better."""

FROM_GENERATE = {"labels": "labels", "serviceTier": "service_tier"}
"""generateContent's root fields that mean the same here."""


def encode(chat: Chat, target: Target) -> Outbound:
    """The request. Raises ClientError for content that Gemini cannot take at all."""
    model = target.model.removeprefix("models/")
    envelope = chat.native.body if chat.native and chat.native.wire == NAME else None
    if not isinstance(envelope, Envelope):
        return _anew(chat, model)
    fields = envelope.fields
    kept = chat.messages is envelope.messages and not chat.since
    losses: list[Loss] = []
    changed = _changed(chat, envelope, model, losses)
    if (
        kept
        and not changed
        and _goes_on_from_its_own(chat, fields)
        and not envelope.mended
        and "foldline" not in fields
    ):
        return Outbound(PATH, envelope.raw, untouched=True)
    body: dict[str, Any] = {name: raw for name, raw in fields.items() if name not in NOT_SENT} | changed
    body |= _state(chat)
    if kept and "input" in fields:
        body["input"] = fields["input"]
    else:
        body |= _input(chat, losses)
    said = {name: value for name, value in body.items() if value is not None}
    return Outbound(PATH, to_json(said), tuple(dict.fromkeys(losses)))


def _changed(chat: Chat, envelope: Envelope, model: str, losses: list[Loss]) -> dict[str, Any]:
    """The fields that no longer say what the chat says, as it says them; None for one that must go."""
    fields, changed = envelope.fields, dict[str, Any]()
    agent = bytes(fields.get("agent", b"null"))
    if agent == b"null" and bytes(fields["model"]) != to_json(model):
        changed["model"] = model
    if chat.system is not envelope.system:
        changed["system_instruction"] = _system(chat.system)
    if chat.tools != tools_of(fields):
        changed["tools"] = tools(chat, model, losses) or None
    config = config_of(fields)
    if chat.sampling.tool_choice != tool_choice_of(config.get("tool_choice")):
        config["tool_choice"] = tool_choice(chat, losses)
        changed["generation_config"] = {name: value for name, value in config.items() if value is not None}
    if chat.store is not None and _flag(fields, "store") != chat.store:
        changed["store"] = chat.store
    if chat.stream != bool(_flag(fields, "stream")):
        changed["stream"] = chat.stream
    return changed


def _goes_on_from_its_own(chat: Chat, fields: Fields) -> bool:
    """Whether the body names the very interaction, and the very token, that are to be gone on from."""
    token = bytes(fields.get("continuation_token", b"null"))
    return chat.after == chat.continues and token == (to_json(chat.resume) if chat.resume else b"null")


def _flag(fields: Fields, name: str) -> bool | None:
    return {b"true": True, b"false": False}.get(bytes(fields.get(name, b"null")))


def _anew(chat: Chat, model: str) -> Outbound:
    losses = list(lost_marks(chat))
    body: dict[str, Any] = {"model": model, "system_instruction": _system(chat.system), **_state(chat)}
    body |= _input(chat, losses)
    body["tools"] = tools(chat, model, losses) or None
    body["generation_config"] = generation_config(chat, model, losses) or None
    body["response_format"] = response_format(chat, model, losses)
    body |= _rest(chat, losses)
    body |= {"store": chat.store, "stream": True if chat.stream else None}
    said = {name: value for name, value in body.items() if value is not None}
    return Outbound(PATH, to_json(said), tuple(dict.fromkeys(losses)))


def _input(chat: Chat, losses: list[Loss]) -> dict[str, Any]:
    """The steps that Gemini does not hold yet; nothing where it only goes on with an answer of its own."""
    written, lost = steps_of(chat)
    losses.extend(lost)
    return {"input": written} if written else {}


def _state(chat: Chat) -> dict[str, Any]:
    return {"previous_interaction_id": chat.after or None, "continuation_token": chat.resume or None}


def _system(system: tuple[Message, ...]) -> str | None:
    """One string: it holds neither pictures nor marks."""
    texts = (part.text for message in system for part in message.parts if isinstance(part, Text) and part.text)
    return "\n\n".join(texts) or None


def _rest(chat: Chat, losses: list[Loss]) -> Mapping[str, Any]:
    known = FROM_GENERATE if chat.native and chat.native.wire == "gemini" else {}
    refuse_held(chat, known)
    losses.extend(Loss(name, "Interactions has no such field.") for name in chat.rest if name not in known)
    return {known[name]: value for name, value in chat.rest.items() if name in known}
