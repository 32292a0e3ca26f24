"""Tools, generation config and response format of an Interactions request → neutral values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from app.chat.model import Native, OutputFormat, Reasoning, Sampling, Tool, ToolChoice
from app.errors import ClientError
from app.wires.envelope import ANYTHING, as_list, as_object, as_text, read
from app.wires.gemini_interactions.names import NAME
from app.wires.gemini_interactions.searching import search_of

Fields = Mapping[str, msgspec.Raw]
TOOL_LIST = msgspec.json.Decoder(list[dict[str, Any]] | None)
CONFIG = msgspec.json.Decoder(dict[str, Any] | None)
SAID = frozenset(
    (
        *("max_output_tokens", "seed", "stop_sequences", "thinking_level", "thinking_summaries", "tool_choice"),
        *("temperature", "top_p"),
    )
)
LEVELS = frozenset(("minimal", "low", "medium", "high", "xhigh"))


def tools_of(fields: Fields) -> tuple[Tool, ...]:
    """`tools`: functions as they are declared, hosted tools as they are."""
    return _tool_list(bytes(fields["tools"]), _validated(fields)) if "tools" in fields else ()


def _validated(fields: Fields) -> bool:
    """Whether the arguments of all functions are held to their schemas."""
    choice = config_of(fields).get("tool_choice")
    return "validated" in (choice, as_object(as_object(choice).get("allowed_tools")).get("mode"))


@lru_cache(maxsize=64)
def _tool_list(raw: bytes, validated: bool) -> tuple[Tool, ...]:
    """Tools are the same on every turn of an agent: read once."""
    return tuple(_tool(tool, f"tools[{i}]", validated) for i, tool in enumerate(read(raw, TOOL_LIST, "tools") or ()))


def _tool(tool: dict[str, Any], where: str, validated: bool) -> Tool:
    native = Native(NAME, tool)
    kind = as_text(tool.get("type"))
    if kind != "function":
        return Tool(kind or "unknown", kind="hosted", native=native, search=search_of(tool))
    name = as_text(tool.get("name"))
    if not name:
        raise ClientError(f"{where}.name is missing: name the function.", param=f"{where}.name")
    strict = True if validated else None
    return Tool(name, as_text(tool.get("description")), as_object(tool.get("parameters")), strict=strict, native=native)


def config_of(fields: Fields) -> dict[str, Any]:
    """`generation_config` as an object, empty if there is none."""
    raw = fields.get("generation_config")
    return (read(raw, CONFIG, "generation_config") or {}) if raw is not None else {}


def format_of(fields: Fields) -> Any:
    """`response_format`: an object, or a list for several modalities; None if there is none."""
    raw = fields.get("response_format")
    return read(raw, ANYTHING, "response_format") if raw is not None else None


def unread(config: Mapping[str, Any], response_format: Any) -> dict[str, Any]:
    """What other formats cannot say of fields that are otherwise understood, by its path."""
    rest = {f"generation_config.{name}": value for name, value in config.items() if name not in SAID}
    if response_format is not None and not _is_text(response_format):
        rest["response_format"] = response_format
    return rest


def sampling_of(config: Mapping[str, Any], response_format: Any) -> Sampling:
    """How to generate. Raises ClientError for a value of the wrong kind."""
    try:
        return Sampling(
            max_tokens=msgspec.convert(config.get("max_output_tokens"), int | None),
            temperature=msgspec.convert(config.get("temperature"), float | None),
            top_p=msgspec.convert(config.get("top_p"), float | None),
            stop=tuple(msgspec.convert(config.get("stop_sequences") or [], list[str])),
            seed=msgspec.convert(config.get("seed"), int | None),
            reasoning=_reasoning(config),
            output=_output(response_format),
            tool_choice=tool_choice_of(config.get("tool_choice")),
        )
    except msgspec.ValidationError as error:
        raise ClientError(f"generation_config: {error}.", param="generation_config") from None


def _reasoning(config: Mapping[str, Any]) -> Reasoning | None:
    level, summaries = as_text(config.get("thinking_level")).lower(), config.get("thinking_summaries")
    if not level and summaries is None:
        return None
    known = level if level in LEVELS else ""
    effort = msgspec.convert(known, Literal["minimal", "low", "medium", "high", "xhigh", ""])
    return Reasoning(effort, show=None if summaries is None else summaries == "auto")


def _is_text(said: Any) -> bool:
    return _text_format(said) is not None


def _text_format(said: Any) -> dict[str, Any] | None:
    """The one format of text that was asked for, alone or in a list; a bare JSON schema was the older form of it."""
    listed = as_list(said)
    body = as_object(listed[0] if len(listed) == 1 else said)
    if not body:
        return None
    kind = body.get("type")
    if kind == "text":
        return body
    if kind in ("image", "audio", "video") or not (kind or "properties" in body or "$ref" in body or "anyOf" in body):
        return None
    return {"type": "text", "mime_type": "application/json", "schema": body}


def _output(said: Any) -> OutputFormat | None:
    body = _text_format(said)
    if body is None or body.get("mime_type") != "application/json":
        return None
    return OutputFormat(schema=as_object(body.get("schema")) or None)


def tool_choice_of(choice: Any) -> ToolChoice | None:
    """`"auto"`, `"any"`, `"none"`, `"validated"`, or {"allowed_tools": {"mode", "tools"}}."""
    allowed = as_object(as_object(choice).get("allowed_tools"))
    mode = as_text(allowed.get("mode")) or as_text(choice) or ("auto" if allowed else "")
    names = tuple(name for name in as_list(allowed.get("tools")) if isinstance(name, str))
    match mode.lower():
        case "none":
            return ToolChoice("none")
        case "any":
            return ToolChoice("required", names)
        case "auto" | "validated":
            return ToolChoice("auto", names)
        case _:
            return None
