"""The most of a list that fits: found by measuring what would really be written, never by a guess."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.chat import size
from app.chat.family import Family
from app.chat.script import Script, script_of, together

START = 32
CLOSE = 0.985
"""Share of the budget from which on a text is full enough: the last row is not worth another three measurements."""


ASCII, OTHERS = 4, 1.6
"""Characters a token by the rule of thumb."""

HOPELESS = 40
"""Characters for each token of the budget from which on a text is not measured: no such text fits, and measuring
megabytes takes long."""


class Extent(NamedTuple):
    """How much a text is: what it is made of, and its characters in and beyond ASCII."""

    script: Script = Script()
    ascii: int = 0
    others: int = 0

    def with_(self, other: Extent) -> Extent:
        """Of both texts one after the other; see `script.together` for when that is exact."""
        script = together(self.script, other.script)
        return Extent(script, self.ascii + other.ascii, self.others + other.others)

    def tokens(self, family: Family, *, bound: bool = False) -> int:
        """Its tokens; with `bound`, at most: see `most_tokens`."""
        tokens = size.of_script(self.script, family) if any(self.script) else 0
        return max(tokens, math.ceil(self.ascii / ASCII + self.others / OTHERS)) if bound else tokens

    def weighed(self, budget: int, family: Family, *, bound: bool = False) -> int:
        """Its tokens, or any number beyond the budget if it is hopelessly large."""
        characters = self.ascii + self.others
        return self.tokens(family, bound=bound) if characters < HOPELESS * budget else characters // ASCII


def extent_of(text: str, budget: int = 0) -> Extent:
    """How much a text is. What is hopelessly large for the budget, if there is one, is not looked into."""
    ascii_only = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    hopeless = budget and len(text) >= HOPELESS * budget
    return Extent(Script() if hopeless or not text else script_of(text), ascii_only, len(text) - ascii_only)


def most_tokens(text: str, family: Family) -> int:
    """What a text takes at most where a bound must hold: by the family's weights, or by the rule of thumb if that is
    more. Whoever counts by either finds the bound kept."""
    return extent_of(text).tokens(family, bound=True)


def most_that_fits(
    total: int, build: Callable[[int], str], budget: int, family: Family, *, bound: bool = False
) -> tuple[int, str]:
    """The largest count from 0 to `total` whose text takes at most `budget` tokens, and that text; (-1, '') for none.

    `build` gives the text for a count. With `bound` it is measured by `most_tokens`.
    """
    made: dict[int, str] = {}

    def measure(count: int) -> int:
        made[count] = build(count)
        return extent_of(made[count], budget).weighed(budget, family, bound=bound)

    count = largest(total, measure, budget)
    return count, made.get(count, "")


def largest(total: int, measure: Callable[[int], int], budget: int) -> int:
    """The largest count from 0 to `total` of at most `budget` tokens; -1 if there is none.

    `measure` gives the tokens for a count, and grows with it about evenly: then a few measurements find it. Only a
    count that was measured is ever given back.
    """
    best = -1
    low, high = 0, total
    probe = min(START, total)
    while low <= high:
        tokens = measure(probe)
        if tokens <= budget:
            best = probe
            if probe == total or tokens >= budget * CLOSE:
                break
            low = probe + 1
        else:
            high = probe - 1
        probe = _next(probe, tokens, budget, low, high)
    return best


def _next(probe: int, tokens: int, budget: int, low: int, high: int) -> int:
    """Where the budget should be reached if every row takes as much; within the bounds, and never stuck at one."""
    aim = int(probe * budget * (1 + CLOSE) / 2 / tokens) if tokens else high
    if high - low < 4:
        return (low + high) // 2
    span = (high - low) // 8 if high - low < probe else 0
    return max(low + span, min(aim, high - span, max(probe * 8, START)))


class Measured:
    """How much the first so many entries of a list are: however many counts are tried, each entry is measured once.

    Args:
        text: gives the entries from one to another as they are written, each with the mark that parts it from its
            neighbours: so all are what their pieces are.
        budget: tokens; see `extent_of`.
    """

    def __init__(self, text: Callable[[int, int], str], budget: int) -> None:
        self._text = text
        self._budget = budget
        self._counts = [0]
        self._extents = [Extent()]

    def __call__(self, count: int) -> Extent:
        """Of the first `count` entries."""
        place = bisect_right(self._counts, count)
        known, extent = self._counts[place - 1], self._extents[place - 1]
        if known == count:
            return extent
        extent = extent.with_(extent_of(self._text(known, count), self._budget))
        self._counts.insert(place, count)
        self._extents.insert(place, extent)
        return extent


def prefix_that_fits(entries: Sequence[bytes], budget: int, family: Family) -> list[bytes]:
    """As many of the first entries as fit together, with a comma between two."""
    measured = Measured(lambda start, end: (b",".join(entries[start:end]) + b",").decode("utf-8", "replace"), budget)
    count = largest(len(entries), lambda count: _but_one_comma(measured(count)).weighed(budget, family), budget)
    return list(entries[: max(count, 0)])


def _but_one_comma(extent: Extent) -> Extent:
    """Without the comma behind the last entry."""
    script = extent.script
    return Extent(script._replace(punctuation=max(script.punctuation - 1, 0)), max(extent.ascii - 1, 0), extent.others)


def ranges(rows: Sequence[int], most: int = 40) -> str:
    """Sorted numbers in short: `0-40, 77, 199`; after so many pieces only how many more there are."""
    pieces: list[tuple[int, int]] = []
    for row in rows:
        if pieces and pieces[-1][1] == row - 1:
            pieces[-1] = (pieces[-1][0], row)
        else:
            pieces.append((row, row))
    words = [str(first) if first == last else f"{first}-{last}" for first, last in pieces[:most]]
    if len(pieces) > most:
        words.append(f"and {sum(last - first + 1 for first, last in pieces[most:])} more")
    return ", ".join(words)
