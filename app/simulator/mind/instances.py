"""Makes a valid instance of a JSON Schema, always the same one: structured answers and tool arguments."""

from __future__ import annotations

from typing import Any

from app.simulator.shapes import Json, as_list, as_number, as_object, as_text, objects

_DEEPEST = 5  # levels: below, a schema that contains itself gets only what it requires
_FORMATS = {
    "date": "2030-01-02",
    "date-time": "2030-01-02T03:04:05Z",
    "time": "03:04:05Z",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "hostname": "example.com",
}


def instance(schema: Json, name: str = "value") -> Any:
    """An instance of the schema. Strings without further rules say the name of their property."""
    return _make(schema, name, schema, 0)


def _make(schema: Json, name: str, root: Json, depth: int) -> Any:
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if as_list(schema.get("enum")):
        return as_list(schema["enum"])[0]
    for key in ("anyOf", "oneOf"):
        branches = objects(schema.get(key))
        if branches:
            real = [branch for branch in branches if kind(_resolved(branch, root)) != "null"]
            return _make((real or branches)[0], name, root, depth + 1)
    match kind(schema):
        case "object":
            return _object(schema, root, depth)
        case "array":
            return _array(schema, name, root, depth)
        case "integer":
            return int(_at_least(schema, 1))
        case "number":
            return _at_least(schema, 1.5)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _string(schema, name)


def kind(schema: Json) -> str:
    """The type that a schema asks for, in lower case; of several, the first that is not null."""
    given = schema.get("type")
    names = [as_text(one).lower() for one in as_list(given) or [given]]
    real = [one for one in names if one and one != "null"]
    if real:
        return real[0]
    if "null" in names:
        return "null"
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else "string"


def _resolved(schema: Json, root: Json) -> Json:
    for _ in range(20):
        pointer = as_text(schema.get("$ref") or schema.get("ref"))
        if not pointer:
            break
        schema = _pointed(pointer, root)
    merged: Json = dict(schema)
    for part in objects(schema.get("allOf")):
        full = _resolved(part, root) if part is not schema else {}
        merged["properties"] = as_object(merged.get("properties")) | as_object(full.get("properties"))
        merged = full | {key: value for key, value in merged.items() if value or key not in full}
    return merged


def _pointed(pointer: str, root: Json) -> Json:
    place: object = root
    for step in pointer.lstrip("#").strip("/").split("/"):
        if step:
            place = as_object(place).get(step.replace("~1", "/").replace("~0", "~"))
    return as_object(place)


def _object(schema: Json, root: Json, depth: int) -> Json:
    required = {as_text(name) for name in as_list(schema.get("required"))}
    properties = as_object(schema.get("properties"))
    return {
        name: _make(as_object(inner), name, root, depth + 1)
        for name, inner in properties.items()
        if depth < _DEEPEST or (name in required and depth < 3 * _DEEPEST)
    }


def _array(schema: Json, name: str, root: Json, depth: int) -> list[Any]:
    least = as_number(schema.get("minItems"))
    first = objects(schema.get("prefixItems"))
    if first:
        return [_make(one, name, root, depth + 1) for one in first]
    if depth >= _DEEPEST and least is None:
        return []
    wanted = 1 if least is None else min(int(least), 100)
    return [_make(as_object(schema.get("items")), name, root, depth + 1) for _ in range(wanted)]


def _at_least(schema: Json, usual: float) -> float:
    low, over, high = (as_number(schema.get(key)) for key in ("minimum", "exclusiveMinimum", "maximum"))
    lowest = low if low is not None else over + 1 if over is not None else usual
    value = max(usual, lowest)
    return value if high is None else min(value, high)


def _string(schema: Json, name: str) -> str:
    text = _FORMATS.get(as_text(schema.get("format")), name)
    least, most = as_number(schema.get("minLength")), as_number(schema.get("maxLength"))
    if least is not None:
        text = text.ljust(int(least), "x")
    return text if most is None else text[: int(most)]
