"""Tools and generation config of a generateContent request → neutral values."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec

from app.chat.model import Native, OutputFormat, Reasoning, Sampling, Tool, ToolChoice
from app.errors import ClientError
from app.wires.envelope import ANYTHING, as_list, as_object, as_text, read
from app.wires.gemini.names import NAME
from app.wires.gemini.searching import search_of
from app.wires.gemini.spelling import camel, camel_keys

Fields = dict[str, msgspec.Raw]
CONFIG = frozenset(
    (
        "maxOutputTokens",
        "temperature",
        "topP",
        "topK",
        "stopSequences",
        "seed",
        "presencePenalty",
        "frequencyPenalty",
        "candidateCount",
        "thinkingConfig",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
    )
)


def unread(config: dict[str, Any], fields: Fields) -> dict[str, Any]:
    """What other formats cannot say of fields that are otherwise understood, by its path."""
    rest = {f"generationConfig.{name}": value for name, value in config.items() if name not in CONFIG}
    if config.get("responseMimeType", "text/plain") not in ("text/plain", "application/json"):
        rest["generationConfig.responseMimeType"] = config["responseMimeType"]
    if "toolConfig" in fields:
        tool_config = camel_keys(as_object(read(fields["toolConfig"], ANYTHING, "toolConfig")))
        rest |= {f"toolConfig.{name}": value for name, value in tool_config.items() if name != "functionCallingConfig"}
    return rest


def tools_of(fields: Fields) -> tuple[Tool, ...]:
    """`tools`: functions as they are declared, hosted tools as they are."""
    if "tools" not in fields:
        return ()
    validated = as_text(_calling(fields).get("mode")).upper() == "VALIDATED"
    tools: list[Tool] = []
    for entry in as_list(read(fields["tools"], ANYTHING, "tools")):
        for name, value in camel_keys(as_object(entry)).items():
            if name == "functionDeclarations":
                tools.extend(_declared(as_object(declaration), validated) for declaration in as_list(value))
            else:
                search = search_of(name, as_object(value))
                tools.append(Tool(name, kind="hosted", native=Native(NAME, {name: value}), search=search))
    return tuple(tools)


def _declared(declaration: dict[str, Any], validated: bool) -> Tool:
    """A function; with the mode VALIDATED the arguments of all are held to their schemas."""
    named = camel_keys(declaration)
    schema = named.get("parametersJsonSchema") or from_openapi(as_object(named.get("parameters")))
    return Tool(
        as_text(named.get("name")),
        as_text(named.get("description")),
        as_object(schema),
        strict=True if validated else None,
        native=Native(NAME, declaration),
    )


def from_openapi(schema: dict[str, Any]) -> dict[str, Any]:
    """Gemini's own Schema (OpenAPI 3.0, upper-case types) as JSON Schema, for providers that take that."""
    result: dict[str, Any] = {}
    for name, value in schema.items():
        key = camel(name)
        if key == "type" and isinstance(value, str):
            result["type"] = value.lower()
        elif key == "properties":
            result[key] = {prop: from_openapi(as_object(inner)) for prop, inner in as_object(value).items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            result[key] = from_openapi(as_object(cast(Any, value)))
        elif key == "anyOf":
            result[key] = [from_openapi(as_object(inner)) for inner in as_list(value)]
        elif key not in ("nullable", "propertyOrdering", "example"):
            result[key] = value
    if schema.get("nullable") and "type" in result:
        result["type"] = [result["type"], "null"]
    return result


def sampling_of(config: dict[str, Any], fields: Fields) -> Sampling:
    """How to generate. Raises ClientError for a value of the wrong kind."""
    try:
        return Sampling(
            max_tokens=msgspec.convert(config.get("maxOutputTokens"), int | None, strict=False),
            temperature=msgspec.convert(config.get("temperature"), float | None, strict=False),
            top_p=msgspec.convert(config.get("topP"), float | None, strict=False),
            top_k=_whole(config.get("topK")),
            stop=tuple(msgspec.convert(config.get("stopSequences") or [], list[str])),
            seed=msgspec.convert(config.get("seed"), int | None, strict=False),
            presence_penalty=msgspec.convert(config.get("presencePenalty"), float | None),
            frequency_penalty=msgspec.convert(config.get("frequencyPenalty"), float | None),
            candidates=msgspec.convert(config.get("candidateCount"), int | None),
            reasoning=_reasoning(camel_keys(as_object(config.get("thinkingConfig")))),
            output=_output(config),
            tool_choice=tool_choice_of(fields),
        )
    except msgspec.ValidationError as error:
        raise ClientError(f"generationConfig: {error}.", param="generationConfig") from None


def tool_choice_of(fields: Fields) -> ToolChoice | None:
    """`toolConfig.functionCallingConfig`."""
    return _tool_choice(_calling(fields))


def _calling(fields: Fields) -> dict[str, Any]:
    if "toolConfig" not in fields:
        return {}
    tool_config = camel_keys(as_object(read(fields["toolConfig"], ANYTHING, "toolConfig")))
    return camel_keys(as_object(tool_config.get("functionCallingConfig")))


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def _reasoning(thinking: dict[str, Any]) -> Reasoning | None:
    if not thinking:
        return None
    level = as_text(thinking.get("thinkingLevel")).lower()
    known = level if level in ("minimal", "low", "medium", "high", "xhigh") else ""
    effort = msgspec.convert(known, Literal["minimal", "low", "medium", "high", "xhigh", ""])
    budget = thinking.get("thinkingBudget")
    return Reasoning(effort, budget if isinstance(budget, int) else None, thinking.get("includeThoughts"))


def _output(config: dict[str, Any]) -> OutputFormat | None:
    if config.get("responseMimeType") != "application/json":
        return None
    schema = config.get("responseJsonSchema") or from_openapi(as_object(config.get("responseSchema")))
    return OutputFormat(schema=as_object(schema) or None)


def _tool_choice(config: dict[str, Any]) -> ToolChoice | None:
    names = tuple(as_text(name) for name in as_list(config.get("allowedFunctionNames")))
    match as_text(config.get("mode")).upper():
        case "NONE":
            return ToolChoice("none")
        case "ANY":
            return ToolChoice("required", names)
        case "AUTO" | "VALIDATED":
            return ToolChoice("auto", names)
        case _:
            return None
