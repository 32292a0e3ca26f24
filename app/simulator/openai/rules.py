"""OpenAI's rules for a chat request as a whole: known fields, their types, and what a model does not take.

Sources: OpenAI's public API description and Python SDK types; the sentences are those that users quote in reports.
"""

from __future__ import annotations

from app.simulator.estimate import MESSAGE, tokens, tokens_of
from app.simulator.mind.talk import Talk
from app.simulator.openai.messages import check_messages
from app.simulator.openai.models import Model, model_named
from app.simulator.openai.problems import refused
from app.simulator.openai.tools import check_length, check_response_format, check_tools
from app.simulator.shapes import Json, as_number, as_object, as_text, is_whole, kind_of

_FIELDS = frozenset(
    (
        "messages",
        "model",
        "stream",
        "stream_options",
        "max_completion_tokens",
        "max_tokens",
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "n",
        "seed",
        "stop",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "functions",
        "function_call",
        "response_format",
        "reasoning_effort",
        "verbosity",
        "metadata",
        "store",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "service_tier",
        "modalities",
        "audio",
        "prediction",
        "web_search_options",
        "moderation",
    )
)
_RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
}
_WHOLE = {"max_tokens": 1, "max_completion_tokens": 1, "n": 1, "top_logprobs": 0, "seed": -(2**63)}
_FLAGS = ("stream", "logprobs", "store", "parallel_tool_calls")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def checked(body: Json) -> Model:
    """The model that serves this request; RefusalError if the request breaks a rule."""
    name = body.get("model")
    if not isinstance(name, str) or not name:
        raise refused("you must provide a model parameter")
    model = model_named(name)
    if "web_search_options" in body and model.own and "search" not in name:
        said = f"Unsupported parameter: 'web_search_options' is not supported with the model {name}."
        raise refused(said, "web_search_options", "unsupported_parameter")
    unknown = [field for field in body if field not in _FIELDS]
    if model.own and unknown:
        plural = "s" if len(unknown) > 1 else ""
        raise refused(f"Unrecognized request argument{plural} supplied: {', '.join(unknown)}")
    _check_types(body)
    _check_model_limits(body, model)
    check_messages(body, model)
    check_tools(body, own=model.own)
    check_response_format(body)
    _check_options(body)
    return model


def check_window(talk: Talk, body: Json, model: Model) -> int:
    """The prompt's size in tokens; RefusalError if the window is smaller."""
    functions = tokens_of(body.get("tools"))
    messages = prompt_tokens(talk)
    if messages + functions <= model.window:
        return messages + functions
    parts = f" ({messages} in the messages, {functions} in the functions)" if functions else ""
    said = (
        f"This model's maximum context length is {model.window} tokens. However, your messages resulted in "
        f"{messages + functions} tokens{parts}. Please reduce the length of the messages"
        f"{' or functions' if functions else ''}."
    )
    raise refused(said, "messages", "context_length_exceeded")


def prompt_tokens(talk: Talk) -> int:
    """Estimated tokens of all that was said, with pictures by their number and not by their bytes."""
    return sum(
        tokens(one.text)
        + MESSAGE
        + 258 * one.pictures
        + sum(tokens(call.name) + tokens_of(call.arguments) for call in one.calls)
        for one in talk.said
    )


def _check_types(body: Json) -> None:
    for field, (low, high) in _RANGES.items():
        value = body.get(field)
        number = as_number(value)
        if value is not None and number is None:
            raise _wrong_type(field, "a decimal", value)
        if number is not None and not low <= number <= high:
            edge, code = (
                ("maximum", "decimal_above_max_value") if number > high else ("minimum", "decimal_below_min_value")
            )
            limit = high if number > high else low
            side = "<=" if number > high else ">="
            raise refused(
                f"Invalid '{field}': decimal {'above' if number > high else 'below'} {edge} value. "
                f"Expected a value {side} {limit:g}, but got {number:g} instead.",
                field,
                code,
            )
    for field, least in _WHOLE.items():
        value = body.get(field)
        if value is not None and (not is_whole(value) or isinstance(value, float)):
            raise _wrong_type(field, "an integer", value)
        if value is not None and value < least:
            said = (
                f"Invalid '{field}': integer below minimum value. Expected a value >= {least}, but got {value} instead."
            )
            raise refused(said, field, "integer_below_min_value")
    for field in _FLAGS:
        if body.get(field) is not None and not isinstance(body[field], bool):
            raise _wrong_type(field, "a boolean", body[field])


def _check_model_limits(body: Json, model: Model) -> None:
    if model.reasons:
        if body.get("max_tokens") is not None:
            said = (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead."
            )
            raise refused(said, "max_tokens", "unsupported_parameter")
        for field in ("temperature", "top_p"):
            if body.get(field) not in (None, 1):
                said = (
                    f"Unsupported value: '{field}' does not support {body[field]} with this model. "
                    "Only the default (1) value is supported."
                )
                raise refused(said, field, "unsupported_value")
        if body.get("stop") is not None and not model.name.startswith("o1"):
            said = "Unsupported parameter: 'stop' is not supported with this model."
            raise refused(said, "stop", "unsupported_parameter")
    wanted = as_number(body.get("max_completion_tokens") or body.get("max_tokens"))
    if model.own and wanted and wanted > model.most_output:
        said = (
            f"max_tokens is too large: {wanted:g}. This model supports at most {model.most_output} completion tokens, "
            f"whereas you provided {wanted:g}."
        )
        raise refused(said, "max_tokens")


def _check_options(body: Json) -> None:
    if body.get("stream_options") is not None and not body.get("stream"):
        said = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise refused(said, "stream_options")
    stop = body.get("stop")
    if stop is not None and not isinstance(stop, str):
        check_length("stop", stop, 0, 4)
    if (body.get("n") or 1) > 128:
        said = f"Invalid 'n': integer above maximum value. Expected a value <= 128, but got {body['n']} instead."
        raise refused(said, "n", "integer_above_max_value")
    effort = body.get("reasoning_effort")
    if effort is not None and effort not in _EFFORTS:
        supported = ", ".join(f"'{one}'" for one in _EFFORTS)
        said = f"Invalid value: '{effort}'. Supported values are: {supported}."
        raise refused(said, "reasoning_effort", "invalid_value")
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        raise refused("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", "top_logprobs")
    metadata = as_object(body.get("metadata"))
    if len(metadata) > 16 or any(len(key) > 64 or len(as_text(value)) > 512 for key, value in metadata.items()):
        raise refused(
            "Invalid 'metadata': at most 16 pairs, keys up to 64 and values up to 512 characters.", "metadata"
        )


def _wrong_type(field: str, wanted: str, value: object) -> Exception:
    said = f"Invalid type for '{field}': expected {wanted}, but got {kind_of(value)} instead."
    return refused(said, field, "invalid_type")
