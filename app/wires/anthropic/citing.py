"""Citations and searches as Messages says them: `citations` of a text block, and blocks of a tool that Anthropic runs.

A block of text rests on its citations as a whole; none of them says where (https://platform.claude.com/docs/en/
build-with-claude/citations, …/agents-and-tools/tool-use/web-search-tool). A citation of the web carries an encrypted
index, without which Anthropic refuses to take it back. For a citation of another provider there is none to be had, and
none is made up: it goes to the client with an empty one, is known by that when it comes back, and left out then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from app.chat.citations import Citation, cut
from app.chat.model import Native
from app.wires.anthropic.names import NAME
from app.wires.envelope import ANYTHING, RAW_FIELDS, as_list, as_object, as_text

Json = dict[str, Any]

WEB = "web_search_result_location"
RESULT = "search_result_location"
SEARCH = "web_search"
FOUND = "web_search_tool_result"

_INDEX = b'"encrypted_index"'


def citation(said: Json, start: int, end: int) -> Citation:
    """A citation of a text block that is the answer's words from `start` to `end`."""
    source = as_text(said.get("url")) or (as_text(said.get("source")) if said.get("type") == RESULT else "")
    title = as_text(said.get("title")) or as_text(said.get("document_title"))
    url = source if "://" in source else ""
    return Citation(url, title, as_text(said.get("cited_text")), start, end, Native(NAME, said))


def location(cited: Citation) -> Json:
    """The citation in this format; empty for what only another format can say."""
    if cited.native is not None and cited.native.wire == NAME:
        return as_object(cited.native.body)
    if not cited.url:
        return {}
    return {
        "type": WEB,
        "url": cited.url,
        "title": cited.title or None,
        "cited_text": cited.quote,
        "encrypted_index": "",
    }


def is_ours(said: Any) -> bool:
    """Whether a citation was written here, for another provider."""
    fields = as_object(said)
    return fields.get("type") == WEB and not fields.get("encrypted_index")


def hold_ours(blocks: Iterable[msgspec.Raw]) -> bool:
    """Whether one of these content blocks has a citation in it that was written here."""
    return any(
        any(map(is_ours, as_list(ANYTHING.decode(fields["citations"]))))
        for block in blocks
        if _INDEX in bytes(block) and "citations" in (fields := RAW_FIELDS.decode(block))
    )


def without_ours(block: Json) -> Json:
    """A text block without the citations that were written here."""
    kept = [each for each in as_list(block.get("citations")) if not is_ours(each)]
    rest = {name: value for name, value in block.items() if name != "citations"}
    return rest | ({"citations": kept} if kept else {})


def resting(blocks: Sequence[bytes], citations: Sequence[Citation]) -> list[Any]:
    """The blocks of a whole answer, each text cut where it begins and ceases to rest on one of these citations."""
    written: list[Any] = []
    start = 0
    for raw in blocks:
        block = as_object(ANYTHING.decode(raw))
        if block.get("type") != "text":
            written.append(msgspec.Raw(raw))
            continue
        text = as_text(block.get("text"))
        for words, cited in cut(text, start, citations):
            said = [each for citation in cited if (each := location(citation))]
            written.append({**block, "text": words} | ({"citations": said} if said else {}))
        start += len(text)
    return written


def found_in(block: Json) -> tuple[str, ...]:
    """The addresses that a search found; none if it failed."""
    urls = (as_text(as_object(each).get("url")) for each in as_list(block.get("content")))
    return tuple(url for url in urls if url)
