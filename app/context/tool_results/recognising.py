"""What a tool's words are: rows in one of six formats, or lines of text."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from app.context.tool_results.json_rows import ITEMS, UNREADABLE, JsonRows, json_lines, nested, strict
from app.context.tool_results.sections import sections
from app.context.tool_results.separated import markdown, separated
from app.context.tool_results.shapes import ROWS, Lines, Parked, Table
from app.context.tool_results.text_lines import lines_of, read_as

FEWEST_ROWS = 4
"""An array of fewer rows is no table: it is read by its sections."""

LARGEST_ROW = 6000
"""Bytes of a row, on average, above which rows that are mostly one deep value are read by their sections."""

Whole: TypeAlias = Table | Lines


def recognised(text: str) -> Whole:
    """What stands in this text. Any text is something: at least lines.

    JSON that has NaN or Infinity, which is none, is taken with null in their place.
    """
    text = encodable(text)
    first = text.lstrip("\ufeff \t\r\n")[:1]
    if first and first in "[{" and (found := _json(text)) is not None:
        return found
    if first == '"' and (inner := _unquoted(text)) is not None:
        return inner
    return markdown(text) or lines_if_plain(text) or separated(text) or lines_of(text)


def parsed(parked: Parked) -> Whole:
    """A parked result, read as it was when it was made small."""
    if parked.kind in ROWS:
        return recognised(parked.text)
    return read_as(parked.kind, encodable(parked.text))


def encodable(text: str) -> str:
    """The text without halves of surrogate pairs, which no encoding can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def lines_if_plain(text: str) -> Lines | None:
    """Lines, where the first one already tells that these are no records with a heading."""
    return None if any(mark in text[:4000] for mark in ",;\t") else lines_of(text)


def _json(text: str) -> Table | None:
    try:
        data, mended = strict(text)
    except UNREADABLE:
        return json_lines(text)
    try:
        rows = JsonRows("array", ITEMS.decode(data)) if data[:1] == b"[" else nested(data)
    except UNREADABLE:
        rows = None
    if rows is None or rows.total < FEWEST_ROWS or (len(data) > rows.total * LARGEST_ROW and _deep(rows)):
        rows = sections(data)
    rows.mended = mended
    return rows


def _deep(rows: JsonRows) -> bool:
    """Whether the first row is mostly one object or list."""
    values = sorted(rows.cells(0).values(), key=len)
    return values[-1][:1] in (b"{", b"[") and len(values[-1]) * 2 > sum(map(len, values))


def _unquoted(text: str) -> Whole | None:
    """JSON inside a JSON string: some tools encode twice."""
    try:
        inside = msgspec.json.decode(text.strip(), type=str)
    except UNREADABLE:
        return None
    return _json(inside) if inside.lstrip()[:1] in ("[", "{") else None
