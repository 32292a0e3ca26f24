"""CSV, TSV and Markdown tables as rows. A column whose every cell is spelled as a JSON number is one of numbers.

A column with a single "007" stays one of strings: what looks like a number there is an identifier.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

from app.context.tool_results.json_rows import ITEMS
from app.context.tool_results.shapes import BLOCK, SEP, Block, Cells, Column, Kind, column, quoted, spelled

LEAST_ROWS = 4
UNEVEN = 0.02
"""Share of records that may have another number of cells than the heading."""

LONGEST_NAME = 80
LONGEST_RULE = 2000

_SEP = SEP.decode()  # a text that has it is no table
_NUMBERS = re.compile(rb"(?:(?:-?(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+-]?\d++)?+)?+\x1f)*+")
_NUMERALS = b"0123456789+-.eE" + SEP
_FLOATS = msgspec.json.Decoder(list[float])
_SPECIAL = bytes(byte for byte in range(0x20) if byte != SEP[0]) + b'"\\'
"""What stands escaped in JSON."""

_HEADING = re.compile(r"[^\W\d]")
_DIGITS_FIRST = re.compile(r"[\d\[({<']")
_RULE = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?\s*$|\s*\|\s*:?-+:?\s*\|\s*$")
_BAR = re.compile(r"(?<!\\)\|")

T = TypeVar("T")


class SeparatedRows:
    """A Table of records with a heading.

    Columns are kept as one piece a block: as cells they would take ten times the text's memory.

    Args:
        columns: for each block of rows, each column's cells in one piece.
        numbers: which columns hold nothing but numbers.
    """

    where = ""
    mended = False

    def __init__(
        self,
        kind: Kind,
        heading: list[str],
        columns: list[list[bytes]],
        total: int,
        numbers: Sequence[bool],
        beside: str,
    ) -> None:
        self.kind: Kind = kind
        self.total = total
        self.beside = beside
        self._heading = heading
        self._columns = columns
        self._numbers = numbers
        self._open: tuple[int, list[list[bytes]]] = (-1, [])

    def blocks(self) -> Iterator[Block]:
        """All rows in order, a block at a time."""
        for place, pieces in enumerate(self._columns):
            start = place * BLOCK
            count = pieces[0].count(SEP) + 1
            span = range(start, start + count)
            yield Block(start, count, self._by_name(span, pieces), SEP.join(pieces))

    def raw(self, row: int) -> bytes:
        """The record as a JSON object."""
        return spelled(self.cells(row).items())

    def cells(self, row: int) -> Cells:
        """The record by field."""
        place, at = divmod(row, BLOCK)
        if self._open[0] != place:  # rows are mostly read in order
            self._open = (place, [piece.split(SEP) for piece in self._columns[place]])
        each = zip(self._heading, self._open[1], self._numbers, strict=True)
        return {name: cells[at] or b'""' if numbers else quoted(cells[at].decode()) for name, cells, numbers in each}

    def _by_name(self, span: range, pieces: Sequence[bytes]) -> list[Column]:
        each = zip(self._heading, pieces, self._numbers, strict=True)
        return [column(name, span, _numerals(piece) if numbers else _strings(piece)) for name, piece, numbers in each]


def _numerals(piece: bytes) -> bytes:
    """Cells that are numbers or empty as JSON text."""
    framed = SEP + piece + SEP
    for _ in range(2):  # two empty cells side by side share a mark
        framed = framed.replace(SEP + SEP, SEP + b'""' + SEP)
    return framed[1:-1]


def _strings(piece: bytes) -> bytes:
    """Cells that are words as JSON text."""
    if len(piece.translate(None, _SPECIAL)) == len(piece):
        return b'"' + piece.replace(SEP, b'"' + SEP + b'"') + b'"'
    return SEP.join(ITEMS.decode(quoted(piece.decode().split(SEP.decode()))))


def separated(text: str) -> SeparatedRows | None:
    """CSV (`,` or `;`) or TSV as rows; None if it is something else."""
    text = text.lstrip("\ufeff\n\r")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    head = text[:4000].split("\n", 1)[0]
    delimiter = max("\t,;", key=head.count)
    if _DIGITS_FIRST.match(head) or delimiter not in head:
        return None
    kind: Kind = "tsv" if delimiter == "\t" else "csv"
    if '"' not in text:
        lines = iter(text.split("\n"))
        heading = next(lines).split(delimiter)
        return _table(kind, heading, filter(None, lines), lambda line: line.split(delimiter), _even(delimiter))
    records = filter(None, csv.reader((line + "\n" for line in text.split("\n")), delimiter=delimiter, strict=True))
    try:
        return _table(kind, next(records), records, list, _even_records)
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
    return _table("markdown", heading, lines[rule + 1 : end], _bars, _even_bars, beside)


def _table(
    kind: Kind,
    heading: list[str],
    records: Iterable[T],
    apart: Callable[[T], list[str]],
    turned: Callable[[list[T], int], list[str] | None],
    beside: str = "",
) -> SeparatedRows | None:
    """Records as columns; None if they are too uneven for a table.

    Args:
        apart: gives the cells of one record.
        turned: gives the columns of many at once, a mark between two cells; None if one has too few or too many cells.
    """
    names = [name.strip() for name in heading]
    if not _are_names(names):
        return None
    width = len(names)
    numbers = [True] * width
    blocks: list[list[bytes]] = []
    total = uneven = 0
    for block in _blocks(records, apart):
        total += len(block)
        pieces = turned(block, width)
        if pieces is None:
            apiece = list(map(apart, block))
            uneven += len(block) - list(map(len, apiece)).count(width)
            if uneven > max(total * UNEVEN, 1):
                return None
            pieces = map(_SEP.join, zip(*(_evened(record, width) for record in apiece), strict=True))
        columns = list(map(str.encode, pieces))
        if any(column.count(SEP) != len(block) - 1 for column in columns):
            return None
        numbers = [so_far and _are_numbers(column) for so_far, column in zip(numbers, columns, strict=True)]
        blocks.append(columns)
    return SeparatedRows(kind, names, blocks, total, numbers, beside) if total >= LEAST_ROWS else None


def _blocks(records: Iterable[T], apart: Callable[[T], list[str]]) -> Iterator[list[T]]:
    """The records in blocks; the first one is small, so that what is no table is seen at once."""
    records = iter(records)
    probe = list(islice(records, 40))
    rest = [*probe, *islice(records, BLOCK - len(probe))] if _alike(list(map(apart, probe))) else []
    while rest:
        yield rest
        rest = list(islice(records, BLOCK))


def _even(delimiter: str) -> Callable[[list[str], int], list[str] | None]:
    def turned(lines: list[str], width: int) -> list[str] | None:
        columns = _apart(lines, delimiter, width)
        return None if columns is None else list(map(_SEP.join, columns))

    return turned


def _apart(lines: list[str], delimiter: str, width: int) -> list[list[str]] | None:
    """The columns of lines that all have so many cells; None if one has not. The line breaks tell: if each line is so
    wide, they all stand in front of the first cell."""
    cells = (delimiter + "\n").join(lines).split(delimiter)
    first = cells[width::width]
    if len(cells) != width * len(lines) or (first and ("\0" + "\0".join(first)).count("\0\n") < len(lines) - 1):
        return None
    cells[width::width] = [cell[1:] for cell in first]
    return [cells[place::width] for place in range(width)]


def _even_records(records: list[list[str]], width: int) -> list[str] | None:
    if list(map(len, records)).count(width) < len(records):
        return None
    return list(map(_SEP.join, zip(*records, strict=True)))


def _even_bars(lines: list[str], width: int) -> list[str] | None:
    lines = list(map(str.strip, lines))
    if "\\" in "".join(lines) or not all(line[:1] == "|" == line[-1:] for line in lines):
        return None
    columns = _apart([line[1:-1] for line in lines], "|", width)
    return None if columns is None else [_SEP.join(map(str.strip, column)) for column in columns]


def _evened(record: list[str], width: int) -> list[str]:
    """The record with as many cells as the heading. What is too many is joined to the last one."""
    if len(record) == width:
        return record
    if len(record) > width:
        return [*record[: width - 1], " ".join(record[width - 1 :])]
    return [*record, *[""] * (width - len(record))]


def _are_numbers(column: bytes) -> bool:
    """Whether every cell is empty or spelled as a JSON number."""
    if column.translate(None, _NUMERALS):
        return False
    try:
        _FLOATS.decode(b"[" + _numerals(column).replace(b'""', b"0").replace(SEP, b",") + b"]")
    except msgspec.DecodeError:
        return _NUMBERS.fullmatch(column + SEP) is not None
    return True


def _alike(records: Sequence[Sequence[str]]) -> bool:
    widths = [len(record) for record in records]
    return bool(widths) and widths.count(max(widths, key=widths.count)) * 10 >= len(widths) * 9


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
