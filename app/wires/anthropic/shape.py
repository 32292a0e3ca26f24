"""JSON Schema in the subset that Anthropic's structured outputs take.

Closed objects, no bounds, no recursion, at most 24 optional properties
(https://platform.claude.com/docs/en/build-with-claude/structured-outputs). A bound that is dropped goes on as words in
the description, which the model reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from app.wires.envelope import as_list, as_object, encode

MOST_OPTIONAL = 24
KEPT = frozenset(
    (
        *("type", "properties", "required", "items", "enum", "const", "anyOf", "allOf", "$ref", "$defs"),
        *("definitions", "description", "title", "default"),
    )
)
FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"))
_BEYOND_REGULAR = re.compile(r"\(\?|\\[bB\d]")
"""Look-around, word boundaries and back references: no grammar can be made of them."""


class UnsayableError(Exception):
    """No closed, finite schema says the same."""


def for_output(schema: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The schema as it may be sent, and a sentence for each thing that it no longer enforces. Raises UnsayableError."""
    if _is_recursive(schema):
        raise UnsayableError
    losses: dict[str, None] = {}
    written = _node(schema, losses)
    if _optional(written) > MOST_OPTIONAL:
        raise UnsayableError
    return written, tuple(losses)


def _node(schema: Any, losses: dict[str, None]) -> dict[str, Any]:
    node = as_object(schema)
    written: dict[str, Any] = {}
    words: list[str] = []
    for name, value in node.items():
        if name == "properties" or name in ("$defs", "definitions"):
            written[name] = {key: _node(inner, losses) for key, inner in as_object(value).items()}
        elif name in ("anyOf", "oneOf", "allOf"):
            written["anyOf" if name == "oneOf" else name] = [_node(inner, losses) for inner in as_list(value)]
        elif name == "items" and isinstance(value, dict):
            written[name] = _node(value, losses)
        elif name in KEPT or _is_kept(name, value):
            written[name] = value
        elif name not in ("additionalProperties", "$schema", "$id", "$comment", "examples", "strict"):
            words.append(f"{name}: {encode(value).decode()}")
    if words:
        losses["Anthropic enforces no bounds: they were put into the descriptions."] = None
        before = written.get("description")
        written["description"] = f"{before} ({'; '.join(words)})" if before else "; ".join(words)
    return _closed(node, written, losses)


def _is_kept(name: str, value: Any) -> bool:
    if name == "format":
        return value in FORMATS
    if name == "pattern":
        return isinstance(value, str) and not _BEYOND_REGULAR.search(value)
    return name == "minItems" and value in (0, 1)


def _closed(node: Mapping[str, Any], written: dict[str, Any], losses: dict[str, None]) -> dict[str, Any]:
    """Objects take no further keys. One that is made of nothing but free keys cannot be closed."""
    kinds = [node.get("type")] if isinstance(node.get("type"), str) else as_list(node.get("type"))
    if "object" not in kinds and "properties" not in node:
        return written
    further = node.get("additionalProperties")
    if not as_object(node.get("properties")) and further is not False:
        raise UnsayableError
    if further not in (None, False):
        losses["Anthropic takes no keys that the schema does not name."] = None
    return written | {"additionalProperties": False}


def _optional(node: Any) -> int:
    """Properties that may be left out, in all objects together."""
    if isinstance(node, list):
        return sum(map(_optional, cast("list[Any]", node)))
    table = as_object(node)
    own = len(as_object(table.get("properties")).keys() - set(map(str, as_list(table.get("required")))))
    return own + sum(_optional(inner) for name, inner in table.items() if name not in ("enum", "const", "default"))


def _is_recursive(schema: Mapping[str, Any]) -> bool:
    tables = {
        f"#/{place}/{name}": inner
        for place in ("$defs", "definitions")
        for name, inner in as_object(schema.get(place)).items()
    }
    links = {name: _references(inner) for name, inner in tables.items()}
    if any("#" in found for found in links.values()) or "#" in _references(schema):
        return True
    return any(_reaches(name, name, links, set()) for name in links)


def _reaches(start: str, goal: str, links: Mapping[str, set[str]], seen: set[str]) -> bool:
    for name in links.get(start, set()) - seen:
        seen.add(name)
        if name == goal or _reaches(name, goal, links, seen):
            return True
    return goal in links.get(start, set())


def _references(node: Any) -> set[str]:
    if isinstance(node, list):
        return {name for inner in cast("list[Any]", node) for name in _references(inner)}
    found: set[str] = set()
    for name, value in as_object(node).items():
        if name == "$ref" and isinstance(value, str):
            found.add(value)
        else:
            found |= _references(value)
    return found
