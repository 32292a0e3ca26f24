"""OpenAI's rules for tools, tool choice and structured output."""

from __future__ import annotations

import re

from app.simulator.openai.problems import refused
from app.simulator.shapes import Json, as_list, as_object, as_text, dump, is_list, kind_of, objects

_NAME = re.compile(r"^[a-zA-Z0-9_-]+$")
_MOST_TOOLS = 128


def check_tools(body: Json, *, own: bool) -> None:
    """Tools, tool choice and parallel calls; RefusalError if one breaks a rule. `own` models take no unknown keys."""
    tools = body.get("tools")
    if tools is None:
        for name in ("tool_choice", "parallel_tool_calls"):
            if body.get(name) not in (None, "none"):
                said = f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
                raise refused(said, name)
        return
    check_length("tools", tools, 1, _MOST_TOOLS)
    for index, tool in enumerate(as_list(tools)):
        unknown = as_object(tool).keys() - {"type", as_text(as_object(tool).get("type"))}
        if own and unknown:
            param = f"tools[{index}].{min(unknown)}"
            raise refused(f"Unknown parameter: '{param}'.", param, "unknown_parameter")
        _check_tool(as_object(tool), f"tools[{index}]")
    _check_choice(body.get("tool_choice"), {_name_of(tool) for tool in objects(tools)})


def check_response_format(body: Json) -> None:
    """The shape of `response_format`; RefusalError if it is wrong, or json_object without the word JSON anywhere."""
    if body.get("response_format") is None:
        return
    given = as_object(body["response_format"])
    kind = as_text(given.get("type"))
    if kind not in ("text", "json_object", "json_schema"):
        said = f"Invalid value: '{kind}'. Supported values are: 'json_object', 'json_schema', and 'text'."
        raise refused(said, "response_format.type", "invalid_value")
    if kind == "json_object" and "json" not in dump(body["messages"]).lower():
        said = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise refused(said, "messages")
    if kind == "json_schema":
        _check_json_schema(as_object(given.get("json_schema")))


def check_length(name: str, value: object, least: int, most: int) -> None:
    """An array's length; RefusalError with OpenAI's own codes."""
    if not is_list(value):
        raise refused(
            f"Invalid type for '{name}': expected an array of objects, but got {kind_of(value)} instead.",
            name,
            "invalid_type",
        )
    count = len(value)
    if count < least:
        said = (
            f"Invalid '{name}': empty array. Expected an array with minimum length {least}, "
            "but got an empty array instead."
        )
        raise refused(said, name, "empty_array")
    if count > most:
        said = (
            f"Invalid '{name}': array too long. Expected an array with maximum length {most}, "
            f"but got an array with length {count} instead."
        )
        raise refused(said, name, "array_above_max_length")


def check_name(param: str, name: object, most: int = 64) -> None:
    """A function's name; RefusalError if it is missing, too long or has other characters."""
    if not isinstance(name, str) or not name:
        raise refused(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
    if not _NAME.match(name):
        said = (
            f"Invalid '{param}': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        )
        raise refused(said, param, "invalid_value")
    check_string_length(param, name, most)


def check_string_length(param: str, text: str, most: int) -> None:
    """A string's length; RefusalError if it is above."""
    if len(text) > most:
        said = (
            f"Invalid '{param}': string too long. Expected a string with maximum length {most}, "
            f"but got a string with length {len(text)} instead."
        )
        raise refused(said, param, "string_above_max_length")


def _name_of(tool: Json) -> str:
    return as_text(as_object(tool.get(as_text(tool.get("type")))).get("name"))


def _check_tool(tool: Json, where: str) -> None:
    kind = as_text(tool.get("type"))
    if kind not in ("function", "custom"):
        said = f"Invalid value: '{kind}'. Supported values are: 'function' and 'custom'."
        raise refused(said, f"{where}.type", "invalid_value")
    inner = tool.get(kind)
    if not isinstance(inner, dict):
        raise refused(f"Missing required parameter: '{where}.{kind}'.", f"{where}.{kind}", "missing_required_parameter")
    function = as_object(tool[kind])
    check_name(f"{where}.{kind}.name", function.get("name"))
    schema = function.get("parameters")
    if kind == "custom" or schema is None:
        return
    about = f"function '{function['name']}'"
    if as_object(schema).get("type") != "object":
        given = as_object(schema).get("type")
        said = (
            f"""Invalid schema for {about}: schema must be a JSON Schema of 'type: "object"', got 'type: "{given}"'."""
        )
        raise refused(said, f"{where}.function.parameters", "invalid_function_parameters")
    fault = _schema_fault(as_object(schema), (), strict=bool(function.get("strict")))
    if fault:
        said = f"Invalid schema for {about}: {fault}"
        raise refused(said, f"{where}.function.parameters", "invalid_function_parameters")


def _check_choice(choice: object, names: set[str]) -> None:
    if choice is None or choice in ("none", "auto", "required"):
        return
    given = as_object(choice)
    kind = as_text(given.get("type"))
    if kind not in ("function", "custom", "allowed_tools"):
        shown = choice if isinstance(choice, str) else kind
        said = f"Invalid value: '{shown}'. Supported values are: 'none', 'auto', and 'required'."
        raise refused(said, "tool_choice", "invalid_value")
    if kind == "allowed_tools":
        wanted = [_name_of(tool) for tool in objects(as_object(given.get(kind)).get("tools"))]
    else:
        wanted = [as_text(as_object(given.get(kind)).get("name"))]
    for name in wanted:
        if name not in names:
            raise refused(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")


def _check_json_schema(given: Json) -> None:
    check_name("response_format.json_schema.name", given.get("name"))
    schema = given.get("schema")
    if not isinstance(schema, dict):
        param = "response_format.json_schema.schema"
        raise refused(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
    strict = bool(given.get("strict"))
    fault = _schema_fault(as_object(given["schema"]), (), strict=strict)
    if strict and not fault and as_object(given["schema"]).get("type") != "object":
        fault = """schema must be a JSON Schema of 'type: "object"'."""
    if fault:
        raise refused(f"Invalid schema for response_format '{given['name']}': {fault}", "response_format")


def _schema_fault(schema: Json, path: tuple[str, ...], *, strict: bool) -> str:
    """What is wrong with a schema in OpenAI's words; empty if nothing is. Strict schemas obey two rules more."""
    context = f"In context={path!r}, "
    if schema.get("type") == "array" and "items" not in schema and "prefixItems" not in schema:
        return f"{context}array schema missing items."
    properties = as_object(schema.get("properties"))
    if strict and (schema.get("type") == "object" or properties):
        if schema.get("additionalProperties") is not False:
            return f"{context}'additionalProperties' is required to be supplied and to be false."
        missing = [name for name in properties if name not in as_list(schema.get("required"))]
        if missing:
            return (
                f"{context}'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{missing[0]}'."
            )
    children = [((*path, "properties", name), inner) for name, inner in properties.items()]
    children += [
        ((*path, key, name), inner)
        for key in ("$defs", "definitions")
        for name, inner in as_object(schema.get(key)).items()
    ]
    children += [
        ((*path, key, str(at)), inner)
        for key in ("anyOf", "allOf")
        for at, inner in enumerate(as_list(schema.get(key)))
    ]
    children += [((*path, "items"), schema["items"])] if "items" in schema else []
    faults = (_schema_fault(as_object(inner), place, strict=strict) for place, inner in children)
    return next((fault for fault in faults if fault), "")
