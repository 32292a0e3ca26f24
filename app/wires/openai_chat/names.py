"""The words of this format, each spelled once."""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.chat.events import FinishReason
from app.chat.model import Chat
from app.wires.toolnames import alias, changed

NAME = "openai_chat"

TOOL_ERROR = "[tool error] "
"""Chat Completions has no error flag on tool messages: errors from other formats are marked so, and read back."""

FINISH_OUT: dict[FinishReason, str] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "paused": "length",
    "malformed_call": "stop",
}

FINISH_IN: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "refusal": "content_filter",
}
"""Compatible servers say more than OpenAI's five; anything else counts as `stop`."""

MESSAGE_EXTRAS = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "extra_content")
"""Assistant fields outside OpenAI's own: clients drop them, some providers need them back."""

LOOP_ONLY = ("reasoning_content", "reasoning")
"""Plain reasoning text goes back only inside the running tool loop: DeepSeek and Kimi demand it there and refuse it,
or ask to leave it out, elsewhere. Signed and encrypted forms go back always."""

REASONS = re.compile(r"(?:ft:)?(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*-chat))")
"""OpenAI's models that reason."""

OPENAIS = re.compile(r"(?:ft:)?(?:gpt-(?!oss)|chatgpt-|o\d)")
"""Models that OpenAI runs, even if a gateway stands before it."""

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def legal(name: str) -> str:
    """A function name that OpenAI takes, `^[a-zA-Z0-9_-]{1,64}$` (see toolnames.alias)."""
    return alias(name, _LEGAL, _ILLEGAL)


def reverse(chat: Chat) -> Mapping[str, str]:
    """What the provider says → what the client calls it, for the tools whose name had to be changed."""
    return changed(chat, NAME, legal)
