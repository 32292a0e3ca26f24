"""Which fields of a table are shown: those that the user named, else all that say something and not too much."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

import msgspec

from app.context.tool_results.columns import FieldStats
from app.context.tool_results.cutting import cut
from app.context.tool_results.needles import Needle
from app.context.tool_results.shapes import quoted
from app.context.tool_results.surveying import Survey

Why: TypeAlias = Literal["not wanted", "empty", "constant", "duplicate", "giant", "wide"]

GIANT = 1600
"""Bytes of a field's value, on average, above which it takes the place of many rows: a page, an embedding, a file."""

LONGEST_CONSTANT = 300
"""Characters that are told of a value that is the same in every row."""

WIDEST_SHARE = 0.1
"""Share of the room that one row may take, on average, before some of its fields go."""


class Dropped(msgspec.Struct, frozen=True):
    """A field that is not shown.

    Args:
        as_: for a duplicate the field that says the same; for a constant its value as JSON text, cut if it is `long`.
    """

    field: str
    why: Why
    as_: str = ""
    long: bool = False


class Choice(msgspec.Struct, frozen=True):
    """The fields to show; None: all, so that rows go out as the source spells them.

    Args:
        beyond: how many fields are not shown because there are too many to be looked at.
    """

    kept: frozenset[str] | None = None
    dropped: tuple[Dropped, ...] = ()
    beyond: int = 0

    @property
    def hides(self) -> bool:
        """Whether anything that is not shown is nowhere else in the small form."""
        return self.beyond > 0 or any(
            each.long or each.why not in ("empty", "constant", "duplicate") for each in self.dropped
        )

    def with_giants(self, found: Survey) -> Choice:
        """The same, but giant fields are shown, to be cut."""
        return _choice(found, tuple(each for each in self.dropped if each.why != "giant"))


def choice(found: Survey, keep: Sequence[str], room: int, looked_for: Sequence[Needle]) -> Choice:
    """What to show of each row.

    Args:
        keep: the fields that the user wants. Those that no row has do not count; if none of them is there, none is set.
        room: bytes that all rows may take together, about.
    """
    fields, total = found.fields, found.total
    wanted = {each.name for each in fields}.intersection(keep)
    if wanted:
        return _choice(found, tuple(Dropped(each.name, "not wanted") for each in fields if each.name not in wanted))
    dropped = _saying_nothing(fields, total)
    gone = {each.field for each in dropped}
    left = [each for each in fields if each.name not in gone]
    giants = [each for each in left if each.size > GIANT * each.present]
    if len(giants) < len(left):
        dropped += [Dropped(each.name, "giant") for each in giants]
        left = [each for each in left if each not in giants]
    if total > 1:
        dropped += _too_wide(left, total, room, looked_for)
    order = {each.name: place for place, each in enumerate(fields)}
    return _choice(found, tuple(sorted(dropped, key=lambda each: order[each.field])))


def _choice(found: Survey, dropped: tuple[Dropped, ...]) -> Choice:
    if len(dropped) == len(found.fields) or not (dropped or found.more):
        return Choice()
    gone = {each.field for each in dropped}
    return Choice(frozenset(each.name for each in found.fields if each.name not in gone), dropped, found.more)


def _saying_nothing(fields: Sequence[FieldStats], total: int) -> list[Dropped]:
    """Empty ones, ones with the same value in every row, and ones that repeat another."""
    dropped: list[Dropped] = []
    known: dict[tuple[int, int, int], str] = {}
    for each in fields:
        if not each.filled:
            dropped.append(Dropped(each.name, "empty"))
        elif each.constant(total):
            value = each.only or b""
            told = cut(value, LONGEST_CONSTANT)
            dropped.append(Dropped(each.name, "constant", told.decode(), told is not value))
        else:
            same = known.setdefault((each.mark, each.present, each.size), each.name)
            if same != each.name and total > 1:
                dropped.append(Dropped(each.name, "duplicate", same))
    return dropped if len(dropped) < len(fields) else []


def _too_wide(left: Sequence[FieldStats], total: int, room: float, looked_for: Sequence[Needle]) -> list[Dropped]:
    """The fields that do not fit beside the others: the first (mostly a name), telling, full and short ones stay."""
    room *= WIDEST_SHARE
    sizes = {each.name: each.size / total + (len(quoted(each.name)) + 2) * each.present / total for each in left}
    if sum(sizes.values()) <= room:
        return []
    kept: set[str] = set()
    worth = {each.name: _worth(each, total, looked_for) + (2 if each is left[0] else 0) for each in left}
    for each in sorted(left, key=lambda field: worth[field.name], reverse=True):
        if not kept or sizes[each.name] <= room:
            kept.add(each.name)
            room -= sizes[each.name]
    return [Dropped(each.name, "wide") for each in left if each.name not in kept]


def _worth(field: FieldStats, total: int, looked_for: Collection[Needle]) -> float:
    low = field.name.lower().encode()
    asked = any(needle.within(low) for needle in looked_for)
    odd = 2.5 if field.strangers(total) else 1.0 if field.outliers(total) else 0.0
    return 4 * asked + odd + field.filled / total - field.size / field.present / 400
