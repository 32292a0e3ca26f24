"""How the items of a Responses request stand to each other: calls and outputs, reasoning and what it led to, ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.simulator.openai.problems import refused
from app.simulator.shapes import Json, as_text

_CALLS = {"function_call": "function call", "custom_tool_call": "custom tool call"}


def check_order(history: Sequence[Json], new: Sequence[Json]) -> None:
    """The new items after those that the provider holds; RefusalError if one breaks a rule.

    Every call has its output somewhere after it, and every output its call, in the whole context; no item stands in it
    twice; a reasoning item is followed by what it led to.
    """
    _check_ids(history, new)
    _check_pairs([*history, *new])
    for at, item in enumerate(new):
        if item["type"] == "reasoning":
            follower = next((after for after in new[at + 1 :] if after["type"] != "reasoning"), None)
            if follower is None or not _is_made(follower):
                said = "of type 'reasoning' was provided without its required following item."
                raise refused(f"Item '{as_text(item.get('id'))}' {said}", "input")


def _check_ids(history: Iterable[Json], new: Iterable[Json]) -> None:
    known = {as_text(item.get("id")) for item in history}
    for item in new:
        identity = as_text(item.get("id"))
        if identity and identity in known:
            said = f"Duplicate item found with id {identity}. Remove duplicate items from your input and try again."
            raise refused(said, "input")
        known.add(identity)


def _check_pairs(items: Iterable[Json]) -> None:
    waiting: dict[str, str] = {}
    for item in items:
        kind = item["type"]
        if kind in _CALLS:
            waiting[as_text(item.get("call_id"))] = kind
        elif kind.removesuffix("_output") in _CALLS:
            called = kind.removesuffix("_output")
            identity = as_text(item.get("call_id"))
            if waiting.pop(identity, "") != called:
                said = f"No tool call found for {_CALLS[called]} output with call_id {identity}."
                raise refused(said, "input")
    for identity, kind in waiting.items():
        raise refused(f"No tool output found for {_CALLS[kind]} {identity}.", "input")


def _is_made(item: Json) -> bool:
    """Whether a model made this item."""
    kind = as_text(item["type"])
    return item.get("role") == "assistant" if kind == "message" else kind.endswith("_call")
