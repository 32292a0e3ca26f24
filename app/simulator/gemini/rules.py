"""Google's rules for a generateContent request as a whole: tools, their configuration, and generationConfig."""

from __future__ import annotations

import re

from app.simulator.gemini.models import OUTPUT_TOKENS, Model
from app.simulator.gemini.problems import refused
from app.simulator.gemini.proto import read
from app.simulator.gemini.schemas import check_json_schema, check_openapi
from app.simulator.gemini.turns import check_contents, check_parts
from app.simulator.shapes import Json, as_list, as_number, as_object, as_text, objects

_ROOT = "GenerateContentRequest"
_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$")
_MOST_DECLARATIONS = 512
_MIME_TYPES = ("text/plain", "application/json", "application/xml", "application/yaml", "text/x.enum")
_RANGES = {
    "temperature": (0.0, 2.0),
    "topP": (0.0, 1.0),
    "topK": (1.0, 1000.0),
    "presencePenalty": (-2.0, 2.0),
    "frequencyPenalty": (-2.0, 2.0),
    "logprobs": (0.0, 20.0),
}


def checked(body: object, model: Model) -> Json:
    """The request in camelCase; RefusalError if it breaks a rule."""
    request = read(_ROOT, body)
    check_request(request, model)
    return request


def check_request(request: Json, model: Model, *, counting: bool = False) -> None:
    """A request that was read; RefusalError if it breaks a rule. `counting` leaves out what only answers need."""
    if "systemInstruction" in request:
        check_parts(objects(as_object(request["systemInstruction"]).get("parts")), f"{_ROOT}.system_instruction")
    _check_tools(objects(request.get("tools")), model)
    _check_tool_config(as_object(as_object(request.get("toolConfig")).get("functionCallingConfig")), request)
    _check_generation(as_object(request.get("generationConfig")), request, model)
    _check_cache(request)
    check_contents(objects(request.get("contents")), model, counting=counting)


def declarations(request: Json) -> list[Json]:
    """The function declarations of all tools."""
    return [one for tool in objects(request.get("tools")) for one in objects(tool.get("functionDeclarations"))]


def _check_tools(tools: list[Json], model: Model) -> None:
    names: set[str] = set()
    for at, tool in enumerate(tools):
        place = f"{_ROOT}.tools[{at}]"
        if not tool:
            raise refused(f"* {place}.tool_type: required one_of 'tool_type' must have one initialized field\n")
        if "functionDeclarations" in tool and len(tool) > 1 and not model.signs:
            raise refused("Tool use with function calling is unsupported")
        for index, one in enumerate(objects(tool.get("functionDeclarations"))):
            _check_declaration(one, f"{place}.function_declarations[{index}]")
            if one["name"] in names:
                raise refused(f"Duplicate function declaration found: {one['name']}")
            names.add(one["name"])
    if len(names) > _MOST_DECLARATIONS:
        raise refused(f"* {_ROOT}.tools: at most {_MOST_DECLARATIONS} function declarations are allowed.\n")


def _check_declaration(one: Json, place: str) -> None:
    if not _NAME.match(as_text(one.get("name"))):
        raise refused(
            f"* {place}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric "
            "(a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.\n"
        )
    for openapi, json_schema in (("parameters", "parametersJsonSchema"), ("response", "responseJsonSchema")):
        field = "parameters_json_schema" if openapi == "parameters" else "response_json_schema"
        if openapi in one and json_schema in one:
            raise refused(f"* {place}: only one of {openapi} and {field} may be set.\n")
        if openapi in one:
            check_openapi(as_object(one[openapi]), f"{place}.{openapi}")
        if json_schema in one:
            check_json_schema(one[json_schema], f"{place}.{field}")
    if "parameters" in one and as_object(one["parameters"]).get("type") != "OBJECT":
        raise refused(f"* {place}.parameters: the schema of parameters must be of OBJECT type.\n")
    if "parametersJsonSchema" in one and as_object(one["parametersJsonSchema"]).get("type") != "object":
        raise refused(f"* {place}.parameters_json_schema: the schema must describe an object.\n")


def _check_tool_config(calling: Json, request: Json) -> None:
    mode, allowed = as_text(calling.get("mode")) or "AUTO", as_list(calling.get("allowedFunctionNames"))
    names = [as_text(one.get("name")) for one in declarations(request)]
    if mode in ("ANY", "VALIDATED") and not names:
        raise refused("Function calling config is set without function_declarations.")
    if allowed and mode not in ("ANY", "VALIDATED"):
        raise refused("Please set allowed_function_names only when function calling mode is ANY.")
    for name in allowed:
        if name not in names:
            raise refused(f"allowed_function_names has {name!r}, which is not in function_declarations.")


def _check_generation(config: Json, request: Json, model: Model) -> None:
    for field, (low, high) in _RANGES.items():
        value = as_number(config.get(field))
        if value is not None and not low <= value <= high:
            raise refused(_out_of_range(field, value, f"{low:g} (inclusive) to {high:g} (inclusive)"))
    most = as_number(config.get("maxOutputTokens"))
    if most is not None and not 1 <= most <= OUTPUT_TOKENS:
        raise refused(_out_of_range("maxOutputTokens", most, f"1 (inclusive) to {OUTPUT_TOKENS + 1} (exclusive)"))
    stops = len(as_list(config.get("stopSequences")))
    if stops > 5:
        raise refused(
            f"Unable to submit request because it has {stops} stop sequences; the supported range is from 0 to 5."
        )
    if config.get("candidateCount", 1) != 1:
        raise refused("Multiple candidates is not enabled for this model")
    _check_output(config, request, model)
    if "thinkingConfig" in config:
        _check_thinking(as_object(config["thinkingConfig"]), model)


def _out_of_range(field: str, value: float, supported: str) -> str:
    return (
        f"Unable to submit request because it has a {field} value of {value:g} but the supported range is from "
        f"{supported}. Update the value and try again."
    )


def _check_output(config: Json, request: Json, model: Model) -> None:
    mime = config.get("responseMimeType", "text/plain")
    place = f"{_ROOT}.generation_config"
    if mime not in _MIME_TYPES:
        allowed = "`text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`"
        raise refused(f"* {place}.response_mime_type: allowed mimetypes are {allowed}.\n")
    given = [field for field in ("responseSchema", "responseJsonSchema") if field in config]
    if len(given) > 1:
        raise refused(f"* {place}: only one of response_schema and response_json_schema may be set.\n")
    if given and mime not in ("application/json", "text/x.enum"):
        raise refused(f"* {place}.response_schema: only allowed with response_mime_type application/json.\n")
    if "responseSchema" in config:
        check_openapi(as_object(config["responseSchema"]), f"{place}.response_schema")
    if "responseJsonSchema" in config:
        check_json_schema(config["responseJsonSchema"], f"{place}.response_json_schema")
    if mime == "application/json" and declarations(request) and not model.signs:
        raise refused("Function calling with a response mime type: 'application/json' is unsupported")


def _check_thinking(config: Json, model: Model) -> None:
    level, budget = config.get("thinkingLevel"), as_number(config.get("thinkingBudget"))
    if level is not None and budget is not None:
        raise refused("You can only set only one of thinking budget and thinking level.")
    if level not in (None, "THINKING_LEVEL_UNSPECIFIED") and level not in model.levels:
        if not model.levels:
            raise refused("Thinking level is not supported for this model.")
        raise refused(
            f"Thinking level {level} is not supported for this model. Please retry with other thinking level."
        )
    if budget is not None:
        _check_budget(int(budget), model)
    if config.get("includeThoughts") and (budget == 0 or model.budget is None):
        raise refused("Thinking_config.include_thoughts is only enabled when thinking is enabled.")


def _check_budget(budget: int, model: Model) -> None:
    if model.budget is None:
        raise refused("Thinking budget is not supported for this model.")
    low, high = model.budget
    if budget == 0 and not model.may_not_think:
        raise refused("Budget 0 is invalid. This model only works in thinking mode.")
    if budget not in (0, -1) and not low <= budget <= high:
        raise refused(f"The thinking budget {budget} is invalid. Please choose a value between {low} and {high}.")


def _check_cache(request: Json) -> None:
    if not request.get("cachedContent"):
        return
    if request.keys() & {"systemInstruction", "tools", "toolConfig"}:
        raise refused(
            "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
            "tool_config."
        )
    raise refused("CachedContent not found (or permission denied)", code=403)
