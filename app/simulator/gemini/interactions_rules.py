"""Google's rules for an interaction as a whole: known fields, model or agent, tools, generation_config, formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from app.simulator.gemini import models
from app.simulator.gemini.interactions_problems import refused
from app.simulator.gemini.models import OUTPUT_TOKENS, Model
from app.simulator.gemini.schemas import check_json_schema
from app.simulator.reply import RefusalError
from app.simulator.shapes import Json, as_list, as_number, as_object, as_text, is_list, is_object, is_whole, objects

_EITHER: Mapping[str, str] = {
    "input": "any",
    "previous_interaction_id": "text",
    "system_instruction": "text",
    "tools": "list",
    "response_format": "object or list",
    "response_mime_type": "text",
    "response_modalities": "list",
    "store": "flag",
    "stream": "flag",
    "background": "flag",
    "continuation_token": "text",
    "safety_settings": "list",
    "service_tier": "text",
    "labels": "object",
    "environment": "any",
    "webhook_config": "object",
}
_OF_MODEL = {"model": "text", "generation_config": "object", "cached_content": "text"}
_OF_AGENT = {"agent": "text", "agent_config": "object"}
_FIELDS = {**_EITHER, **_OF_MODEL, **_OF_AGENT}
_FITS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "any": (lambda value: value is not None, "a value"),
    "text": (lambda value: isinstance(value, str) and value != "", "a string that is not empty"),
    "list": (is_list, "a list"),
    "object": (is_object, "an object"),
    "object or list": (lambda value: is_object(value) or is_list(value), "an object or a list"),
    "flag": (lambda value: isinstance(value, bool), "true or false"),
    "number": (lambda value: as_number(value) is not None, "a number"),
    "whole": (is_whole, "a whole number"),
}
_CONFIG = {
    "max_output_tokens": "whole",
    "seed": "whole",
    "stop_sequences": "list",
    "thinking_level": "text",
    "thinking_summaries": "text",
    "tool_choice": "any",
    "temperature": "number",
    "top_p": "number",
    "speech_config": "any",
    "transcription_config": "any",
    "video_config": "any",
    "image_config": "any",
}
_TIERS = ("flex", "standard", "priority", "deferred")
_CHOICES = ("auto", "any", "none", "validated")
_ALL_LEVELS = ("minimal", "low", "medium", "high")
_FUNCTION = frozenset(("type", "name", "description", "parameters", "defer_loading", "short_description"))
_BUILT_IN = frozenset(
    (
        "google_search",
        "code_execution",
        "url_context",
        "file_search",
        "google_maps",
        "computer_use",
        "mcp_server",
        "retrieval",
        "tool_search",
    )
)
_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$")
_IGNORED = frozenset(  # keywords of JSON Schema that the API takes and does not look at
    (
        "minLength",
        "maxLength",
        "minProperties",
        "maxProperties",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
    )
)


def checked(body: Json, version: str) -> Model:
    """The model that serves this request (an agent is one of the newest kind); RefusalError if it breaks a rule."""
    _check_fields(body, _FIELDS, "")
    if ("model" in body) == ("agent" in body):
        raise refused("Exactly one of model and agent must be set.")
    foreign = _OF_AGENT if "model" in body else _OF_MODEL
    for name in foreign:
        if name in body:
            raise refused(f"{name}: may not be set with {'model' if 'model' in body else 'agent'}.")
    model = _model(body, version)
    if body.get("background") and body.get("store") is False:
        raise refused("background: needs store to be true.")
    if body.get("service_tier", "standard") not in _TIERS:
        raise refused(f"service_tier: must be one of {', '.join(_TIERS)}.")
    if "cached_content" in body:
        raise refused("cached_content: explicit caching is not supported by this API.")
    for at, tool in enumerate(as_list(body.get("tools"))):
        _check_tool(tool, f"tools[{at}]")
    _check_names(body)
    _check_config(as_object(body.get("generation_config")), body, model)
    _check_formats(body)
    return model


def functions(body: Json) -> list[Json]:
    """The tools that are functions."""
    return [tool for tool in objects(body.get("tools")) if tool.get("type") == "function"]


def text_format(body: Json) -> Json:
    """The response format for text; empty if there is none."""
    given = body.get("response_format")
    formats = objects(given) if is_list(given) else [as_object(given)]
    return as_object(next((one for one in formats if one.get("type") == "text"), None))


def _model(body: Json, version: str) -> Model:
    name = as_text(body.get("model") or body.get("agent"))
    if "model" in body and "/" in name:
        raise refused(f"The model {name!r} was not found.", "model_not_found", status=404)
    try:
        return models.model_named(name if "model" in body else f"agent-{name}", version)
    except RefusalError as refusal:
        raise refused(refusal.said, "model_not_found", status=404) from None


def _check_fields(value: Json, known: Mapping[str, str], place: str) -> None:
    for name, inner in value.items():
        if name not in known:
            raise refused(f"Unknown parameter '{place}{name}'.", "parameter_unknown")
        fits, wanted = _FITS[known[name]]
        if not fits(inner):
            raise refused(f"{place}{name}: must be {wanted}.")


def _check_tool(tool: object, place: str) -> None:
    given = as_object(tool)
    kind = as_text(given.get("type"))
    if kind in _BUILT_IN:
        return
    if kind != "function":
        raise refused(f"{place}.type: unknown tool type {kind!r}.")
    if unknown := sorted(given.keys() - _FUNCTION):
        raise refused(f"Unknown parameter '{place}.{unknown[0]}'.", "parameter_unknown")
    if not _NAME.match(as_text(given.get("name"))):
        raise refused(
            f"{place}.name: must start with a letter or an underscore and hold only letters, digits, underscores, "
            "dots, colons and dashes, 128 at most."
        )
    if "parameters" in given:
        _check_schema(given["parameters"], f"{place}.parameters")
        if as_object(given["parameters"]).get("type") != "object":
            raise refused(f"{place}.parameters: the schema must describe an object.")


def _check_schema(schema: object, place: str) -> None:
    try:
        check_json_schema(_without_ignored(schema), place)
    except RefusalError as refusal:
        raise refused(refusal.said.strip()) from None


def _without_ignored(node: object) -> Any:
    if is_object(node):
        kept = {key: value for key, value in node.items() if key not in _IGNORED}
        named = {
            key: {name: _without_ignored(inner) for name, inner in as_object(kept[key]).items()}
            for key in ("properties", "$defs")
            if is_object(kept.get(key))
        }
        return {key: _without_ignored(value) for key, value in kept.items() if key not in named} | named
    return [_without_ignored(one) for one in node] if is_list(node) else node


def _check_names(body: Json) -> None:
    names = [as_text(tool.get("name")) for tool in functions(body)]
    for name in names:
        if names.count(name) > 1:
            raise refused(f"Duplicate function declaration found: {name}")


def _check_config(config: Json, body: Json, model: Model) -> None:
    _check_fields(config, _CONFIG, "generation_config.")
    most = as_number(config.get("max_output_tokens"))
    if most is not None and not 1 <= most <= OUTPUT_TOKENS:
        raise refused(f"generation_config.max_output_tokens: must be from 1 to {OUTPUT_TOKENS}.")
    stops = as_list(config.get("stop_sequences"))
    if len(stops) > 5 or not all(isinstance(one, str) and one for one in stops):
        raise refused("generation_config.stop_sequences: must be 5 strings at most.")
    level = config.get("thinking_level")
    levels = [one.lower() for one in model.levels] or list(_ALL_LEVELS)
    if level is not None and level not in levels:
        raise refused(f"generation_config.thinking_level: this model takes {', '.join(levels)}.")
    if config.get("thinking_summaries", "auto") not in ("auto", "none"):
        raise refused("generation_config.thinking_summaries: must be auto or none.")
    if "tool_choice" in config:
        _check_choice(config["tool_choice"], [as_text(tool.get("name")) for tool in functions(body)])


def _check_choice(choice: object, names: list[str]) -> None:
    place = "generation_config.tool_choice"
    mode: object = choice
    if is_object(choice):
        if choice.keys() != {"allowed_tools"}:
            raise refused(f"{place}: must be a mode, or an object with allowed_tools.")
        allowed = as_object(choice["allowed_tools"])
        mode = allowed.get("mode", "auto")
        for name in as_list(allowed.get("tools")):
            if name not in names:
                raise refused(f"{place}.allowed_tools.tools: there is no function {name!r} in tools.")
    if mode not in _CHOICES:
        raise refused(f"{place}: must be one of {', '.join(_CHOICES)}.")
    if mode in ("any", "validated") and not names:
        raise refused(f"{place}: {mode} needs functions in tools.")


def _check_formats(body: Json) -> None:
    given = body.get("response_format")
    formats = as_list(given) if is_list(given) else [given] if given is not None else []
    for one in formats:
        form = as_object(one)
        kind = form.get("type")
        if kind not in ("text", "image", "audio", "video"):
            raise refused("response_format.type: must be text, image, audio or video.")
        if kind != "text":
            continue
        if unknown := sorted(form.keys() - {"type", "mime_type", "schema"}):
            raise refused(f"Unknown parameter 'response_format.{unknown[0]}'.", "parameter_unknown")
        if form.get("mime_type", "text/plain") not in ("text/plain", "application/json"):
            raise refused("response_format.mime_type: must be text/plain or application/json.")
        if "schema" in form:
            if form.get("mime_type") != "application/json":
                raise refused("response_format.schema: needs the mime_type application/json.")
            _check_schema(form["schema"], "response_format.schema")
