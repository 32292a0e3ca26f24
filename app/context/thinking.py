"""Thinking that a model binds to the prefix it was made behind is left out where that prefix was rewritten.

Claude's newest models refuse a chat in which a thinking block stands behind another beginning than the one it was made
behind (https://docs.claude.com/en/docs/build-with-claude/extended-thinking, "preserved thinking"). Allowed are: none of
it, or all but an oldest run. So everything up to the last turn that went out under another fold goes without its
thinking; what was made under the fold in force is bound to that, and stays. The same rule gives the same bytes on every
later turn. That holds too for thinking that the client dropped and that would be put back from what the provider said:
such a message is rebuilt, and so has nothing put back. Other providers' signatures (Gemini's) are not bound, and stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from app.chat.model import Message, Opaque, Part, Thinking
from app.context.known import Checkpoint, Known
from app.context.plan import Decision, Draft
from app.context.policy import Policy

_BINDING = re.compile(r"claude-(?:fable|mythos)-5-[1-9]|claude-(?:opus|sonnet|haiku)-5-[5-9]")


def binds_thinking(model: str) -> bool:
    """Whether a model's thinking holds only behind the prefix that it was made behind."""
    return bool(_BINDING.search(model.lower().replace(".", "-")))


def unbind(draft: Draft, known: Known, policy: Policy) -> Draft:
    """The draft without thinking that was made behind another beginning; the same draft if there is none."""
    if draft.fold is None or known.scale is None or not known.scale.binds:
        return draft
    messages = draft.chat.messages
    turns = [_turn(messages, known, index) for index in range(len(messages))]
    bound = [_has_thinking(message, turn) for message, turn in zip(messages, turns, strict=True)]
    last = _last_under_another(bound, turns, draft.fold.upto)
    stripped = tuple(
        _without_thinking(message) if index <= last and bound[index] else message
        for index, message in enumerate(messages)
    )
    count = sum(bound[: last + 1])
    if not count:
        return draft
    them, their = ("1 message goes", "its") if count == 1 else (f"{count} messages go", "their")
    reason = f"{them} without {their} thinking: this model binds it to a beginning that is folded now."
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
    return any(map(_is_thinking, message.parts)) or bool(turn and turn.seals)


def _last_under_another(bound: Sequence[bool], turns: Sequence[Checkpoint | None], line: bytes) -> int:
    """The last message whose thinking was not made under the fold at `line`; -1 if there is none."""
    for index in range(len(bound) - 1, -1, -1):
        if bound[index] and ((turn := turns[index]) is None or turn.folded != line):
            return index
    return -1


def _without_thinking(message: Message) -> Message:
    return message.edited(tuple(part for part in message.parts if not _is_thinking(part)))


def _is_thinking(part: Part) -> bool:
    if isinstance(part, Opaque):
        body = part.native.body
        return isinstance(body, Mapping) and cast("Mapping[str, Any]", body).get("type") == "redacted_thinking"
    return isinstance(part, Thinking)
