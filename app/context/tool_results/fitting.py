"""The most of a list that fits: found by measuring what would really be written, never by a guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.chat import size
from app.chat.family import Family

START = 32


def most_that_fits(total: int, build: Callable[[int], str], budget: int, family: Family) -> tuple[int, str]:
    """The largest count from 0 to `total` whose text takes at most `budget` tokens, and that text; (-1, '') for none.

    `build` gives the text for a count; it should grow with it. Only a text that was measured is ever given back.
    """
    best, text = -1, ""
    low, high = 0, total
    probe = min(START, total)
    while low <= high:
        made = build(probe)
        if size.of_text(made, family) <= budget:
            best, text = probe, made
            low = probe + 1
            probe = min(probe * 2, high) if high == total and probe < total else (low + high) // 2
            probe = max(probe, low)
        else:
            high = probe - 1
            probe = (low + high) // 2
    return best, text


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
