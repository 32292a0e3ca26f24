"""Models as each dialect lists them: one card, and a page of cards.

A client that asks for pages gets pages; one that does not gets all at once, as many never ask for the second.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from app.errors import ClientError
from app.upstreams.model_cards import Model

Dialect = Literal["openai", "gemini", "anthropic"]
MOST = 1000
"""Models of a page, as the providers have it."""

Query = Mapping[str, str]
Found = Mapping[str, Model]
"""By the name to ask for, sorted by it: so that a name says where a page begins, even if its model is gone."""


def listed(dialect: Dialect, found: Found, query: Query) -> dict[str, Any]:
    """The list, or the page of it that the query asks for. Raises ClientError for a size that is none."""
    return _LISTS[dialect](found, query)


def card(dialect: Dialect, name: str, model: Model) -> dict[str, Any]:
    """One model, under the name that it is asked for by."""
    return _CARDS[dialect](name, model)


def _openai_list(found: Found, _: Query) -> dict[str, Any]:
    """OpenAI's has no pages."""
    return {"object": "list", "data": [_openai_card(name, model) for name, model in found.items()]}


def _gemini_list(found: Found, query: Query) -> dict[str, Any]:
    """https://ai.google.dev/api/models#method:-models.list"""
    names = list(found)
    start = bisect_right(names, query.get("pageToken") or query.get("page_token") or "")
    field = "pageSize" if "pageSize" in query else "page_size"
    page = names[start : start + _size(query, field, len(names))]
    more = {"nextPageToken": page[-1]} if page and page[-1] != names[-1] else {}
    return {"models": [_gemini_card(name, found[name]) for name in page], **more}


def _anthropic_list(found: Found, query: Query) -> dict[str, Any]:
    """https://platform.claude.com/docs/en/api/models-list"""
    names = list(found)
    size = _size(query, "limit", len(names))
    if "before_id" in query:
        end = bisect_left(names, query["before_id"])
        start = max(0, end - size)
        more = start > 0
    else:
        start = bisect_right(names, query.get("after_id", ""))
        end = start + size
        more = end < len(names)
    page = names[start:end]
    first, last = (page[0], page[-1]) if page else (None, None)
    cards = [_anthropic_card(name, found[name]) for name in page]
    return {"data": cards, "has_more": more, "first_id": first, "last_id": last}


def _size(query: Query, field: str, everything: int) -> int:
    said = query.get(field, "")
    if not said:
        return everything
    if not said.isascii() or not said.isdigit() or not int(said):
        raise ClientError(f"{field}: {said[:20]!r} is no number of models. Send 1 to {MOST}.", param=field)
    return min(int(said), MOST)


def _openai_card(name: str, model: Model) -> dict[str, Any]:
    """OpenAI's; a provider of that format is quoted, with what it adds (context sizes, prices)."""
    own: Mapping[str, Any] = model.card if model.kind == "openai" else {}
    sizes = {"context_length": model.window} if model.window else {}
    return {
        **sizes,
        **own,
        "id": name,
        "object": "model",
        "created": model.created,
        "owned_by": model.owner or "unknown",
    }


def _gemini_card(name: str, model: Model) -> dict[str, Any]:
    """Gemini's; Gemini itself is quoted."""
    if model.kind == "gemini":
        return {**model.card, "name": f"models/{name}"}
    limits = {"inputTokenLimit": model.window, "outputTokenLimit": model.output}
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": model.name or name,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        **{field: limit for field, limit in limits.items() if limit},
    }


def _anthropic_card(name: str, model: Model) -> dict[str, Any]:
    """Anthropic's; Anthropic itself is quoted."""
    own: Mapping[str, Any] = model.card if model.kind == "anthropic" else {}
    limits = {"max_input_tokens": model.window, "max_tokens": model.output}
    return {
        "display_name": model.name or name,
        "created_at": datetime.fromtimestamp(model.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **{field: limit for field, limit in limits.items() if limit},
        **own,
        "type": "model",
        "id": name,
    }


_CARDS: Mapping[Dialect, Callable[[str, Model], dict[str, Any]]] = {
    "openai": _openai_card,
    "gemini": _gemini_card,
    "anthropic": _anthropic_card,
}
_LISTS: Mapping[Dialect, Callable[[Found, Query], dict[str, Any]]] = {
    "openai": _openai_list,
    "gemini": _gemini_list,
    "anthropic": _anthropic_list,
}


def publishers(answer: dict[str, Any], publisher: str) -> dict[str, Any]:
    """Gemini's list or card as Vertex AI has it: a model is its publisher's, with another field for the version."""
    if "models" in answer:
        models: Sequence[dict[str, Any]] = answer["models"]
        more = {name: value for name, value in answer.items() if name != "models"}
        return {"publisherModels": [publishers(model, publisher) for model in models], **more}
    name = answer["name"].removeprefix("models/")
    return {**answer, "name": f"publishers/{publisher}/models/{name}", "versionId": answer.get("version", "001")}
