"""Anthropic's rules for tools, tool choice and structured output."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.simulator.anthropic.kinds import fields_at, flag_at, list_at, object_at, tag_of, text_at
from app.simulator.anthropic.line import line_of
from app.simulator.anthropic.problems import refused
from app.simulator.shapes import Json, as_list, as_object, as_text, is_list, is_object, objects

FORCED = ("any", "tool")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_OWN = re.compile(
    r"(?:web_search|web_fetch|code_execution|bash|text_editor|memory|computer|tool_search_tool_(?:regex|bm25)|"
    r"browser_toolset|computer_toolset|advisor)_20\d{6}|mcp_toolset"
)
_ON_SERVER = re.compile(r"(?:web_search|web_fetch|code_execution|tool_search_tool|advisor)_|mcp_toolset")
_FIELDS = (
    "description",
    "cache_control",
    "strict",
    "defer_loading",
    "input_examples",
    "eager_input_streaming",
    "allowed_callers",
)
_MOST_STRICT = 20
_MOST_OPTIONAL = 24
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_NO_LIMITS: dict[str, tuple[str, ...]] = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength"),
    "array": ("maxItems", "uniqueItems"),
    "object": ("minProperties", "maxProperties"),
}


def check_tools(body: Json) -> None:
    """Tools and tool choice; RefusalError if one breaks a rule, or if `messages` hold calls and there are no tools."""
    tools = list_at("tools", body["tools"]) if body.get("tools") is not None else []
    for at, tool in enumerate(tools):
        _check_tool(f"tools.{at}", tool)
    names = [as_text(tool.get("name")) for tool in tools if "name" in tool]
    if len(names) != len(set(names)):
        raise refused("tools: Tool names must be unique.")
    if tools and all(tool.get("defer_loading") is True for tool in tools):
        raise refused("tools: At least one tool must have defer_loading=false.")
    strict = [tool for tool in tools if tool.get("strict") is True]
    if len(strict) > _MOST_STRICT:
        raise refused(f"tools: at most {_MOST_STRICT} tools may be strict, not {len(strict)}")
    optional = sum(_optional(as_object(tool.get("input_schema"))) for tool in strict)
    if optional > _MOST_OPTIONAL:
        raise refused(
            f"Schemas contain too many optional parameters ({optional}), which would make grammar compilation "
            f"inefficient. Reduce the number of optional parameters in your tool schemas (limit: {_MOST_OPTIONAL})."
        )
    _check_choice(body.get("tool_choice"), names, any_tools=bool(tools))
    used = any(placed.kind in ("tool_use", "tool_result") for placed in line_of(objects(body.get("messages"))))
    if used and not tools:
        raise refused("Requests which include `tool_use` or `tool_result` blocks must define tools")


def check_format(given: object) -> None:
    """The shape of `output_config.format`; RefusalError if it is wrong."""
    if given is None:
        return
    place = "output_config.format"
    form = object_at(place, given)
    tag_of(place, form, ("json_schema",))
    fields_at(place, form, ("schema",))
    schema = object_at(f"{place}.schema", form["schema"])
    check_strict_schema(f"{place}.schema", schema)


def check_strict_schema(place: str, schema: Json) -> None:
    """A schema that the model is held to; RefusalError for what such schemas must not say, or must."""
    for inner in _schemas(schema):
        kind = as_text(inner.get("type"))
        if kind == "object" and inner.get("additionalProperties") is not False:
            raise refused(f"{place}: For 'object' type, 'additionalProperties' must be explicitly set to false")
        limits = [name for name in _NO_LIMITS.get(kind, ()) if name in inner]
        if limits:
            plural = "properties" if len(limits) > 1 else "property"
            verb = "are" if len(limits) > 1 else "is"
            raise refused(f"{place}: For '{kind}' type, {plural} {', '.join(limits)} {verb} not supported")
    if _is_recursive(schema):
        raise refused(f"{place}: Recursive schemas are not supported")


def forced(body: Json) -> bool:
    """Whether the request makes the model call a tool."""
    return as_text(as_object(body.get("tool_choice")).get("type")) in FORCED


def on_server(tool: Json) -> bool:
    """Whether Anthropic itself would run this tool; the simulator runs its search alone."""
    return bool(_ON_SERVER.match(as_text(tool.get("type"))))


def _check_tool(place: str, tool: Json) -> None:
    kind = as_text(tool.get("type"))
    if kind and _OWN.fullmatch(kind):
        return
    if tool.get("type") is not None:
        tag_of(
            place, tool, ("custom", "bash_20250124", "text_editor_20250728", "memory_20250818", "web_search_20260318")
        )
    inside = f"{place}.custom"
    fields_at(inside, tool, ("name", "input_schema"), _FIELDS)
    if not _NAME.fullmatch(text_at(f"{inside}.name", tool["name"], 1)):
        raise refused(f"{inside}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
    if tool.get("description") is not None:
        text_at(f"{inside}.description", tool["description"])
    for flag in ("strict", "defer_loading", "eager_input_streaming"):
        flag_at(f"{inside}.{flag}", tool.get(flag))
    schema = object_at(f"{inside}.input_schema", tool["input_schema"])
    _check_input_schema(f"{inside}.input_schema", schema)
    if tool.get("strict") is True:
        check_strict_schema(inside, schema)


def _check_input_schema(place: str, schema: Json) -> None:
    if "type" not in schema:
        raise refused(f"{place}.type: Field required")
    if schema["type"] != "object":
        raise refused(f"{place}.type: Input should be 'object'")
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        raise refused(f"{place}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    if any(not _PROPERTY.fullmatch(name) for name in as_object(schema.get("properties"))):
        raise refused(f"{place}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'")
    if not all(_is_valid(inner) for inner in _schemas(schema)):
        raise refused(
            f"{place}: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
            "https://docs.claude.com/en/docs/tool-use."
        )


def _is_valid(schema: Json) -> bool:
    """Whether a schema is one of draft 2020-12, as far as the types and forms of other dialects go."""
    kinds = as_list(schema.get("type")) or [schema.get("type")]
    return (
        all(kind is None or (isinstance(kind, str) and kind in _TYPES) for kind in kinds)
        and not is_list(schema.get("items"))
        and not isinstance(schema.get("exclusiveMinimum"), bool)
        and not isinstance(schema.get("exclusiveMaximum"), bool)
        and isinstance(schema.get("properties", {}), dict)
        and is_list(schema.get("required", []))
        and is_list(schema.get("enum", []))
    )


def _check_choice(given: object, names: list[str], *, any_tools: bool) -> None:
    if given is None:
        return
    choice = object_at("tool_choice", given)
    kind = tag_of("tool_choice", choice, ("auto", "any", "tool", "none"))
    parallel = () if kind == "none" else ("disable_parallel_tool_use",)
    fields_at(f"tool_choice.{kind}", choice, ("name",) if kind == "tool" else (), parallel)
    flag_at(f"tool_choice.{kind}.disable_parallel_tool_use", choice.get("disable_parallel_tool_use"))
    if not any_tools:
        raise refused("tool_choice: tool_choice may only be specified while providing tools")
    if kind == "tool" and choice["name"] not in names:
        raise refused(f"Tool '{as_text(choice['name'])}' not found in provided tools")


def _children(schema: Json) -> Iterator[Json]:
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        yield from (one for one in as_object(schema.get(key)).values() if is_object(one))
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        yield from objects(schema.get(key))
    for key in ("items", "additionalProperties", "not"):
        if is_object(schema.get(key)):
            yield as_object(schema[key])


def _schemas(schema: Json) -> Iterator[Json]:
    yield schema
    for child in _children(schema):
        yield from _schemas(child)


def _is_recursive(schema: Json) -> bool:
    """Whether a definition leads back to itself, or anything to the root."""
    named = {
        f"#/{key}/{name}": as_object(inner)
        for key in ("$defs", "definitions")
        for name, inner in as_object(schema.get(key)).items()
    }
    leads = {name: {as_text(one.get("$ref")) for one in _schemas(inner)} for name, inner in named.items()}
    if any(as_text(one.get("$ref")) == "#" for one in _schemas(schema)):
        return True
    for start, first in leads.items():
        reached: set[str] = set()
        ahead = set(first)
        while ahead:
            name = ahead.pop()
            if name == start:
                return True
            if name not in reached:
                reached.add(name)
                ahead |= leads.get(name, set())
    return False


def _optional(schema: Json) -> int:
    required = [as_text(name) for name in as_list(schema.get("required"))]
    return sum(1 for name in as_object(schema.get("properties")) if name not in required)
