"""Thinking that a model binds to the prefix it was made behind is left out where that prefix was rewritten.

Claude's newest models refuse a chat in which a thinking block stands behind another beginning than the one it was made
behind (https://docs.claude.com/en/docs/build-with-claude/extended-thinking, "preserved thinking"). Allowed are: none of
it, or all but an oldest run. So everything up to the last turn that went out under another fold goes without its
thinking; what was made under the fold in force is bound to that, and stays. The same rule gives the same bytes on every
later turn. Other providers' signatures (Gemini's) are not bound, and stay.
"""

from __future__ import annotations

import re

import msgspec

from app.chat.model import Message, Opaque, Part, Thinking
from app.context.known import Known
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
    last = _last_under_another(messages, known, draft.fold.upto)
    stripped = tuple(_without_thinking(message) if index <= last else message for index, message in enumerate(messages))
    count = sum(new is not old for new, old in zip(stripped, messages, strict=True))
    if not count:
        return draft
    reason = f"{count} messages go without their thinking: this model binds it to a beginning that is folded now."
    chat = msgspec.structs.replace(draft.chat, messages=stripped)
    return draft.decided(Decision("thinking", str(count), reason), chat)


def _last_under_another(messages: tuple[Message, ...], known: Known, line: bytes) -> int:
    """The last of these messages whose thinking was not made under the fold at `line`; -1 if there is none.

    The fold stands in front: from behind, these messages are the client's own, one for one.
    """
    ahead = len(known.addresses) - len(messages)
    for index in range(len(messages) - 1, -1, -1):
        if not any(map(_is_thinking, messages[index].parts)):
            continue
        mine = index + ahead
        turn = known.checkpoints.get(known.addresses[mine]) if mine >= 0 else None
        if turn is None or turn.folded != line:
            return index
    return -1


def _without_thinking(message: Message) -> Message:
    if message.role != "assistant" or not any(map(_is_thinking, message.parts)):
        return message
    return message.edited(tuple(part for part in message.parts if not _is_thinking(part)))


def _is_thinking(part: Part) -> bool:
    if isinstance(part, Opaque):
        body = part.native.body
        return isinstance(body, dict) and body.get("type") == "redacted_thinking"
    return isinstance(part, Thinking)
