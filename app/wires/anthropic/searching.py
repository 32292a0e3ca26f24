"""Web search as Messages has it: a server tool with a version in its type
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool)."""

from __future__ import annotations

from typing import Any

from app.chat.model import Chat, Loss, Tool
from app.chat.search import WebSearch
from app.wires.envelope import as_text
from app.wires.searching import approximate, functions, place_of, strings, unknown, unsaid

NAME_OF_TOOL = "web_search"
TYPE = "web_search_20250305"
"""The version that every Claude takes; later ones filter results by code, and want a tool for that beside them."""

PREFIX = "web_search_2"
SAYS = ("allowed", "blocked", "place", "most")
_KNOWN = ("type", "name", "allowed_domains", "blocked_domains", "user_location", "max_uses", "cache_control", "strict")


def search_of(body: dict[str, Any]) -> WebSearch | None:
    """What is asked of the search, if the tool is one."""
    if not as_text(body.get("type")).startswith(PREFIX):
        return None
    most = body.get("max_uses")
    others = unknown(body, (*_KNOWN, "allowed_callers", "response_inclusion"))
    return WebSearch(
        allowed=strings(body.get("allowed_domains")),
        blocked=strings(body.get("blocked_domains")),
        place=place_of(body.get("user_location")),
        most=most if type(most) is int else None,
        others=others,
    )


def tool(chat: Chat, asked: Tool, search: WebSearch, losses: list[Loss]) -> list[Any]:
    """The tool for a search of another format; none where a function of the client's has its name."""
    if any(other.name == NAME_OF_TOOL for other in functions(chat.tools)):
        words = f"Claude's web search is named {NAME_OF_TOOL}, as a function of yours: rename that one."
        losses.append(Loss(f"tools.{asked.name}", words))
        return []
    says = SAYS
    if search.allowed and search.blocked:  # refused together
        says = tuple(name for name in SAYS if name != "blocked")
    losses.extend(unsaid(asked, search, says))
    said: dict[str, Any] = {"type": TYPE, "name": NAME_OF_TOOL}
    if search.allowed:
        said["allowed_domains"] = list(search.allowed)
    elif search.blocked:
        said["blocked_domains"] = list(search.blocked)
    if search.place is not None:
        said["user_location"] = approximate(search.place)
    if search.most is not None:
        said["max_uses"] = search.most
    return [said]
