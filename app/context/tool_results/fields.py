"""Which fields of a table are shown: those that the user named, else all that say something and not too much."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

import msgspec

from app.context.tool_results.columns import FieldStats
from app.context.tool_results.needles import Needle
from app.context.tool_results.shapes import quoted

Why: TypeAlias = Literal["not wanted", "empty", "constant", "duplicate", "giant", "wide"]

GIANT = 1600
"""Bytes of a field's value, on average, above which it takes the place of many rows: a page, an embedding, a file."""

WIDEST_SHARE = 0.125
"""Share of the budget that one row may take, on average, before some of its fields go."""

BYTES_A_TOKEN = 2.5
"""Of JSON, leaning low: how many bytes a token of the budget is good for."""


class Dropped(msgspec.Struct, frozen=True):
    """A field that is not shown. `as_` is the field that says the same, for a duplicate; the value, for a constant."""

    field: str
    why: Why
    as_: str = ""


class Choice(msgspec.Struct, frozen=True):
    """The fields to show; None: all, so that rows go out as the source spells them."""

    kept: frozenset[str] | None
    dropped: tuple[Dropped, ...]

    @property
    def hides(self) -> bool:
        """Whether anything that is not shown is nowhere else in the small form."""
        return any(each.why not in ("empty", "constant", "duplicate") for each in self.dropped)


def choice(
    fields: Sequence[FieldStats], total: int, keep: Sequence[str], budget: int, looked_for: Sequence[Needle]
) -> Choice:
    """What to show of each row, within `budget` tokens for all of them.

    Args:
        keep: the fields that the user wants. Those that no row has do not count; if none of them is there, none is set.
    """
    names = {each.name for each in fields}
    wanted = names.intersection(keep)
    if wanted:
        return _choice(fields, tuple(Dropped(each.name, "not wanted") for each in fields if each.name not in wanted))
    dropped = [*_saying_nothing(fields, total)]
    gone = {each.field for each in dropped}
    left = [each for each in fields if each.name not in gone]
    giants = [each for each in left if each.size > GIANT * each.present]
    if len(giants) < len(left):
        dropped += [Dropped(each.name, "giant") for each in giants]
        left = [each for each in left if each not in giants]
    if total > 1:
        dropped += _too_wide(left, total, budget, looked_for)
    order = {each.name: place for place, each in enumerate(fields)}
    return _choice(fields, tuple(sorted(dropped, key=lambda each: order[each.field])))


def _choice(fields: Sequence[FieldStats], dropped: tuple[Dropped, ...]) -> Choice:
    if not dropped or len(dropped) == len(fields):
        return Choice(None, ())
    gone = {each.field for each in dropped}
    return Choice(frozenset(each.name for each in fields if each.name not in gone), dropped)


def _saying_nothing(fields: Sequence[FieldStats], total: int) -> list[Dropped]:
    """Empty ones, ones with the same value in every row, and ones that repeat another."""
    dropped: list[Dropped] = []
    known: dict[tuple[int, int, int], str] = {}
    for each in fields:
        if not each.filled:
            dropped.append(Dropped(each.name, "empty"))
        elif each.constant(total) and each.largest <= 200:
            value = next(iter(each.counts or ()), b"")
            dropped.append(Dropped(each.name, "constant", value.decode()))
        else:
            same = known.setdefault((each.mark, each.present, each.size), each.name)
            if same != each.name and total > 1:
                dropped.append(Dropped(each.name, "duplicate", same))
    return dropped if len(dropped) < len(fields) else []


def _too_wide(left: Sequence[FieldStats], total: int, budget: int, looked_for: Sequence[Needle]) -> list[Dropped]:
    """The fields that do not fit beside the others: shorter, fuller and telling ones stay first."""
    room = budget * WIDEST_SHARE * BYTES_A_TOKEN
    sizes = {each.name: each.size / total + (len(quoted(each.name)) + 2) * each.present / total for each in left}
    if sum(sizes.values()) <= room:
        return []
    kept: set[str] = set()
    for each in sorted(left, key=lambda field: _worth(field, total, looked_for), reverse=True):
        if not kept or sizes[each.name] <= room:
            kept.add(each.name)
            room -= sizes[each.name]
    return [Dropped(each.name, "wide") for each in left if each.name not in kept]


def _worth(field: FieldStats, total: int, looked_for: Collection[Needle]) -> float:
    low = field.name.lower().encode()
    asked = any(needle.within(low) for needle in looked_for)
    odd = bool(field.outliers(total))
    return 4 * asked + 1.5 * odd + field.filled / total - field.size / field.present / 400
