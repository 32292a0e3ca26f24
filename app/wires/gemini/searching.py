"""Web search as generateContent has it: `googleSearch` (https://ai.google.dev/gemini-api/docs/google-search)."""

from __future__ import annotations

from typing import Any

from app.chat.model import Chat, Loss, Tool
from app.chat.search import WebSearch
from app.wires.envelope import as_object
from app.wires.gemini.names import generation
from app.wires.gemini.spelling import camel_keys
from app.wires.searching import forbidden, functions, strings, unknown, unsaid

NAMES = ("googleSearch", "googleSearchRetrieval")
_KNOWN = ("excludeDomains", "searchTypes", "dynamicRetrievalConfig")


def search_of(name: str, body: dict[str, Any]) -> WebSearch | None:
    """What is asked of the search, if the tool is one."""
    if name not in NAMES:
        return None
    said = camel_keys(body)
    types = camel_keys(as_object(said.get("searchTypes")))
    others = [*unknown(said, _KNOWN), *(f"searchTypes.{kind}" for kind in types if kind != "webSearch")]
    return WebSearch(blocked=strings(said.get("excludeDomains")), others=tuple(others))


def may_search(chat: Chat, tool: Tool, model: str, losses: list[Loss]) -> bool:
    """Whether Google's search can be offered. No choice forbids it, so that it is not there when no tool may be used;
    Gemini 2.5 takes it only where there are no functions."""
    if forbidden(chat):
        return False
    if functions(chat.tools) and "gemini-" in model and generation(model)[0] < 3:
        losses.append(Loss(f"tools.{tool.name}", "Gemini 2.5 takes no search beside functions: they were kept."))
        return False
    return True


def tool(chat: Chat, asked: Tool, search: WebSearch, model: str, losses: list[Loss]) -> list[Any]:
    """The tool for a search of another format."""
    if not may_search(chat, asked, model, losses):
        return []
    losses.extend(unsaid(asked, search))
    return [{"googleSearch": {}}]
