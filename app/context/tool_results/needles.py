"""What the user asked about, as things to look for in a result: critical tokens first, then the question's words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from app.context.critical import Said, critical
from app.context.critical.kinds import Kind
from app.context.tool_results.shapes import quoted

LONGEST_QUESTION = 6000
"""Characters of a question that are looked at: its end, where people ask."""

MOST = 16
SHORTEST_WORD = 4
RARE = 0.1
"""Share of the rows (or lines) up to which a needle tells any of them apart."""

_LATIN_WORD = re.compile(r"[a-zß-ɏ][a-zß-ɏ'’-]{3,40}")
_OTHER_WORD = re.compile(r"[\u30a0-\u30ff]{2,20}|[\u4e00-\u9fff]{2,8}|[\uac00-\ud7a3]{2,8}|[\u0400-\u04ff]{4,30}")
_COMMON = frozenset((
    "about", "after", "also", "anything", "been", "before", "being", "both", "could", "does", "each", "every",
    "find", "first", "from", "give", "have", "here", "into", "just", "know", "last", "like", "list", "look",
    "looking", "made", "make", "many", "mean", "more", "most", "much", "must", "need", "only", "other", "over",
    "please", "read", "really", "rest", "result", "results", "rows", "same", "should", "show", "some", "such",
    "table", "tell", "than", "that", "their", "them", "then", "there", "these", "they", "thing", "this", "those",
    "through", "time", "under", "until", "used", "using", "very", "want", "were", "what", "when", "where",
    "whether", "which", "while", "will", "with", "would", "your",
))  # fmt: skip
"""Words of questions that say nothing about what is asked for."""

_BOUNDED: frozenset[Kind] = frozenset(("number", "money", "id", "date", "time", "name"))


class Needle(msgspec.Struct, frozen=True):
    """Something to look for.

    Args:
        forms: as bytes in lower case, in each way in which a source may spell it.
        bounded: letters or digits beside it make it something else: 12 is not in 1234.
        weight: 1 for a critical token, less for a mere word.
    """

    forms: tuple[bytes, ...]
    bounded: bool
    weight: float

    def within(self, text: bytes) -> bool:
        """Whether it stands in this text, which is in lower case."""
        return any(form in text and (not self.bounded or stands(form, text)) for form in self.forms)


def needles(question: str) -> tuple[Needle, ...]:
    """What to look for, the most telling first."""
    asked = question[-LONGEST_QUESTION:]
    if not asked.strip():
        return ()
    found = sorted(critical((Said("user", asked),), MOST), key=lambda one: -one.weight)
    made = [
        Needle(forms_of(one.value), one.kind in _BOUNDED, 1.0)
        for one in found
        if one.kind != "rule" and len(one.value) > 1
    ]
    low = asked.lower()
    words = [word for word in (*_LATIN_WORD.findall(low), *_OTHER_WORD.findall(low)) if word not in _COMMON]
    made += [Needle(forms_of(_stem(word)), False, 0.5) for word in dict.fromkeys(words)]
    unique = {needle.forms: needle for needle in reversed(made) if needle.forms}
    return tuple(sorted(unique.values(), key=lambda each: (-each.weight, -len(each.forms[0]), each.forms)))[:MOST]


def ranked(hits: Sequence[Sequence[int]], found: Sequence[Needle], total: int, most: float = RARE) -> list[int]:
    """The rows in which needles stand, the best match first; a rare needle counts for more than a common one.

    Args:
        hits: for each needle the rows in which it stands.
        most: share of the rows above which a needle tells nothing.
    """
    scores: dict[int, float] = {}
    for needle, rows in zip(found, hits, strict=True):
        if not rows or len(rows) > max(total * most, 3):
            continue
        for row in rows:
            scores[row] = scores.get(row, 0) + needle.weight * (1 + 1 / len(rows))
    return sorted(scores, key=lambda row: (-scores[row], row))


def _stem(word: str) -> str:
    """The word without the ending of a plural: a question about refunds is one about a refund."""
    return word[:-1] if word.isascii() and word.endswith("s") and not word.endswith("ss") and len(word) > 4 else word


def forms_of(value: str) -> tuple[bytes, ...]:
    """How a source may spell it: as it is, with JSON's escapes, and a number without its commas. In lower case."""
    said = " ".join(value.encode("utf-8", "replace").decode().split())
    low = said.lower()
    spellings = [low]
    if not low.isascii():
        spellings += [said, low.capitalize()]  # texts are searched with only their ASCII letters in lower case
    if low.replace(",", "").replace(".", "").isdigit():
        spellings.append(low.replace(",", ""))
    forms = (form for each in spellings for form in (each.encode().lower(), _escaped(each).lower()))
    return tuple(dict.fromkeys(form for form in forms if form))


def _escaped(text: str) -> bytes:
    r"""As a JSON writer spells it that knows ASCII only (`\u30d0`), and with JSON's own escapes."""
    inside = quoted(text)[1:-1].decode()
    units = (sign if sign.isascii() else _units(sign) for sign in inside)
    return "".join(units).encode()


def _units(sign: str) -> str:
    pair = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pair[at : at + 2].hex()}" for at in range(0, len(pair), 2))


def stands(form: bytes, text: bytes) -> bool:
    """Whether it stands somewhere in this text without letters or digits beside it."""
    at = text.find(form)
    while at >= 0:
        if stands_at(text, at, len(form)):
            return True
        at = text.find(form, at + 1)
    return False


def stands_at(text: bytes, at: int, size: int) -> bool:
    """Whether what stands there has no letters or digits beside it."""
    end = at + size
    return not _joined(text[max(at - 2, 0) : at]) and not text[end : end + 1].isalnum()


def _joined(before: bytes) -> bool:
    """Whether the last of these characters is a letter or a digit; the n of an escaped line break is none."""
    return before[-1:].isalnum() and before[:1] != b"\\"
