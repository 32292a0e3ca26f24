"""Web search as Responses has it: a tool of its own type (https://platform.openai.com/docs/guides/tools-web-search)."""

from __future__ import annotations

from typing import Any

from app.chat.model import Loss, Tool
from app.chat.search import WebSearch
from app.wires.envelope import as_object, as_text
from app.wires.searching import approximate, place_of, strings, unknown, unsaid

TYPES = ("web_search", "web_search_preview")
"""How the types of the tool begin; dated ones have a date behind."""

SAYS = ("allowed", "place", "size")
_KNOWN = ("type", "filters", "user_location", "search_context_size")


def search_of(body: dict[str, Any]) -> WebSearch | None:
    """What is asked of the search, if the tool is one."""
    if not as_text(body.get("type")).startswith(TYPES):
        return None
    filters = as_object(body.get("filters"))
    others = [*unknown(body, (*_KNOWN, "external_web_access")), *unknown(filters, ("allowed_domains",))]
    if body.get("external_web_access") is False:
        others.append("external_web_access")
    return WebSearch(
        allowed=strings(filters.get("allowed_domains")),
        place=place_of(body.get("user_location")),
        size=as_text(body.get("search_context_size")),
        others=tuple(others),
    )


def tool(asked: Tool, search: WebSearch, losses: list[Loss]) -> dict[str, Any]:
    """The tool for a search of another format."""
    losses.extend(unsaid(asked, search, SAYS))
    said: dict[str, Any] = {"type": "web_search"}
    if search.allowed:
        said["filters"] = {"allowed_domains": list(search.allowed)}
    if search.place is not None:
        said["user_location"] = approximate(search.place)
    if search.size:
        said["search_context_size"] = search.size
    return said
