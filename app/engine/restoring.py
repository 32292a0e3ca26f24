"""What the provider said and the client dropped goes back to the provider that said it.

A checkpoint lies at the address where an assistant turn ends; the address vouches that the client's copy says the same.
Only to the same upstream and model: a signature means nothing to another, and may be refused there.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from app.chat.model import Chat, Message, Part, ToolResult
from app.context.known import Checkpoint
from app.engine.routing import Candidate


def for_candidate(chat: Chat, holds: bool) -> Chat:
    """The chat for an upstream: whole, or, if it `holds` the chain, from the assistant turn on that is continued."""
    if not chat.after or (holds and not chat.since):
        return chat
    if not holds:
        return msgspec.structs.replace(chat, after="", since=0)
    start = chat.since - 1
    while start > 0 and chat.messages[start - 1].role == "assistant":
        start -= 1
    return msgspec.structs.replace(chat, messages=chat.messages[start:], since=chat.since - start)


def restored(chat: Chat, checkpoints: Mapping[int, Checkpoint], candidate: Candidate) -> tuple[Chat, int]:
    """The chat with its assistant turns as `candidate` itself wrote them, and how many that were.

    `checkpoints` are by identity of the message that ends the turn: messages that a step rebuilt have none.
    """
    usable = {
        key: checkpoint
        for key, checkpoint in checkpoints.items()
        if checkpoint.sealed
        and (checkpoint.upstream, checkpoint.model) == (candidate.upstream.name, candidate.model)
        and checkpoint.wire == candidate.upstream.wire.name
    }
    if not usable:
        return chat, 0
    loop_start = _last_plain_user(chat.messages)
    messages: list[Message] = []
    count = 0
    for index, message in enumerate(chat.messages):
        if (checkpoint := usable.get(id(message))) is None:
            messages.append(message)
            continue
        whole, pieces = _whole_turn(messages, message)
        back = candidate.upstream.wire.restore(whole, checkpoint.sealed, index > loop_start)
        if back is whole:
            messages.append(message)
            continue
        count += 1
        del messages[len(messages) - pieces :]
        messages.append(back)
    if not count:
        return chat, 0
    since = chat.since and chat.since - (len(chat.messages) - len(messages))  # turns were only joined in front of it
    return msgspec.structs.replace(chat, messages=tuple(messages), since=since), count


def _whole_turn(before: list[Message], message: Message) -> tuple[Message, int]:
    """The assistant turn that ends with `message`, and how many messages before it the client made of it."""
    pieces = 0
    while pieces < len(before) and before[-1 - pieces].role == "assistant":
        pieces += 1
    if not pieces:
        return message, 0
    parts: list[Part] = [part for piece in before[-pieces:] for part in piece.parts]
    return Message("assistant", (*parts, *message.parts)), pieces


def _last_plain_user(messages: tuple[Message, ...]) -> int:
    """The index of the newest user message that holds more than tool results; -1 if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user" and any(not isinstance(part, ToolResult) for part in message.parts):
            return index
    return -1
