"""A deep JSON object as rows of path and value: its sections, none larger than can be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.context.tool_results.json_rows import FIELDS, ITEMS, JsonRows
from app.context.tool_results.shapes import quoted, spelled

SECTION = 320
"""Bytes that one section may have before it is taken apart; small neighbours are kept together up to here."""

DEEPEST = 24
"""Levels that are taken apart. Each one reads its text again, so that a hostile depth must not cost its square."""

_PLAIN = re.compile(r"[A-Za-z_][\w-]*")


def sections(data: bytes) -> JsonRows:
    """The sections of this JSON text, in order: rows {"path", "value"}, each value as the source spells it."""
    return JsonRows(
        "object", [spelled((("path", quoted(path)), ("value", value))) for path, value in _walk(data, "", 0)]
    )


def _walk(data: bytes, path: str, depth: int) -> Iterator[tuple[str, bytes]]:
    opening = data[:1]
    if len(data) <= SECTION or opening not in (b"{", b"[") or depth == DEEPEST:
        yield path or "$", data
    elif opening == b"{":
        yield from _object(data, path, depth)
    else:
        yield from _array(data, path, depth)


def _object(data: bytes, path: str, depth: int) -> Iterator[tuple[str, bytes]]:
    together: list[tuple[str, bytes]] = []
    size = 0
    for name, value in FIELDS.decode(data).items():
        text = bytes(value)
        if together and size + len(text) > SECTION:
            yield path or "$", spelled(together)
            together, size = [], 0
        if len(text) > SECTION // 2:
            if together:
                yield path or "$", spelled(together)
                together, size = [], 0
            yield from _walk(text, _below(path, name), depth + 1)
        else:
            together.append((name, text))
            size += len(text) + len(name) + 4
    if together:
        yield path or "$", spelled(together)


def _array(data: bytes, path: str, depth: int) -> Iterator[tuple[str, bytes]]:
    together: list[bytes] = []
    first = size = 0
    for index, value in enumerate(ITEMS.decode(data)):
        text = bytes(value)
        large = len(text) > SECTION // 2
        if together and (large or size + len(text) > SECTION):
            yield _span(path, first, index), b"[" + b",".join(together) + b"]"
            together, size = [], 0
        if large:
            yield from _walk(text, f"{path}[{index}]", depth + 1)
        else:
            if not together:
                first = index
            together.append(text)
            size += len(text) + 1
    if together:
        yield _span(path, first, first + len(together)), b"[" + b",".join(together) + b"]"


def _span(path: str, first: int, end: int) -> str:
    return f"{path}[{first}:{end}]"


def _below(path: str, name: str) -> str:
    if not _PLAIN.fullmatch(name):
        return f"{path}[{quoted(name).decode()}]"
    return f"{path}.{name}" if path else name
