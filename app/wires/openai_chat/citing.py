"""Citations as Chat Completions says them: `annotations` of the message, whose places count code points of its content.

https://platform.openai.com/docs/guides/tools-web-search?api-mode=chat ("Output and citations"). In a stream OpenAI says
them in one delta behind the words. Compatible servers may say them earlier, in every chunk anew, or without a place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.chat.citations import Citation
from app.chat.events import Cited
from app.chat.model import Native
from app.wires.envelope import as_list, as_object, as_text, encode
from app.wires.openai_chat.names import NAME

KIND = "url_citation"


class Citations:
    """Those of one answer, each told once, and not before the words that rest on it are there."""

    __slots__ = ("_known", "_waiting")

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._waiting: list[dict[str, Any]] = []

    def take(self, annotations: Any, said: int) -> Iterable[Cited]:
        """The annotations of a message or delta, after `said` code points of words."""
        for each in as_list(annotations):
            annotation = as_object(each)
            if (mark := encode(annotation)) in self._known:
                continue
            self._known.add(mark)
            place = _place(annotation)
            if place is None or place[1] > said:
                self._waiting.append(annotation)
            else:
                yield Cited(_citation(annotation, *place))

    def rest(self, said: int) -> Iterable[Cited]:
        """What still waited when the answer was over: one without a place stands for all that was said."""
        waiting, self._waiting = self._waiting, []
        for annotation in waiting:
            start, end = _place(annotation) or (0, said)
            yield Cited(_citation(annotation, min(start, said), min(end, said)))


def _inner(annotation: dict[str, Any]) -> dict[str, Any]:
    """The citation itself; some servers leave the outer object out."""
    return as_object(annotation.get(KIND)) or annotation


def _place(annotation: dict[str, Any]) -> tuple[int, int] | None:
    inner = _inner(annotation)
    start, end = inner.get("start_index"), inner.get("end_index")
    return (start, end) if isinstance(start, int) and isinstance(end, int) and 0 <= start < end else None


def _citation(annotation: dict[str, Any], start: int, end: int) -> Citation:
    inner = _inner(annotation)
    url = as_text(inner.get("url")) if annotation.get("type") == KIND else ""
    quote = as_text(inner.get("content"))
    return Citation(url, as_text(inner.get("title")), quote, start, end, Native(NAME, annotation))


def annotated(citations: Iterable[Citation]) -> list[dict[str, Any]]:
    """The citations in this format; what only another format can say is left out."""
    return [written for citation in citations if (written := _written(citation))]


def _written(citation: Citation) -> dict[str, Any]:
    place = {"start_index": citation.start, "end_index": citation.end}
    if citation.native is not None and citation.native.wire == NAME:
        own = as_object(citation.native.body)
        inner = as_object(own.get(KIND))
        return own | {KIND: inner | place} if inner else own
    if not citation.url:
        return {}
    return {"type": KIND, KIND: {"url": citation.url, "title": citation.title, **place}}
