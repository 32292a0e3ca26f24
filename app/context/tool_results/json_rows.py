"""JSON as rows: an array, one nested under a key, JSON Lines. Every value is a slice of the source, never re-spelled.

What goes through a float loses digits (10**25, 0.10), so values are cut out of the text and stay bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from app.context.tool_results.shapes import BLOCK, SEP, Block, Cells, Kind, quoted, spelled
from app.context.tool_results.turning import FIELDS, Turning, apart

ITEMS = msgspec.json.Decoder(list[msgspec.Raw])

MOST_OF_IT = 0.6
"""Share of a JSON object's bytes that its largest array must have to be the object's rows."""

DEEPEST = 4
"""Keys that an array may be nested under."""

BLOCK_BYTES = 2_500_000
"""Bytes of rows that are taken apart at a time, about: in cells they take ten times as many."""

FEWEST = 50
"""Rows that are taken apart at a time, however large they are."""

UNREADABLE = (msgspec.DecodeError, RecursionError)
"""What reading JSON raises. (msgspec reads strictly: what it takes, every other reader takes.)"""

_UP_TO_NAN = re.compile(
    r'((?:[^"NI-]++|"(?:[^"\\]++|\\.)*+(?:"|\Z)|-(?!Infinity\b)){0,2000}+)(\bNaN\b|-?\bInfinity\b|[NI-]|)', re.DOTALL
)
"""What stands outside of strings as NaN or Infinity, with what is before it; bounded, so that other threads get a turn
between two of them."""


class JsonRows:
    """A Table of JSON rows, of `size` bytes together."""

    def __init__(
        self, kind: Kind, rows: Sequence[msgspec.Raw | bytes], size: int, where: str = "", beside: str = ""
    ) -> None:
        self.kind: Kind = kind
        self._rows = rows
        self._block = min(BLOCK, max(BLOCK_BYTES * len(rows) // max(size, 1), FEWEST))
        self.where = where
        self.beside = beside
        self.mended = False

    @property
    def total(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def blocks(self) -> Iterator[Block]:
        """All rows in order, a block at a time."""
        turning = Turning()
        for start in range(0, len(self._rows), self._block):
            rows = self._rows[start : start + self._block]
            together = SEP.join(rows)
            yield Block(start, len(rows), turning.columns(start, together, len(rows)), together)

    def raw(self, row: int) -> bytes:
        """The row as the source spells it; only line breaks between its values are taken out."""
        text = bytes(self._rows[row])
        return msgspec.json.format(text, indent=-1) if b"\n" in text else text

    def cells(self, row: int) -> Cells:
        """The row by field."""
        return {name: bytes(value) for name, value in apart(self.raw(row)).items()}


def strict(text: str) -> tuple[bytes, bool]:
    """The text as bytes of strict JSON, and whether NaN or Infinity had to become null for that.

    Raises one of UNREADABLE if it is no JSON.
    """
    data = _bytes(text)
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except UNREADABLE:
        if "NaN" not in text and "Infinity" not in text:
            raise
        data = _bytes(_UP_TO_NAN.sub(lambda found: found[1] + ("null" if len(found[2]) > 1 else found[2]), text))
        msgspec.json.decode(data, type=msgspec.Raw)
        return data, True
    return data, False


def _bytes(text: str) -> bytes:
    return text.encode().strip()


def nested(data: bytes) -> JsonRows | None:
    """The rows of a JSON object: its largest array, if that is most of it; None if the object has no such array."""
    path: list[str] = []
    beside: list[bytes] = []
    inside = data
    while inside[:1] == b"{" and len(path) < DEEPEST:
        fields = FIELDS.decode(inside)
        if not fields:
            return None
        name = max(fields, key=lambda each: len(memoryview(fields[each])))
        rest = [(key, bytes(value)) for key, value in fields.items() if key != name]
        if rest:
            beside.append(spelled(rest))
        path.append(name)
        inside = bytes(fields[name])
    if inside[:1] != b"[" or len(inside) < len(data) * MOST_OF_IT:
        return None
    rows = ITEMS.decode(inside)
    return JsonRows("array", rows, len(inside), ".".join(path), " … ".join(part.decode() for part in beside))


def json_lines(text: str) -> JsonRows | None:
    """JSON Lines as rows; None if it is something else. The few lines that may be no JSON become strings."""
    data = _bytes(text)
    lines = [line.strip() for line in data.split(b"\n")]
    lines = [line for line in lines if line]
    if len(lines) < 2 or not lines[0].startswith((b"{", b"[")):
        return None
    try:
        rows = ITEMS.decode(b"[" + b",".join(lines) + b"]")
        if len(rows) == len(lines):
            return JsonRows("lines", rows, len(data))
    except UNREADABLE:
        pass  # some line is broken
    most = len(lines) // 20
    broken = 0
    for index, line in enumerate(lines):
        try:
            FIELDS.decode(line) if line[:1] == b"{" else ITEMS.decode(line)
        except UNREADABLE:
            broken += 1
            if broken > most:
                return None
            lines[index] = quoted(line.decode())
    return JsonRows("lines", lines, len(data))
