"""What each field of a table holds: kinds, counts, extremes, and which rows stick out by it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from math import isfinite, sqrt
from operator import mul
from typing import NamedTuple

import msgspec

from app.context.tool_results.shapes import SEP, Column

DISTINCT = 400
"""Values of one field that are counted; a field with more has no counts."""

REPEATED = 3
"""Rows a value, on average, below which a field has no counts: its values hardly repeat."""

FEW = 8
"""Rows a value, on average, above which a rare value sticks out."""

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

SAMPLE = 128
"""Numbers of a block by which it is seen how high the highest must be."""

LONG = 200
"""Bytes of a value above which it may be an outlier by its length, and its field has no counts."""

EXACT_DIGITS = 15
"""Numbers of more characters are compared as decimals: a float would confuse neighbours."""

_DATE = re.compile(rb'"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d[^"]{0,24})?"')
_FLOATS = msgspec.json.Decoder(list[float])
_NUMERALS = b"0123456789+-.eE" + SEP
_FRACTION = (b".", b"e", b"E")
_EMPTY = {"string": SEP + b'""', "array": SEP + b"[]", "object": SEP + b"{}", "null": SEP + b"null"}
"""How an empty value of each kind begins; nothing else of the kind begins so."""

_KIND = dict(zip(b'"{[tfn', ("string", "object", "array", "boolean", "boolean", "null"), strict=True))


class Extreme(NamedTuple):
    """A number, as the source spells it, and its row."""

    value: float | Decimal
    text: bytes
    row: int


class FieldStats:
    """What is gathered of one field, block by block.

    Attributes: `filled` counts rows with a value that is not empty, `size` is bytes, `only` is the first value,
    `absent` names rows without the field.
    """

    def __init__(self, name: str, total: int) -> None:
        self.name = name
        self._total = total
        self._most = min(DISTINCT, max(total // REPEATED, 1))
        self.present = self.filled = self.size = 0
        self.counts: dict[bytes, int] | None = {}
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
        self._longest: tuple[int, int] = (LONG, -1)
        self._sum = self._squares = 0.0
        self._all_dates = self._all_integers = True
        self._strange: list[int] | None = None

    def add(self, column: Column, start: int, count: int) -> None:
        """Take in the field's values of one block, which has `count` rows from `start` on."""
        values, framed = column.values, column.framed
        here = len(values)
        if self.only is None:
            self.only = values[0]
        self.present += here
        if here < count and len(self.absent) < MOST_OUTLIERS:
            self.absent += sorted({*range(start, start + count)}.difference(column.rows))[:MOST_OUTLIERS]
        self.size += len(framed) - here
        self.mark = hash((self.mark, column.rows[0], here, framed))
        distinct = self._count(column)
        self._same = self._same and (
            len(distinct) == 1 and self.only in distinct
            if distinct
            else values[-1] == self.only and values.count(self.only) == here
        )
        longest = self._lengths(column, distinct or values)
        kinds = self._kinds(column)
        self.filled += here - sum(framed.count(_EMPTY[kind]) for kind in kinds if kind in _EMPTY)
        if "number" in kinds:
            self._numbers(column, distinct, longest, mixed=len(kinds) > 1)
        if "string" in kinds and self._all_dates:
            self._dates(values)
        self._strange = None

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
        if self._strange is None:
            self._strange = self._strangers(total)
        return self._strange

    def _strangers(self, total: int) -> list[int]:
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
        return [row] if row >= 0 and longest > FAR * self.size / self.present else []

    def _rare_values(self, total: int) -> list[int]:
        """The first row of each value that is rare where others are not.

        An id of its own in each row is no outlier, nor is any of a hundred values that are all about as frequent.
        """
        if self.counts is None or not self.counts or len(self.counts) * FEW > total:
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

    def _lengths(self, column: Column, values: Iterable[bytes]) -> int:
        """The length of the longest one."""
        longest = max(map(len, values))
        if longest > self._longest[0]:
            at = next(at for at, value in enumerate(column.values) if len(value) == longest)
            self._longest = (longest, column.rows[at])
        return longest

    def _kinds(self, column: Column) -> set[str]:
        """The kinds that this block's values are of, noted with the first rows of each."""
        here, framed = len(column.values), column.framed
        if not framed.translate(None, _NUMERALS):
            found = {"number": here}
        elif framed.count(SEP + b'"') == here:
            found = {"string": here}
        else:
            each = [_KIND.get(value[0], "number") for value in column.values]
            found = Counter(each)
            for kind in found:
                if len(found) > 1 and len(self._kind_rows.get(kind, ())) < MOST_OUTLIERS:
                    self._note(kind, [row for row, its in zip(column.rows, each, strict=True) if its == kind])
        self.kinds.update(found)
        if len(found) == 1:
            self._note(next(iter(found)), column.rows)
        return set(found)

    def _note(self, kind: str, rows: Sequence[int]) -> None:
        """The first rows that have a value of this kind."""
        noted = self._kind_rows.setdefault(kind, [])
        if len(noted) < MOST_OUTLIERS:
            noted += rows[: MOST_OUTLIERS - len(noted)]

    def _count(self, column: Column) -> Mapping[bytes, int]:
        """How often each value stands in this block; empty if the field has too many for that to tell anything."""
        values, counts = column.values, self.counts
        if counts is None or len(set(values[: 2 * self._most])) > self._most:
            self.counts, self._first = None, {}
            return {}
        fresh = Counter(values)
        new = [value for value in fresh if value not in counts] if counts else list(fresh)
        if len(counts) + len(new) > self._most or (new and max(map(len, new)) > LONG):
            self.counts, self._first = None, {}
            return {}
        if (len(counts) + len(new)) * FEW <= self._total:
            at = 0
            for value in new:  # each one comes first somewhere behind where the one before it did
                at = values.index(value, at)
                self._first[value] = column.rows[at]
        if not counts:
            self.counts = dict(fresh)
        else:
            for value, count in fresh.items():
                counts[value] = counts.get(value, 0) + count
        return fresh

    def _numbers(self, column: Column, distinct: Mapping[bytes, int], longest: int, *, mixed: bool) -> None:
        if len(distinct) * REPEATED > len(column.values):
            distinct = {}
        texts: Sequence[bytes] = list(distinct) or column.values
        together = column.framed
        if mixed:
            texts = [text for text in texts if text[0] not in _KIND]
            together, longest = SEP.join(texts), max(map(len, texts))
        floats = _floats(texts)
        counts = [distinct[text] for text in texts] if distinct else None
        self.numbers += sum(counts) if counts else len(texts)
        self._all_integers = self._all_integers and not any(map(together.__contains__, _FRACTION))
        weighed = list(map(mul, floats, counts)) if counts else floats
        self._sum += sum(weighed)
        self._squares += sum(map(mul, weighed, floats))
        exact = longest > EXACT_DIGITS
        values: list[float | Decimal] = list(map(_exactly, texts)) if exact else list(floats)
        each = values
        if counts:
            each = [value for value, count in zip(values, counts, strict=True) for _ in range(min(count, EXTREMES))]
        if some := self._ends(each):
            known = (column, values, texts)
            self.low = [*self.low, *_extremes(sorted(some)[:EXTREMES], *known)]
            self.high = [*self.high, *_extremes(sorted(some, reverse=True)[:EXTREMES], *known)]
            self.low = sorted(self.low, key=_by_value)[:EXTREMES]
            self.high = sorted(self.high, key=_by_value, reverse=True)[:EXTREMES]

    def _ends(self, values: list[float | Decimal]) -> list[float | Decimal]:
        """Some of the values: all that may be among the lowest or the highest of the field."""
        if len(self.low) == EXTREMES == len(self.high):
            lowest, highest = self.low[-1].value, self.high[-1].value
            return [value for value in values if value < lowest or value > highest]
        sample = sorted(values[:: len(values) // SAMPLE + 1])
        if len(sample) < 2 * EXTREMES:
            return values
        lowest, highest = sample[EXTREMES - 1], sample[-EXTREMES]
        return [value for value in values if value <= lowest or value >= highest]

    def _dates(self, values: list[bytes]) -> None:
        first = next((value for value in values if value[:1] == b'"' and value != b'""'), None)
        if first is None:
            return
        if not _DATE.fullmatch(first):
            self._all_dates, self.dates = False, None
            return
        said = [value for value in values if value[:1] == b'"' and value != b'""']
        first, last = min(said), max(said)
        probe = (first, last, said[0], said[len(said) // 2], said[-1])
        if not all(map(_DATE.fullmatch, probe)):
            self._all_dates, self.dates = False, None
            return
        self.dates = (min(first, self.dates[0]), max(last, self.dates[1])) if self.dates else (first, last)


def _floats(texts: Sequence[bytes]) -> list[float]:
    """Numbers as floats; one beyond their range is infinite."""
    try:
        return _FLOATS.decode(b"[" + b",".join(texts) + b"]")
    except msgspec.DecodeError:
        return list(map(float, texts))


def _exactly(text: bytes) -> float | Decimal:
    """The number, to its last digit. One whose exponent no decimal takes is what a float makes of it: 0 or infinite."""
    try:
        return Decimal(text.decode())
    except InvalidOperation:
        return float(text)


def _extremes(
    chosen: Sequence[float | Decimal], column: Column, values: Sequence[float | Decimal], texts: Sequence[bytes]
) -> Iterator[Extreme]:
    """Each of the chosen values once, as it is spelled where it stands first."""
    for value in dict.fromkeys(chosen):
        text = texts[values.index(value)]
        yield Extreme(value, text, column.rows[column.values.index(text)])


def _by_value(each: Extreme) -> float | Decimal:
    return each.value
