"""CSV, TSV and Markdown tables as rows. A column whose every cell is spelled as a JSON number is one of numbers.

A column with a single "007" stays one of strings: what looks like a number there is an identifier.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from app.context.tool_results.json_rows import ITEMS
from app.context.tool_results.shapes import BLOCK, Block, Cells, Column, Kind, quoted, spelled

LEAST_ROWS = 4
UNEVEN = 0.02
"""Share of records that may have another number of cells than the heading."""

LONGEST_NAME = 80
LONGEST_RULE = 2000

_SEP = "\x1f"  # the control character for just this; a text that has it is no table
_NUMBERS = re.compile(rf"(?:(?:-?(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+-]?\d++)?+)?+{_SEP})*+", re.ASCII)
_HEADING = re.compile(r"[^\W\d]")
_DIGITS_FIRST = re.compile(r"[\d\[({<']")
_RULE = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?\s*$|\s*\|\s*:?-+:?\s*\|\s*$")
_BAR = re.compile(r"(?<!\\)\|")


class SeparatedRows:
    """A Table of records with a heading.

    Columns are kept as one string a block: as cells they would take ten times the text's memory.

    Args:
        columns: for each block of rows, each column's cells in one string.
        numbers: which columns hold nothing but numbers.
    """

    where = ""
    mended = False

    def __init__(
        self, kind: Kind, heading: list[str], columns: list[list[str]], total: int, numbers: Sequence[bool], beside: str
    ) -> None:
        self.kind: Kind = kind
        self.total = total
        self.beside = beside
        self._heading = heading
        self._columns = columns
        self._numbers = numbers
        self._open: tuple[int, list[list[str]]] = (-1, [])

    def blocks(self) -> Iterator[Block]:
        """All rows in order, a block at a time."""
        for place in range(len(self._columns)):
            cells = self._cells_of(place)
            start = place * BLOCK
            span = range(start, start + len(cells[0]))
            texts = [text.encode() for text in map(_SEP.join, zip(*cells, strict=True))]
            columns = [
                Column(name, span, self._spelled(index, column))
                for index, (name, column) in enumerate(zip(self._heading, cells, strict=True))
            ]
            yield Block(start, columns, texts)

    def raw(self, row: int) -> bytes:
        """The record as a JSON object."""
        return spelled(self.cells(row).items())

    def cells(self, row: int) -> Cells:
        """The record by field."""
        place, at = divmod(row, BLOCK)
        pairs = enumerate(zip(self._heading, self._cells_of(place), strict=True))
        return {name: self._spelled(index, column[at : at + 1])[0] for index, (name, column) in pairs}

    def _cells_of(self, place: int) -> list[list[str]]:
        """The cells of a block by column; the last one asked for is kept, as rows are mostly read in order."""
        if self._open[0] != place:
            self._open = (place, [column.split(_SEP) for column in self._columns[place]])
        return self._open[1]

    def _spelled(self, index: int, cells: Sequence[str]) -> list[bytes]:
        """Cells of one column as JSON text."""
        if self._numbers[index]:
            return [cell or b'""' for cell in _SEP.join(cells).encode().split(b"\x1f")]
        together = "".join(cells)
        if together.isprintable() and '"' not in together and "\\" not in together:
            return ('"' + '"\n"'.join(cells) + '"').encode().split(b"\n")
        return list(map(bytes, ITEMS.decode(quoted(cells))))


def separated(text: str) -> SeparatedRows | None:
    """CSV (`,` or `;`) or TSV as rows; None if it is something else."""
    text = text.lstrip("\ufeff\n\r")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    head = text[:4000].split("\n", 1)[0]
    delimiter = max("\t,;", key=head.count)
    if _DIGITS_FIRST.match(head) or delimiter not in head:
        return None
    records: Iterator[list[str]]
    lines = text.split("\n")
    if '"' in text:
        reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
        records = (record for record in reader if record)
    else:
        records = (line.split(delimiter) for line in lines if line)
    kind: Kind = "tsv" if delimiter == "\t" else "csv"
    try:
        return _table(kind, next(records), records)
    except csv.Error:
        return None


def markdown(text: str) -> SeparatedRows | None:
    """The largest Markdown table of a text as rows, if it is most of the text; else None."""
    if "|" not in text or "--" not in text:
        return None
    lines = text.split("\n")
    rule = end = 0
    for index in range(1, len(lines)):
        if "-" in lines[index] and "|" in lines[index - 1] and index >= end and _is_rule(lines[index]):
            after = next((at for at in range(index + 1, len(lines)) if "|" not in lines[at]), len(lines))
            if after - index > end - rule:
                rule, end = index, after
    if end - rule - 1 < LEAST_ROWS or sum(map(len, lines[rule:end])) < len(text) * 0.6:
        return None
    heading = [name.strip("*` ") or f"column {place}" for place, name in enumerate(_bars(lines[rule - 1]), 1)]
    beside = "\n".join([*lines[: rule - 1], *lines[end:]]).strip()
    return _table("markdown", heading, map(_bars, lines[rule + 1 : end]), beside)


def _table(kind: Kind, heading: list[str], records: Iterable[list[str]], beside: str = "") -> SeparatedRows | None:
    """Records as columns; None if they are too uneven for a table."""
    names = [name.strip() for name in heading]
    if not _are_names(names):
        return None
    width = len(names)
    numbers = [True] * width
    blocks: list[list[str]] = []
    total = uneven = 0
    for block in _blocks(records):
        uneven += len(block) - list(map(len, block)).count(width)
        total += len(block)
        if uneven > max(total * UNEVEN, 1):
            return None
        columns = list(map(_SEP.join, zip(*_even(block, width), strict=True)))
        if any(column.count(_SEP) != len(block) - 1 for column in columns):
            return None
        for index, column in enumerate(columns):
            numbers[index] = numbers[index] and _NUMBERS.fullmatch(column + _SEP) is not None
        blocks.append(columns)
    return SeparatedRows(kind, names, blocks, total, numbers, beside) if total >= LEAST_ROWS else None


def _blocks(records: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    """The records in blocks; the first one is small, so that what is no table is seen at once."""
    records = iter(records)
    probe = list(islice(records, 40))
    rest = [*probe, *islice(records, BLOCK - len(probe))] if _alike(probe) else []
    while rest:
        yield rest
        rest = list(islice(records, BLOCK))


def _alike(records: Sequence[Sequence[str]]) -> bool:
    widths = [len(record) for record in records]
    return bool(widths) and widths.count(max(widths, key=widths.count)) * 10 >= len(widths) * 9


def _even(records: list[list[str]], width: int) -> list[list[str]]:
    """The records with as many cells as the heading. What is too many is joined to the last one."""
    if list(map(len, records)).count(width) == len(records):
        return records
    return [
        [*record[: width - 1], " ".join(record[width - 1 :])]
        if len(record) > width
        else [*record, *[""] * (width - len(record))]
        for record in records
    ]


def _are_names(names: Sequence[str]) -> bool:
    if len(names) < 2 or len(set(names)) < len(names):
        return False
    if any("=" in name or name.count("(") != name.count(")") for name in names):
        return False  # arguments of a call, in code
    return all(len(name) <= LONGEST_NAME and _HEADING.search(name) for name in names)


def _is_rule(line: str) -> bool:
    return len(line) <= LONGEST_RULE and _RULE.match(line) is not None


def _bars(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)]
