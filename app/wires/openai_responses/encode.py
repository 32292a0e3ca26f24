"""Chat → a Responses request.

A chat that came in this format goes out as its own bytes. Where something was changed, only that is rebuilt and spliced
between the raw slices of the rest; messages from other formats are written anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from app.chat.model import Chat, Loss, Text
from app.wires.envelope import ANYTHING, as_list
from app.wires.envelope import encode as to_json
from app.wires.openai_responses.asked import Asked
from app.wires.openai_responses.inherited import is_item, must_say_json
from app.wires.openai_responses.items import items
from app.wires.openai_responses.names import NAME
from app.wires.openai_responses.options import given
from app.wires.openai_responses.settings import sampling, shared, tools
from app.wires.unsaid import lost_marks, refuse_held
from app.wires.wire import Outbound, Target

PATH = "/responses"
SAY_JSON = "Answer with JSON."
OURS = ("foldline", "previous_response_id", "conversation")
"""Fields that never go out as the client wrote them: ids in them are ours."""

GOES_ON = ("previous_response_id", "conversation")

ENCRYPTED = "reasoning.encrypted_content"


def encode(chat: Chat, target: Target) -> Outbound:
    """The request body. Raises ClientError for content that this format cannot hold at all."""
    losses: list[Loss] = []
    asked = chat.native.body if chat.native and chat.native.wire == NAME else None
    if not isinstance(asked, Asked):
        refuse_held(chat)
        losses.extend(lost_marks(chat))
        body = _anew(chat, target, losses)
        return Outbound(PATH, to_json(body), tuple(dict.fromkeys(losses)))
    own = _goes_on_from_its_own(chat, asked)
    changes = _changes(chat, target, asked, losses, own)
    ours = not own and any(given(asked.fields, name) for name in OURS)
    if not (changes or asked.mended or ours or "foldline" in asked.fields):
        return Outbound(PATH, asked.raw, untouched=True)
    fields: dict[str, Any] = {name: raw for name, raw in asked.fields.items() if name not in OURS}
    if own:
        fields |= {name: asked.fields[name] for name in GOES_ON if given(asked.fields, name)}
    for name, value in changes.items():
        if value is None:
            fields.pop(name, None)
        else:
            fields[name] = value
    if "input" not in fields or asked.mended:  # read on from an earlier turn, an envelope has no slice of them all
        fields["input"] = items(chat, losses)
    return Outbound(PATH, to_json(fields), tuple(dict.fromkeys(losses)))


def _goes_on_from_its_own(chat: Chat, asked: Asked) -> bool:
    """Whether the body brings what is new alone, and names the very response, or conversation, to be gone on from."""
    own = bool(chat.after) and chat.after == (chat.continues or chat.conversation) and not chat.since
    return own and chat.messages is asked.messages


def _changes(chat: Chat, target: Target, asked: Asked, losses: list[Loss], own: bool) -> dict[str, Any]:
    """The root fields in which the chat no longer says what the client's body says; None for one to leave out."""
    changes: dict[str, Any] = {}
    if target.model != asked.model:
        changes["model"] = target.model
    if chat.after and not own:
        changes["previous_response_id"] = chat.after
    if chat.store != asked.store:
        changes["store"] = chat.store
        if chat.store is False:
            changes["include"] = _include(asked.fields)
    if chat.stream != asked.stream:
        changes["stream"] = chat.stream or None
        changes |= {} if chat.stream else {"stream_options": None}  # refused without a stream
    if chat.system is not asked.system:
        changes["instructions"] = _instructions(chat, losses) or None
    if chat.messages is not asked.messages or chat.system is not asked.system or (chat.after and not own):
        changes["input"] = items(chat, losses)
    if chat.tools is not asked.tools and chat.tools != asked.tools:
        changes["tools"] = tools(chat.tools, losses) or None
    if chat.sampling is not asked.sampling and chat.sampling != asked.sampling:
        plain = Target(target.name, target.model, own=False)  # the client's own values are OpenAI's to judge
        before = sampling(msgspec.structs.replace(chat, sampling=asked.sampling), plain, [])
        after = sampling(chat, plain, losses)
        changes |= {
            name: after.get(name) for name in before.keys() | after.keys() if before.get(name) != after.get(name)
        }
    return changes


def _include(fields: Mapping[str, msgspec.Raw]) -> list[Any]:
    said = as_list(ANYTHING.decode(fields["include"])) if "include" in fields else []
    return said if ENCRYPTED in said else [*said, ENCRYPTED]


def _anew(chat: Chat, target: Target, losses: list[Loss]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": target.model}
    if instructions := _instructions(chat, losses):
        body["instructions"] = instructions
    body["input"] = items(chat, losses)
    if chat.after:
        body["previous_response_id"] = chat.after
    if must_say_json(chat):
        body["input"].insert(0, {"role": "system", "content": SAY_JSON})
        losses.append(Loss("response_format", "OpenAI's JSON mode wants the word in its input: a line was put first."))
    body |= sampling(chat, target, losses)
    if listed := tools(chat.tools, losses):
        body["tools"] = listed
    for name, value in shared(chat, losses).items():
        if name == "text":
            body["text"] = body.get("text", {}) | value
        else:
            body.setdefault(name, value)
    if chat.store is not None:
        body["store"] = chat.store
    if body.get("store") is False or body.get("store") == msgspec.Raw(b"false"):
        body["include"] = [ENCRYPTED]
    if chat.stream:
        body |= {"stream": True} | ({"stream_options": {"include_obfuscation": False}} if target.own else {})
    return body


def _instructions(chat: Chat, losses: list[Loss]) -> str:
    """The leading system texts but those that stand in the input as items of their own. They are sent every time:
    OpenAI inherits items only."""
    texts: list[str] = []
    for message in chat.system:
        if not is_item(message):
            texts.append("".join(part.text for part in message.parts if isinstance(part, Text)))
            if any(not isinstance(part, Text) for part in message.parts):
                losses.append(Loss("system", "Instructions are text only: what is none was left out."))
    return "\n\n".join(text for text in texts if text)
