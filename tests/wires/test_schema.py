"""What a client's JSON Schema becomes for another provider; nothing that a client sends makes it hang or fail."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.wires.schema import for_gemini, for_openai_strict

ALLOWED = {
    *("type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems"),
    *("minimum", "maximum", "anyOf", "properties", "additionalProperties", "required", "propertyOrdering"),
}


def of_property(schema: Any, **root: Any) -> dict[str, Any]:
    """The rewritten form of one property of a tool's arguments."""
    result, _ = for_gemini({"type": "object", "properties": {"it": schema}, **root})
    return result["properties"]["it"]


def losses_of(schema: Any) -> str:
    return " ".join(for_gemini({"type": "object", "properties": {"it": schema}})[1])


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every sub-schema; fails on a keyword that is not of the subset."""
    todo: list[Any] = [schema]
    while todo:
        node = todo.pop()
        assert isinstance(node, dict)
        table = cast("dict[str, Any]", node)
        assert set(table) <= ALLOWED
        yield table
        todo += table.get("properties", {}).values()
        todo += [*table.get("anyOf", []), *table.get("prefixItems", [])]
        todo += [table[key] for key in ("items", "additionalProperties") if isinstance(table.get(key), dict)]


# ---------------------------------------------------------------- one rule each


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "string"}, {"type": "string"}, id="plain"),
        pytest.param({}, {}, id="any"),
        pytest.param(True, {}, id="true"),
        pytest.param({"type": "object"}, {"type": "object"}, id="object without properties"),
        pytest.param({"type": "object", "properties": {}}, {"type": "object", "properties": {}}, id="no properties"),
        pytest.param(
            {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Note"},
            {"title": "Note", "type": ["string", "null"]},
            id="optional",
        ),
        pytest.param({"oneOf": [{"type": "null"}, {"type": "string"}]}, {"type": ["string", "null"]}, id="oneOf null"),
        pytest.param({"type": ["integer", "null"]}, {"type": ["integer", "null"]}, id="type list with null"),
        pytest.param({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}, id="OpenAPI nullable"),
        pytest.param(
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "Key"},
            {"description": "Key", "anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]},
            id="union with null",
        ),
        pytest.param(
            {"type": ["string", "array"], "items": {"type": "integer"}, "description": "Ids"},
            {"description": "Ids", "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            id="type list",
        ),
        pytest.param({"type": ["number", "integer"]}, {"type": "number"}, id="integers are numbers"),
        pytest.param({"const": "fast"}, {"type": "string", "enum": ["fast"]}, id="const"),
        pytest.param({"const": None}, {"type": "null"}, id="const null"),
        pytest.param(
            {"enum": ["a", "", None, "a", "b"]}, {"type": ["string", "null"], "enum": ["a", "b"]}, id="enum, untidy"
        ),
        pytest.param(
            {"enum": ["a", 1, None]},
            {"anyOf": [{"type": ["string", "null"], "enum": ["a"]}, {"type": "integer", "enum": [1]}]},
            id="enum, mixed",
        ),
        pytest.param({"enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}, id="enum of numbers"),
        pytest.param({"type": "string", "enum": [1, 2]}, {"type": "string", "enum": ["1", "2"]}, id="enum, wrong type"),
        pytest.param({"type": "boolean", "enum": [True, False]}, {"type": "boolean"}, id="enum of booleans"),
        pytest.param({"const": True}, {"type": "boolean", "description": "always true"}, id="const true"),
        pytest.param({"type": "integer", "enum": [1, 2**70]}, {"type": "integer", "enum": [1]}, id="enum, too large"),
        pytest.param({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}, id="object implied"),
        pytest.param({"items": {"type": "null"}}, {"type": "array", "items": {"type": "null"}}, id="array implied"),
        pytest.param({"type": "array"}, {"type": "array", "items": {}}, id="array of what?"),
        pytest.param({"type": "array", "items": True}, {"type": "array", "items": {}}, id="items true"),
        pytest.param(
            {"type": "array", "items": False}, {"type": "array", "items": {}, "maxItems": 0}, id="items false"
        ),
        pytest.param(
            {"type": "array", "items": [{"type": "string"}, {"type": "number"}], "additionalItems": False},
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "maxItems": 2},
            id="tuple",
        ),
        pytest.param({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}, id="above 0"),
        pytest.param(
            {"type": "integer", "exclusiveMaximum": 9.5, "maximum": 12}, {"type": "integer", "maximum": 9}, id="<9.5"
        ),
        pytest.param(
            {"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "minimum": 1}, id="draft 4"
        ),
        pytest.param(
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "number", "minimum": 0, "description": "greater than 0"},
            id="number above 0",
        ),
        pytest.param({"type": "number", "minimum": "0", "maximum": 5}, {"type": "number", "maximum": 5}, id="'0'"),
        pytest.param({"type": "integer", "maximum": 2**64 - 1}, {"type": "integer"}, id="over 64 bits"),
        pytest.param({"type": "integer", "maximum": 10**400}, {"type": "integer"}, id="over every float"),
        pytest.param({"type": "number", "maximum": float("nan")}, {"type": "number"}, id="not a number"),
        pytest.param({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}, id="format"),
        pytest.param(
            {
                "type": "string",
                "description": "Id",
                "pattern": "^a+$",
                "minLength": 3,
                "format": "uuid",
                "default": "é",
            },
            {"type": "string", "description": 'Id (format: uuid; pattern: ^a+$; minLength: 3; default: "é")'},
            id="told in words",
        ),
        pytest.param(
            {"type": "string", "examples": ["a"], "deprecated": True, "x-y": 1}, {"type": "string"}, id="junk"
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {}, "b": {}},
                "required": ["a", "a", "gone", 3],
                "propertyOrdering": ["b", "gone", "a"],
                "additionalProperties": {"type": "string", "$comment": "x"},
            },
            {
                "type": "object",
                "properties": {"a": {}, "b": {}},
                "required": ["a"],
                "propertyOrdering": ["b", "a"],
                "additionalProperties": {"type": "string"},
            },
            id="required",
        ),
        pytest.param(
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "number", "minimum": 1}}, "required": ["a"]},
                    {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["b"]},
                ],
                "description": "Both",
            },
            {
                "description": "Both",
                "type": "object",
                "properties": {"a": {"type": "integer", "minimum": 1}, "b": {}},
                "required": ["a", "b"],
            },
            id="allOf",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"type": "object", "properties": {"a": {}}},
            id="either-or of conditions",
        ),
        pytest.param(
            {
                "properties": {"k": {"type": "integer"}},
                "oneOf": [
                    {"properties": {"a": {"type": "integer"}}},
                    {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
                ],
            },
            {
                "anyOf": [
                    {"type": "object", "properties": {"a": {"type": "integer"}, "k": {"type": "integer"}}},
                    {
                        "type": "object",
                        "properties": {"b": {"type": "integer"}, "k": {"type": "integer"}},
                        "required": ["b"],
                    },
                ]
            },
            id="union beside properties",
        ),
        pytest.param(
            {"anyOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "string"}, False]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            id="nested and repeated branches",
        ),
    ],
)
def test_a_keyword_that_gemini_lacks_is_said_in_those_it_has(schema: Any, expected: dict[str, Any]):
    assert of_property(schema) == expected


def test_properties_named_like_keywords_stay_properties():
    names = ["type", "$ref", "properties", "anyOf", "enum", "required", "items", "名前", "", "a/b~c", "$defs", "not"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    result, losses = for_gemini(schema)
    assert result == schema
    assert losses == ()


def test_references_are_written_out_with_what_stands_beside_them():
    defs = {"$defs": {"a/b": {"type": "string", "description": "old"}, "list": [{"type": "integer"}]}}
    assert of_property({"$ref": "#/$defs/a~1b", "description": "new"}, **defs) == {
        "type": "string",
        "description": "new",
    }
    assert of_property({"$ref": "#/%24defs/list/0"}, **defs) == {"type": "integer"}
    assert of_property({"allOf": [{"$ref": "#/$defs/a~1b"}], "title": "T"}, **defs)["type"] == "string"


@pytest.mark.parametrize("ref", ["https://x.test/s.json", "#/$defs/gone", "#anchor", "", "#/properties/it/enum/99"])
def test_a_reference_that_leads_nowhere_becomes_a_plain_object_and_is_reported(ref: str):
    assert of_property({"$ref": ref}) == {"type": "object"}
    assert "$ref" in losses_of({"$ref": ref})


def test_a_recursive_schema_is_written_out_a_few_levels_and_ends_in_a_plain_object():
    node = {"type": "object", "properties": {"host": {"type": "string"}, "next": {"$ref": "#/$defs/N"}}}
    result, losses = for_gemini({"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}})
    levels, here = 0, result["properties"]["n"]
    while "properties" in here:
        levels, here = levels + 1, here["properties"]["next"]
    assert levels >= 2
    assert here == {"type": "object"}
    assert any("itself" in each for each in losses)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {str(n): {"$ref": "#"} for n in range(50)}},
        {"additionalProperties": {"$ref": "#"}, "items": {"$ref": "#"}},
    ],
)
def test_a_schema_that_points_to_itself_ends(schema: dict[str, Any]):
    result, losses = for_gemini(schema)
    assert result["type"] == "object"
    assert len(losses) <= 3


def test_writing_out_references_never_grows_without_bound():
    steps = 40  # 2 to the 40th parts, if each were written out
    defs: dict[str, Any] = {
        f"d{n}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in "lr"}}
        for n in range(steps)
    }
    doubled: dict[str, Any] = {f"e{n}": {"allOf": [{"$ref": f"#/$defs/e{n + 1}"}] * 2} for n in range(steps)}
    mutual: dict[str, Any] = {
        f"m{n}": {"type": "object", "properties": {str(k): {"$ref": f"#/$defs/m{k}"} for k in range(20)}}
        for n in range(20)
    }
    for name, table in (("d0", defs), ("m0", mutual), ("e0", doubled)):
        result, losses = for_gemini(
            {"type": "object", "properties": {"x": {"$ref": f"#/$defs/{name}"}}, "$defs": table}
        )
        assert sum(1 for _ in parts(result)) < 20_000
        assert losses


@pytest.mark.parametrize("kind", ["properties", "items", "anyOf", "allOf", "additionalProperties", "enum", "default"])
def test_a_schema_of_ten_thousand_levels_is_cut_and_not_refused(kind: str):
    node: Any = {"type": "string"}
    for _ in range(10_000):
        match kind:
            case "properties":
                node = {"properties": {"a": node}}
            case "anyOf":
                node = {"anyOf": [node, {"type": "integer"}]}
            case "allOf" | "enum":
                node = {kind: [node]}
            case _:
                node = {kind: node}
    result, losses = for_gemini({"type": "object", "properties": {"x": node}})
    assert sum(1 for _ in parts(result)) < 1_000
    assert losses or kind in ("allOf", "default")
    assert for_openai_strict({"type": "object", "properties": {"x": node}}) is False


def test_a_chain_of_ten_thousand_references_ends():
    defs: dict[str, Any] = {f"r{n}": {"$ref": f"#/$defs/r{n + 1}"} for n in range(10_000)}
    result, losses = for_gemini({"properties": {"x": {"$ref": "#/$defs/r0"}}, "$defs": defs})
    assert result["properties"]["x"] == {"type": "object"}
    assert losses


# ---------------------------------------------------------------- the root


def test_a_tools_root_is_always_an_object():
    union = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"const": 1}, "b": {}}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": {"const": 2}}, "required": ["a"]},
        ]
    }
    result, losses = for_gemini(union)
    assert result == {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "integer", "enum": [2]}]}, "b": {}},
        "required": ["a"],
    }
    assert any("root" in each for each in losses)
    assert for_gemini({}) == ({"type": "object"}, ())
    assert for_gemini({"type": ["object", "null"]})[0] == {"type": "object"}
    text, losses = for_gemini({"type": "string", "description": "A name"})
    assert (text["type"], text["description"], len(losses)) == ("object", "A name", 1)


def test_an_answers_root_may_be_anything():
    assert for_gemini({"type": "array", "items": {"const": "a"}}, tool=False)[0]["type"] == "array"


def test_what_is_weakened_is_said_and_what_is_not_is_silent():
    assert losses_of({"type": "string", "title": "T", "default": "x", "examples": ["x"], "format": "date"}) == ""
    assert losses_of({"type": "object", "propertyNames": {"type": "string"}, "minProperties": 0}) == ""
    assert losses_of({"type": "integer", "format": "int32"}) == ""
    weakened: dict[str, dict[str, Any]] = {
        "pattern": {"type": "string", "pattern": "a"},
        "not": {"type": "string", "not": {"const": "a"}},
        "if": {"if": {"required": ["a"]}, "then": {}},
        "patternProperties": {"type": "object", "patternProperties": {"^a": {}}},
        "propertyNames": {"type": "object", "propertyNames": {"enum": ["a"]}},
        "contains": {"type": "array", "contains": {"const": 1}},
        "uniqueItems": {"type": "array", "uniqueItems": True},
        "dependentRequired": {"type": "object", "dependentRequired": {"a": ["b"]}},
        "exclusiveMinimum": {"type": "number", "exclusiveMinimum": 1},
        "required": {"type": "object", "required": ["a"]},
        "enum": {"enum": ["", "a"]},
    }
    for keyword, schema in weakened.items():
        assert f"`{keyword}`" in losses_of(schema), keyword


# ---------------------------------------------------------------- properties of every schema

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.sampled_from(["string", "null", "#"])
)
NAMES = st.sampled_from(["a", "b", "type", "$ref", "properties"])
REFS = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/nowhere", "https://x.test/y"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, max_size=3)
    table = st.dictionaries(NAMES, inner, max_size=3)
    names = st.lists(NAMES, max_size=3)
    kinds = st.sampled_from(["string", "number", "integer", "boolean", "object", "array", "null", "ARRAY", "what"])
    bound = st.one_of(st.integers(-9, 9), st.floats(), st.just(2**70), st.booleans(), st.just("1"))
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(kinds, st.lists(kinds, max_size=3), st.just(5)),
            "title": st.text(max_size=3),
            "description": st.one_of(st.text(max_size=3), st.none()),
            "default": SCALARS,
            "nullable": st.booleans(),
            "enum": st.lists(SCALARS, max_size=4),
            "const": SCALARS,
            "format": st.sampled_from(["date", "uuid", "int32"]),
            "pattern": st.just("^a"),
            "minLength": bound,
            "minimum": bound,
            "maximum": bound,
            "exclusiveMinimum": bound,
            "exclusiveMaximum": bound,
            "multipleOf": bound,
            "properties": st.one_of(table, st.just([])),
            "required": st.one_of(names, st.booleans()),
            "propertyOrdering": names,
            "additionalProperties": st.one_of(st.booleans(), inner),
            "items": st.one_of(st.booleans(), inner, some),
            "prefixItems": some,
            "minItems": bound,
            "maxItems": bound,
            "anyOf": some,
            "oneOf": some,
            "allOf": some,
            "not": inner,
            "propertyNames": inner,
            "patternProperties": table,
            "uniqueItems": st.booleans(),
            "$ref": REFS,
            "$defs": table,
        },
    )


LEAVES: st.SearchStrategy[Any] = st.one_of(st.booleans(), keywords(st.booleans()))
SCHEMAS: st.SearchStrategy[Any] = st.recursive(LEAVES, keywords, max_leaves=8)
ROOTS = keywords(SCHEMAS)


@settings(max_examples=30, deadline=None)
@given(ROOTS, st.booleans())
def test_every_schema_comes_out_in_the_subset_unchanged_by_a_second_pass_and_its_input_untouched(
    schema: dict[str, Any], tool: bool
):
    before = copy.deepcopy(schema)
    result, losses = for_gemini(schema, tool=tool)
    assert repr(schema) == repr(before)
    for part in parts(result):
        if "anyOf" in part:
            assert set(part) <= {"anyOf", "title", "description"}
            assert len(part["anyOf"]) > 1
        assert set(part.get("required", [])) <= set(part.get("properties", {}))
    assert not tool or result["type"] == "object"
    assert for_gemini(schema, tool=tool) == (result, losses)
    assert for_gemini(result, tool=tool)[0] == result


JSON = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)), max_leaves=20)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from([*ALLOWED, "$ref", "allOf", "const", "oneOf", "default"]), JSON))
def test_any_json_at_all_in_place_of_a_schema_raises_nothing(schema: dict[str, Any]):
    result, _ = for_gemini(schema)
    assert result["type"] == "object"
    assert for_openai_strict(schema) in (True, False)


# ---------------------------------------------------------------- OpenAI strict


STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": ["string", "null"]},
        "b": {"type": "array", "items": {"$ref": "#/$defs/n"}},
        "c": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["c", "a", "b"],
    "additionalProperties": False,
    "$defs": {"n": {"type": "object", "properties": {}, "required": [], "additionalProperties": False}},
}


def test_strict_stays_on_for_a_schema_that_meets_openais_subset():
    assert for_openai_strict(STRICT) is True
    assert for_openai_strict({"type": "object", "properties": {}, "additionalProperties": False}) is True


@pytest.mark.parametrize(
    "change",
    [
        {"additionalProperties": True},
        {"required": ["a", "b"]},
        {"type": "string"},
        {"anyOf": [{"type": "object"}]},
        {"properties": {"a": {"type": "object"}}, "required": ["a"]},
        {"properties": {"a": {"oneOf": []}}, "required": ["a"]},
        {"properties": {"a": {"$ref": "https://x.test"}}, "required": ["a"]},
        {"$defs": {"n": {"type": ["object", "null"], "properties": {"x": {}}}}},
        {"allOf": []},
    ],
)
def test_strict_is_relaxed_where_openai_would_refuse_the_schema(change: dict[str, Any]):
    assert for_openai_strict(STRICT | change) is False
