"""The words of this format, each spelled once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from app.chat.events import FinishReason
from app.chat.model import Chat
from app.wires.gemini.names import legal
from app.wires.toolnames import changed

NAME = "gemini_interactions"
PATH = "/interactions"
ID_PREFIX = "v1_"

FINISH_IN: dict[str, FinishReason] = {
    "completed": "stop",
    "requires_action": "tool_calls",
    "incomplete": "length",
    "budget_exceeded": "length",
    "requires_continuation": "paused",
}
"""Status → reason. The list is open: a status that we do not know counts as `stop`."""

FINISH_OUT: dict[FinishReason, str] = {
    "stop": "completed",
    "tool_calls": "requires_action",
    "length": "incomplete",
    "paused": "incomplete",
    "content_filter": "failed",
    "malformed_call": "failed",
}
"""A pause is written as `incomplete`: the status that asks for another hop needs a token, and those are Google's."""

UNFINISHED = ("in_progress", "queued")

CONTINUED = ("completed", "requires_action", "incomplete")
"""The statuses of an interaction that the next one may name as its previous one."""

BLOCKED = frozenset(
    (
        *("safety", "recitation", "language", "prohibited_content", "spii", "blocklist", "content_blocked"),
        *("image_safety", "image_prohibited_content", "image_recitation", "image_other"),
    )
)
"""Codes that say the output was held back (https://ai.google.dev/gemini-api/docs/api-errors)."""

MALFORMED = frozenset(
    (
        *("malformed_function_call", "malformed_tool_call", "unexpected_tool_call", "too_many_tool_calls"),
        *("missing_thought_signature", "no_image"),
    )
)
"""Codes that say the model made something of no use: asking again may help."""

CONTENTS = frozenset(("text", "image", "audio", "document", "video"))
USER_STEPS = frozenset(("user_input", "function_result"))
"""What the client says; every other step, known or not, is the model's or its provider's."""


class Steps(msgspec.Struct, frozen=True):
    """Steps as the peer itself wrote them, in order: those of a message, or of a part that is a step of its own."""

    raws: tuple[msgspec.Raw, ...]


def reverse(chat: Chat) -> Mapping[str, str]:
    """What Gemini says → what the client calls it, for the tools whose name had to be changed."""
    return changed(chat, NAME, legal)
