"""What each field of a table holds: kinds, counts, extremes, and which rows stick out by it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from math import isfinite, sqrt
from typing import NamedTuple

from app.context.tool_results.shapes import Column

DISTINCT = 400
"""Values of one field that are counted; a field with more has no counts."""

RARE = 0.02
"""Share of the rows below which a value of a field with few values sticks out."""

SCARCE = 6
"""How many times as frequent the others must be on average."""

MOST_OUTLIERS = 12
"""Rows that one field may name as outliers."""

FAR = 3.5
"""Standard deviations from the mean, or times the mean length, that make an outlier."""

EXTREMES = 4
"""Lowest and highest numbers of a field that are kept."""

EXACT_DIGITS = 15
"""Numbers of more characters are compared as decimals: a float would confuse neighbours."""

_DATE = re.compile(rb'"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d[^"]{0,24})?"')
_FRACTION = re.compile(rb"[.eE]")
_EMPTY = frozenset((b"null", b'""', b"[]", b"{}"))
_LONGEST_EMPTY = 4
_KIND = dict(zip(b'"{[tfn', ("string", "object", "array", "boolean", "boolean", "null"), strict=True))


class Extreme(NamedTuple):
    """A number, as the source spells it, and its row."""

    value: float | Decimal
    text: bytes
    row: int


class FieldStats:
    """What is gathered of one field, block by block.

    Attributes: `filled` counts rows with a value that is not empty, `size` is bytes, `largest` the longest value's,
    `only` is the first value, `absent` names rows without the field.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.present = self.filled = self.size = self.largest = 0
        self.counts: Counter[bytes] | None = Counter()
        self.kinds: Counter[str] = Counter()
        self.numbers = 0
        self.low: list[Extreme] = []
        self.high: list[Extreme] = []
        self.dates: tuple[bytes, bytes] | None = None
        self.mark = 0
        self.only: bytes | None = None
        self.absent: list[int] = []
        self._same = True
        self._first: dict[bytes, int] = {}
        self._kind_rows: dict[str, list[int]] = {}
        self._longest: tuple[int, int] = (0, -1)
        self._sum = self._squares = 0.0
        self._all_dates = self._all_integers = True

    def add(self, column: Column, start: int, count: int) -> None:
        """Take in the field's values of one block, which has `count` rows from `start` on."""
        values = column.values
        lengths = list(map(len, values))
        if self.only is None:
            self.only = values[0]
        self._same = self._same and values.count(self.only) == len(values)
        self.present += len(values)
        if len(values) < count and len(self.absent) < MOST_OUTLIERS:
            self.absent += sorted({*range(start, start + count)}.difference(column.rows))[:MOST_OUTLIERS]
        self.size += sum(lengths)
        self.mark = hash((self.mark, column.rows[0], len(values), b"\x1f".join(values)))
        self._lengths(column.rows, lengths)
        kinds = self._kinds(column)
        if kinds == {"number"} or min(lengths) > _LONGEST_EMPTY:
            self.filled += len(values)
        else:
            self.filled += len(values) - sum(map(values.count, _EMPTY))
        self._count(column)
        if "number" in kinds:
            self._numbers(column, mixed=len(kinds) > 1)
        if "string" in kinds and self._all_dates:
            self._dates(values)

    @property
    def mean(self) -> float | None:
        """Of the numbers; None if there are none, or if they are beyond what a float holds."""
        mean = self._sum / self.numbers if self.numbers else None
        return mean if mean is not None and isfinite(mean) else None

    def kind(self) -> str:
        """What the values are, such as `integer` or `string|null`."""
        names = sorted(self.kinds, key=lambda each: (each == "null", each))
        shown = {"string": "date" if self.dates else "string", "number": "integer" if self._all_integers else "number"}
        return "|".join(shown.get(name, name) for name in names)

    def constant(self, total: int) -> bool:
        """Whether every row has the same value."""
        return total > 1 and self.present == total and self._same

    def outliers(self, total: int) -> list[int]:
        """Rows that stick out by this field, the strangest first."""
        return list(dict.fromkeys([*self.strangers(total), *self._rare_values(total), *self._long()]))[:MOST_OUTLIERS]

    def strangers(self, total: int) -> list[int]:
        """Rows that are unlike the others in kind: another type, a missing field, a number far off."""
        rows: list[int] = []
        rare = max(total * RARE, 1)
        for kind, count in self.kinds.items():
            if count <= rare and len(self.kinds) > 1:
                rows += self._kind_rows[kind]
        if total - self.present <= rare:
            rows += self.absent
        if self.present <= rare < total:
            rows += [row for found in self._kind_rows.values() for row in found]
        return [*rows, *self._far()]

    def _long(self) -> list[int]:
        """The row of a value that is far longer than the others."""
        longest, row = self._longest
        return [row] if longest > 200 and longest > FAR * self.size / self.present else []

    def _rare_values(self, total: int) -> list[int]:
        """The first row of each value that is rare where others are not.

        An id of its own in each row is no outlier, nor is any of a hundred values that are all about as frequent.
        """
        if self.counts is None or not self.counts or len(self.counts) * 8 > total:
            return []
        most = min(max(total * RARE, 1), total / len(self.counts) / SCARCE)
        scarce = [value for value, count in self.counts.items() if count <= most]
        scarce.sort(key=lambda value: (self.counts or {})[value])
        return [self._first[value] for value in scarce]

    def _far(self) -> list[int]:
        mean = self.mean
        if mean is None or self.numbers < 8:
            return []
        spread = sqrt(max(self._squares / self.numbers - mean * mean, 0))
        if not isfinite(spread):
            return [*(each.row for each in self.high[:1]), *(each.row for each in self.low[:1])]
        far = [
            (abs(float(each.value) - mean), each.row)
            for each in (*self.low, *self.high)
            if abs(float(each.value) - mean) > FAR * spread > 0
        ]
        return [row for _, row in sorted(far, key=lambda each: (-each[0], each[1]))]

    def _lengths(self, rows: Sequence[int], lengths: list[int]) -> None:
        longest = max(lengths)
        if longest > self._longest[0]:
            self._longest = (longest, rows[lengths.index(longest)])
        self.largest = self._longest[0]

    def _kinds(self, column: Column) -> set[str]:
        values = column.values
        kinds = {_KIND.get(sign, "number") for sign in {value[0] for value in values}}
        if len(kinds) == 1:
            (kind,) = kinds
            self.kinds[kind] += len(values)
            self._note(kind, column.rows)
            return kinds
        each = [_KIND.get(value[0], "number") for value in values]
        for kind, count in Counter(each).items():
            self.kinds[kind] += count
            self._note(kind, [row for row, its in zip(column.rows, each, strict=True) if its == kind])
        return kinds

    def _note(self, kind: str, rows: Sequence[int]) -> None:
        """The first rows that have a value of this kind."""
        noted = self._kind_rows.setdefault(kind, [])
        if len(noted) < MOST_OUTLIERS:
            noted += rows[: MOST_OUTLIERS - len(noted)]

    def _count(self, column: Column) -> None:
        if self.counts is None:
            return
        fresh = Counter(column.values)
        for value in fresh:
            if value not in self.counts:
                if len(value) > 200 or len(self._first) >= DISTINCT:
                    self.counts = None
                    self._first = {}
                    return
                self._first[value] = column.rows[column.values.index(value)]
                self.counts[value] = 0
        self.counts.update(fresh)

    def _numbers(self, column: Column, *, mixed: bool) -> None:
        rows, texts = column.rows, column.values
        if mixed:
            chosen = [(row, text) for row, text in zip(rows, texts, strict=True) if text[0] not in _KIND]
            rows, texts = [row for row, _ in chosen], [text for _, text in chosen]
        floats = list(map(float, texts))
        exact = max(map(len, texts)) > EXACT_DIGITS
        values: list[float | Decimal] = [Decimal(text.decode()) for text in texts] if exact else list(floats)
        self.numbers += len(values)
        self._all_integers = self._all_integers and not _FRACTION.search(b" ".join(texts))
        self._sum += sum(floats)
        self._squares += sum([value * value for value in floats])
        ordered = sorted(values)
        low = [values.index(value) for value in dict.fromkeys(ordered[:EXTREMES])]
        high = [values.index(value) for value in dict.fromkeys(ordered[: -EXTREMES - 1 : -1])]
        self.low = sorted([*self.low, *(Extreme(values[at], texts[at], rows[at]) for at in low)], key=_by_value)[
            :EXTREMES
        ]
        more = [*self.high, *(Extreme(values[at], texts[at], rows[at]) for at in high)]
        self.high = sorted(more, key=_by_value, reverse=True)[:EXTREMES]

    def _dates(self, values: list[bytes]) -> None:
        said = [value for value in values if value[:1] == b'"' and value != b'""']
        if not said:
            return
        first, last = min(said), max(said)
        probe = (first, last, said[0], said[len(said) // 2], said[-1])
        if not all(map(_DATE.fullmatch, probe)):
            self._all_dates, self.dates = False, None
            return
        self.dates = (min(first, self.dates[0]), max(last, self.dates[1])) if self.dates else (first, last)


def _by_value(each: Extreme) -> float | Decimal:
    return each.value
