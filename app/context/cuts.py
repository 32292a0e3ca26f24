"""Where a chat may be cut: only before a user's own words, and inside one endless task only behind a finished exchange.

So no call loses its result, no result its call, and no thought its call; every provider takes what stands behind such a
cut. Results that carry words of a user as well belong to their calls, so there is no cut before them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.chat.model import Message, ToolResult


class Cuts(msgspec.Struct, frozen=True):
    """Legal cuts of a chat, as indices of the first message that stays.

    Args:
        plain: before the words of a user that begin a turn.
        loop: inside the newest turn, before an assistant message behind whose predecessor all calls are answered.
        newest: where the newest turn of the user begins.
        task_end: behind the user's words of that turn: what a loop works on, and so never part of what is cut away.
    """

    plain: tuple[int, ...]
    loop: tuple[int, ...]
    newest: int
    task_end: int


def cuts(messages: Sequence[Message], start: int = 0) -> Cuts:
    """The legal cuts behind index `start`, which is itself one (or the chat's beginning)."""
    answered = _answers(messages, start)
    plain: list[int] = []
    loop: list[int] = []
    newest = task_end = start
    waiting: set[str] = set()
    before = ""
    for index in range(start, len(messages)):
        message = messages[index]
        kind = _kind(message)
        if kind == "system":
            continue
        waiting = {call for call in waiting if answered.get(call, -1) >= index}
        if kind == "user":
            if before != "user":
                newest, loop = index, []
                if index > start and not waiting:
                    plain.append(index)
            task_end = index + 1
        elif kind == "assistant":
            if before == "result" and not waiting:
                loop.append(index)
            waiting.update(call.id for call in message.calls if call.id)
        before = kind
    return Cuts(tuple(plain), tuple(loop), newest, task_end)


def _answers(messages: Sequence[Message], start: int) -> dict[str, int]:
    """Where the last result of each call stands."""
    return {
        part.call_id: index
        for index in range(start, len(messages))
        if messages[index].role == "user"
        for part in messages[index].parts
        if type(part) is ToolResult
    }


def _kind(message: Message) -> str:
    if message.role != "user":
        return message.role
    parts = message.parts
    if len(parts) == 1:
        return "result" if type(parts[0]) is ToolResult else "user"
    return "result" if any(type(part) is ToolResult for part in parts) else "user"
