"""OpenAI's rules for a Responses request as a whole: known fields, their kinds, and what goes with what.

What it shares with chats (ranges, tools, schemas, messages) is judged by the rules for chats, on a chat that says the
same. Sources: OpenAI's Python SDK types, and the sentences that users quote in reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from app.simulator.openai.input_items import chat_of
from app.simulator.openai.models import Model
from app.simulator.openai.problems import refused
from app.simulator.openai.responses_items import messages_of
from app.simulator.openai.rules import checked
from app.simulator.shapes import Json, as_list, as_object, as_text, is_list, is_object, is_whole, kind_of, objects

_FITS: Mapping[str, Callable[[object], bool]] = {
    "a string": lambda value: isinstance(value, str),
    "a boolean": lambda value: isinstance(value, bool),
    "an integer": lambda value: is_whole(value) and not isinstance(value, float),
    "an object": is_object,
    "an array": is_list,
    "": lambda _: True,
}
_FIELDS: Mapping[str, str] = {
    "model": "",
    "input": "",
    "instructions": "a string",
    "previous_response_id": "a string",
    "conversation": "",
    "store": "a boolean",
    "include": "an array",
    "reasoning": "an object",
    "text": "an object",
    "tools": "an array",
    "tool_choice": "",
    "parallel_tool_calls": "a boolean",
    "max_tool_calls": "an integer",
    "max_output_tokens": "an integer",
    "temperature": "",
    "top_p": "",
    "top_logprobs": "an integer",
    "truncation": "a string",
    "context_management": "an array",
    "stream": "a boolean",
    "stream_options": "an object",
    "background": "a boolean",
    "background_options": "an object",
    "metadata": "an object",
    "user": "a string",
    "safety_identifier": "a string",
    "service_tier": "a string",
    "prompt_cache_key": "a string",
    "prompt_cache_options": "an object",
    "prompt_cache_retention": "a string",
    "prompt": "an object",
    "moderation": "an object",
    "access_programs": "",
    "image": "an object",
    "client_metadata": "an object",  # in no reference, but in every request of Codex, which OpenAI takes
}
_INCLUDES = frozenset(
    (
        "reasoning.encrypted_content",
        "message.output_text.logprobs",
        "message.input_image.image_url",
        "file_search_call.results",
        "web_search_call.results",
        "web_search_call.action.sources",
        "computer_call_output.output.image_url",
        "code_interpreter_call.outputs",
    )
)
_CHOSEN: Mapping[str, tuple[str, ...]] = {  # field: its values
    "truncation": ("disabled", "auto"),
    "service_tier": ("auto", "default", "flex", "scale", "priority", "ultrafast"),
}
_REASONING: Mapping[str, tuple[str, ...]] = {
    "summary": ("auto", "concise", "detailed"),
    "generate_summary": ("auto", "concise", "detailed"),
    "context": ("auto", "current_turn", "all_turns"),
    "mode": ("standard", "pro"),
    "effort": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
}
_LEAST_OUTPUT = 16  # tokens
_LATE_KEYS = ("defer_loading", "allowed_callers", "async", "output_schema")
_OWN_TOOLS = ("function", "custom")
_HOSTED_TOOLS = frozenset(
    (
        "file_search",
        "web_search",
        "web_search_preview",
        "computer",
        "computer_use_preview",
        "code_interpreter",
        "image_generation",
        "mcp",
        "local_shell",
        "shell",
        "apply_patch",
        "tool_search",
        "namespace",
        "programmatic_tool_calling",
    )
)


def check_fields(body: Json) -> None:
    """The fields of a request without nulls, each by itself and then together; RefusalError if one breaks a rule."""
    for field, value in body.items():
        if field not in _FIELDS:
            raise refused(f"Unknown parameter: '{field}'.", field, "unknown_parameter")
        wanted = _FIELDS[field]
        if not _FITS[wanted](value):
            said = f"Invalid type for '{field}': expected {wanted}, but got {kind_of(value)} instead."
            raise refused(said, field, "invalid_type")
    for field, values in _CHOSEN.items():
        _check_chosen(field, body.get(field, values[0]), values)
    for field, value in as_object(body.get("reasoning")).items():
        if field not in _REASONING:
            raise refused(f"Unknown parameter: 'reasoning.{field}'.", f"reasoning.{field}", "unknown_parameter")
        if value is not None:
            _check_chosen(f"reasoning.{field}", value, _REASONING[field])
    for at, value in enumerate(as_list(body.get("include"))):
        _check_chosen(f"include[{at}]", value, sorted(_INCLUDES))
    _check_text(as_object(body.get("text")))
    _check_together(body)


def check_rest(body: Json, new: Sequence[Json]) -> Model:
    """Model, messages, tools and formats, as a chat would have them; RefusalError if one breaks a rule.

    Args:
        new: the request's items, without what its chain holds.
    """
    tools = [_plain(tool, f"tools[{at}]") for at, tool in enumerate(as_list(body.get("tools")))]
    own = [tool for tool in tools if as_text(tool.get("type")) in _OWN_TOOLS]
    for at, tool in enumerate(tools):
        if tool.get("type") == "namespace":
            own += [_plain(one, f"tools[{at}].tools[{place}]") for place, one in enumerate(as_list(tool.get("tools")))]
    asked = {name: body[name] for name in ("model", "instructions", "text", "reasoning") if name in body}
    if own:
        asked |= {"tools": own}
        asked |= {name: body[name] for name in ("tool_choice", "parallel_tool_calls") if name in body}
    if as_text(as_object(body.get("tool_choice")).get("type")) in _HOSTED_TOOLS:
        asked.pop("tool_choice", None)
    chat = chat_of(asked | {"input": messages_of(new) or "json"})
    chat |= {name: body[name] for name in ("temperature", "top_p", "metadata", "stream", "store") if name in body}
    if "max_output_tokens" in body:
        chat["max_completion_tokens"] = body["max_output_tokens"]
    model = checked(chat)
    if model.own and not model.reasons and as_object(body.get("reasoning")).get("effort"):
        said = "Unsupported parameter: 'reasoning.effort' is not supported with this model."
        raise refused(said, "reasoning.effort", "unsupported_parameter")
    return model


def _check_chosen(param: str, value: object, values: Sequence[str]) -> None:
    if value not in values:
        supported = ", ".join(f"'{one}'" for one in values[:-1]) + f", and '{values[-1]}'"
        raise refused(f"Invalid value: '{value}'. Supported values are: {supported}.", param, "invalid_value")


def _check_text(text: Json) -> None:
    for field in text:
        if field not in ("format", "verbosity"):
            raise refused(f"Unknown parameter: 'text.{field}'.", f"text.{field}", "unknown_parameter")
    if text.get("verbosity") is not None:
        _check_chosen("text.verbosity", text["verbosity"], ("low", "medium", "high"))
    for field in as_object(text.get("format")):
        if field not in ("type", "name", "schema", "strict", "description"):
            param = f"text.format.{field}"
            raise refused(f"Unknown parameter: '{param}'.", param, "unknown_parameter")


def _check_together(body: Json) -> None:
    if body.get("previous_response_id") and body.get("conversation"):
        raise refused(
            "Mutually exclusive parameters. Ensure you are only providing one of: 'previous_response_id' or "
            "'conversation'.",
            None,
            "mutually_exclusive_parameters",
        )
    if body.get("background") and body.get("store") is False:
        raise refused("Background mode requires the response to be stored: 'store' must not be false.", "background")
    if body.get("stream_options") is not None and not body.get("stream"):
        said = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise refused(said, "stream_options")
    least = body.get("max_output_tokens", _LEAST_OUTPUT)
    if least < _LEAST_OUTPUT:
        said = f"integer below minimum value. Expected a value >= {_LEAST_OUTPUT}, but got {least} instead."
        raise refused(f"Invalid 'max_output_tokens': {said}", "max_output_tokens", "integer_below_min_value")
    choice = body.get("tool_choice", "auto")
    if choice not in ("auto", "none") and not objects(body.get("tools")):
        shown = choice if isinstance(choice, str) else as_text(as_object(choice).get("type"))
        raise refused(f"Tool choice '{shown}' must be specified with 'tools' parameter.", "tool_choice")


def _plain(tool: object, where: str) -> Json:
    """A tool without the keys that are of no interest here; hosted ones are taken as they are."""
    given = as_object(tool)
    kind = as_text(given.get("type"))
    if kind not in _OWN_TOOLS and kind not in _HOSTED_TOOLS:
        supported = ", ".join(f"'{one}'" for one in (*_OWN_TOOLS, *sorted(_HOSTED_TOOLS)))
        said = f"Invalid value: '{kind}'. Supported values are: {supported}."
        raise refused(said, f"{where}.type", "invalid_value")
    return {key: value for key, value in given.items() if key not in _LATE_KEYS}
