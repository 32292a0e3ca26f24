"""What a tool's words are: rows in one of six formats, or lines of text."""

from __future__ import annotations

import contextlib
import re
from typing import TypeAlias

import msgspec

from app.context.tool_results.json_rows import (
    DEEPEST,
    FIELDS,
    ITEMS,
    MOST_OF_IT,
    UNREADABLE,
    JsonRows,
    json_lines,
    nested,
    strict,
)
from app.context.tool_results.sections import sections
from app.context.tool_results.separated import markdown, separated
from app.context.tool_results.shapes import ROWS, Lines, Parked, Table, spelled
from app.context.tool_results.text_lines import lines_of, read_as

FEWEST_ROWS = 4
"""An array of fewer rows is no table: it is read by its sections."""

LARGEST_ROW = 6000
"""Bytes of a row, on average, above which rows that are mostly one deep value are read by their sections."""

MOST_WORDS = 4000
"""Characters of words in front of JSON rows, such as "Found 400 orders:"."""

_OPENING = re.compile(r"\[\s*[\[{\"]|\{\s*\"")
_FENCE = " \t\r\n`"

Whole: TypeAlias = Table | Lines


def recognised(text: str) -> Whole:
    """What stands in this text. Any text is something: at least lines.

    JSON that has NaN or Infinity, which is none, is taken with null in their place.
    """
    text = encodable(text).lstrip("\ufeff")
    first = text.lstrip()[:1]
    if first and first in "[{" and (found := _json(text)) is not None:
        return found
    if first == '"' and (inner := _unquoted(text)) is not None:
        return inner
    return among_words(text) or markdown(text) or lines_if_plain(text) or separated(text) or lines_of(text)


def parsed(parked: Parked) -> Whole:
    """A parked result, read as it was when it was made small."""
    if parked.kind in ROWS:
        return recognised(parked.text)
    return read_as(parked.kind, encodable(parked.text).lstrip("\ufeff"))


def encodable(text: str) -> str:
    """The text without halves of surrogate pairs, which no encoding can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def among_words(text: str) -> Table | None:
    """JSON rows with some words around them, or in a fence; the words are what stood beside the rows."""
    begin = _OPENING.search(text, 0, MOST_WORDS)
    if begin is None:
        return None
    start, end = begin.start(), text.rfind("]" if begin[0][0] == "[" else "}") + 1
    if end - start < len(text) * MOST_OF_IT:
        return None
    try:
        data, mended = strict(text[start:end])
    except UNREADABLE:
        return None
    rows = _rows(data)
    if rows is not None:
        rows.mended = mended
        around = (text[:start].strip(_FENCE), rows.beside, text[end:].strip(_FENCE))
        rows.beside = " … ".join(each for each in around if each)
    return rows


def lines_if_plain(text: str) -> Lines | None:
    """Lines, where the first one already tells that these are no records with a heading."""
    return None if any(mark in text[:4000] for mark in ",;\t") else lines_of(text)


def _json(text: str) -> Table | None:
    try:
        data, mended = strict(text)
    except UNREADABLE:
        return json_lines(text)
    rows = _rows(data)
    with contextlib.suppress(*UNREADABLE):
        rows = rows or _wrapped(data)
    rows = rows or sections(data)
    rows.mended = rows.mended or mended
    return rows


def _rows(data: bytes) -> JsonRows | None:
    """The rows of this JSON; None if it is no table."""
    try:
        rows = JsonRows("array", ITEMS.decode(data), len(data)) if data[:1] == b"[" else nested(data)
    except UNREADABLE:
        return None
    if rows is None or rows.total < FEWEST_ROWS or (len(data) > rows.total * LARGEST_ROW and _deep(rows)):
        return None
    return rows


def _wrapped(data: bytes) -> JsonRows | None:
    """Rows that are JSON text in the longest string of an object that is little else: an answer in its envelope, such
    as the Model Context Protocol's {"content": [{"type": "text", "text": …}]}. Raises one of UNREADABLE for no JSON."""
    inside, where, beside = data, "", list[str]()
    for _ in range(DEEPEST):
        if inside[:1] == b"{" and (fields := FIELDS.decode(inside)):
            name = max(fields, key=lambda each: len(bytes(fields[each])))
            inside, rest = bytes(fields.pop(name)), spelled((key, bytes(each)) for key, each in fields.items())
            where = f"{where}.{name}" if where else name
        elif inside[:1] == b"[" and len(items := ITEMS.decode(inside)) == 1:
            inside, rest = bytes(items[0]), b"{}"
            where += "[0]"
        else:
            break
        beside += [rest.decode()] if rest != b"{}" else []
    if inside[:1] != b'"' or len(inside) < len(data) * MOST_OF_IT:
        return None
    words = msgspec.json.decode(inside, type=str)
    if words.lstrip()[:1] not in ("[", "{"):
        return None
    inner, mended = strict(words)
    rows = _rows(inner)
    if rows is not None:
        rows.where = f"{where}, {rows.where}" if rows.where else where
        rows.beside = " … ".join([*beside, *([rows.beside] if rows.beside else [])])
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
