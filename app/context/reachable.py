"""Bulky results that are folded away and can still be had: their handles are carried, or nobody could ask for them.

The small form of a result names its handle. Once the message that holds it is folded, the handle stands nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.context.critical import Critical, keys_of
from app.context.tool_results.handles import Handles
from app.context.tool_results.shapes import ROWS
from app.context.tool_results.step import Shrunk

WEIGHT = 0.5
"""Of a handle: less than what users say, more than any value in a result."""

LONGEST_NAME = 60


def reachable(shrunk: Iterable[Shrunk], handles: Handles) -> Iterator[Critical]:
    """Each result as a value that must not get lost: its handle, and how to ask by it. None where nobody may ask."""
    for each in shrunk if handles.fetch else ():
        unit = "rows" if each.kind in ROWS else "lines"
        tool = each.tool[:LONGEST_NAME] or "a tool"
        context = f"{each.total} {unit} from {tool}: {handles.fetch} gives them by the handle {each.handle}"
        yield Critical("id", each.handle, next(iter(keys_of(each.handle)), each.handle), WEIGHT, context)
