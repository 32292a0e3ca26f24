"""Whether a JSON Schema already meets the subset of OpenAI's strict mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from app.wires.schema.keywords import Schema, list_of, table_of

NOT_STRICT = frozenset(
    (
        *("allOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas"),
        *("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"),
        *("unevaluatedItems", "contains", "minContains", "maxContains", "uniqueItems", "prefixItems"),
        *("$recursiveRef", "$dynamicRef"),
    )
)


def for_openai_strict(schema: Schema) -> bool:
    """Whether `schema` already meets the subset that OpenAI's `strict: true` demands, so that strict may stay on.

    Every object closed (`additionalProperties` false) with all its properties required, the root an object and no
    union, every reference a local one, and none of the keywords that strict mode refuses (OpenAI guide to structured
    outputs, "Supported schemas").
    """
    if schema.get("type") != "object" or "anyOf" in schema:
        return False
    todo: list[Any] = [schema]
    while todo:
        node = todo.pop()
        if not isinstance(node, Mapping):
            return False
        table = cast("Schema", node)
        if any(key in table for key in NOT_STRICT) or not str(table.get("$ref", "#")).startswith("#"):
            return False
        properties = table_of(table.get("properties"))
        if "properties" in table or "object" in (table.get("type"), *list_of(table.get("type"))):
            required = [name for name in list_of(table.get("required")) if isinstance(name, str)]
            if table.get("additionalProperties") is not False or set(required) != set(properties):
                return False
        for group in (properties, table_of(table.get("$defs")), table_of(table.get("definitions"))):
            todo.extend(group.values())
        todo.extend(list_of(table.get("anyOf")))
        todo.extend([table["items"]] if "items" in table else [])
    return True
