"""Citations and searches as Responses says them: `annotations` of a text part, and `web_search_call` items.

https://platform.openai.com/docs/guides/tools-web-search ("Output and citations"). An annotation's place counts code
points of its own part; the neutral citation counts those of the whole answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from app.chat.citations import Citation
from app.chat.events import Searched
from app.chat.model import Native
from app.wires.envelope import ANYTHING, as_list, as_object, as_text
from app.wires.openai_responses.names import NAME

Json = dict[str, Any]

KIND = "url_citation"
SEARCH = "web_search_call"

_OURS = re.compile(r"ws_[0-9A-Za-z]+_\d+")
"""Ids of items that our writer made: those of OpenAI have no number behind them."""


def citation(annotation: Json, start: int, length: int) -> Citation:
    """An annotation of a part that begins at `start` of the answer and has `length` code points so far. One without a
    place stands for all of them."""
    first, last = annotation.get("start_index"), annotation.get("end_index")
    if not (isinstance(first, int) and isinstance(last, int) and 0 <= first < last):
        first, last = 0, length
    url = as_text(annotation.get("url")) if annotation.get("type") == KIND else ""
    native = Native(NAME, annotation)
    return Citation(url, as_text(annotation.get("title")), "", start + first, start + last, native)


def annotation(cited: Citation, start: int, length: int) -> Json:
    """The citation as an annotation of such a part; empty for what only another format can say."""
    first, last = cited.within(start, length)
    place = {"start_index": first, "end_index": last}
    if cited.native is not None and cited.native.wire == NAME:
        own = as_object(cited.native.body)
        return own | (place if "start_index" in own else {})
    return {"type": KIND, "url": cited.url, "title": cited.title, **place} if cited.url else {}


def annotated(citations: Iterable[Citation], text: str) -> list[Json]:
    """The citations of an answer that is one text."""
    return [written for each in citations if (written := annotation(each, 0, len(text)))]


def searched(raw: Any) -> Searched:
    """A web_search_call item that is done. `action` tells what was looked for, or which page was opened."""
    action = as_object(as_object(ANYTHING.decode(raw)).get("action"))
    asked = [as_text(each) for each in as_list(action.get("queries"))] or [as_text(action.get("query"))]
    found = [as_text(as_object(each).get("url")) for each in as_list(action.get("sources"))]
    found.append(as_text(action.get("url")))
    return Searched(tuple(filter(None, asked)), tuple(filter(None, found)), native=Native(NAME, raw))


def search_item(identity: str, status: str, search: Searched) -> Json:
    """The search as an item; OpenAI's own as it came."""
    if search.native is not None and search.native.wire == NAME:
        return as_object(ANYTHING.decode(search.native.body)) | {"status": status}
    action: Json = {"type": "search", "query": next(iter(search.queries), ""), "queries": list(search.queries)}
    if search.sources:
        action["sources"] = [{"type": "url", "url": url} for url in search.sources]
    return {"id": identity, "type": SEARCH, "status": status, "action": action}


def is_ours(identity: Any) -> bool:
    """Whether the web_search_call item with this id was written here: OpenAI made no such search."""
    return bool(_OURS.fullmatch(as_text(identity)))
