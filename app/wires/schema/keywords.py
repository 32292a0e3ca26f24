"""JSON Schema's keywords: values of unknown make, one spelling for each idea, and two schemas at once.

The drafts since 4 and OpenAPI spell the same thing differently; `modern` writes one spelling, `MERGED` says what
`allOf` makes of two values of one keyword.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

Schema: TypeAlias = Mapping[str, Any]

REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")
TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
# Where the type is missing, these tell it. `enum` stands before the bounds, after the structure.
TELLING: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("object", ("properties", "required", "additionalProperties", "propertyOrdering", "patternProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains")),
    ("string", ("pattern", "minLength", "maxLength", "format", "contentEncoding")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)


# ---------------------------------------------------------------- tables and lists of unknown make


def table_of(value: Any) -> dict[str, Any]:
    return dict(cast("Schema", value)) if isinstance(value, Mapping) else {}


def list_of(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def number_of(value: Any) -> int | float | None:
    """A finite number; an integer only if 64 bits hold it, because Gemini's parser takes no larger one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    return value if math.isfinite(value) else None


def whole_number(value: float | None, towards: Callable[[float], int]) -> int | None:
    number = None if value is None else number_of(towards(value))
    return None if number is None else int(number)


def count_of(value: Any) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and number == int(number) and 0 <= number < 2**63 else None


def type_of(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case None:
            return "null"
        case list():
            return "array"
        case _:
            return "object"


def values_of(values: list[Any], kind: str) -> list[Any]:
    """The values of that type, each once."""
    kinds = ("integer", "number") if kind == "number" else (kind,)
    same = [value for value in values if type_of(value) in kinds]
    return same if kind in ("array", "object") else list(dict.fromkeys(same))


def types_of(flat: Schema) -> list[str]:
    """The types that a node names or, if it names none, those that its other keywords imply."""
    enum, named = list_of(flat.get("enum")), list_of(flat.get("type"))
    if named and len(named) > 1 and enum:
        return [kind for kind in named if kind == "null" or values_of(enum, kind)] or named
    if named:
        return named
    implied = [kind for kind, keys in TELLING if any(key in flat for key in keys)]
    if enum and not {"object", "array"}.intersection(implied):
        listed = dict.fromkeys(map(type_of, enum))
        return [kind for kind in listed if not (kind == "integer" and "number" in listed)]
    return implied[:1]


# ---------------------------------------------------------------- older spellings, merging, folding


def modern(part: dict[str, Any]) -> dict[str, Any]:
    """One spelling for each idea: enum for const, anyOf for oneOf, prefixItems for a list of items, a list of types."""
    names = [part["type"]] if isinstance(part.get("type"), str) else list_of(part.pop("type", None))
    types = [name.lower() for name in names if isinstance(name, str) and name.lower() in TYPES]
    part["type"] = [name for name in dict.fromkeys(types) if not (name == "integer" and "number" in types)]
    if not part["type"]:
        del part["type"]
    if "const" in part:
        part["enum"] = [part.pop("const")]
    enum = list_of(part.pop("enum", None))
    if enum:
        values = [value for value in enum if value is not None]
        part |= {"enum": values} if values else {"type": ["null"]}
        part |= {"nullable": True} if len(values) < len(enum) else {}
    if "oneOf" in part:
        part.setdefault("anyOf", part.pop("oneOf"))
    if isinstance(part.get("items"), list):
        part["prefixItems"] = part.pop("items")
        part |= {"items": part["additionalItems"]} if "additionalItems" in part else {}
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(part.get(exclusive), bool) and part.pop(exclusive) and limit in part:  # draft 4
            part[exclusive] = part.pop(limit)
    return part


def _both_schemas(first: Any, second: Any) -> Any:
    if first is second or second is True or first is False:
        return first
    if first is True or second is False:
        return second
    return {"allOf": [first, second]}


def _both_properties(first: Any, second: Any) -> dict[str, Any]:
    result = table_of(first)
    for name, value in table_of(second).items():
        result[name] = _both_schemas(result[name], value) if name in result else value
    return result


def _both_types(first: list[str], second: list[str]) -> list[str]:
    """The types in both lists, an integer being a number; the first list if they share none."""
    shared = [kind for kind in first if kind in second or (kind == "integer" and "number" in second)]
    shared += [kind for kind in second if kind == "integer" and "number" in first]
    return shared or first


def _both_enums(first: list[Any], second: list[Any]) -> list[Any]:
    listed = {(type_of(value), value) for value in second if isinstance(value, str | int | float)}
    shared = [v for v in first if isinstance(v, str | int | float) and (type_of(v), v) in listed]
    return shared or first


def _higher(first: Any, second: Any) -> Any:
    numbers = [number for number in map(number_of, (first, second)) if number is not None]
    return max(numbers) if numbers else first


def _lower(first: Any, second: Any) -> Any:
    numbers = [number for number in map(number_of, (first, second)) if number is not None]
    return min(numbers) if numbers else first


MERGED: Mapping[str, Callable[[Any, Any], Any]] = {
    "properties": _both_properties,
    "required": lambda first, second: [*list_of(first), *list_of(second)],
    "additionalProperties": _both_schemas,
    "items": _both_schemas,
    "type": _both_types,
    "enum": _both_enums,
    "nullable": lambda first, second: first is True and second is True,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minItems", "minLength"), _higher),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxItems", "maxLength"), _lower),
}
