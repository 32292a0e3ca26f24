"""An HTML page as the words that it shows: scripts, styles and tags go, headings, list marks and link targets stay."""

from __future__ import annotations

import html
import re

_UNSEEN = re.compile(r"<!--|<(script|style|svg|noscript|template)\b", re.IGNORECASE)
_CLOSINGS = {
    "": re.compile("-->"),
    **{
        name: re.compile(rf"</{name}[^<>]*>", re.IGNORECASE)
        for name in ("script", "style", "svg", "noscript", "template")
    },
}
_LINK = re.compile(
    r"<a\b[^<>]{0,400}?\bhref\s{0,9}=\s{0,9}[\"']?([^\"'\s<>#][^\"'\s<>]{0,2000})[^<>]{0,400}>(.{0,300}?)</a\s{0,9}>",
    re.IGNORECASE | re.DOTALL,
)
_HEADING = re.compile(r"<h([1-6])\b[^<>]*>", re.IGNORECASE)
_ITEM = re.compile(r"<li\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"</t[dh]\s*>\s*(?=<t[dh])", re.IGNORECASE)
_LINE_END = re.compile(
    r"<(?:br|hr)\b[^<>]*>|</(?:p|div|h[1-6]|li|tr|table|ul|ol|section|article|header|footer|nav|main|pre|title|blockquote|dd|dt)"
    r"\s*>|<(?:p|div|table|tr|ul|ol|section|article|blockquote|pre)\b[^<>]*>",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_BLANKS = re.compile(r"[ \t\r\f\v\xa0]+")
_EMPTY = re.compile(r"\n(?:[ \t]*\n)+")
_DATA_URL = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+")
_PAGE = re.compile(
    r"\s*(?:<\?xml[^<>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_CLOSED = re.compile(r"</(?:div|p|span|a|li|td|ul|table|section|h[1-6])\s*>", re.IGNORECASE)

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
    text = _HEADING.sub(lambda found: "\n" + "#" * int(found[1]) + " ", text)
    text = _ITEM.sub("\n- ", text)
    text = _CELL.sub(" | ", text)
    text = _TAG.sub("", _LINE_END.sub("\n", text))
    text = _BLANKS.sub(" ", html.unescape(text))
    return "\n".join(line.strip() for line in _EMPTY.sub("\n", text).split("\n")).strip()


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
