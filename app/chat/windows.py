"""How much a model takes in and gives out: a small table of our own, and what a provider's list of models says.

The table holds what vendors publish (state: November 2026). Vendors mean different things by it: OpenAI's window is
input and output together, of which the output's share is kept free; Claude's is shared without such a share; Gemini's
two limits are independent. `context` is what a prompt may take if the answer is to have its full length on OpenAI's
models, and the whole window elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec


class Window(msgspec.Struct, frozen=True):
    """Limits of a model in tokens: `context` for the prompt, `output` for the answer."""

    context: int
    output: int


UNKNOWN = Window(128_000, 8_192)
"""A model that the table does not know."""

_TABLE: tuple[tuple[str, Window], ...] = (
    # the first that fits counts, so the narrow ones stand first
    (r"gpt-5[.\d]*-chat", Window(128_000, 16_384)),
    (r"gpt-5\.4-(mini|nano)", Window(272_000, 128_000)),
    (r"gpt-(5\.[4-9]|[6-9])", Window(922_000, 128_000)),
    (r"gpt-5", Window(272_000, 128_000)),
    (r"gpt-4\.1", Window(1_047_576, 32_768)),
    (r"gpt-oss", Window(131_072, 32_768)),
    (r"gpt-4o|gpt-4\.5|chatgpt-4o", Window(128_000, 16_384)),
    (r"gpt-4-(turbo|1106|0125|vision)", Window(128_000, 4_096)),
    (r"gpt-4", Window(8_192, 4_096)),
    (r"gpt-3\.5", Window(16_385, 4_096)),
    (r"o1-mini", Window(128_000, 65_536)),
    (r"o1-preview", Window(128_000, 32_768)),
    (r"o[134]\b", Window(200_000, 100_000)),
    (r"gemini-.*(live|native-audio)", Window(131_072, 8_192)),
    (r"gemini-.*image", Window(65_536, 32_768)),
    (r"gemini-(1|2\.0)", Window(1_048_576, 8_192)),
    (r"gemini-", Window(1_048_576, 65_536)),
    (r"gemma-?3-?(1b|270m)", Window(32_768, 8_192)),
    (r"gemma-?[3-9]", Window(131_072, 8_192)),
    (r"gemma", Window(8_192, 8_192)),
    (r"claude-(fable|mythos)", Window(1_000_000, 128_000)),
    (r"claude-(opus|sonnet)-4[-.][6-9]", Window(1_000_000, 128_000)),
    (r"claude-haiku-5[-.]5|claude-(opus|sonnet)-[5-9]", Window(1_000_000, 128_000)),
    (r"claude-(opus|sonnet|haiku)-4[-.]5", Window(200_000, 64_000)),
    (r"claude-opus-4", Window(200_000, 32_000)),
    (r"claude-sonnet-4|claude-3-7", Window(200_000, 64_000)),
    (r"claude-3-5", Window(200_000, 8_192)),
    (r"claude-3", Window(200_000, 4_096)),
    (r"claude", Window(200_000, 8_192)),
    (r"deepseek", Window(128_000, 8_192)),
    (r"qwen-?3|qwen-(plus|max|flash)", Window(131_072, 8_192)),
    (r"qwen", Window(32_768, 8_192)),
    (r"llama-?4", Window(128_000, 8_192)),
    (r"llama-?3[.\-][1-9]\b(?!b)", Window(128_000, 8_192)),
    (r"llama-?3", Window(8_192, 4_096)),
    (r"llama", Window(4_096, 4_096)),
    (r"mixtral|mistral-(7b|tiny)", Window(32_768, 8_192)),
    (r"mistral|ministral|codestral|devstral|magistral", Window(128_000, 8_192)),
    (r"glm-|kimi|grok|command-(a|r)|phi-4|nova", Window(128_000, 8_192)),
)
_PATTERNS = tuple((re.compile(rf"(?:^|[/:.@_-]){pattern}"), window) for pattern, window in _TABLE)

_CONTEXT_FIELDS = (
    "max_input_tokens",  # Anthropic, LiteLLM
    "inputTokenLimit",  # Gemini
    "context_length",  # OpenRouter
    "max_model_len",  # vLLM
    "context_window",  # Groq
)
_OUTPUT_FIELDS = (
    "max_output_tokens",  # LiteLLM
    "outputTokenLimit",  # Gemini
    "max_tokens",  # Anthropic
    "max_completion_tokens",  # Groq
)


def window_of(model: str, known: Mapping[str, Window] | None = None) -> Window:
    """The limits of a model: what a provider said (`known`, see `learnt`), else the table's, else 128,000 and 8,192."""
    name = _plain(model)
    if known and (said := known.get(name)):
        return said
    return next((window for pattern, window in _PATTERNS if pattern.search(name)), UNKNOWN)


def learnt(listing: Mapping[str, Any], known: Mapping[str, Window] | None = None) -> dict[str, Window]:
    """What a provider's models endpoint says, merged over what was known; the new word wins.

    `listing` is the parsed answer: a list under `data` (OpenAI, Anthropic, OpenRouter, vLLM) or `models` (Gemini), or
    one model alone. Entries without limits, or with senseless ones, are passed over; where only one limit is given, the
    table says the other. Never raises: an odd list teaches nothing.
    """
    found = dict(known or {})
    entries: Any = listing.get("data") or listing.get("models") or [listing]
    for entry in cast("list[Any]", entries) if isinstance(entries, list) else []:
        if isinstance(entry, Mapping):
            _learn(cast("Mapping[str, Any]", entry), found)
    return found


def _learn(entry: Mapping[str, Any], found: dict[str, Window]) -> None:
    name = entry.get("id") or entry.get("name")
    if not isinstance(name, str):
        return
    top: Any = entry.get("top_provider")  # OpenRouter says there what the server it prefers takes
    nested = cast("Mapping[str, Any]", top if isinstance(top, Mapping) else {})
    context = _first(entry, _CONTEXT_FIELDS) or _first(nested, _CONTEXT_FIELDS)
    output = _first(entry, _OUTPUT_FIELDS) or _first(nested, _OUTPUT_FIELDS)
    if context or output:
        usual = window_of(name, found)
        found[_plain(name)] = Window(context or usual.context, output or usual.output)


def _first(entry: Mapping[str, Any], fields: tuple[str, ...]) -> int:
    """The first of these fields that holds a sensible number of tokens; 0 if none does."""
    values = (entry.get(field) for field in fields)
    return next((value for value in values if type(value) is int and 0 < value < 1_000_000_000), 0)


def _plain(model: str) -> str:
    return model.lower().removeprefix("models/")
