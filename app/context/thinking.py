"""Thinking that a model binds to the prefix it was made behind is left out where that prefix was rewritten.

Claude's newest models refuse a chat in which a thinking block stands behind another beginning than the one it was made
behind (https://docs.claude.com/en/docs/build-with-claude/extended-thinking, "preserved thinking"). Allowed are: none of
it, or all but an oldest run. So everything up to the last turn that went out under another fold goes without its
thinking; what was made under the fold in force is bound to that, and stays. The same rule gives the same bytes on every
later turn. That holds too for thinking that the client dropped and that would be put back from what the provider said:
such a message is rebuilt, and so has nothing put back. Other providers' signatures (Gemini's) are not bound, and stay.

The system prompt and the tools are the very beginning: a clock in the one, a tool that was loaded since, and what was
made before is not put back. Thinking that the client itself sends stays where nothing is folded: that is the client's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from app.chat.model import Message, Opaque, Part, Thinking, ToolResult
from app.context.known import Checkpoint, Known
from app.context.plan import Decision, Draft
from app.context.policy import Policy

_BINDING = re.compile(r"claude-(?:fable|mythos)-5-[1-9]|claude-(?:opus|sonnet|haiku)-5-[5-9]")


def binds_thinking(model: str) -> bool:
    """Whether a model's thinking holds only behind the prefix that it was made behind."""
    return bool(_BINDING.search(model.lower().replace(".", "-")))


def unbind(draft: Draft, known: Known, policy: Policy) -> Draft:
    """The draft without thinking that was made behind another beginning; the same draft if there is none."""
    if draft.fold is None and not known.bound_to:
        return draft
    if draft.fold is not None and not (known.scale and known.scale.binds):
        return draft
    messages = draft.chat.messages
    turns = [_turn(messages, known, index) for index in range(len(messages))]
    if draft.fold is None:
        bound = [_is_put_back(message, turn) for message, turn in zip(messages, turns, strict=True)]
        last = _last(bound, lambda index: _has_other_setup(turns[index], known.bound_to))
        last = end_of_task(messages, last)
        beginning = "a system prompt and tools that are others now"
    else:
        line = draft.fold.upto
        bound = [_has_thinking(message, turn) for message, turn in zip(messages, turns, strict=True)]
        last = _last(bound, lambda i: _folded_at(turns[i]) != line or _has_other_setup(turns[i], known.bound_to))
        beginning = "a beginning that is folded now"
    count = sum(bound[: last + 1])
    if not count:
        return draft
    stripped = tuple(
        without_thinking(message) if index <= last and bound[index] else message
        for index, message in enumerate(messages)
    )
    them, their = ("1 message goes", "its") if count == 1 else (f"{count} messages go", "their")
    reason = f"{them} without {their} thinking: this model binds it to {beginning}."
    chat = msgspec.structs.replace(draft.chat, messages=stripped)
    return draft.decided(Decision("thinking", str(count), reason), chat)


def _turn(messages: Sequence[Message], known: Known, index: int) -> Checkpoint | None:
    """What is known of the turn that ends with this message.

    The fold stands in front: from behind, these messages are the client's own, one for one.
    """
    mine = len(known.addresses) - len(messages) + index
    return known.checkpoints.get(known.addresses[mine]) if mine >= 0 else None


def _has_thinking(message: Message, turn: Checkpoint | None) -> bool:
    """Whether the message holds thinking, or would have it put back."""
    if message.role != "assistant":
        return False
    return holds_thinking(message) or bool(turn and turn.seals)


def _is_put_back(message: Message, turn: Checkpoint | None) -> bool:
    """Whether the client dropped the thinking of this message, so that it would be put back."""
    return message.role == "assistant" and turn is not None and turn.seals and not holds_thinking(message)


def _folded_at(turn: Checkpoint | None) -> bytes | None:
    return turn.folded if turn is not None else None


def _has_other_setup(turn: Checkpoint | None, setup: bytes) -> bool:
    """Whether system prompt or tools were others at this turn; not if nobody noted them."""
    return turn is not None and bool(turn.setup and setup) and turn.setup != setup


def _last(bound: Sequence[bool], elsewhere: Callable[[int], bool]) -> int:
    """The last message whose thinking was made behind another beginning; -1 if there is none."""
    return next((index for index in range(len(bound) - 1, -1, -1) if bound[index] and elsewhere(index)), -1)


def end_of_task(messages: Sequence[Message], index: int) -> int:
    """The last message before the user speaks again: of one task's thinking Anthropic wants all or none, and what was
    left out once must not come back, as what was made since is bound to its absence."""
    while 0 <= index < len(messages) - 1 and not asks(messages[index + 1]):
        index += 1
    return index


def asks(message: Message) -> bool:
    """Whether it is the user who speaks, and not a tool alone."""
    return message.role == "user" and any(not isinstance(part, ToolResult) for part in message.parts)


def without_thinking(message: Message) -> Message:
    """The message rebuilt with no thinking in it; rebuilt, it has none put back either."""
    return message.edited(tuple(part for part in message.parts if not _is_thinking(part)))


def holds_thinking(message: Message) -> bool:
    """Whether thinking stands in the message itself."""
    return any(map(_is_thinking, message.parts))


def _is_thinking(part: Part) -> bool:
    if isinstance(part, Opaque):
        body = part.native.body
        return isinstance(body, Mapping) and cast("Mapping[str, Any]", body).get("type") == "redacted_thinking"
    return isinstance(part, Thinking)
