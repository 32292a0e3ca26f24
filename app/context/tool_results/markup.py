"""An HTML page as the words that it shows: scripts, styles and tags go, headings, list marks and link targets stay."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator


def _either(names: str) -> str:
    """A group of names, in either case. Said letter by letter: with IGNORECASE the engine looks at every character,
    while so it skips from one `<` to the next, which takes half the time."""
    each = ["".join([f"[{sign}{sign.upper()}]" if sign.isalpha() else sign for sign in name]) for name in names.split()]
    return f"(?:{'|'.join(each)})"


_UNSEEN = re.compile(rf"<(?=[!sStTnN])(?:!--|({_either('script style svg noscript template')})\b)")
_CLOSINGS = {
    "": re.compile("-->"),
    **{name: re.compile(rf"</{_either(name)}[^<>]*+>") for name in ("script", "style", "svg", "noscript", "template")},
}
_LINK = re.compile(
    rf"<[aA]\b[^<>]{{0,400}}?\b{_either('href')}\s{{0,9}}=\s{{0,9}}[\"']?([^\"'\s<>#][^\"'\s<>]{{0,2000}})[^<>]{{0,400}}>"
    r"(.{0,300}?)</[aA]\s{0,9}>",
    re.DOTALL,
)
_HEADING = re.compile(r"<[hH]([1-6])\b[^<>]*+>")
_ITEM = re.compile(rf"<{_either('li')}\b[^<>]*+>")
_CELL = re.compile(r"</[tT][dDhH]\s*+>\s*(?=<[tT][dDhH])")
_BLOCKS = "p div table tr ul ol section article blockquote pre"
_CLOSED_BLOCKS = _BLOCKS + " li header footer nav main title dd dt"
_LINE_END = re.compile(rf"<(?:{_either('br hr ' + _BLOCKS)}\b[^<>]*+|/(?:{_either(_CLOSED_BLOCKS)}|[hH][1-6])\s*+)>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
_WORDS_END = re.compile(r"[^>\s](?=<)")
_BLANKS = "\t\r\f\v\xa0"
_DATA_URL = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+")
_PAGE = re.compile(
    r"\s*(?:<\?xml[^<>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_CLOSED = re.compile(r"</(?:div|p|span|a|li|td|ul|table|section|h[1-6])\s*>", re.IGNORECASE)

PIECE = 200_000
"""Characters of a page that are read at a time."""

MARKED = 40
"""Characters a closing tag: a text with more tags than that is a piece of a page."""


def is_page(text: str) -> bool:
    """Whether this is HTML: a whole page, or a piece of one that is mostly tags."""
    if _PAGE.match(text[:4000]):
        return True
    head = text[:20_000]
    return head.lstrip().startswith("<") and len(_CLOSED.findall(head)) * MARKED > len(head) // 4


def words_of(text: str) -> str:
    """What a reader of the page sees, a block a line."""
    text = _seen(text)
    text = text.replace("\n", " ")
    text = _LINK.sub(lambda found: f"{found[2]} ({_target(found[1])})", text)
    shown = "".join(map(_without_tags, _pieces(text)))
    return "\n".join([line.strip() for line in shown.split("\n") if line not in ("", " ")]).strip()


def _pieces(text: str) -> Iterator[str]:
    """The page in pieces that end where a tag follows words, so that other threads get a turn between two of them."""
    start = 0
    while len(text) - start > 2 * PIECE and (end := _WORDS_END.search(text, start + PIECE)) is not None:
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


def _without_tags(text: str) -> str:
    text = _HEADING.sub(lambda found: "\n" + "#" * int(found[1]) + " ", text)
    text = _ITEM.sub("\n- ", text)
    text = _CELL.sub(" | ", text)
    text = _TAG.sub("", _LINE_END.sub("\n", text))
    return _one_blank(html.unescape(text))


def _one_blank(text: str) -> str:
    """The text with one blank for each run of them."""
    for blank in _BLANKS:
        text = text.replace(blank, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _seen(text: str) -> str:
    """The text without what a page does not show. What is never closed reaches to the end, as in a browser."""
    kept: list[str] = []
    at = 0
    while (opening := _UNSEEN.search(text, at)) is not None:
        kept.append(text[at : opening.start()])
        closing = _CLOSINGS[(opening[1] or "").lower()].search(text, opening.end())
        if closing is None:
            return " ".join(kept)
        at = closing.end()
    return " ".join([*kept, text[at:]])


def _target(address: str) -> str:
    return _DATA_URL.sub("data:…", address)
