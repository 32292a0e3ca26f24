"""Where a chat may be cut: only before a user's own words, and inside one endless task only behind a finished exchange.

So no call loses its result, no result its call, and no thought its call; every provider takes what stands behind such a
cut. Results that carry words of a user as well belong to their calls, so there is no cut before them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.chat.model import Message, ToolCall, ToolResult


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
    answers = _answers(messages, start)
    plain: list[int] = []
    loop: list[int] = []
    newest = task_end = start
    answered = -1  # where the last result of all calls so far stands
    before = ""
    for index in range(start, len(messages)):
        message = messages[index]
        kind = _kind(message)
        if kind == "system":
            continue
        if kind == "user":
            if before != "user":
                newest, loop = index, []
                if before and answered < index:
                    plain.append(index)
            task_end = index + 1
        elif kind == "assistant":
            if before == "result" and answered < index:
                loop.append(index)
            answered = max(answered, answers.get(index, -1))
        before = kind
    return Cuts(tuple(plain), tuple(loop), newest, task_end)


def _answers(messages: Sequence[Message], start: int) -> dict[int, int]:
    """Where the last result stands of the calls in each message that calls.

    A result belongs to the nearest call of its id before it: some servers number the calls of every answer anew.
    """
    found: dict[int, int] = {}
    last: dict[str, int] = {}
    for index in range(len(messages) - 1, start - 1, -1):
        for part in messages[index].parts:
            if type(part) is ToolResult:
                last.setdefault(part.call_id, index)
            elif type(part) is ToolCall and part.id in last:
                found[index] = max(found.get(index, -1), last.pop(part.id))
    return found


def _kind(message: Message) -> str:
    if message.role != "user":
        return message.role
    parts = message.parts
    if len(parts) == 1:
        return "result" if type(parts[0]) is ToolResult else "user"
    return "result" if any(type(part) is ToolResult for part in parts) else "user"
