"""Orders to the simulator inside the last user text, in double square brackets: `[[chunks=3]] [[break=2]]`.

The names and what they do are the table KNOWN; docs/simulator.md says the same to users.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.simulator.reply import Reply

KNOWN: Mapping[str, str] = {
    "chunks": "stream the text in N chunks",
    "delay": "wait MS milliseconds between chunks",
    "first": "wait MS milliseconds before the first byte",
    "words": "answer with N words",
    "fail": "answer with the provider's error body of that HTTP STATUS",
    "retry": "seconds that a [[fail=429]] asks to wait; 7 if not given",
    "break": "cut the connection (TCP reset) after N chunks",
    "truncate": "end cleanly but too early, after N chunks",
    "error": "send the provider's in-stream error after N chunks",
    "late_signature": "Gemini: send the thought signature in a last part with empty text",
    "split": "cut the bytes of the stream inside UTF-8 characters",
    "hang": "say nothing at all, or nothing more after N chunks, until the client hangs up",
    "finish": "end with REASON, in the provider's own words (SAFETY, content_filter, …); BLOCK blocks the prompt",
    "echo": "answer with the JSON of the request as received",
    "think": "answer with N words of reasoning",
}
_ORDER = re.compile(r"\[\[\s*([a-z_]+)\s*(?:=\s*([^\]\s]*)\s*)?\]\]")
_APART = 0.002  # seconds: pieces sent closer together may reach the client as one
_MOST_CUTS = 60
_EDGE = 2000  # characters: orders stand at an end of the text; a long paste in the middle gives none


@dataclass(frozen=True, slots=True)
class Directives:
    """The orders of one request, by name; the value is empty where none was given."""

    given: Mapping[str, str]

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def text(self, name: str) -> str:
        """The order's value as written; empty if it was not given."""
        return self.given.get(name, "")

    def number(self, name: str) -> int | None:
        """The order's value as a whole number, or None."""
        value = self.given.get(name, "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 8 else None


def read(text: str) -> Directives:
    """The known orders in a text. Only its first and last 2000 characters are looked at."""
    looked = text if len(text) <= 2 * _EDGE else text[:_EDGE] + "\n" + text[-_EDGE:]
    return Directives({name: value for name, value in _ORDER.findall(looked) if name in KNOWN})


def without(text: str) -> str:
    """The text as the model reads it: known orders taken out."""
    if "[[" not in text:
        return text
    return _ORDER.sub(lambda found: "" if found[1] in KNOWN else found[0], text).strip()


def shaped(reply: Reply, orders: Directives, error_piece: bytes) -> Reply:
    """The reply with the orders about its delivery obeyed.

    Args:
        error_piece: the provider's in-stream error, for `[[error=N]]`.
    """
    changed = dataclasses.replace(
        reply,
        first_seconds=(orders.number("first") or 0) / 1000,
        pause_seconds=(orders.number("delay") or 0) / 1000,
    )
    if "split" in orders:
        pieces = split_inside_characters(changed.pieces)
        changed = dataclasses.replace(
            changed, pieces=pieces, measured=False, pause_seconds=changed.pause_seconds or _APART
        )
    for name, ending in (("truncate", "clean"), ("error", "clean"), ("break", "reset"), ("hang", "hang")):
        if name not in orders:
            continue
        pieces = _first(changed.pieces, orders.number(name), streamed=not reply.measured)
        tail = (error_piece,) if name == "error" else ()
        changed = dataclasses.replace(changed, pieces=pieces + tail, measured=False, end=ending)
    return changed


def split_inside_characters(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The same bytes, cut after the first byte of each of the first 60 characters that take several."""
    whole = b"".join(pieces)
    inside = [index + 1 for index, byte in enumerate(whole) if byte >= 0xC0]
    cuts = [0, *inside[:_MOST_CUTS], len(whole)]
    return tuple(whole[start:end] for start, end in itertools.pairwise(cuts) if end > start)


def _first(pieces: tuple[bytes, ...], count: int | None, *, streamed: bool) -> tuple[bytes, ...]:
    """The first `count` pieces; of an answer that is one piece, half of its bytes."""
    if streamed or count is None or count == 0:
        return pieces[: count or 0]
    whole = b"".join(pieces)
    return (whole[: max(1, len(whole) // 2)],)
