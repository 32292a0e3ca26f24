"""One value cut to a length: what is left out is counted where it stood."""

from __future__ import annotations

import msgspec

from app.context.tool_results.json_rows import UNREADABLE
from app.context.tool_results.shapes import quoted


def cut(value: bytes, longest: int, start: int = 0) -> bytes:
    """The value as it is if it has at most `longest` characters, else that many of them from `start` on, as a string.

    A string is cut by its words, an object or a list by its JSON text.
    """
    if len(value) <= longest and not start:
        return value
    words = _words(value)
    if len(words) <= longest and not start:
        return value
    shown, left = words[start : start + longest], len(words) - start - longest
    before = f"[{min(start, len(words))} characters before] …" if start else ""
    return quoted(f"{before}{shown}… [{left} more characters]" if left > 0 else f"{before}{shown}")


def _words(value: bytes) -> str:
    if value[:1] == b'"':
        try:
            return msgspec.json.decode(value, type=str)
        except UNREADABLE:
            return value.decode()
    return value.decode()
