"""The most of a list that fits: found by measuring what would really be written, never by a guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.chat import size
from app.chat.family import Family

START = 32
CLOSE = 0.985
"""Share of the budget from which on a text is full enough: the last row is not worth another three measurements."""


def most_that_fits(total: int, build: Callable[[int], str], budget: int, family: Family) -> tuple[int, str]:
    """The largest count from 0 to `total` whose text takes at most `budget` tokens, and that text; (-1, '') for none.

    `build` gives the text for a count, and grows with it about evenly: then a few measurements find it. Only a text
    that was measured is ever given back.
    """
    best, text = -1, ""
    low, high = 0, total
    probe = min(START, total)
    while low <= high:
        made = build(probe)
        tokens = size.of_text(made, family)
        if tokens <= budget:
            best, text = probe, made
            if probe == total or tokens >= budget * CLOSE:
                break
            low = probe + 1
        else:
            high = probe - 1
        probe = _next(probe, tokens, budget, low, high)
    return best, text


def _next(probe: int, tokens: int, budget: int, low: int, high: int) -> int:
    """Where the budget should be reached if every row takes as much; within the bounds, and never stuck at one."""
    aim = int(probe * budget * (1 + CLOSE) / 2 / tokens) if tokens else high
    if high - low < 4:
        return (low + high) // 2
    span = (high - low) // 8 if high - low < probe else 0
    return max(low + span, min(aim, high - span, max(probe * 8, START)))


def prefix_that_fits(entries: Sequence[bytes], budget: int, family: Family) -> list[bytes]:
    """As many of the first entries as fit together."""
    count, _ = most_that_fits(
        len(entries), lambda many: b",".join(entries[:many]).decode("utf-8", "replace"), budget, family
    )
    return list(entries[: max(count, 0)])


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
