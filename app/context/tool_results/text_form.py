"""Text in a small form: its head and tail, and between them the lines that matter, each with its number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, zip_longest

from app.chat import size
from app.context.tool_results.fitting import Extent, Measured, extent_of, largest
from app.context.tool_results.needles import Needle, ranked
from app.context.tool_results.rows_form import Small
from app.context.tool_results.searching import Searched, hits_in
from app.context.tool_results.settings import Limits
from app.context.tool_results.shapes import BLOCK, Kind, Lines

ENDS = 12
"""Lines of the head and of the tail that come before anything else."""

AROUND = 2
"""Lines shown before and behind a line that matters."""

MOST = 400
"""Lines of one sort (matches, errors, rare ones, definitions) that are picked."""

ALIKE = 3
"""Lines with the same words but other numbers that are picked as errors: the first ones."""

TEMPLATES = 0.2
"""Share of a text's lines that may be unlike all others, if rare lines are to mean anything."""

TROUBLED = 0.9
"""Share of a text's lines above which a word tells nothing of trouble."""

_TROUBLE = ("error", "exception", "fatal", "panic", "critical", "traceback", "caused by", "fail", "denied", "refused",
            "timed out", "timeout", "corrupt", "エラー", "失敗", "異常")  # fmt: skip
_WORDS = tuple(Needle((word.encode(),), False, 1.0) for word in _TROUBLE)
_DEFINES = re.compile(
    r"\s*(?:\d+[\t:→|]\s*)?"
    r"(?:export |default |public |private |protected |static |async |abstract |final |pub(?:\([a-z]+\))? |unsafe )*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl|type|module|namespace|package)\b"
)
_HEADS = re.compile(r"#{1,6} \S|[A-Z0-9][^.!?]{2,70}:$")
_NUMBERS = b"0123456789abcdefABCDEF-"
_NAMES: dict[Kind, str] = {
    "log": "a log",
    "trace": "a stack trace",
    "code": "source code",
    "html": "a web page, without its markup",
    "text": "text",
}


class TextForm:
    """Writes one text's small form within a budget of tokens."""

    def __init__(
        self, whole: Lines, characters: int, looked_for: Sequence[Needle], handle: str, limits: Limits
    ) -> None:
        self._whole = whole
        self._characters = characters
        self._handle = handle
        self._limits = limits
        self._matching, self._troubled, self._rare = _scanned(whole, looked_for)

    def within(self, budget: int) -> Small:
        """The fullest form of at most `budget` tokens."""
        order: list[int] = []
        more = self._order()
        total = len(self._whole.lines)
        lines = Measured(lambda start, end: "".join([f"\n{self._line(line)}" for line in order[start:end]]), budget)

        def shown(count: int) -> list[int]:
            order.extend(islice(more, max(count - len(order), 0)))
            return sorted(order[:count])

        def extent(count: int) -> Extent:
            return extent_of("\n".join([self._heading(count), *_gaps(shown(count), total)])).with_(lines(count))

        family = self._limits.family
        count = largest(total, lambda count: extent(count).weighed(budget, family), budget)
        if count >= 0:
            return Small(self._text(shown(count)), count, count < total, extent(count).tokens(family))
        text = self._brief()
        return Small(text, 0, truncated=True, tokens=size.of_text(text, family))

    def _order(self) -> Iterator[int]:
        """All lines, the one most worth showing first."""
        total = len(self._whole.lines)
        head, tail = range(total), range(total - 1, -1, -1)
        ends = [*head[:ENDS], *tail[:ENDS]]
        picked = zip_longest(_around(self._matching, total), _around(self._troubled, total), _around(self._rare, total))
        special = [line for three in picked for line in three if line is not None]
        filling = (line for at in range(total) for line in (2 * at, 2 * at + 1, total - 1 - at) if 0 <= line < total)
        mixed = (
            line for two in zip_longest(special, islice(filling, 4 * len(special))) for line in two if line is not None
        )
        seen: set[int] = set()
        for source in (ends, mixed, filling):
            for line in source:
                if line not in seen:
                    seen.add(line)
                    yield line

    def _text(self, shown: Sequence[int]) -> str:
        out = [self._heading(len(shown))]
        before = -1
        for line in shown:
            if line > before + 1:
                out.append(_gap(before + 1, line))
            out.append(self._line(line))
            before = line
        total = len(self._whole.lines)
        if before < total - 1:
            out.append(_gap(before + 1, total))
        return "\n".join(out)

    def _line(self, line: int) -> str:
        return f"{line + 1}: {self._whole.lines[line]}"

    def _heading(self, shown: int) -> str:
        lines, limits = self._whole, self._limits
        what = f"{len(lines.lines):,} lines, {self._characters:,} characters, {_NAMES[lines.kind]}"
        said = [f"[This tool result was made small. Handle {self._handle}: {what}."]
        if shown == len(lines.lines):
            said.append("All lines are here, numbered.")
        else:
            picks = "definitions" if lines.kind == "code" else "lines with errors, rare ones"
            said.append(f"{shown:,} lines are shown, numbered: head, tail, {picks}, and what matches the question.")
        if lines.kind == "log" and self._troubled:
            said.append(f"{len(self._troubled)} different lines tell of trouble.")
        if lines.wrapped:
            said.append("Overlong lines are wrapped, and each piece has its number.")
        if shown < len(lines.lines):
            said.append(
                f"Get others with {limits.fetch}(handle, offset, limit, search)."
                if limits.fetch
                else "The rest cannot be had from here: ask the tool for a smaller part."
            )
        return " ".join(said) + "]"

    def _brief(self) -> str:
        way = f" {self._limits.fetch}(handle, offset, limit) gives it." if self._limits.fetch else ""
        return f"[A tool result of {len(self._whole.lines)} lines was left out. Handle {self._handle}.{way}]"


def _gaps(shown: Sequence[int], total: int) -> list[str]:
    """What stands in place of the lines that are not shown."""
    return [_gap(one + 1, two) for one, two in pairwise([-1, *shown, total]) if two > one + 1]


def _gap(first: int, end: int) -> str:
    count = end - first
    return f"[… line {end} left out …]" if count == 1 else f"[… {count:,} lines left out: {first + 1}-{end} …]"


def _around(lines: Sequence[int], total: int) -> Iterator[int]:
    for line in lines:
        yield line
        for near in range(1, AROUND + 1):
            yield from (at for at in (line - near, line + near) if 0 <= at < total)


def _scanned(whole: Lines, looked_for: Sequence[Needle]) -> tuple[list[int], list[int], list[int]]:
    """Lines that match the question; that tell of trouble (in code: define something); and that are like no other."""
    lines = whole.lines
    total = len(lines)
    hits: list[list[int]] = [[] for _ in looked_for]
    trouble: list[list[int]] = [[] for _ in _WORDS]
    alike: Counter[bytes] = Counter()
    first: dict[bytes, int] = {}
    code, most = whole.kind == "code", int(total * TROUBLED)
    for start in range(0, total, BLOCK):
        some = lines[start : start + BLOCK]
        together = "\n".join(some).encode()
        searched = Searched(together.lower(), start, len(some), b"\n")
        hits_in(searched, looked_for, hits, max(total // 10, 3))
        if code:
            continue
        hits_in(searched, _WORDS, trouble, most)
        if whole.kind == "log" and len(alike) <= total * TEMPLATES:
            made = _templates(together)
            alike.update(made)
            first = dict(zip(reversed(made), range(start + len(made) - 1, start - 1, -1), strict=True)) | first
    matching = ranked(hits, looked_for, total)[:MOST]
    if code:
        return matching, _first_like(_DEFINES, lines), []
    rare: list[int] = []
    if alike and len(alike) <= total * TEMPLATES:
        rare = sorted([first[made] for made, count in alike.items() if count <= 2])[:MOST]
    if whole.kind in ("text", "html"):
        rare = _first_like(_HEADS, lines)
    return matching, _unlike(lines, trouble), rare


def _first_like(pattern: re.Pattern[str], lines: Sequence[str]) -> list[int]:
    return list(islice((row for row, line in enumerate(lines) if pattern.match(line)), MOST))


def _templates(lines: bytes) -> list[bytes]:
    """Each line without what changes from one to the next: numbers, and the digits of ids."""
    return [line[:90] for line in lines.translate(None, _NUMBERS).split(b"\n")]


def _unlike(lines: Sequence[str], trouble: Sequence[Sequence[int]]) -> list[int]:
    """Lines that tell of trouble, few of a sort: the sort that is rarest first."""
    most = len(lines) * TROUBLED
    rows = sorted({row for found in trouble if len(found) <= most for row in found})
    sorts: dict[bytes, list[int]] = {}
    for row in rows:
        sorts.setdefault(_templates(lines[row].encode())[0], []).append(row)
    by_rarity = sorted(sorts.values(), key=lambda found: (len(found), found[0]))
    return [row for found in by_rarity for row in found[:ALIKE]][:MOST]
