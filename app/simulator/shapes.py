"""Typed looks into JSON of unknown shape.

A provider must answer any JSON that a client sends, so nothing here raises: what is not there, or is of another kind,
reads as empty.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias, TypeGuard, cast

Json: TypeAlias = dict[str, Any]
_KINDS: tuple[tuple[type, str], ...] = (
    (str, "a string"),
    (int, "an integer"),
    (float, "a decimal"),
    (list, "an array"),
    (dict, "an object"),
)


def is_object(value: object) -> TypeGuard[Json]:
    """Whether this is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether this is a JSON array."""
    return isinstance(value, list)


def as_object(value: object) -> Json:
    """The value if it is a JSON object, else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: object) -> list[Json]:
    """The objects of a JSON array; anything else in it is left out."""
    return [cast("Json", item) for item in as_list(value) if isinstance(item, dict)]


def as_number(value: object) -> float | None:
    """The value if it is a JSON number, else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_number(value: object) -> bool:
    """Whether this is a JSON number; true and false are none, although Python's bool is an int."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Whether this is a JSON number without a fraction."""
    return is_number(value) and float(cast("float", value)).is_integer()


def kind_of(value: object) -> str:
    """What OpenAI calls a JSON value in its messages ("got a string instead")."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "another value"


def dump(value: object) -> str:
    """Compact JSON, with every letter written as itself."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def canonical(value: object) -> str:
    """One spelling for one JSON value: keys sorted, and 5.0 written as 5."""
    return json.dumps(_plain(value), ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def digest(*values: object, length: int = 24) -> str:
    """A stable name for JSON values, as `length` hexadecimal digits: the simulator's only source of ids."""
    text = "\x00".join(canonical(value) for value in values)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()[:length]


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("Json", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
