"""Web search as Interactions has it: `google_search` (https://ai.google.dev/gemini-api/docs/interactions)."""

from __future__ import annotations

from typing import Any

from app.chat.model import Chat, Loss, Tool
from app.chat.search import WebSearch
from app.wires.gemini.searching import may_search
from app.wires.searching import strings, unknown, unsaid

TYPE = "google_search"


def search_of(body: dict[str, Any]) -> WebSearch | None:
    """What is asked of the search, if the tool is one."""
    if body.get("type") != TYPE:
        return None
    kinds = [kind for kind in strings(body.get("search_types")) if kind != "web_search"]
    return WebSearch(others=(*kinds, *unknown(body, ("type", "search_types"))))


def tool(chat: Chat, asked: Tool, search: WebSearch, model: str, losses: list[Loss]) -> list[Any]:
    """The tool for a search of another format."""
    if not may_search(chat, asked, model, losses):
        return []
    losses.extend(unsaid(asked, search))
    return [{"type": TYPE}]
