"""Unions after rewriting: null said as a type list, a union of one, and a union of objects as one object."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.wires.schema.keywords import list_of


def nullable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Null allowed too, said in the one documented form: a type list. In a union its first branch says it."""
    branches: list[dict[str, Any]] = schema.get("anyOf", [])
    if branches:
        if any(_takes_null(branch) for branch in branches):
            return schema
        return schema | {"anyOf": [nullable_schema(branches[0]), *branches[1:]]}
    kind = schema.get("type")
    return schema | {"type": [kind, "null"]} if isinstance(kind, str) and kind != "null" else schema


def _takes_null(schema: dict[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(map(_takes_null, schema["anyOf"]))
    return not isinstance(schema.get("type"), str) or schema["type"] == "null"


def joined(around: dict[str, Any], only: dict[str, Any]) -> dict[str, Any]:
    """A union of one: its branch, with both descriptions, for the branch's may hold what no keyword can say."""
    said = list(dict.fromkeys(each["description"] for each in (around, only) if "description" in each))
    return only | around | ({"description": " ".join(said)} if said else {})


def object_root(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A tool's arguments are an object: a union of objects becomes one that takes each of them."""
    kind = schema.get("type")
    if kind == "object" or (kind is None and "anyOf" not in schema):
        return schema | {"type": "object"}, []
    if kind == ["object", "null"]:
        return schema | {"type": "object"}, []
    objects = [branch for branch in _branches(schema) if "object" in (branch.get("type"), *list_of(branch.get("type")))]
    variants: dict[str, list[Any]] = {}
    for branch in objects:
        for name, value in branch.get("properties", {}).items():
            variants.setdefault(name, []).append(value)
    result = {key: schema[key] for key in ("title", "description") if key in schema}
    result |= {"type": "object", "properties": {n: v[0] if len(v) == 1 else {"anyOf": v} for n, v in variants.items()}}
    if objects and all(branch.get("additionalProperties") is False for branch in objects):
        result["additionalProperties"] = False
    result["required"] = [name for name in variants if all(name in list_of(each.get("required")) for each in objects)]
    return result, ["The root of a tool's arguments must be one object; it was made so, and a union's parts united."]


def _branches(schema: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for branch in schema.get("anyOf", []):
        yield from _branches(branch) if "anyOf" in branch else [branch]
