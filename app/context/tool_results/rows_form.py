"""Rows in a small form: exact totals, schema, digest, the rows most worth showing, and how to get the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec

from app.chat import size
from app.chat.family import Family
from app.context.tool_results.cutting import cut
from app.context.tool_results.fields import Choice
from app.context.tool_results.fitting import Extent, Measured, extent_of, largest, prefix_that_fits, ranges
from app.context.tool_results.settings import Limits
from app.context.tool_results.shapes import Table, quoted, spelled
from app.context.tool_results.summing_up import Entry, digest, schema
from app.context.tool_results.surveying import Survey

SCHEMA_SHARE = 0.22
DIGEST_SHARE = 0.18
"""Shares of the budget that the schema and the digest may take."""

LONGEST_VALUES = (0, 16_000, 6000, 1500, 500, 160, 60)
"""Characters of the longest value shown, tried in turn until FEW rows fit; 0: no value is cut."""

FEW = 3
FEW_SECTIONS = 12
"""An object of so few sections shows all of them: one that holds a long text would else fill the form with that."""

BESIDE = 400
"""Characters shown of what stood beside the rows."""

NAMED = 12
"""Fields left out that the note names."""


class Small(msgspec.Struct, frozen=True):
    """A small form: its text, how many rows or lines it shows, whether anything is left out, and its tokens."""

    text: str
    returned: int
    truncated: bool
    tokens: int


class _Shown:
    """The rows in the order in which they are worth showing, each written and measured once."""

    def __init__(self, order: Iterator[int], write: Callable[[int], tuple[bytes, bool]], budget: int) -> None:
        self._more = order
        self._write = write
        self._order: list[int] = []
        self._written: dict[int, tuple[bytes, bool]] = {}
        self.measured = Measured(self._text, budget)

    def rows(self, count: int) -> tuple[list[int], bool]:
        """The first `count` rows, sorted, and whether a value in them was cut."""
        self._take(count)
        rows = sorted(self._order[:count])
        return rows, any(self._written[row][1] for row in rows)

    def texts(self, count: int) -> list[bytes]:
        """The same rows as they are written."""
        return [self._written[row][0] for row in self.rows(count)[0]]

    def _take(self, count: int) -> None:
        self._order.extend(islice(self._more, max(count - len(self._order), 0)))
        for row in sorted({*self._order[:count]}.difference(self._written)):
            self._written[row] = self._write(row)

    def _text(self, start: int, end: int) -> str:
        self._take(end)
        return b"".join([self._written[row][0] + b"," for row in self._order[start:end]]).decode()


class RowsForm:
    """Writes one table's small form within a budget of tokens."""

    def __init__(self, table: Table, found: Survey, chosen: Choice, handle: str, limits: Limits) -> None:
        self._table = table
        self._found = found
        self._chosen = chosen
        self._handle = handle
        self._limits = limits
        self._family: Family = limits.family

    def within(self, budget: int) -> Small:
        """The fullest form of at most `budget` tokens; with hardly any room it is no more than a handle and a note."""
        heads = self._heads(budget)
        total = self._found.total
        few = total if self._table.kind == "object" and total <= FEW_SECTIONS else min(FEW, total)
        best: Small | None = None
        for longest in LONGEST_VALUES:
            small = self._fitted(budget, heads, longest)
            if small is not None and (best is None or small.returned > best.returned):
                best = small
            if best is not None and best.returned >= few:
                return best
        return best or self._fitted(budget, (b"[]", b"{}"), LONGEST_VALUES[-1], brief=True) or self._bare()

    def with_all_rows(self, budget: int) -> Small | None:
        """Every row, with values cut as far as they must be for that; None if that is not enough."""
        heads = self._heads(budget)
        for longest in LONGEST_VALUES[1:]:
            small = self._fitted(budget, heads, longest)
            if small is not None and small.returned == self._found.total:
                return small
        return None

    def _heads(self, budget: int) -> tuple[bytes, bytes]:
        """Schema and digest, as far as they fit."""
        table, found, family = self._table, self._found, self._family
        if table.kind == "object":
            return b'[{"field":"path","type":"string"},{"field":"value","type":"any"}]', b"{}"
        entries = schema(found.fields, found.total, self._chosen, found.more)
        shown = prefix_that_fits(entries, int(budget * SCHEMA_SHARE), family)
        if len(shown) < len(entries):
            shown.append(spelled([("more_fields", b"%d" % (len(found.fields) + found.more - len(shown)))]))
        told: list[Entry] = digest(found.fields, found.total)
        pieces = [quoted(name) + b":" + value for name, value in told]
        return b"[" + b",".join(shown) + b"]", (
            b"{" + b",".join(prefix_that_fits(pieces, int(budget * DIGEST_SHARE), family)) + b"}"
        )

    def _fitted(self, budget: int, heads: tuple[bytes, bytes], longest: int, *, brief: bool = False) -> Small | None:
        shown = _Shown(self._found.order(), lambda row: self._row(row, longest), budget)
        total, family = self._found.total, self._family
        head = extent_of("".join(each.decode() for each in heads))

        def written(count: int, heads: tuple[bytes, bytes], rows: bytes) -> tuple[str, bool]:
            chosen, shortened = shown.rows(count)
            note = self._brief() if brief else self._note(chosen, longest if shortened else 0)
            truncated = count < total or shortened or self._chosen.hides
            return self._text(heads, count, rows, note, truncated=truncated), truncated

        def extent(count: int) -> Extent:
            rows = shown.measured(count)
            # one bracket only: the comma that is counted behind the last row stands for the other
            around, _ = written(count, (b"", b""), b"[" if count else b"[]")
            return head.with_(rows).with_(extent_of(around))

        count = largest(total, lambda count: extent(count).weighed(budget, family, bound=True), budget)
        if count < 0:
            return None
        text, truncated = written(count, heads, b"[" + b",".join(shown.texts(count)) + b"]")
        return Small(text, count, truncated, extent(count).tokens(family))

    def _row(self, row: int, longest: int) -> tuple[bytes, bool]:
        """A row as it is shown, and whether a value in it was cut."""
        kept = self._chosen.kept
        if kept is None:
            whole = self._table.raw(row)
            if not longest or len(whole) <= longest:
                return whole, False
            if whole[:1] != b"{":
                shown = cut(whole, longest)
                return shown, shown is not whole
        cells = [(name, value) for name, value in self._table.cells(row).items() if kept is None or name in kept]
        if not longest:
            return spelled(cells), False
        short = [(name, cut(value, longest)) for name, value in cells]
        return spelled(short), any(one[1] is not two[1] for one, two in zip(cells, short, strict=True))

    def _text(self, heads: tuple[bytes, bytes], count: int, rows: bytes, note: str, *, truncated: bool) -> str:
        fields: list[Entry] = [
            ("handle", quoted(self._handle)),
            ("total_rows", b"%d" % self._found.total),
            ("returned_rows", b"%d" % count),
            ("truncated", b"true" if truncated else b"false"),
            ("schema", heads[0]),
            ("digest", heads[1]),
            ("rows", rows),
            ("note", quoted(note)),
        ]
        return spelled(fields).decode()

    def _bare(self) -> Small:
        """Where there is no room for anything else."""
        text = self._text((b"[]", b"{}"), 0, b"[]", self._brief(), truncated=True)
        return Small(text, 0, truncated=True, tokens=size.of_text(text, self._family))

    def _brief(self) -> str:
        if not self._limits.fetch:
            return "Rows and long values are cut. Ask the tool for less."
        return f"Rows and long values are cut: {self._limits.fetch}(handle, offset, limit) gives them."

    def _note(self, rows: Sequence[int], longest: int) -> str:
        total, fetch = self._found.total, self._limits.fetch
        what = "section" if self._table.kind == "object" else "row"
        said: list[str] = []
        if len(rows) < total:
            said.append(
                f"This is part of a larger result: {len(rows)} of {total} {what}s, counted from 0: {ranges(rows)}. "
                f"They are the first ones, {what}s with errors or unusual values, and those that match the question."
            )
        else:
            said.append(f"All {total} {what}s are here.")
        if longest:
            reads_on = f"; {fetch}(handle, offset, limit=1, start={longest}) reads on in those of one {what}"
            said.append(f"Values longer than {longest} characters are cut{reads_on if fetch else ''}.")
        if self._chosen.dropped or self._chosen.beyond:
            said.append(f"Fields left out: {self._left_out()}.")
        if self._table.mended:
            said.append("NaN and Infinity stand as null.")
        if len(rows) < total or self._chosen.hides or (longest and not fetch):
            said.append(_way(fetch, what))
        return " ".join([*said, *self._around()])

    def _left_out(self) -> str:
        dropped, beyond = self._chosen.dropped, self._chosen.beyond
        words = [f"{each.field[:60]} ({each.why})" for each in dropped[:NAMED]]
        if more := max(len(dropped) - NAMED, 0) + beyond:
            words.append(f"and {more} more" if words else f"{more} that are too many to be told")
        return ", ".join(words)

    def _around(self) -> list[str]:
        table = self._table
        under = f' (they stood under "{table.where[:100]}")' if table.where else ""
        if not table.beside:
            return [f'The rows stood under "{table.where[:100]}".'] if table.where else []
        shown = table.beside[:BESIDE]
        rest = f"… (cut; {self._limits.fetch} with beside=true gives all of it)" if self._limits.fetch else "… (cut)"
        return [f"Beside the rows{under} the result held: {shown}{rest if len(table.beside) > BESIDE else ''}"]


def _way(fetch: str, what: str) -> str:
    if not fetch:
        return "The rest cannot be had from here: ask the tool for a smaller part if you need it."
    return (
        f"Get others with {fetch}(handle, offset, limit, fields, where, search) before you draw a conclusion about "
        f"{what}s that are not here."
    )
