"""What a result is made of: rows of fields, or lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

import msgspec

Kind: TypeAlias = Literal["array", "lines", "csv", "tsv", "markdown", "object", "log", "trace", "code", "html", "text"]
"""Rows: a JSON array, JSON Lines, CSV, TSV, a Markdown table, and a JSON object by its sections. Text: the others."""

ROWS: frozenset[Kind] = frozenset(("array", "lines", "csv", "tsv", "markdown", "object"))
BLOCK = 2000
"""Rows that are taken apart at a time, so that memory is bounded by the text and not by its cells."""

SEP = b"\x1f"
"""Stands between values, cells or rows that are kept in one piece. It is the control character for just this, and
stands in no JSON text."""

Cells: TypeAlias = Mapping[str, bytes]
"""One row: each field's value as JSON text, as the source spells it."""


class Parked(msgspec.Struct, frozen=True):
    """A whole result as it is stored under its handle.

    Args:
        kind: what it was taken for; it is read in the same way when rows of it are asked for.
        text: the result's words, as the tool gave them.
    """

    kind: Kind
    text: str


class Column(NamedTuple):
    """One field in one block: its values as JSON text, and the rows that have it.

    `framed` are the same values in one piece, each behind a SEP: counting in it is many times faster than looking at
    one value after the other.
    """

    name: str
    rows: Sequence[int]
    values: list[bytes]
    framed: bytes


def column(name: str, rows: Sequence[int], together: bytes) -> Column:
    """A column of values that stand in one piece, a SEP between two."""
    return Column(name, rows, together.split(SEP), SEP + together)


class Block(NamedTuple):
    """Some consecutive rows, by column.

    `searched` is what to search in, in one piece: the rows, or their cells column by column, a SEP between two; the
    row of a piece is its place modulo `length`.
    """

    start: int
    length: int
    columns: Sequence[Column]
    searched: bytes

    @property
    def texts(self) -> list[bytes]:
        """The rows, one by one."""
        pieces, length = self.searched.split(SEP), self.length
        return pieces if len(pieces) == length else [SEP.join(pieces[at::length]) for at in range(length)]


class Table(Protocol):
    """Rows of fields, whatever format they came in."""

    kind: Kind

    @property
    def total(self) -> int:
        """How many rows there are."""
        ...

    @property
    def beside(self) -> str:
        """What the result held beside its rows (a cursor, a heading), '' if nothing."""
        ...

    @property
    def where(self) -> str:
        """The key that the rows stood under, '' if they are the whole result."""
        ...

    @property
    def mended(self) -> bool:
        """Whether NaN or Infinity, which no JSON has, became null."""
        ...

    def blocks(self) -> Iterator[Block]:
        """All rows in order, a block at a time."""
        ...

    def raw(self, row: int) -> bytes:
        """One row as JSON text: the source's own, if the source is JSON."""
        ...

    def cells(self, row: int) -> Cells:
        """One row by field, in the row's own order. A row that is no object has one field, `value`."""
        ...


class Lines(msgspec.Struct, frozen=True):
    """Text as numbered lines. `wrapped` tells that some lines were longer than the longest one shown."""

    kind: Kind
    lines: list[str]
    wrapped: bool = False


def spelled(fields: Iterable[tuple[str, bytes]]) -> bytes:
    """An object of these values, each spelled as it came."""
    return b"{" + b",".join([quoted(name) + b":" + value for name, value in fields]) + b"}"


quoted = msgspec.json.Encoder().encode
"""A value as JSON text."""
