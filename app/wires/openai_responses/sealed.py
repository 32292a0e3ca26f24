"""What OpenAI literally said in an answer, kept beside the turn, and put back when the turn goes to OpenAI again.

Its rules (https://platform.openai.com/docs/guides/reasoning, and what it answers with 400 and 404): a reasoning item
stands right before the item that it led to; one that OpenAI did not store is worth nothing without its
`encrypted_content`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from app.chat.model import Message, Native
from app.wires.openai_responses.names import NAME

SEALED = msgspec.json.Decoder(tuple[msgspec.Raw, ...])


class Said(msgspec.Struct):
    """What matters of an output item here."""

    type: str | None = None
    encrypted_content: str | None = None
    call_id: str | None = None
    phase: str | None = None


SAID = msgspec.json.Decoder(Said)


def seal(items: Sequence[msgspec.Raw], stored: bool) -> bytes:
    """The output items as they were said; empty if they hold nothing but words."""
    kept = fit(items, stored)
    if all((said := SAID.decode(item)).type == "message" and not said.phase for item in kept):
        return b""
    return b"[" + b",".join(bytes(item) for item in kept) + b"]"


def restore(message: Message, sealed: bytes) -> Message:
    """The message carrying OpenAI's own items. The address vouches that they say what the client's copy says.

    A Responses client that gave all of them back has nothing missing: its message stays as it is.
    """
    items = SEALED.decode(sealed)
    native = message.native
    if native is not None and native.wire == NAME and len(native.body) >= len(items):
        return message
    return message.carrying(Native(NAME, items))


def fit(items: Iterable[msgspec.Raw], stored: bool) -> list[msgspec.Raw]:
    """The items of one turn that OpenAI takes: no reasoning that it cannot read, none without what it led to."""
    kept: list[msgspec.Raw] = []
    waiting: list[msgspec.Raw] = []
    for item in items:
        said = SAID.decode(item)
        if said.type != "reasoning":
            kept += [*waiting, item]
            waiting = []
        elif stored or said.encrypted_content:
            waiting.append(item)
    return kept


def call_ids(items: Iterable[msgspec.Raw]) -> list[tuple[str, str]]:
    """(type, call_id) of the calls among these items, in order."""
    said = (SAID.decode(item) for item in items)
    return [(each.type, each.call_id or "") for each in said if each.type in ("function_call", "custom_tool_call")]
