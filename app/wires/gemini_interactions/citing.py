"""Citations and searches as Interactions says them: `annotations` of a text, and the steps of a search.

Places count bytes of UTF-8 from the beginning of a text (https://ai.google.dev/gemini-api/docs/interactions). A step of
a search carries Google's own signature: none is made up for a search of another provider, so that there is no such
step; what was found is told by the citations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from app.chat.citations import Citation, bytes_before, characters_before
from app.chat.model import Native
from app.wires.envelope import as_list, as_object, as_text
from app.wires.gemini_interactions.names import NAME

Json = dict[str, Any]

CALL, RESULT = "google_search_call", "google_search_result"

LINKS = {"url_citation": "title", "place_citation": "name"}
"""Kinds of annotation with an address → the field with the title."""


def citations(contents: Sequence[Any], start: int) -> Iterable[Citation]:
    """The citations of a step's contents; its words begin at `start` of the answer."""
    for content in map(as_object, contents):
        text = as_text(content.get("text"))
        for said in map(as_object, as_list(content.get("annotations"))):
            yield _citation(said, text, start)
        start += len(text)


def queries_of(step: Json) -> tuple[str, ...]:
    """What a google_search_call looks for."""
    return tuple(filter(None, map(as_text, as_list(as_object(step.get("arguments")).get("queries")))))


def suggestions_of(step: Json) -> str:
    """The HTML of a google_search_result that Google wants shown."""
    given = (as_text(as_object(each).get("search_suggestions")) for each in as_list(step.get("result")))
    return next(filter(None, given), "")


def _citation(said: Json, text: str, start: int) -> Citation:
    first, last = said.get("start_index"), said.get("end_index")
    begin = characters_before(text, first) if isinstance(first, int) else 0
    end = characters_before(text, last) if isinstance(last, int) else len(text)
    if end <= begin:  # no place at all: it stands for the whole text
        begin, end = 0, len(text)
    kind = as_text(said.get("type"))
    url = as_text(said.get("url")) if kind in LINKS else ""
    title = as_text(said.get(LINKS.get(kind, "")))
    return Citation(url, title, "", start + begin, start + end, Native(NAME, said))


def annotation(cited: Citation, text: str, start: int) -> Json:
    """The citation as an annotation of a text that begins at `start` of the answer; empty for what only another format
    can say."""
    first, last = cited.within(start, len(text))
    place = {"start_index": bytes_before(text, first), "end_index": bytes_before(text, last)}
    if cited.native is not None and cited.native.wire == NAME:
        own = as_object(cited.native.body)
        return own | (place if place.keys() & own.keys() else {})
    if not cited.url:
        return {}
    return {"type": "url_citation", "url": cited.url, **({"title": cited.title} if cited.title else {}), **place}


def annotated(text: str, cited: Iterable[Citation]) -> Json:
    """The text of a whole answer as a content, with its annotations if it has any."""
    said = [each for citation in cited if (each := annotation(citation, text, 0))]
    return {"type": "text", "text": text} | ({"annotations": said} if said else {})
