"""Web search as Claude shows it: its call, what was found, and texts that rest on it; and what may come back of that.

What Anthropic encrypts, it wants back as it was: `encrypted_content` of a result, `encrypted_index` of a citation.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.seals import opened, sealed
from app.simulator.mind.searching import Page, Search
from app.simulator.shapes import Json, as_list, as_object, as_text, digest, objects

FOUND = "web_search_tool_result"
LOCATION = "web_search_result_location"


def is_search(tool: Json) -> bool:
    """Whether Anthropic searches the web by this tool."""
    return as_text(tool.get("type")).startswith("web_search_")


def search_blocks(search: Search, text: str, seed: str) -> Iterator[Json]:
    """The search, what it found, and the answer's text, cut where it begins and ceases to rest on a page."""
    name = f"srvtoolu_{digest(seed, 'search')}"
    yield {"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": search.query}}
    yield {"type": FOUND, "tool_use_id": name, "content": [_result(page) for page in search.pages]}
    done = 0
    for cited in search.within(text):
        if text[done : cited.start]:
            yield {"type": "text", "text": text[done : cited.start]}
        words = text[cited.start : cited.end]
        yield {"type": "text", "text": words, "citations": [_location(cited.page)]}
        done = cited.end
    if text[done:]:
        yield {"type": "text", "text": text[done:]}


def check_search(where: str, block: Json) -> None:
    """A block that came back; RefusalError if something that Anthropic encrypted is missing or was changed."""
    if block.get("type") == FOUND:
        for at, one in enumerate(objects(block.get("content"))):
            _check(f"{where}.content.{at}.encrypted_content", one.get("encrypted_content"))
    for at, one in enumerate(map(as_object, as_list(block.get("citations")))):
        if one.get("type") == LOCATION:
            _check(f"{where}.citations.{at}.encrypted_index", one.get("encrypted_index"))


def _check(place: str, given: object) -> None:
    if opened(as_text(given)) is None:
        raise refused(f"{place}: Invalid encrypted content in search result block")


def _result(page: Page) -> Json:
    content = sealed(("found", page.url, page.passage))
    return {
        "type": "web_search_result",
        "url": page.url,
        "title": page.title,
        "encrypted_content": content,
        "page_age": None,
    }


def _location(page: Page) -> Json:
    index = sealed(("cited", page.url))
    return {
        "type": LOCATION,
        "url": page.url,
        "title": page.title,
        "encrypted_index": index,
        "cited_text": page.passage,
    }
