"""JSON rows turned into columns, a block at a time: each row is read once, and no value is copied by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from types import GenericAlias
from typing import Any, TypeAlias

import msgspec

from app.context.tool_results.shapes import SEP, Column, column

Fields: TypeAlias = dict[str, msgspec.Raw]

FIELDS = msgspec.json.Decoder(Fields)

MOST_NAMES = 600
"""Fields of a table from which on its rows are read as dictionaries: they are hardly alike."""

_MANY = msgspec.json.Decoder(list[Fields])
_OBJECT = SEP + b"{"


class Turning:
    """Turns one table's rows into columns, and learns on the way which fields they have.

    A row of known fields is read into a structure made for just these, which takes half the time of a dictionary.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._read: Callable[[bytes], Iterable[Any]] | None = None

    def columns(self, start: int, together: bytes, count: int) -> list[Column]:
        """The columns of these rows, which are numbered from `start` and stand in one piece, a SEP between two.

        Fields are in order of first appearance, if they are new; a row that is no object has one field, `value`.
        """
        objects = (SEP + together).count(_OBJECT)
        if not objects:
            return [column("value", range(start, start + count), together)]
        if objects < count:
            return _by_name(start, [apart(text) for text in together.split(SEP)])
        rows = b"[" + together.replace(SEP, b",") + b"]"
        if not self._names:
            self._learn(FIELDS.decode(together.partition(SEP)[0]))
        if self._read is not None:
            try:
                return self._by_place(start, list(self._read(rows)))
            except msgspec.ValidationError:
                pass  # a field that is new
        read = _MANY.decode(rows)
        columns = _by_name(start, read)
        self._learn(each.name for each in columns)
        return columns

    def _learn(self, names: Iterable[str]) -> None:
        self._names = list(dict.fromkeys([*self._names, *names]))
        self._read = _reader(self._names)

    def _by_place(self, start: int, rows: list[Any]) -> list[Column]:
        columns: list[Column] = []
        span = range(start, start + len(rows))
        for place, name in enumerate(self._names):
            values = list(map(attrgetter(_attribute(place)), rows))
            try:
                columns.append(column(name, span, SEP.join(values)))
            except TypeError:  # some rows do not have it
                found = [(row, value) for row, value in zip(span, values, strict=True) if value is not None]
                if found:
                    columns.append(column(name, [row for row, _ in found], SEP.join([value for _, value in found])))
        return columns


def apart(text: bytes) -> Mapping[str, msgspec.Raw | bytes]:
    """One row by field."""
    return FIELDS.decode(text) if text[:1] == b"{" else {"value": text}


def _reader(names: Sequence[str]) -> Callable[[bytes], Iterable[Any]] | None:
    """Reads a list of objects that have no other fields than these; None if there is no such reader."""
    if not names or len(names) > MOST_NAMES:
        return None
    fields = [(_attribute(place), msgspec.Raw, None) for place in range(len(names))]
    spelled = {_attribute(place): name for place, name in enumerate(names)}
    try:
        row = msgspec.defstruct("Row", fields, rename=spelled, forbid_unknown_fields=True, gc=False)
    except ValueError:  # a name that has to be escaped
        return None
    return msgspec.json.Decoder(GenericAlias(list, (row,))).decode


def _attribute(place: int) -> str:
    return f"f{place}"


def _by_name(start: int, rows: Sequence[Mapping[str, bytes | msgspec.Raw]]) -> list[Column]:
    """The columns of rows whose fields may differ."""
    places: dict[str, tuple[list[int], list[bytes | msgspec.Raw]]] = {}
    for index, row in enumerate(rows, start):
        for name, value in row.items():
            place = places.get(name)
            if place is None:
                place = places[name] = ([], [])
            place[0].append(index)
            place[1].append(value)
    return [column(name, where, SEP.join(values)) for name, (where, values) in places.items()]
