"""One pass over a table: what its fields hold, and which rows are worth showing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, zip_longest

import msgspec

from app.context.tool_results.columns import FieldStats
from app.context.tool_results.needles import RARE, Needle, forms_of, ranked
from app.context.tool_results.searching import Searched, hits_in
from app.context.tool_results.sections import Sections
from app.context.tool_results.shapes import SEP, Table

MOST_FIELDS = 400
"""Fields that are looked at. A table with more (an object keyed by id, say) keeps the first ones."""

FIRST = 2
"""Rows from the beginning that come before anything else."""

TROUBLE = (
    "error",
    "exception",
    "fail",
    "fatal",
    "panic",
    "critical",
    "denied",
    "refused",
    "timeout",
    "timed out",
    "corrupt",
)
TROUBLE_BEYOND_ASCII = ("エラー", "失敗", "異常", "错误", "失败", "오류")
"""Words of rows that tell of trouble. The second ones are looked for only where there is more than ASCII."""

TROUBLED = 0.5
"""Share of the rows above which such a word is the name of a field, or what the table is about."""

_WORDS = tuple(Needle((word.encode(),), False, 1.0) for word in TROUBLE)
_MORE_WORDS = tuple(Needle(forms_of(word), False, 1.0) for word in TROUBLE_BEYOND_ASCII)


class Survey(msgspec.Struct, frozen=True):
    """What one pass found.

    Args:
        fields: what each field holds, in order of first appearance.
        more: fields beyond those.
        matching: rows that share something with the question, the best first. troubled: those with errors.
        odd: rows that stick out by a value.
    """

    total: int
    fields: tuple[FieldStats, ...]
    more: int
    matching: tuple[int, ...]
    troubled: tuple[int, ...]
    odd: tuple[int, ...]

    def order(self) -> Iterator[int]:
        """All rows, the one most worth showing first: a few first ones, then matches, errors, outliers and
        further first ones in turns."""
        seen: set[int] = set()
        first = range(min(FIRST, self.total))
        streams = zip_longest(self.matching, self.troubled, self.odd, range(FIRST, self.total))
        for row in chain(first, (row for some in streams for row in some if row is not None)):
            if row not in seen:
                seen.add(row)
                yield row


def survey(table: Table, looked_for: Sequence[Needle], keep: Collection[str] = ()) -> Survey:
    """Look at every row once, a block at a time. The fields in `keep` are looked at however many there are."""
    total = table.total
    fields: dict[str, FieldStats] = {}
    beyond: set[str] = set()
    hits: list[list[int]] = [[] for _ in looked_for]
    trouble: list[list[int]] = [[] for _ in (*_WORDS, *_MORE_WORDS)]
    most, most_trouble = int(max(total * RARE, 3)), int(max(total * TROUBLED, 3))
    for block in table.blocks():
        for column in () if isinstance(table, Sections) else block.columns:
            stats = fields.get(column.name)
            if stats is None:
                if len(fields) >= MOST_FIELDS and column.name not in keep:
                    beyond.add(column.name)
                    continue
                stats = fields[column.name] = FieldStats(column.name, total)
            stats.add(column, block.start, block.length)
        searched = Searched(block.searched.lower(), block.start, block.length, SEP)
        hits_in(searched, looked_for, hits, most)
        hits_in(searched, _WORDS, trouble[: len(_WORDS)], most_trouble)
        if not searched.text.isascii() or b"\\u" in searched.text:
            hits_in(searched, _MORE_WORDS, trouble[len(_WORDS) :], most_trouble)
    odd = _openings(table) if isinstance(table, Sections) else _odd(fields.values(), total)
    return Survey(
        total,
        tuple(fields.values()),
        len(beyond),
        tuple(ranked(hits, looked_for, total)),
        tuple(ranked(trouble, (*_WORDS, *_MORE_WORDS), total, TROUBLED)),
        tuple(dict.fromkeys(odd)),
    )


def _odd(fields: Collection[FieldStats], total: int) -> list[int]:
    """Rows that stick out, each field's strangest first."""
    strange = zip_longest(*(stats.strangers(total) for stats in fields))
    by_field = zip_longest(*(stats.outliers(total) for stats in fields))
    return [row for rows in chain(strange, by_field) for row in rows if row is not None]


def _openings(table: Sections) -> list[int]:
    """The first section below each key of an object, its outermost keys first."""
    outer: dict[str, int] = {}
    inner: dict[str, int] = {}
    for row, value in enumerate(table.paths):
        path = value.decode().replace("[", ".").split(".", 2)
        outer.setdefault(path[0], row)
        inner.setdefault(".".join(path[:2]), row)
    return [*outer.values(), *list(inner.values())[:MOST_FIELDS]]
