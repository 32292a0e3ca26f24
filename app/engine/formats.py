"""Which format a request body is in, where no path says so: told by the fields that only one format has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from app.errors import ClientError
from app.wires.anthropic import ANTHROPIC
from app.wires.envelope import ANYTHING, as_list, as_object, as_text, encode, open_body, read, read_or_mend
from app.wires.gemini import GEMINI
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Inbound, Wire

Fields = Mapping[str, msgspec.Raw]
MODEL = msgspec.json.Decoder(str)


class Format(msgspec.Struct, frozen=True):
    """A format that a body may be in.

    Args:
        name: as people call it.
        field: the field that every body in it has.
        fits: whether a body with these fields, one of which is `field`, is in this format and no later one.
        in_path: the model stands in the path, not in the body.
    """

    name: str
    wire: Wire
    field: str
    fits: Callable[[Fields], bool] = lambda fields: True
    in_path: bool = False


def format_of(body: bytes, named: str = "") -> Format:
    """The format of a body. `named` says it where the body fits two.

    Raises:
        ClientError: it is in none, or not in the one that is named.
    """
    fields = read_or_mend(body, lambda raw, mended: open_body(raw))
    asked = [form for form in FORMATS if named in ("", form.wire.name)]
    if not asked:
        names = ", ".join(form.wire.name for form in FORMATS)
        raise ClientError(f"No format is named {named[:40]!r}: it is one of {names}.", param="format")
    for form in asked:
        if form.field in fields and (named or form.fits(fields)):
            return form
    signs: dict[str, list[str]] = {}
    for form in asked:
        signs.setdefault(form.field, []).append(form.name)
    said = " nor ".join(f"{field} ({', '.join(names)})" for field, names in signs.items())
    raise ClientError(f"The body has {'neither' if len(signs) > 1 else 'no'} {said}: send it as a client would.")


def inbound_of(form: Format, body: bytes, model: str) -> Inbound:
    """The body as its wire needs it. Raises ClientError for a model that is missing, or in the wrong place."""
    if not form.in_path:
        if model:
            raise ClientError(f"{form.name} names its model in the body: leave out the one beside it.", param="model")
        return Inbound(body)
    fields = read_or_mend(body, lambda raw, mended: open_body(raw))
    if "model" in fields:  # a client would have it in the path, and the body without it
        model = model or read(fields["model"], MODEL, "model")
        body = encode({name: value for name, value in fields.items() if name != "model"})
    if not model:
        raise ClientError(
            f"{form.name} has its model in the path: name it beside the body, or as a field `model` in it.",
            param="model",
        )
    return Inbound(body, model)


ONLY_ANTHROPIC = frozenset(
    [
        "system",
        "stop_sequences",
        "thinking",
        "top_k",
        "output_config",
        "anthropic_version",
        "anthropic_beta",
        "container",
        "mcp_servers",
        "context_management",
        "cache_control",
        "speed",
        "thread",
    ]
)
ONLY_CHAT = frozenset(
    [
        "max_completion_tokens",
        "stream_options",
        "response_format",
        "n",
        "logprobs",
        "top_logprobs",
        "logit_bias",
        "seed",
        "stop",
        "user",
        "functions",
        "function_call",
        "reasoning_effort",
        "parallel_tool_calls",
        "frequency_penalty",
        "presence_penalty",
        "modalities",
        "audio",
        "prediction",
        "store",
        "web_search_options",
        "verbosity",
        "prompt_cache_key",
        "safety_identifier",
    ]
)
"""Top-level fields of Chat Completions that Anthropic Messages does not have, and above the other way about."""

ONLY_INTERACTIONS = frozenset(
    [
        "system_instruction",
        "generation_config",
        "previous_interaction_id",
        "agent",
        "agent_config",
        "response_mime_type",
        "cached_content",
    ]
)
ONLY_RESPONSES = frozenset(
    (
        "instructions",
        "previous_response_id",
        "conversation",
        "reasoning",
        "text",
        "include",
        "max_output_tokens",
        "truncation",
        "parallel_tool_calls",
        "prompt_cache_key",
    )
)
"""Top-level fields of Responses that Interactions does not have, and above the other way about."""

_CHAT_ROLES = frozenset(("tool", "function", "developer"))
_ANTHROPIC_BLOCKS = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "document"))
_STEPS = frozenset(("user_input", "model_output", "thought", "function_result"))
_GEMINI = ("gemini", "gemma", "models/")


def _is_anthropic(fields: Fields) -> bool:
    """By a field that only one of the two has; else by who speaks, and in what; else by whose model it is."""
    if ONLY_ANTHROPIC & fields.keys():
        return True
    if ONLY_CHAT & fields.keys() or "max_tokens" not in fields:  # which Anthropic requires
        return False
    messages = [as_object(message) for message in as_list(_value(fields, "messages"))]
    if any(message.get("role") in _CHAT_ROLES or "tool_calls" in message for message in messages):
        return False
    blocks = [as_object(block) for message in messages for block in as_list(message.get("content"))]
    if any(block.get("type") in _ANTHROPIC_BLOCKS or "source" in block for block in blocks):
        return True
    if any("input_schema" in as_object(tool) for tool in as_list(_value(fields, "tools"))):
        return True
    return _model(fields).startswith("claude")


def _is_interactions(fields: Fields) -> bool:
    """By a field that Responses lacks; else by the kinds of its items or steps; else by whose model it is."""
    if ONLY_INTERACTIONS & fields.keys():
        return True
    if ONLY_RESPONSES & fields.keys():
        return False
    said = [as_object(item) for item in as_list(_value(fields, "input"))]
    if any(item.get("type") in _STEPS for item in said):
        return True
    return _model(fields).startswith(_GEMINI) and not any("role" in item for item in said)


def _model(fields: Fields) -> str:
    return as_text(_value(fields, "model"))


def _value(fields: Fields, name: str) -> object:
    return read(fields[name], ANYTHING, name) if name in fields else None


FORMATS: tuple[Format, ...] = (
    Format("Gemini generateContent", GEMINI, "contents", in_path=True),
    Format("Gemini Interactions", GEMINI_INTERACTIONS, "input", _is_interactions),
    Format("OpenAI Responses", OPENAI_RESPONSES, "input"),
    Format("Anthropic Messages", ANTHROPIC, "messages", _is_anthropic),
    Format("OpenAI Chat Completions", OPENAI_CHAT, "messages"),
)
"""Tried in this order."""
