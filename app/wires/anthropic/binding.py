"""Thinking that Anthropic refuses to take back, and the way out that it documents: none of it, in the whole history.

The newest models bind each thinking block to all that stood before it; a block behind another beginning, or a changed
one, is a 400 (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). Steps leave bound thinking out
where they rewrite what stands before it; this is for what they cannot know, such as another account's key or blocks
that a client kept too long. Some of the blocks may not go without the others.
"""

from __future__ import annotations

import re

import msgspec

from app.chat.model import Chat, Message, Opaque, Part, Thinking
from app.errors import UpstreamError
from app.wires.anthropic.bundle import Sealed
from app.wires.anthropic.names import NAME
from app.wires.envelope import as_object, as_text

_REFUSED = re.compile(
    r"Invalid `signature` in `thinking` block|`thinking` or `redacted_thinking` blocks in the latest assistant message"
    r"|Expected `thinking` or `redacted_thinking`"
)
LONGEST_MESSAGE = 4_000
"""Characters of a refusal that are read."""


def refuses_thinking(error: UpstreamError) -> bool:
    """Whether a refusal says that thinking in the history cannot be taken back as it was sent."""
    return error.status == 400 and bool(_REFUSED.search(error.message[:LONGEST_MESSAGE]))


def without_thinking(chat: Chat) -> Chat:
    """The chat with no thinking at all in its history; the same chat if there is none."""
    messages = tuple(map(_unthought, chat.messages))
    if all(after is before for after, before in zip(messages, chat.messages, strict=True)):
        return chat
    return msgspec.structs.replace(chat, messages=messages)


def _unthought(message: Message) -> Message:
    kept = tuple(part for part in message.parts if not _is_thinking(part))
    sealed = message.native is not None and isinstance(message.native.body, Sealed)
    return message.edited(kept) if sealed or len(kept) < len(message.parts) else message


def _is_thinking(part: Part) -> bool:
    if isinstance(part, Opaque):
        return part.native.wire == NAME and as_text(as_object(part.native.body).get("type")) == "redacted_thinking"
    return isinstance(part, Thinking)
