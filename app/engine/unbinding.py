"""Thinking that a model binds to its tools is left out where our own tool came to stand among them, or went.

Claude's newest models refuse thinking that was made in front of other tools
(https://docs.claude.com/en/docs/build-with-claude/extended-thinking, "preserved thinking"), and the tool that reads
what is parked is offered only from the first small form on. Allowed are none of it, or all but an oldest run; of one
task's thinking all or none, and what was left out once must not come back, as what was made since is bound to its
absence. So it is left out up to where the user speaks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from app.chat.model import Chat, Message, Opaque, Part, Thinking, ToolResult
from app.context.known import Checkpoint
from app.context.thinking import binds_thinking
from app.engine.routing import Candidate
from app.tools.offer import is_offered


def last_unbound(chat: Chat, checkpoints: Mapping[int, Checkpoint], candidate: Candidate) -> int:
    """The index of the last message that goes without its thinking; -1 if there is none.

    Args:
        checkpoints: by identity of the message that ends the turn.
    """
    if candidate.upstream.kind != "anthropic" or not binds_thinking(candidate.model):
        return -1
    messages, offered = chat.messages, is_offered(chat.tools)
    turns = (checkpoints.get(id(message)) for message in messages)
    last = max((at for at, turn in enumerate(turns) if turn is not None and turn.offered != offered), default=-1)
    while 0 <= last < len(messages) - 1 and not asks(messages[last + 1]):
        last += 1
    return last


def without_thinking(message: Message) -> Message:
    """The message with no thinking in it; the very same one if it has none."""
    kept = tuple(part for part in message.parts if not _is_thinking(part))
    return message if len(kept) == len(message.parts) else message.edited(kept)


def asks(message: Message) -> bool:
    """Whether it is the user who speaks, and not a tool alone."""
    return message.role == "user" and any(not isinstance(part, ToolResult) for part in message.parts)


def _is_thinking(part: Part) -> bool:
    if isinstance(part, Opaque):
        body: Any = part.native.body
        return isinstance(body, Mapping) and cast("Mapping[str, Any]", body).get("type") == "redacted_thinking"
    return isinstance(part, Thinking)
