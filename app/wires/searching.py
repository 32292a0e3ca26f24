"""Web search between formats: which settings a format has words for, and the choice among tools where it is one.

Every format names its own search tool in a file of its own (`searching.py` of its package); what they share is here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from app.chat.model import Chat, Loss, Tool, ToolChoice
from app.chat.search import Place, WebSearch
from app.wires.envelope import as_list, as_object, as_text

Json = dict[str, Any]

SETTINGS: Mapping[str, str] = {
    "allowed": "allowed domains",
    "blocked": "blocked domains",
    "place": "the place of the user",
    "size": "how much of the results is read",
    "most": "the limit of searches",
}
"""Fields of WebSearch → what a loss calls them."""

PLACE = ("city", "region", "country", "timezone")


def unsaid(tool: Tool, search: WebSearch, says: Collection[str] = ()) -> Iterable[Loss]:
    """The losses for all that the client asked of its search and that this format, which `says` some, cannot say."""
    given = [words for name, words in SETTINGS.items() if getattr(search, name) and name not in says]
    for words in (*given, *search.others):
        yield Loss(f"tools.{tool.name}", f"The web search here cannot be told {words}: it goes without.")


def place_of(said: Any) -> Place | None:
    """`user_location` as OpenAI and Anthropic have it."""
    fields = {name: as_text(as_object(said).get(name)) for name in PLACE}
    return Place(**fields) if any(fields.values()) else None


def approximate(place: Place) -> Json:
    """The same, written."""
    said = {name: value for name in PLACE if (value := getattr(place, name))}
    return {"type": "approximate", **said}


def strings(value: Any) -> tuple[str, ...]:
    """The strings of a JSON array."""
    return tuple(filter(None, map(as_text, as_list(value))))


def unknown(fields: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    """The names of settings that are neither known nor empty."""
    return tuple(name for name, value in fields.items() if name not in known and value not in (None, False, [], {}))


def functions(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """The tools that the client runs itself."""
    return tuple(tool for tool in tools if tool.kind != "hosted")


def forbidden(chat: Chat) -> bool:
    """Whether no tool may be used at all: where only functions can be forbidden, the search is then left out."""
    choice = chat.sampling.tool_choice
    return choice is not None and choice.mode == "none"


def among_functions(chat: Chat, losses: list[Loss]) -> ToolChoice | None:
    """The choice where only functions can be chosen, and whatever the provider runs itself is left to the model."""
    choice = chat.sampling.tool_choice
    offered = functions(chat.tools)
    if choice is None or len(offered) == len(chat.tools):
        return choice
    own = {tool.name for tool in offered}
    hosted = {tool.name for tool in chat.tools} - own
    names = tuple(name for name in choice.names if name not in hosted)
    if choice.mode == "required" and (not own or len(names) < len(choice.names)):
        losses.append(Loss("tool_choice", "Only functions can be forced here: the choice is left to the model."))
        choice = ToolChoice("auto")
    if not own:
        return None
    return ToolChoice(choice.mode, names if choice.mode != "none" else ())
