"""CSV, TSV and Markdown tables as rows. A column whose every cell is spelled as a JSON number is one of numbers.

A column with a single "007" stays one of strings: what looks like a number there is an identifier.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence

from app.context.tool_results.json_rows import ITEMS
from app.context.tool_results.shapes import BLOCK, Block, Cells, Column, Kind, quoted, spelled

LEAST_ROWS = 4
UNEVEN = 0.02
"""Share of records that may have another number of cells than the heading."""

LONGEST_NAME = 80
_NUMBERS = re.compile(r"(?:(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)?\n)*", re.ASCII)
_HEADING = re.compile(r"[^\W\d]")
_DIGITS_FIRST = re.compile(r"[\d\[({<\"']")
_RULE = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?\s*$|\s*\|\s*:?-+:?\s*\|\s*$")
_BAR = re.compile(r"(?<!\\)\|")


class SeparatedRows:
    """A Table of records with a heading. Records are read again when they are needed: cells take far more than text."""

    where = ""
    mended = False

    def __init__(self, kind: Kind, heading: list[str], records: Records, beside: str = "") -> None:
        self.kind: Kind = kind
        self.beside = beside
        self._heading = heading
        self._records = records
        self._numbers = _number_columns(records, len(heading))

    @property
    def total(self) -> int:
        """How many rows there are."""
        return self._records.total

    def blocks(self) -> Iterator[Block]:
        """All rows in order, a block at a time."""
        for start in range(0, self.total, BLOCK):
            records = self._records.read(start, min(start + BLOCK, self.total))
            span = range(start, start + len(records))
            texts = ["\n".join(record).encode() for record in records]
            turned = zip(*(self._whole(record) for record in records), strict=True)
            columns = [
                Column(name, span, self._spelled(index, list(cells)))
                for index, (name, cells) in enumerate(zip(self._heading, turned, strict=True))
            ]
            yield Block(start, columns, texts)

    def raw(self, row: int) -> bytes:
        """The record as a JSON object."""
        return spelled(self.cells(row).items())

    def cells(self, row: int) -> Cells:
        """The record by field."""
        record = self._whole(self._records.read(row, row + 1)[0])
        pairs = enumerate(zip(self._heading, record, strict=True))
        return {name: self._spelled(index, [cell])[0] for index, (name, cell) in pairs}

    def _whole(self, record: list[str]) -> list[str]:
        """A record with as many cells as the heading. What is too many is joined to the last one."""
        width = len(self._heading)
        if len(record) > width:
            return [*record[: width - 1], " ".join(record[width - 1 :])]
        return record if len(record) == width else [*record, *[""] * (width - len(record))]

    def _spelled(self, index: int, cells: list[str]) -> list[bytes]:
        """Cells of one column as JSON text."""
        if self._numbers[index]:
            return [cell.encode() or b'""' for cell in cells]
        return list(map(bytes, ITEMS.decode(quoted(cells))))


class Records:
    """Records in lines of text, each starting at a known line.

    Args:
        lines: with their ends.
        starts: the line that each record begins at, and at last the line where the last one ends.
    """

    def __init__(self, lines: list[str], starts: array[int], delimiter: str) -> None:
        self._lines = lines
        self._starts = starts
        self._delimiter = delimiter

    @property
    def total(self) -> int:
        """How many records there are."""
        return len(self._starts) - 1

    def read(self, first: int, end: int) -> list[list[str]]:
        """The cells of some records."""
        lines = self._lines[self._starts[first] : self._starts[end]]
        if self._delimiter == "|":
            return [_bars(line) for line in lines]
        return [record for record in csv.reader(lines, delimiter=self._delimiter) if record]


def separated(text: str) -> SeparatedRows | None:
    """CSV (`,` or `;`) or TSV as rows; None if it is something else."""
    head = text.lstrip("\ufeff\n\r")[:4000].split("\n", 1)[0]
    if _DIGITS_FIRST.match(head) and not head.startswith('"'):
        return None
    found = Counter({mark: head.count(mark) for mark in "\t,;"}).most_common(1)
    delimiter, marks = found[0]
    if not marks:
        return None
    lines = text.lstrip("\ufeff").splitlines(keepends=True) if "\r" in text and "\n" not in text else _lines(text)
    widths: Counter[int] = Counter()
    starts = array("l", [])
    heading: list[str] = []
    before = 0
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        for record in reader:
            if record and not heading:
                heading = record
                if not _names(heading):
                    return None
            elif record:
                starts.append(before)
                widths[len(record)] += 1
                if len(starts) == 50 and widths[len(heading)] < 45:
                    return None
            before = reader.line_num
    except csv.Error:
        return None
    starts.append(before)
    total = len(starts) - 1
    if total < LEAST_ROWS or total - widths[len(heading)] > max(total * UNEVEN, 1):
        return None
    names = [name.strip() for name in heading]
    return SeparatedRows("tsv" if delimiter == "\t" else "csv", names, Records(lines, starts, delimiter))


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.lstrip("\ufeff\n\r").split("\n")]


def _names(heading: Sequence[str]) -> bool:
    names = [name.strip() for name in heading]
    if len(names) < 2 or len(set(names)) < len(names):
        return False
    return all(len(name) <= LONGEST_NAME and _HEADING.search(name) for name in names)


def markdown(text: str) -> SeparatedRows | None:
    """The largest Markdown table of a text as rows, if it is most of the text; else None."""
    if "|" not in text or "--" not in text:
        return None
    lines = text.split("\n")
    best = (0, 0)
    for index in range(1, len(lines)):
        if "-" in lines[index] and "|" in lines[index - 1] and index >= best[1] and _RULE.match(lines[index]):
            end = next((at for at in range(index + 1, len(lines)) if "|" not in lines[at]), len(lines))
            if end - index > best[1] - best[0]:
                best = (index, end)
    rule, end = best
    if end - rule - 1 < LEAST_ROWS or sum(map(len, lines[rule:end])) < len(text) * 0.6:
        return None
    heading = [name.strip("*` ") or f"column {place}" for place, name in enumerate(_bars(lines[rule - 1]), 1)]
    if len(set(heading)) < len(heading):
        return None
    beside = "\n".join([*lines[: rule - 1], *lines[end:]]).strip()
    return SeparatedRows("markdown", heading, Records(lines, array("l", range(rule + 1, end + 1)), "|"), beside)


def _bars(line: str) -> list[str]:
    line = line.strip()
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)]


def _number_columns(records: Records, width: int) -> list[bool]:
    numbers = [True] * width
    for start in range(0, records.total, BLOCK):
        rows = [row for row in records.read(start, min(start + BLOCK, records.total)) if len(row) == width]
        for index, cells in enumerate(zip(*rows, strict=True)):
            if numbers[index]:
                numbers[index] = _NUMBERS.fullmatch("\n".join(cells) + "\n") is not None
    return numbers
