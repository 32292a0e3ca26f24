"""Bulky tool results made small: the same result gets the same small form on every turn.

Pure: what comes out depends on the result, its tool's settings, and the question that stood before it, never on what
is said later. The whole stays reachable under a handle (see app.tools.fetch_rows).
"""

from __future__ import annotations

from app.context.tool_results.compacting import Compacted, HandleOf, compacted
from app.context.tool_results.recognising import parsed
from app.context.tool_results.settings import DEFAULT, LIMITS, Limits, ToolSettings
from app.context.tool_results.shapes import Kind, Parked

__all__ = [
    "DEFAULT",
    "LIMITS",
    "Compacted",
    "HandleOf",
    "Kind",
    "Limits",
    "Parked",
    "ToolSettings",
    "compacted",
    "parsed",
]
