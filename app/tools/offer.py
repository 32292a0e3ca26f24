"""The tool that a model is offered as soon as a result of its chat was made small, and the name that it goes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.chat.model import Tool
from app.tools.where import OPERATORS

NAME = "fetch_rows"
OTHER_NAMES = ("foldline_fetch_rows", "foldline_fetch_rows_2")
"""Taken where the client has a tool of the same name."""

DESCRIPTION = (
    "Reads more of a tool result that was made small. Such a result shows its handle, how many rows (or numbered "
    "lines) the whole has, and only some of them. Give the handle and an offset, or a filter, to get the others. For "
    "rows: where picks them by field, fields shortens them. For text: search finds lines that contain some words. All "
    "parameters but handle are optional."
)

_CONDITION: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "field": {"type": "string", "description": "A field of the rows; dots reach into objects."},
        "op": {
            "type": "string",
            "enum": OPERATORS,
        },
        "value": {
            "type": "string",
            "description": "What to compare with; for in a JSON list.",
        },
    },
    "required": ["field", "op"],
}

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "The handle that the small result names, such as res_…"},
        "offset": {
            "type": "integer",
            "description": "How many rows or lines (of those that match) to skip. 0 is the first.",
        },
        "limit": {"type": "integer", "description": "How many to give at most."},
        "fields": {"type": "array", "items": {"type": "string"}, "description": "Only these fields of each row."},
        "where": {"type": "array", "items": _CONDITION, "description": "Only rows that meet all of these conditions."},
        "search": {"type": "string", "description": "Only rows or lines that contain these words, in any case."},
        "start": {"type": "integer", "description": "For values that were cut: the character to begin at."},
        "beside": {"type": "boolean", "description": "true: what the result held beside its rows."},
    },
    "required": ["handle"],
}
"""Plain types only, no unions and no nulls: every provider's own reading of JSON Schema takes it."""


def name_for(tools: Sequence[Tool]) -> str:
    """A name that none of the client's tools has."""
    taken = {tool.name for tool in tools}
    return next(name for name in (NAME, *OTHER_NAMES, f"foldline_fetch_rows_{len(taken)}x") if name not in taken)


def is_offered(tools: Sequence[Tool]) -> bool:
    """Whether the tool stands among these: it is always the last one."""
    return bool(tools) and tools[-1].description == DESCRIPTION


def offer(name: str = NAME) -> Tool:
    """The tool. It is always the very same, so that the prompt's beginning does not move."""
    return Tool(name, DESCRIPTION, SCHEMA)
