"""One tool result: left as it is, or made small within its budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from app.chat import size
from app.chat.family import Family
from app.chat.model import Media, Opaque, Text, ToolResult
from app.context.tool_results.fields import Choice, Dropped, choice
from app.context.tool_results.needles import needles
from app.context.tool_results.recognising import encodable, recognised
from app.context.tool_results.rows_form import RowsForm, Small
from app.context.tool_results.settings import DEFAULT, LEAST, LIMITS, Limits, ToolSettings
from app.context.tool_results.shapes import Kind, Lines, Table
from app.context.tool_results.surveying import survey
from app.context.tool_results.text_form import TextForm

HandleOf: TypeAlias = Callable[[bytes], str]
"""Gives the handle of a result's text, always the same one; it is bound to a tenant and a session by who made it."""

DENSEST = 2.5
"""Tokens that one character takes at most, for any family: a shorter text need not be counted."""

SAMPLED = 100_000
"""Characters from which on a text is counted by samples: a few hundredths off, in a fraction of the time."""

_PIECES = 32
_PIECE = 3_000


class Compacted(msgspec.Struct, frozen=True):
    """A result made small.

    Args:
        content: the new parts: the small form where the first words stood, and all media as they were.
        before, after: tokens of the words, estimated.
        kind: what the words were taken for. handle: where the whole is.
        total, returned: rows or lines, of the whole and of the small form.
        dropped: the fields that are not shown, and why.
        truncated: whether anything is left out that can only be had with the handle.
    """

    content: tuple[Text | Media | Opaque, ...]
    before: int
    after: int
    kind: Kind
    handle: str
    total: int
    returned: int
    dropped: tuple[Dropped, ...]
    truncated: bool


def compacted(
    result: ToolResult,
    question: str,
    settings: ToolSettings = DEFAULT,
    handle_of: HandleOf | None = None,
    limits: Limits = LIMITS,
) -> Compacted | None:
    """The result made small; None if it is to go on untouched: an error, one that fits, or one that would not shrink.

    Args:
        question: what the user had asked before this call; rows and lines that share its critical tokens are preferred.
        handle_of: None: nothing can be stored, and so nothing is made small.
    """
    if handle_of is None or result.is_error or not settings.compact or (limits.fetch and result.name == limits.fetch):
        return None
    text = words_of(result)
    smallest = min(settings.budget or limits.rows, settings.budget or limits.text)
    if settings.keep_fields:
        smallest = min(smallest, limits.heavy)
    if len(text) * DENSEST <= smallest or (before := tokens_of(text, limits.family)) <= smallest:
        return None
    whole = recognised(text)
    budget = settings.budget or (limits.text if isinstance(whole, Lines) else limits.rows)
    chosen = bool(settings.keep_fields) and not isinstance(whole, Lines)
    if before <= (min(budget, limits.heavy) if chosen else budget):
        return None
    handle = handle_of(encodable(text).encode())
    small, dropped = _small(whole, text, question, settings, handle, limits, max(budget, LEAST))
    if small.tokens >= before:
        return None
    total = len(whole.lines) if isinstance(whole, Lines) else whole.total
    content = _content(result, small.text)
    return Compacted(content, before, small.tokens, whole.kind, handle, total, small.returned, dropped, small.truncated)


def words_of(result: ToolResult) -> str:
    """The words of a result: several text parts as lines of one text, so that one JSON value a part is JSON Lines."""
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def tokens_of(text: str, family: Family) -> int:
    """Tokens of a text, by samples all over it if it is long."""
    if len(text) <= SAMPLED:
        return size.of_text(text, family)
    step = (len(text) - _PIECE) // (_PIECES - 1)
    sampled = sum(size.of_text(text[at * step : at * step + _PIECE], family) for at in range(_PIECES))
    return sampled * len(text) // (_PIECES * _PIECE)


def _small(
    whole: Table | Lines, text: str, question: str, settings: ToolSettings, handle: str, limits: Limits, budget: int
) -> tuple[Small, tuple[Dropped, ...]]:
    looked_for = needles(question)
    if isinstance(whole, Lines):
        return TextForm(whole, len(text), looked_for, handle, limits).within(budget), ()
    found = survey(whole, looked_for, settings.keep_fields)
    chosen = (
        Choice(None, ())
        if whole.kind == "object"
        else choice(found, settings.keep_fields, _bytes_in(budget, whole, limits), looked_for)
    )
    small = RowsForm(whole, found, chosen, handle, limits).within(budget)
    if small.returned == found.total and any(each.why == "giant" for each in chosen.dropped):
        fuller = chosen.with_giants(found)
        cut_short = RowsForm(whole, found, fuller, handle, limits).with_all_rows(budget)
        if cut_short is not None:
            return cut_short, fuller.dropped
    return small, chosen.dropped


def _bytes_in(budget: int, table: Table, limits: Limits) -> int:
    """How many bytes of such rows a budget of tokens is good for, by the first row."""
    row = table.raw(0)[:4000]
    return budget * len(row) // max(size.of_text(row.decode("utf-8", "replace"), limits.family), 1)


def _content(result: ToolResult, small: str) -> tuple[Text | Media | Opaque, ...]:
    """The small form in place of the first words; media stay where they were."""
    first = next(place for place, part in enumerate(result.content) if isinstance(part, Text))
    return tuple(
        Text(small) if place == first else part
        for place, part in enumerate(result.content)
        if place == first or not isinstance(part, Text)
    )
