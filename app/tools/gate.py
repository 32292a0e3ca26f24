"""Which calls of an answer are ours to answer, and the results that they get."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from app.chat.model import Text, ToolCall, ToolResult
from app.context.tool_results import Parked
from app.tools.fetch_rows import BOUNDS, Bounds, answer, asked_of, refusal

FETCHES = 8
"""Calls of ours that are answered within one turn of the client's."""

ENOUGH = (
    "No more rows are given in this turn: {most} calls were answered. Go on with what you have, say what you could not "
    "look at, or ask the user to narrow the question down."
)


AWAY = (
    "What is kept under this handle cannot be read just now. Ask once more; if that fails too, go on without it and "
    "say so, or call the tool that gave it again."
)


class Split(msgspec.Struct, frozen=True):
    """The calls of one answer: those to our tool, and the client's own."""

    ours: tuple[ToolCall, ...]
    theirs: tuple[ToolCall, ...]


def split(calls: Sequence[ToolCall], name: str) -> Split:
    """Sort calls by whose tool they are to.

    Args:
        name: that of our tool in this chat; empty if it was not offered: then nothing is ours.
    """
    ours = tuple(call for call in calls if name and call.name == name)
    return Split(ours, tuple(call for call in calls if not (name and call.name == name)))


def handles_of(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """The handles that these calls name, each once: what has to be looked up before they can be answered."""
    asked = (asked_of(call.arguments) for call in calls)
    return tuple(dict.fromkeys(each.handle for each in asked if not isinstance(each, str) and each.handle))


def results(
    calls: Sequence[ToolCall],
    find: Callable[[str], Parked | None],
    bounds: Bounds = BOUNDS,
    *,
    answered: int = 0,
    most: int = FETCHES,
    away: Collection[str] = (),
) -> tuple[ToolResult, ...]:
    """One result for each of our calls, in order.

    Args:
        find: what is parked under a handle of this session; None if nothing is.
        away: handles that could not be looked up: the store, which has the one copy, does not answer.
        answered: how many of our calls this turn has had answered already. From `most` on the model is told to stop.
    """
    given: list[ToolResult] = []
    for place, call in enumerate(calls, answered):
        if place >= most:
            said = refusal(ENOUGH.format(most=most))
        else:
            asked = asked_of(call.arguments)
            handle = "" if isinstance(asked, str) else asked.handle
            said = refusal(AWAY) if handle in away else answer(find(handle), call.arguments, bounds)
        given.append(ToolResult(call.id, (Text(said.text),), call.name, said.is_error))
    return tuple(given)
