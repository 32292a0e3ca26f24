"""Gemini's two schema languages: what each takes, and what it answers to the rest."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

STRING = {"type": "STRING"}
OPENAPI_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "$ref": (
        {"$ref": "#/$defs/A"},
        "Unknown name \"$ref\" at 'tools[0].function_declarations[0].parameters.properties[0].value'",
    ),
    "const": ({"type": "STRING", "const": "a"}, 'Unknown name "const"'),
    "exclusiveMinimum": ({"type": "INTEGER", "exclusiveMinimum": 0}, 'Unknown name "exclusiveMinimum"'),
    "additionalProperties": ({"type": "OBJECT", "additionalProperties": False}, 'Unknown name "additionalProperties"'),
    "oneOf": ({"oneOf": [STRING]}, 'Unknown name "oneOf"'),
    "type list": ({"type": ["STRING", "NULL"]}, "Type)"),
    "unknown type": ({"type": "TEXT"}, 'Type), "TEXT"'),
    "no type": ({"description": "x"}, "must be specified"),
    "enum of numbers": ({"type": "INTEGER", "enum": [1]}, "(TYPE_STRING), 1"),
    "enum on a number": ({"type": "INTEGER", "enum": ["1"]}, "enum: only allowed for STRING type"),
    "empty enum value": ({"type": "STRING", "enum": ["a", ""]}, "enum[1]: cannot be empty"),
    "format": ({"type": "STRING", "format": "uri"}, "only 'enum' and 'date-time' are supported for STRING type"),
    "array without items": ({"type": "ARRAY"}, "items: missing field"),
    "object without properties": ({"type": "OBJECT"}, "should be non-empty for OBJECT type"),
    "required but unknown": (
        {"type": "OBJECT", "properties": {"a": STRING}, "required": ["b"]},
        "property is not defined",
    ),
    "beside anyOf": ({"anyOf": [STRING], "type": "STRING"}, "when using any_of, it must be the only field set"),
}
JSON_REFUSED: dict[str, tuple[Any, str]] = {
    "$schema": ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, '"$schema" is not supported'),
    "const": ({"properties": {"a": {"const": 1}}}, 'properties[a]: the keyword "const" is not supported'),
    "exclusiveMinimum": ({"properties": {"a": {"exclusiveMinimum": 0}}}, '"exclusiveMinimum"'),
    "propertyNames": (
        {"additionalProperties": {"propertyNames": {}}},
        'additionalProperties: the keyword "propertyNames"',
    ),
    "default": ({"properties": {"a": {"anyOf": [{"default": None}]}}}, "properties[a].anyOf[0]"),
    "beside $ref": ({"$defs": {"A": {}}, "properties": {"a": {"$ref": "#/$defs/A", "title": "t"}}}, "beside $ref"),
    "$ref to nowhere": ({"properties": {"a": {"$ref": "#/$defs/A"}}}, "does not point into this schema"),
    "enum of booleans": ({"properties": {"a": {"enum": [True]}}}, "only strings and numbers"),
    "unknown type": ({"properties": {"a": {"type": "text"}}}, "not a JSON Schema type"),
    "required cycle": (
        {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        "may only be used within non-required properties",
    ),
    "no object": ({"type": "string"}, "must describe an object"),
}


async def _ask(http: httpx2.AsyncClient, **declaration: Any) -> httpx2.Response:
    tools = [{"functionDeclarations": [{"name": "f", **declaration}]}]
    body = {"contents": [{"parts": [{"text": "hello"}]}], "tools": tools}
    return await http.post("/v1beta/models/gemini-3-flash-preview:generateContent", json=body)


@pytest.mark.parametrize("name", OPENAPI_REFUSED)
async def test_the_openapi_subset_is_kept_strictly(name: str, http: httpx2.AsyncClient) -> None:
    schema, said = OPENAPI_REFUSED[name]
    answer = await _ask(http, parameters={"type": "OBJECT", "properties": {"x": schema}})
    assert (answer.status_code, said in answer.json()["error"]["message"]) == (400, True), answer.text


@pytest.mark.parametrize("name", JSON_REFUSED)
async def test_json_schema_is_taken_in_its_documented_part(name: str, http: httpx2.AsyncClient) -> None:
    schema, said = JSON_REFUSED[name]
    answer = await _ask(http, parametersJsonSchema={"type": "object"} | schema)
    assert (answer.status_code, said in answer.json()["error"]["message"]) == (400, True), answer.text


async def test_the_rest_of_both_languages_is_taken(http: httpx2.AsyncClient) -> None:
    openapi = {
        "type": "object",
        "properties": {
            "any_key": {"type": "string", "nullable": True, "enum": ["a"], "format": "enum"},
            "key": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER", "format": "int32"}], "description": "d"},
            "list": {"type": "ARRAY", "items": {"type": "NUMBER", "minimum": 1}, "min_items": "1", "maxItems": 3},
        },
        "required": ["any_key"],
        "propertyOrdering": ["any_key"],
    }
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/T"}}}
    documented = {
        "type": "object",
        "$defs": {"T": tree},
        "properties": {
            "t": {"$ref": "#/$defs/T"},
            "n": {"type": ["string", "null"]},
            "o": {"oneOf": [{"type": "null"}]},
        },
        "required": ["t"],
        "additionalProperties": False,
    }
    assert (await _ask(http, parameters=openapi)).status_code == 200
    assert (await _ask(http, parametersJsonSchema=documented)).status_code == 200
    both = await _ask(http, parameters=openapi, parametersJsonSchema=documented)
    assert "only one of parameters and parameters_json_schema" in both.json()["error"]["message"]
