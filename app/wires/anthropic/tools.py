"""Neutral tools and the choice among them → Anthropic's `tools` and `tool_choice`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, cast

import msgspec

from app.chat.model import Chat, Loss, Tool
from app.wires.anthropic.models import Claude
from app.wires.anthropic.names import NAME, legal
from app.wires.anthropic.searching import NAME_OF_TOOL
from app.wires.anthropic.searching import tool as search_tool
from app.wires.anthropic.shape import UnsayableError, for_output
from app.wires.envelope import as_object, encode
from app.wires.schema import for_openai_strict
from app.wires.schema.keywords import modern
from app.wires.schema.unions import object_root

MOST_STRICT = 20
"""Tools with `strict` that one request may have."""

FREE_TEXT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
_UNIONS = frozenset(("anyOf", "oneOf", "allOf"))


def tools(chat: Chat, losses: list[Loss]) -> list[Any]:
    """The tools, in the client's order. A chat with calls in it must have some: those are declared that it calls."""
    written: list[Any] = []
    strict = 0
    for tool in chat.tools:
        if tool.native and tool.native.wire == NAME:
            written.append(tool.native.body)
        elif tool.search is not None:
            written.extend(search_tool(chat, tool, tool.search, losses))
        elif tool.kind == "hosted":
            losses.append(Loss(f"tools.{tool.name}", "This tool runs only at its own provider."))
        else:
            body, weakened = _declaration(tool, strict < MOST_STRICT)
            strict += "strict" in body
            written.append(body)
            losses.extend(Loss(f"tools.{tool.name}", reason) for reason in weakened)
    return written or [{"name": name, "input_schema": {"type": "object"}} for name in _called(chat)]


def _called(chat: Chat) -> Iterable[str]:
    """https://platform.claude.com/docs/en/api/errors: calls without `tools` are refused."""
    return dict.fromkeys(legal(call.name) for message in chat.messages for call in message.calls)


def _declaration(tool: Tool, may_be_strict: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    if tool.kind == "custom":
        body = {"name": legal(tool.name), "description": tool.description, "input_schema": FREE_TEXT}
        words = "It takes free text: Claude is given one string argument, and its grammar is left out."
        return {name: value for name, value in body.items() if value}, (words,)
    schema, losses = _input_schema(encode(tool.schema))
    body: dict[str, Any] = {"name": legal(tool.name)}
    if tool.description:
        body["description"] = tool.description
    body["input_schema"] = schema
    if tool.strict:
        if may_be_strict and _fits_strict(tool.schema):
            body["strict"] = True
        else:
            losses = (*losses, "Its arguments are not enforced: the schema is not one that Claude can be held to.")
    native = tool.native.body if tool.native else None
    mark = cast("Mapping[str, Any]", native).get("cache_control") if isinstance(native, Mapping) else None
    return body | ({"cache_control": mark} if isinstance(mark, dict) else {}), losses


@lru_cache(maxsize=512)
def _input_schema(raw: bytes) -> tuple[msgspec.Raw, tuple[str, ...]]:
    """The arguments must be one object, and its root no union. An agent sends the same tools on every turn: each is
    looked at once."""
    schema = msgspec.json.decode(raw, type=dict[str, Any])
    united: list[str] = []
    if _UNIONS & schema.keys() and not as_object(schema.get("properties")):
        around = modern(dict(schema))
        around.pop("type", None)
        if "allOf" in around:
            around["anyOf"] = around.pop("allOf")
        around, united = object_root(around)
        schema = around
    elif _UNIONS & schema.keys():
        schema = {name: value for name, value in schema.items() if name not in _UNIONS}
        united = ["The root of a tool's arguments must be one object: the conditions on it were left out."]
    if schema.get("type") != "object":
        schema = {**schema, "type": "object"}
    return msgspec.Raw(encode(schema)), tuple(united)


def _fits_strict(schema: Mapping[str, Any]) -> bool:
    """Strict arguments are made from a grammar, as structured outputs are: closed, finite, without bounds."""
    try:
        return for_openai_strict(schema) and not for_output(schema)[1]
    except UnsayableError:
        return False


def tool_choice(chat: Chat, rules: Claude, losses: list[Loss]) -> dict[str, Any] | None:
    """The choice, None for the provider's default. What cannot be forced is left to the model, with a loss."""
    choice, single = chat.sampling.tool_choice, chat.sampling.parallel_tools is False
    if not chat.tools:  # a chat with calls in it whose client wants no more of them
        return {"type": "none"}
    one_at_a_time: dict[str, Any] = {"disable_parallel_tool_use": True} if single else {}
    if choice is None:
        return {"type": "auto", **one_at_a_time} if single else None
    if choice.mode == "none":
        return {"type": "none"}
    if choice.mode == "required" and not rules.forced:
        words = "This model cannot be made to call a tool: the choice is left to it."
        losses.append(Loss("tool_choice", words))
        return {"type": "auto", **one_at_a_time}
    if choice.mode == "required" and len(choice.names) == 1:
        return {"type": "tool", "name": _known_as(choice.names[0], chat), **one_at_a_time}
    if choice.names:
        losses.append(Loss("tool_choice", "Claude cannot be limited to some of the tools: it may call all of them."))
    return {"type": "any" if choice.mode == "required" else "auto", **one_at_a_time}


def _known_as(name: str, chat: Chat) -> str:
    searches = {tool.name for tool in chat.tools if tool.search is not None}
    return NAME_OF_TOOL if name in searches else legal(name)
