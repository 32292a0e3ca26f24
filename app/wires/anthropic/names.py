"""The words of this format, each spelled once, and the names and ids that Anthropic allows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from app.chat.events import FinishReason
from app.chat.model import Chat
from app.wires.toolnames import alias, changed

NAME = "anthropic"

UNSIGNED = "Zm9sZGxpbmUvdW5zaWduZWQ="
"""The signature that thinking of another provider's model carries to an Anthropic client: base64 of
"foldline/unsigned". The format wants one, and the SDKs send it back; nobody but us can read it, so that a block with it
is known again and never shown to Anthropic, which would refuse it."""

PAUSED = "pause_turn"
"""What `Chat.resume` holds while a paused answer is gone on with: Anthropic has no token for that, it is sent its own
answer as the last message (https://platform.claude.com/docs/en/api/handling-stop-reasons)."""

FINISH_IN: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    PAUSED: "paused",
    "refusal": "content_filter",
    "compaction": "stop",
}
"""Anything else counts as `stop`."""

FINISH_OUT: dict[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "paused": "max_tokens",  # not pause_turn: the client would be asked to go on with what it cannot
    "malformed_call": "end_turn",
}

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_LEGAL_ID = re.compile(r"[A-Za-z0-9_-]{1,256}")


def legal(name: str) -> str:
    """A tool name that Anthropic takes, `^[a-zA-Z0-9_-]{1,64}$` (see toolnames.alias)."""
    return alias(name, _LEGAL, _ILLEGAL)


def reverse(chat: Chat) -> Mapping[str, str]:
    """What the provider says → what the client calls it, for the tools whose name had to be changed."""
    return changed(chat, NAME, legal)


def legal_id(identity: str) -> bool:
    """Whether Anthropic takes it as the id of a call, `^[a-zA-Z0-9_-]+$`."""
    return bool(_LEGAL_ID.fullmatch(identity))


def alias_id(identity: str, taken: frozenset[str] | set[str] | Mapping[str, object]) -> str:
    """A legal id for a call that is not in `taken` yet: the id itself if it can be, else one made from it.

    The same calls in the same order get the same ids, so that the prompt's prefix stays as it was.
    """
    fit = identity if legal_id(identity) else "toolu_" + _digest(identity)
    turn = 1
    while fit in taken:
        turn += 1
        fit = "toolu_" + _digest(f"{identity}#{turn}")
    return fit


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
