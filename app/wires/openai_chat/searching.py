"""Web search as Chat Completions has it: a root field, for models that always search
(https://platform.openai.com/docs/guides/tools-web-search?api-mode=chat)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from app.chat.model import Loss, Native, Tool
from app.chat.search import WebSearch
from app.wires.envelope import ANYTHING, as_object, as_text, read
from app.wires.openai_chat.names import NAME
from app.wires.searching import approximate, place_of, unknown, unsaid

FIELD = "web_search_options"

SAYS = ("place", "size")
SEARCHES = re.compile(r"(?:^|[/-])search(?:$|[-.])")
"""Models that search: gpt-5-search-api, gpt-4o-search-preview and their like. Others refuse the field."""


def tool_of(fields: Mapping[str, msgspec.Raw]) -> tuple[Tool, ...]:
    """The search as a tool, if the client asks for one."""
    if FIELD not in fields or bytes(fields[FIELD]) == b"null":
        return ()
    said = as_object(read(fields[FIELD], ANYTHING, FIELD))
    location = as_object(said.get("user_location"))
    search = WebSearch(
        place=place_of(location.get("approximate") or location),
        size=as_text(said.get("search_context_size")),
        others=unknown(said, ("user_location", "search_context_size")),
    )
    return (Tool(FIELD, kind="hosted", native=Native(NAME, said), search=search),)


def options(offered: tuple[Tool, ...], model: str, losses: list[Loss]) -> dict[str, Any]:
    """The root field, for a search that a client of another format asks for; empty if it asks for none, or none can
    be had."""
    found = [(tool, tool.search) for tool in offered if tool.search is not None and not is_own(tool)]
    if not found:
        return {}
    tool, search = found[0]
    if not SEARCHES.search(model):
        words = f"In Chat Completions only search models search, and {model} is none: it answers without."
        losses.append(Loss(f"tools.{tool.name}", words))
        return {}
    losses.extend(unsaid(tool, search, SAYS))
    said: dict[str, Any] = {"search_context_size": search.size} if search.size else {}
    if search.place is not None:
        near = approximate(search.place)
        said["user_location"] = {"type": near.pop("type"), "approximate": near}
    return {FIELD: said}


def is_own(tool: Tool) -> bool:
    """Whether it stands for the field that a client of this format sent itself."""
    return tool.name == FIELD and tool.native is not None and tool.native.wire == NAME
