"""A small safe filter for rows: a field, an operator, a value. It is data; nothing in it is ever run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias, cast

import msgspec

from app.context.tool_results.json_rows import FIELDS, UNREADABLE
from app.context.tool_results.shapes import Cells

MOST = 8
"""Conditions of one filter."""

Said: TypeAlias = str | int | Decimal | bool | list[Any] | None


LONGEST_VALUE = 4000
"""Bytes of a value to compare with, of all of a list together: each row is compared with the whole of it."""


class BadFilterError(Exception):
    """What is wrong with a filter, in a sentence that tells the model how to put it."""


class Condition(msgspec.Struct, frozen=True):
    """One comparison. `field` may reach into objects with dots; `value` is not used by exists and missing."""

    field: str
    op: str
    value: Any = None

    def holds(self, cells: Cells) -> bool:
        """Whether the row meets it. A row without the field meets only missing and !=."""
        found = _reached(cells, self.field)
        if self.op == "exists":
            return found is not None and found != b"null"
        if self.op == "missing":
            return found is None or found == b"null"
        if found is None:
            return self.op in ("!=", "not_contains")
        return _TESTS[self.op](_value(found), self.value)


def conditions(where: Any, fields: Sequence[str]) -> tuple[Condition, ...]:
    """The filter as conditions, all of which must hold.

    Args:
        where: one {"field", "op", "value"} or a list of them; also {"field": value} for plain equality.
        fields: those that the rows have.

    Raises BadFilterError.
    """
    if isinstance(where, str):
        try:
            where = _loads(where)
        except UNREADABLE:
            raise BadFilterError(f"where is text that is no JSON. {_form(fields)}") from None
    each = cast(list[Any], where) if isinstance(where, list) else [where]
    if len(each) > MOST:
        raise BadFilterError(f"where has {len(each)} conditions, and {MOST} are the most. Leave some out.")
    return tuple(found for one in each for found in _conditions(one, fields))


def _conditions(one: Any, fields: Sequence[str]) -> list[Condition]:
    if not isinstance(one, dict):
        raise BadFilterError(f"where is not understood. {_form(fields)}")
    said = cast(dict[str, Any], one)
    if "field" in said and ("op" in said or "value" in said or len(said) == 1):
        return [_condition(said, fields)]
    return [_condition({"field": name, "op": "=", "value": value}, fields) for name, value in said.items()]


def _condition(said: Mapping[str, Any], fields: Sequence[str]) -> Condition:
    name, op = said.get("field"), said.get("op", "=")
    if not isinstance(name, str) or (name not in fields and name.split(".")[0] not in fields):
        known = ", ".join(field[:60] for field in fields[:40])
        raise BadFilterError(f"The rows have no field {str(name)[:60]!r}. Their fields: {known}.")
    op = _ALIASES.get(str(op).lower().strip(), str(op).lower().strip())
    if op not in OPERATORS:
        raise BadFilterError(f"{str(op)[:30]!r} is no operator. {_form(fields)}")
    value = said.get("value")
    if "value" not in said and op not in VALUELESS:
        raise BadFilterError(f"The condition on {name[:60]!r} has no value to compare with. {_form(fields)}")
    if op == "in" and isinstance(value, str):
        value = _list(value)
    if op == "in" and not isinstance(value, list):
        raise BadFilterError('The operator in wants a list as its value, such as ["a","b"].')
    if (length := len(msgspec.json.encode(cast(object, value)))) > LONGEST_VALUE:
        raise BadFilterError(
            f"The value of the condition on {name[:60]!r} takes {length:,} bytes, and {LONGEST_VALUE:,} are the most. "
            f"Give a part of it, with contains or starts_with."
        )
    return Condition(name, op, value)


def _list(words: str) -> list[Any]:
    """A list that came as text: JSON, or words between commas."""
    try:
        said = _loads(words)
    except UNREADABLE:
        said = None
    return cast(list[Any], said) if isinstance(said, list) else [word.strip() for word in words.split(",")]


def _form(fields: Sequence[str]) -> str:
    name = fields[0][:60] if fields else "status"
    return (
        f'Give {{"field":"{name}","op":"=","value":…}} or a list of these (all must hold); op is one of '
        f"{', '.join(OPERATORS)}."
    )


def _reached(cells: Cells, field: str) -> bytes | None:
    if field in cells:
        return cells[field]
    name, *path = field.split(".")
    found = cells.get(name)
    for step in path:
        if found is None or found[:1] != b"{":
            return None
        inside = FIELDS.decode(found).get(step)
        found = bytes(inside) if inside is not None else None
    return found


def _value(text: bytes) -> Said:
    """A value to compare: numbers as exact decimals, objects by their JSON text."""
    sign = text[:1]
    if sign == b'"':
        return msgspec.json.decode(text, type=str)
    if sign in (b"{", b"["):
        return text.decode()
    if sign in (b"t", b"f"):
        return sign == b"t"
    if sign == b"n":
        return None
    try:
        return Decimal(text.decode())
    except InvalidOperation:  # an exponent beyond all that can be counted with: such a number equals its own spelling
        return text.decode()


def _number(value: Any) -> Decimal | None:
    """A number, also one that is written as a string; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _same(found: Said, wanted: Any) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool):
        return _word(found) == _word(wanted)
    if found is None or wanted is None:
        return found is wanted
    if isinstance(found, Decimal):
        return found == _number(wanted)
    return _word(found) == _word(wanted)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.casefold() if isinstance(value, str) else "" if value is None else str(value)


def _order(found: Said, wanted: Any) -> int | None:
    """-1, 0 or 1; None where there is no order between the two. Dates in ISO form order as words."""
    one, two = _number(found), _number(wanted)
    if one is not None and two is not None:
        return (one > two) - (one < two)
    if isinstance(found, str) and isinstance(wanted, str) and one is None:
        return (found > wanted) - (found < wanted)
    return None


def _ordered(*wanted: int) -> Callable[[Said, Any], bool]:
    return lambda found, value: _order(found, value) in wanted


def _contains(found: Said, wanted: Any) -> bool:
    return _word(wanted) in _word(found)


def _loads(text: str) -> Any:
    """Numbers stay as they are spelled: a float would not equal 0.1 of the rows."""
    return msgspec.json.decode(text, type=Any) if "." not in text else _EXACT.decode(text)


_EXACT: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal)

_TESTS: Mapping[str, Callable[[Said, Any], bool]] = {
    "=": _same,
    "!=": lambda found, value: not _same(found, value),
    "<": _ordered(-1),
    "<=": _ordered(-1, 0),
    ">": _ordered(1),
    ">=": _ordered(1, 0),
    "contains": _contains,
    "not_contains": lambda found, value: not _contains(found, value),
    "starts_with": lambda found, value: _word(found).startswith(_word(value)),
    "in": lambda found, value: any(_same(found, each) for each in value),
}
_ALIASES = {
    "==": "=",
    "eq": "=",
    "equals": "=",
    "is": "=",
    "ne": "!=",
    "neq": "!=",
    "<>": "!=",
    "lt": "<",
    "lte": "<=",
    "le": "<=",
    "gt": ">",
    "gte": ">=",
    "ge": ">=",
    "like": "contains",
    "includes": "contains",
    "startswith": "starts_with",
    "prefix": "starts_with",
}
"""What models write instead."""

VALUELESS = ("exists", "missing")
OPERATORS = (*_TESTS, *VALUELESS)
