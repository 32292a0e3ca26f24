"""Which rows hold some words: looked for in a whole block at once, as most words stand in few rows or in none."""

from __future__ import annotations

from collections.abc import Sequence

from app.context.tool_results.needles import Needle, stands, stands_at

MANY = 12
"""Pieces a hit below which one look at each piece costs less than going from hit to hit."""


class Searched:
    """Some consecutive rows to search in.

    Args:
        text: them in lower case, as in `Block.searched`, with `sep` between two pieces.
        start: the number of the first row. count: how many there are.
    """

    def __init__(self, text: bytes, start: int, count: int, sep: bytes) -> None:
        self.text = text
        self._start = start
        self._count = count
        self._sep = sep
        self._pieces: list[bytes] = []

    def rows(self, needle: Needle, most: int) -> set[int]:
        """The rows in which a needle stands; once these are more than `most` it may be only some of them."""
        found: set[int] = set()
        for form in needle.forms:
            at = self.text.find(form)
            if at < 0:
                continue
            if self.text.count(form, at) * MANY > self._number_of_pieces():
                found.update(self._in_each(form, bounded=needle.bounded))
            else:
                self._from_hit_to_hit(form, at, found, most, bounded=needle.bounded)
            if len(found) > most:
                break
        return {self._start + row for row in found}

    def _number_of_pieces(self) -> int:
        return self.text.count(self._sep) + 1

    def _in_each(self, form: bytes, *, bounded: bool) -> list[int]:
        if not self._pieces:
            self._pieces = self.text.split(self._sep)
        pieces, count = self._pieces, self._count
        if bounded:
            return [at % count for at, piece in enumerate(pieces) if form in piece and stands(form, piece)]
        return [at % count for at, piece in enumerate(pieces) if form in piece]

    def _from_hit_to_hit(self, form: bytes, at: int, found: set[int], most: int, *, bounded: bool) -> None:
        text, sep = self.text, self._sep
        piece = before = 0
        while at >= 0:
            if bounded and not stands_at(text, at, len(form)):
                at = text.find(form, at + 1)
                continue
            piece += text.count(sep, before, at)
            found.add(piece % self._count)
            if len(found) > most:
                break
            before = at
            end = text.find(sep, at)
            at = text.find(form, end) if end >= 0 else -1


def hits_in(searched: Searched, found: Sequence[Needle], hits: Sequence[list[int]], most: int) -> None:
    """Add to `hits` the rows in which each needle stands, until it has more than `most`: that many tell nothing."""
    for needle, rows in zip(found, hits, strict=True):
        if len(rows) <= most:
            rows.extend(sorted(searched.rows(needle, most - len(rows))))
