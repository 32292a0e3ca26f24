"""A deep JSON object as rows of path and value: its sections, none larger than can be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from app.context.tool_results.json_rows import ITEMS
from app.context.tool_results.shapes import BLOCK, SEP, Block, Cells, Kind, column, quoted, spelled
from app.context.tool_results.turning import FIELDS

SECTION = 320
"""Bytes that one section may have before it is taken apart; small neighbours are kept together up to here."""

DEEPEST = 24
"""Levels that are taken apart. Each one reads its text again, so that a hostile depth must not cost its square."""

_PLAIN = re.compile(r"[A-Za-z_][\w-]*")


class Sections:
    """A Table of sections: rows {"path", "value"}.

    Args:
        paths: as JSON text. values: as the source spells them.
    """

    where = beside = ""

    def __init__(self, paths: list[bytes], values: list[bytes]) -> None:
        self.kind: Kind = "object"
        self.paths = paths
        self._values = values
        self.mended = False

    @property
    def total(self) -> int:
        """How many sections there are."""
        return len(self.paths)

    def blocks(self) -> Iterator[Block]:
        """All of them in order, a block at a time."""
        for start in range(0, len(self.paths), BLOCK):
            paths, values = self.paths[start : start + BLOCK], self._values[start : start + BLOCK]
            span = range(start, start + len(paths))
            columns = [column("path", span, SEP.join(paths)), column("value", span, SEP.join(values))]
            texts = [
                b'{"path":' + path + b',"value":' + value + b"}" for path, value in zip(paths, values, strict=True)
            ]
            yield Block(start, len(paths), columns, SEP.join(texts))

    def raw(self, row: int) -> bytes:
        """The section as JSON text, on one line."""
        return spelled(self.cells(row).items())

    def cells(self, row: int) -> Cells:
        """Its path and its value."""
        value = self._values[row]
        return {
            "path": self.paths[row],
            "value": msgspec.json.format(value, indent=-1) if b"\n" in value else value,
        }


def sections(data: bytes) -> Sections:
    """The sections of this JSON text, in order, each value as the source spells it."""
    found = _Found()
    found.walk(data, "", 0)
    return Sections(list(map(quoted, found.paths)), found.values)


class _Found:
    """The sections found so far."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.values: list[bytes] = []
        self._names: dict[str, bytes] = {}

    def walk(self, data: bytes, path: str, depth: int) -> None:
        """Take this value apart as far as need be."""
        opening = data[:1]
        if len(data) <= SECTION or opening not in (b"{", b"[") or depth == DEEPEST:
            self._add(path, data)
        elif opening == b"{":
            self._object(data, path, depth)
        else:
            self._array(data, path, depth)

    def _add(self, path: str, value: bytes) -> None:
        self.paths.append(path or "$")
        self.values.append(value)

    def _spelled(self, fields: list[tuple[str, bytes]]) -> bytes:
        """An object of these; the same few names come again and again."""
        known = self._names
        for name, _ in fields:
            if name not in known:
                known[name] = quoted(name) + b":"
        return b"{" + b",".join([known[name] + value for name, value in fields]) + b"}"

    def _object(self, data: bytes, path: str, depth: int) -> None:
        fields = FIELDS.decode(data)
        together: list[tuple[str, bytes]] = []
        size = 0
        for name, text in zip(fields, SEP.join(fields.values()).split(SEP), strict=bool(fields)):
            if together and size + len(text) > SECTION:
                self._add(path, self._spelled(together))
                together, size = [], 0
            if len(text) > SECTION // 2:
                if together:
                    self._add(path, self._spelled(together))
                    together, size = [], 0
                self.walk(text, _below(path, name), depth + 1)
            else:
                together.append((name, text))
                size += len(text) + len(name) + 4
        if together:
            self._add(path, self._spelled(together))

    def _array(self, data: bytes, path: str, depth: int) -> None:
        together: list[bytes] = []
        first = size = 0
        items = ITEMS.decode(data)
        for index, text in enumerate(SEP.join(items).split(SEP) if items else ()):
            large = len(text) > SECTION // 2
            if together and (large or size + len(text) > SECTION):
                self._add(_span(path, first, index), b"[" + b",".join(together) + b"]")
                together, size = [], 0
            if large:
                self.walk(text, f"{path}[{index}]", depth + 1)
            else:
                if not together:
                    first = index
                together.append(text)
                size += len(text) + 1
        if together:
            self._add(_span(path, first, first + len(together)), b"[" + b",".join(together) + b"]")


def _span(path: str, first: int, end: int) -> str:
    return f"{path}[{first}:{end}]"


def _below(path: str, name: str) -> str:
    if not _PLAIN.fullmatch(name):
        return f"{path}[{quoted(name).decode()}]"
    return f"{path}.{name}" if path else name
