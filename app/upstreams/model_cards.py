"""What each provider says of one model, read into the same few facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from app.upstreams.upstream import Kind
from app.wires.envelope import as_text


class Model(msgspec.Struct, frozen=True):
    """One model of one upstream.

    Args:
        id: as a request to that upstream names it, without `models/`.
        created: Unix seconds, 0 if the upstream does not say.
        window, output: the most input and output tokens, 0 if the upstream does not say.
        card: what the upstream literally said of it.
    """

    id: str
    kind: Kind
    name: str = ""
    owner: str = ""
    created: int = 0
    window: int = 0
    output: int = 0
    card: Mapping[str, Any] = {}


def _openai_card(card: Mapping[str, Any]) -> Model | None:
    """OpenAI's, and the sizes that compatible servers add (OpenRouter `context_length`, vLLM `max_model_len`)."""
    if not (id_ := as_text(card.get("id"))):
        return None
    return Model(
        id_,
        "openai",
        as_text(card.get("name")),
        as_text(card.get("owned_by")),
        created=_whole_number(card.get("created")),
        window=_whole_number(card.get("context_length")) or _whole_number(card.get("max_model_len")),
        card=card,
    )


def _gemini_card(card: Mapping[str, Any]) -> Model | None:
    """Gemini's: https://ai.google.dev/api/models. The name carries `models/`."""
    if not (id_ := as_text(card.get("name")).removeprefix("models/")):
        return None
    return Model(
        id_,
        "gemini",
        as_text(card.get("displayName")),
        "google",
        window=_whole_number(card.get("inputTokenLimit")),
        output=_whole_number(card.get("outputTokenLimit")),
        card=card,
    )


def _anthropic_card(card: Mapping[str, Any]) -> Model | None:
    """Anthropic's: https://platform.claude.com/docs/en/api/models-list."""
    if not (id_ := as_text(card.get("id"))):
        return None
    return Model(
        id_,
        "anthropic",
        as_text(card.get("display_name")),
        "anthropic",
        window=_whole_number(card.get("max_input_tokens")),
        output=_whole_number(card.get("max_tokens")),
        card=card,
    )


def _whole_number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0


CARDS: Mapping[Kind, Callable[[Mapping[str, Any]], Model | None]] = {
    "openai": _openai_card,
    "gemini": _gemini_card,
    "anthropic": _anthropic_card,
}
