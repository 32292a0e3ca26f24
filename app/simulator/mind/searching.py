"""What the model finds when it searches a small web of its own: two pages about anything, which it cites."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

_WANTED = re.compile(
    r"\bsearch (?:the (?:web|internet) )?for[:\s]+(?P<for>[^.?!\n]{1,80})|「(?P<jp>[^」\n]{1,80})」を検索",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was found. Its words are `passage`."""

    url: str
    title: str
    passage: str


@dataclass(frozen=True, slots=True)
class Cited:
    """A stretch of the answer, in code points, that rests on a page."""

    page: Page
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Search:
    """One search: what was looked for, what was found, and what the answer says of it."""

    query: str
    pages: tuple[Page, ...]
    text: str
    cited: tuple[Cited, ...]

    def within(self, text: str) -> tuple[Cited, ...]:
        """The citations of an answer that may have been cut short."""
        return tuple(one for one in self.cited if text[: one.end] == self.text[: one.end] and one.end <= len(text))


def searched(asked: str) -> Search | None:
    """The search that a text asks for; None if it asks for none."""
    found = _WANTED.search(asked)
    if found is None:
        return None
    query = (found["for"] or found["jp"]).strip()
    place = quote(query, safe="")
    first = Page(f"https://encyclopaedia.example/{place}", f"{query} – Encyclopaedia", f"All about {query}.")
    second = Page(f"https://news.example.jp/?q={place}", f"{query}のニュース", f"{query}についての記事。")
    parts = (
        (f"📚 An encyclopaedia explains {query} at length.", first),
        (" Beside that, ", None),
        (f"日本語の記事もあります 🗾 ({query})。", second),
    )
    text, cited = "", list[Cited]()
    for words, page in parts:
        if page is not None:
            cited.append(Cited(page, len(text), len(text) + len(words)))
        text += words
    return Search(query, (first, second), text, tuple(cited))
