"""Bulky results that are folded away and can still be had: their handles are carried, or nobody could ask for them.

The small form of a result names its handle. Once the message that holds it is folded, the handle stands nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.context.critical import Critical, keys_of
from app.context.plan import Decision
from app.context.tool_results.handles import Handles
from app.context.tool_results.shapes import ROWS
from app.context.tool_results.step import Compaction, Shrunk

WEIGHT = 0.5
"""Of a handle: less than what users say, more than any value in a result."""

LONGEST_NAME = 60


def reachable(decisions: Iterable[Decision], first: int, end: int, handles: Handles | None) -> tuple[Critical, ...]:
    """The results that were made small in the messages from `first` up to `end`, each as a value that must not get
    lost: its handle, and how to ask by it. None where nobody may ask.

    Args:
        decisions: of the plan, that of the tool results among them.
    """
    if handles is None or not handles.fetch:
        return ()
    shrunk = (each for one in decisions if isinstance(one, Compaction) for each in one.results)
    return tuple(_value(each, handles.fetch) for each in shrunk if first <= each.message < end)


def _value(shrunk: Shrunk, fetch: str) -> Critical:
    unit = "rows" if shrunk.kind in ROWS else "lines"
    tool = shrunk.tool[:LONGEST_NAME] or "a tool"
    context = f"{shrunk.total} {unit} from {tool}: {fetch} gives them by the handle {shrunk.handle}"
    return Critical("id", shrunk.handle, next(iter(keys_of(shrunk.handle)), shrunk.handle), WEIGHT, context)
