"""Citations: what a stretch of an answer rests on, and where that stretch lies, however a format counts.

A neutral citation counts Unicode code points from the beginning of all visible words of the answer: the one frame that
does not depend on how a format cuts an answer into blocks. OpenAI counts code points within a text, Google bytes of its
UTF-8, and Anthropic not at all: there a whole block of text rests on its citations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from app.chat.model import Native


class Citation(msgspec.Struct, frozen=True, gc=False):
    """One source of one stretch of an answer.

    Args:
        url: the address of the source. Empty for one that has none (a file, a place in a document): then only the
            format that it came in can say it, by `native`.
        title: the source's title, if it is known.
        quote: words of the source itself, if the provider quotes them.
        start, end: the stretch of the answer that rests on it, in code points; `end` is exclusive.
        native: the citation as the provider wrote it.
    """

    url: str
    title: str = ""
    quote: str = ""
    start: int = 0
    end: int = 0
    native: Native | None = None

    def moved(self, by: int) -> Citation:
        """The same citation in an answer that has `by` code points of words before it."""
        return Citation(self.url, self.title, self.quote, self.start + by, self.end + by, self.native)

    def within(self, start: int, length: int) -> tuple[int, int]:
        """Its stretch inside a text that begins at `start` of the answer and has `length` code points."""
        first = min(max(self.start - start, 0), length)
        return first, min(max(self.end - start, first), length)


def bytes_before(text: str, characters: int) -> int:
    """How many bytes of UTF-8 the first `characters` code points of a text are."""
    return len(text[: max(characters, 0)].encode("utf-8", "surrogatepass"))


def characters_before(text: str, octets: int) -> int:
    """How many whole code points lie within the first `octets` bytes of a text's UTF-8."""
    return len(text.encode("utf-8", "surrogatepass")[: max(octets, 0)].decode("utf-8", "ignore"))


def cut(text: str, start: int, citations: Iterable[Citation]) -> list[tuple[str, list[Citation]]]:
    """A text that begins at `start` of the answer, in pieces: each with the citations that it rests on.

    A piece of white space alone belongs to the piece before it, and to the one behind it where there is none.
    """
    spans = [(citation, *citation.within(start, len(text))) for citation in citations]
    spans = [span for span in spans if span[1] < span[2]]
    edges = sorted({0, len(text), *(edge for _, first, last in spans for edge in (first, last))})
    pieces: list[tuple[int, int]] = []
    for first, last in pairwise(edges):
        blank = not text[first:last].strip()
        if pieces and (blank or not text[slice(*pieces[-1])].strip()):
            pieces[-1] = (pieces[-1][0], last)
        else:
            pieces.append((first, last))
    return [(text[first:last], _resting(first, last, spans)) for first, last in pieces]


def _resting(first: int, last: int, spans: Sequence[tuple[Citation, int, int]]) -> list[Citation]:
    return [citation for citation, start, end in spans if start < last and end > first]
