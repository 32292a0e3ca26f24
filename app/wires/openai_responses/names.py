"""The words of this format, each spelled once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from app.chat.model import Chat
from app.wires.openai_chat.names import TOOL_ERROR, legal
from app.wires.toolnames import changed

__all__ = ["NAME", "RESULTS", "TAG", "TOOL_ERROR", "is_given", "legal", "reverse", "sanitised", "spaced", "spaces"]

NAME = "openai_responses"

TAG = "foldline."
"""Begins the `encrypted_content` of every reasoning item that we wrote ourselves: `foldline.WIRE` and, if the provider
gave one, `.SIGNATURE`. OpenAI answers 404 for a reasoning item that it never made: these must be told from its own."""

RESULTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""The item of a call → the item of its result."""

GIVEN = frozenset(
    (
        *("item_reference", "compaction", "compaction_trigger", "configuration_update", "additional_tools"),
        *("mcp_approval_response", "function_call_output", "custom_tool_call_output"),
    )
)
"""Items that are no part of an assistant's turn. A reference and a compacted past are among them so that they count in
a chat's address: two different ones are two different chats."""


APART = "__"


def spaced(namespace: str, name: str) -> str:
    """The name of a tool in a namespace, where formats know none."""
    return f"{namespace}{APART}{name}" if namespace else name


def spaces(chat: Chat) -> Mapping[str, tuple[str, str]]:
    """The tool as the chat names it → its namespace, and its name there."""
    found: dict[str, tuple[str, str]] = {}
    for tool in chat.tools:
        if tool.native and tool.native.wire == NAME and tool.native.body.get("type") == "namespace":
            namespace = str(tool.native.body.get("name") or "")
            found[tool.name] = (namespace, tool.name.removeprefix(namespace + APART))
    return found


def is_given(kind: str) -> bool:
    """Whether an item of this type stands between the assistant's turns, not in one."""
    return kind in GIVEN or kind.endswith("_output")


def reverse(chat: Chat) -> Mapping[str, str]:
    """What the provider says → what the client calls it, for the tools whose name had to be changed."""
    return changed(chat, NAME, legal)


def sanitised(item: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    """The item without its id: where its reasoning does not go with it, an id that OpenAI knows would ask for it."""
    return {name: value for name, value in item.items() if name != "id"}
