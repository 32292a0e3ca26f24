"""Citations and searches as generateContent says them: `groundingMetadata` of the candidate.

Sources are chunks, and a support names a stretch of the text and the chunks that it rests on; places count bytes of
UTF-8 from the beginning of a part (https://ai.google.dev/gemini-api/docs/google-search). In a stream the pieces of one
text are parts of many chunks: there they count from the beginning of the whole text. Words that the model recites from
a source are told apart, as `citationMetadata` (https://ai.google.dev/api/generate-content#CitationMetadata).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.chat.citations import Citation, bytes_before, characters_before
from app.chat.events import Cited, Event, Searched
from app.chat.model import Native
from app.wires.envelope import as_list, as_object, as_text
from app.wires.gemini.names import NAME

Json = dict[str, Any]

SOURCES = ("web", "retrievedContext", "maps", "image")
"""Kinds of chunk; each has an address and a title."""


class Grounding:
    """What one answer says of its sources: gathered as it comes, told once all words are there."""

    __slots__ = ("_chunks", "_parts", "_pieces", "_queries", "_recited", "_suggestions", "_supports", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._parts: dict[int, tuple[int, str]] = {}
        self._pieces = 0
        self._chunks: list[Json] = []
        self._supports: list[tuple[Json, list[Json]]] = []
        self._recited: list[Json] = []
        self._queries: dict[str, None] = {}
        self._suggestions = ""

    def piece(self) -> None:
        """Another chunk of the stream begins: parts are numbered in an answer of one chunk only."""
        self._pieces += 1

    def say(self, index: int, text: str) -> None:
        """More visible words, in the part with this number."""
        self._parts[index] = (sum(map(len, self._texts)) if self._pieces == 1 else 0, text)
        self._texts.append(text)

    def add(self, metadata: Any) -> None:
        """A candidate's groundingMetadata; in a stream several chunks may have one."""
        said = as_object(metadata)
        self._chunks = list(map(as_object, as_list(said.get("groundingChunks")))) or self._chunks
        for support in map(as_object, as_list(said.get("groundingSupports"))):
            numbers = as_list(support.get("groundingChunkIndices"))
            chunks = [self._chunks[n] for n in numbers if isinstance(n, int) and 0 <= n < len(self._chunks)]
            self._supports.append((as_object(support.get("segment")), chunks))
        self._queries |= dict.fromkeys(filter(None, map(as_text, as_list(said.get("webSearchQueries")))))
        entry = as_object(said.get("searchEntryPoint"))
        self._suggestions = as_text(entry.get("renderedContent")) or self._suggestions

    def quote(self, metadata: Any) -> None:
        """A candidate's citationMetadata; Vertex AI has another name for its list."""
        said = as_object(metadata)
        self._recited += map(as_object, as_list(said.get("citationSources")) or as_list(said.get("citations")))

    def told(self) -> Iterable[Event]:
        """The citations, then the search that they came from. Sources that no stretch is said to rest on stand for the
        whole text."""
        if not (self._chunks or self._queries or self._recited):
            return
        text = "".join(self._texts)
        known: set[tuple[str, int, int]] = set()
        for source in self._recited:
            start, end = self._place(source, text)
            if (url := as_text(source.get("uri"))) and (url, start, end) not in known:
                known.add((url, start, end))
                yield Cited(Citation(url, as_text(source.get("title")), "", start, end))
        for segment, chunks in self._supports or [({}, self._chunks)]:
            start, end = self._place(segment, text)
            for cited in (_citation(chunk, start, end) for chunk in chunks):
                if (mark := (cited.url, start, end)) not in known or not cited.url:
                    known.add(mark)
                    yield Cited(cited)
        if self._queries:
            yield Searched(tuple(self._queries), (), self._suggestions)

    def _place(self, segment: Json, text: str) -> tuple[int, int]:
        """Where a segment lies among all words. Its own words, if it has them, tell which count is meant."""
        first, last, words = segment.get("startIndex"), segment.get("endIndex"), as_text(segment.get("text"))
        number = segment.get("partIndex")
        counted = [self._parts[n]] if self._pieces == 1 and (n := number or 0) in self._parts else []
        for start, part in (*counted, (0, text)):
            if not isinstance(last, int):
                break
            place = (
                characters_before(part, first if isinstance(first, int) else 0),
                characters_before(part, last),
            )
            if place[0] < place[1] and (not words or part[slice(*place)] == words):
                return start + place[0], start + place[1]
        found = text.find(words) if words else -1
        return (found, found + len(words)) if found >= 0 else (0, len(text))


def _citation(chunk: Json, start: int, end: int) -> Citation:
    kind = next((name for name in SOURCES if name in chunk), "")
    source = as_object(chunk.get(kind))
    url = as_text(source.get("uri")) or as_text(source.get("sourceUri"))
    native = Native(NAME, chunk)
    return Citation(url, as_text(source.get("title")), as_text(source.get("text")), start, end, native)


def grounding(citations: Iterable[Citation], searches: Sequence[Searched], text: str, part: int = 0) -> Json:
    """The metadata for an answer whose words are `text`, in the part with this number. Empty if there is nothing."""
    chunks: list[Json] = []
    stretches: dict[tuple[int, int], list[int]] = {}
    for cited in citations:
        if (chunk := _chunk(cited)) is None:
            continue
        if chunk not in chunks:
            chunks.append(chunk)
        numbers = stretches.setdefault(cited.within(0, len(text)), [])
        if (number := chunks.index(chunk)) not in numbers:
            numbers.append(number)
    said: Json = {
        "webSearchQueries": list(dict.fromkeys(query for search in searches for query in search.queries)),
        "searchEntryPoint": _entry(searches),
        "groundingChunks": chunks,
        "groundingSupports": [
            {"segment": _segment(text, start, end, part), "groundingChunkIndices": numbers}
            for (start, end), numbers in stretches.items()
        ],
    }
    return {name: value for name, value in said.items() if value}


def _chunk(cited: Citation) -> Json | None:
    if cited.native is not None and cited.native.wire == NAME:
        return as_object(cited.native.body)
    return {"web": {"uri": cited.url, "title": cited.title}} if cited.url else None


def _segment(text: str, start: int, end: int, part: int) -> Mapping[str, Any]:
    place = {"startIndex": bytes_before(text, start), "endIndex": bytes_before(text, end), "text": text[start:end]}
    return {"partIndex": part, **place} if part else place


def _entry(searches: Sequence[Searched]) -> Json:
    """Google wants its suggestions shown beside an answer that rests on its search."""
    html = next((search.suggestions for search in searches if search.suggestions), "")
    return {"renderedContent": html} if html else {}
