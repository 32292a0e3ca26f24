"""The two schema languages of Gemini: the OpenAPI subset (`parameters`) and the JSON Schema subset.

Unknown keys of the first never get here: proto.py refuses them as unknown fields. Sources: the SDK's text on
`response_json_schema`, which lists the keywords, and the 400s that users report for the first.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.simulator.gemini.problems import refused
from app.simulator.shapes import Json, as_list, as_object, as_text, is_number, is_object, objects

_KEYWORDS = frozenset(
    (
        "$id",
        "$defs",
        "$ref",
        "$anchor",
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "oneOf",
        "properties",
        "additionalProperties",
        "required",
        "propertyOrdering",
        "nullable",
    )
)
_TYPES = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
_FORMATS = {
    "STRING": ("enum", "date-time"),
    "INTEGER": ("int32", "int64"),
    "NUMBER": ("float", "double"),
}
_BESIDE_ANY_OF = frozenset(("anyOf", "description", "title", "nullable"))


def check_openapi(schema: Json, place: str) -> None:
    """A schema of the OpenAPI subset, in camelCase; RefusalError with Google's sentence for its first fault."""
    branches = objects(schema.get("anyOf"))
    if branches:
        if schema.keys() - _BESIDE_ANY_OF:
            raise refused(f"* {place}.any_of: when using any_of, it must be the only field set.\n")
        for index, branch in enumerate(branches):
            check_openapi(branch, f"{place}.any_of[{index}]")
        return
    kind = as_text(schema.get("type"))
    if not kind or kind == "TYPE_UNSPECIFIED":
        raise refused(f"* {place}.type: must be specified.\n")
    _check_enum(schema, kind, place)
    form = schema.get("format")
    if form is not None and kind in _FORMATS and form not in _FORMATS[kind]:
        supported = " and ".join(f"'{one}'" for one in _FORMATS[kind])
        raise refused(f"* {place}.format: only {supported} are supported for {kind} type\n")
    if kind == "ARRAY":
        if not is_object(schema.get("items")):
            raise refused(f"* {place}.items: missing field.\n")
        check_openapi(as_object(schema["items"]), f"{place}.items")
    elif "items" in schema:
        raise refused(f"* {place}.items: field predicate failed: $type == Type.ARRAY\n")
    _check_properties(schema, kind, place)


def _check_enum(schema: Json, kind: str, place: str) -> None:
    if "enum" not in schema:
        return
    if kind != "STRING":
        raise refused(f"* {place}.enum: only allowed for STRING type\n")
    if not as_list(schema["enum"]):
        raise refused(f"* {place}.enum: should not be empty\n")
    for index, value in enumerate(as_list(schema["enum"])):
        if not value:
            raise refused(f"* {place}.enum[{index}]: cannot be empty\n")


def _check_properties(schema: Json, kind: str, place: str) -> None:
    properties = as_object(schema.get("properties"))
    if kind == "OBJECT" and not properties:
        raise refused(f"* {place}.properties: should be non-empty for OBJECT type\n")
    if kind != "OBJECT" and (properties or schema.get("required")):
        field = "properties" if properties else "required"
        raise refused(f"* {place}.{field}: only allowed for OBJECT type\n")
    for index, name in enumerate(as_list(schema.get("required"))):
        if name not in properties:
            raise refused(f"* {place}.required[{index}]: property is not defined\n")
    for name, inner in properties.items():
        check_openapi(as_object(inner), f"{place}.properties[{name}]")


def check_json_schema(schema: object, place: str) -> None:
    """A JSON Schema of the documented subset; RefusalError for its first fault."""
    if not is_object(schema):
        raise refused(f"* {place}: must be a JSON Schema object.\n")
    _check_node(schema, schema, place)
    _check_no_required_cycle(schema, schema, place, ())


def _check_node(node: object, root: Json, place: str) -> None:
    if isinstance(node, bool):
        return
    if not is_object(node):
        raise refused(f"* {place}: must be a JSON Schema object.\n")
    for key in node:
        if key not in _KEYWORDS:
            raise refused(f'* {place}: the keyword "{key}" is not supported.\n')
    if "$ref" in node:
        _check_ref(node, root, place)
    _check_types(node, place)
    for inner, below in _children(node):
        _check_node(inner, root, f"{place}.{below}")


def _children(node: Json) -> Iterator[tuple[object, str]]:
    """The schemas inside a schema, each with its place."""
    for key in ("properties", "$defs"):
        yield from ((inner, f"{key}[{name}]") for name, inner in as_object(node.get(key)).items())
    for key in ("anyOf", "oneOf", "prefixItems"):
        yield from ((inner, f"{key}[{index}]") for index, inner in enumerate(as_list(node.get(key))))
    for key in ("items", "additionalProperties"):
        if key in node:
            yield node[key], key


def _check_ref(node: Json, root: Json, place: str) -> None:
    if any(not key.startswith("$") for key in node):
        raise refused(f"* {place}: no other properties may be set beside $ref, except for those starting with a $.\n")
    if _resolved(as_text(node["$ref"]), root) is None:
        raise refused(f"* {place}.$ref: {as_text(node['$ref'])!r} does not point into this schema.\n")


def _check_types(node: Json, place: str) -> None:
    given = node.get("type")
    for kind in as_list(given) or [given]:
        if kind is not None and (not isinstance(kind, str) or kind.lower() not in _TYPES):
            raise refused(f"* {place}.type: {kind!r} is not a JSON Schema type.\n")
    for value in as_list(node.get("enum")):
        if not isinstance(value, str) and not is_number(value) and value is not None:
            raise refused(f"* {place}.enum: only strings and numbers are supported.\n")
    if not all(isinstance(name, str) for name in as_list(node.get("required"))):
        raise refused(f"* {place}.required: must hold names.\n")


def _resolved(pointer: str, root: Json) -> Json | None:
    if not pointer.startswith("#"):
        return None
    node: object = root
    for step in pointer[1:].strip("/").split("/"):
        if step:
            if not is_object(node) or step.replace("~1", "/").replace("~0", "~") not in node:
                return None
            node = node[step.replace("~1", "/").replace("~0", "~")]
    return node if is_object(node) else None


def _check_no_required_cycle(node: object, root: Json, place: str, way: tuple[str, ...]) -> None:
    """Cyclic references are unrolled a little, and so may stand in properties that are not required only."""
    schema = as_object(node)
    pointer = as_text(schema.get("$ref"))
    if pointer:
        if pointer in way:
            raise refused(
                f"* {place}: a cyclic reference ({pointer}) may only be used within non-required properties.\n"
            )
        _check_no_required_cycle(_resolved(pointer, root), root, place, (*way, pointer))
    properties = as_object(schema.get("properties"))
    for name in as_list(schema.get("required")):
        _check_no_required_cycle(properties.get(as_text(name)), root, f"{place}.properties[{name}]", way)
