"""Critical tokens: what of a talk must not get lost, found without a model and weighed.

Addresses, paths, identifiers, amounts, dates, times, numbers, code, names, quotes, and the rules and wishes that users
state in plain words, in English and Japanese. Regular expressions and small tables only, so the same talk always gives
the same tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain

from app.context.critical.clause import Sentences
from app.context.critical.forms import alternatives
from app.context.critical.kinds import Critical, Found, Kind, Said
from app.context.critical.rules import reported, stated_rules
from app.context.critical.scan import narrowed, scan

__all__ = ["Critical", "Kind", "Said", "critical", "keys_of"]

_SPEAKER = {"system": 1.0, "user": 1.0, "assistant": 0.8, "tool": 0.15, "summary": 0.8}
_RULE = 1.6
_TOOL_RULE = 1.1
_FENCED = 0.4
_REPEATED = 0.08
_LATER = 0.1
_RULES_SHARE = 4
"""Rules are at most one in so many of all tokens."""


class _Mentioned:
    """All mentions of one fact; the heaviest one gives its clause."""

    __slots__ = ("count", "first", "found", "text", "value", "weak", "weight")

    def __init__(self, first: int, text: int, found: Found, value: str, weight: float) -> None:
        self.first = first
        self.text = text
        self.found = found
        self.value = value
        self.weight = weight
        self.count = 1
        self.weak = found.weak

    def again(self, text: int, found: Found, weight: float) -> None:
        self.count += 1
        self.weak = self.weak and found.weak
        if weight > self.weight:
            self.weight, self.text, self.found = weight, text, found

    @property
    def total(self) -> float:
        return self.weight * (1 + _REPEATED * min(self.count - 1, 4))


def critical(said: Iterable[Said], most: int = 200, counted: Collection[str] | None = None) -> tuple[Critical, ...]:
    """The critical tokens of a talk: distinct by key, the `most` weightiest, in order of first appearance.

    What users say weighs more than what assistants say, and what stands only in tool results little. Sentences that
    state a rule, a wish, a decision or a correction raise the weight of what stands in them, repeated and later
    mentions a little. A capitalised word that only ever begins sentences is no name.

    Args:
        counted: what counted when the summaries among `said` were made, by key and as written. All else in them came
            from tool results alone, and weighs no more than it did there. None: all of theirs counts.
    """
    everything = list(said)
    texts = [narrowed(one.text) for one in everything]
    sentences = [Sentences(text) for text in texts]
    found = _mentions(everything, texts, sentences, counted)
    strong = {
        word for key, one in found.items() if key.startswith("name:") and not one.weak for word in key[5:].split()
    }
    solid = [one for key, one in found.items() if not (one.weak and key[5:] not in strong)]
    chosen = _weightiest(solid, max(most, 0))
    chosen.sort(key=lambda one: one.first)
    return tuple(_critical(one, sentences[one.text], everything[one.text].role) for one in chosen)


def keys_of(value: str) -> frozenset[str]:
    """The normal forms of what stands in a value as it was first written, and what they hold too."""
    keys = [one.key for one in scan(narrowed(value))]
    return frozenset((*keys, *chain.from_iterable(map(alternatives, keys))))


def _weightiest(solid: list[_Mentioned], most: int) -> list[_Mentioned]:
    ordered = sorted(solid, key=lambda one: (-one.total, one.first))
    wishes = [one for one in ordered if one.found.kind == "rule"]
    if len(wishes) > most // _RULES_SHARE:
        over = set(map(id, wishes[most // _RULES_SHARE :]))
        ordered = [one for one in ordered if id(one) not in over]
    return ordered[:most]


def _mentions(
    said: list[Said], texts: list[str], sentences: list[Sentences], counted: Collection[str] | None
) -> dict[str, _Mentioned]:
    found: dict[str, _Mentioned] = {}
    total = sum(map(len, texts)) or 1
    before = 0
    for index, text in enumerate(texts):
        role = said[index].role
        fences, rules = _fences(text), sentences[index].rules
        for one in chain(scan(text), stated_rules(text, role, sentences[index])):
            by = role
            if role == "summary" and counted is not None and not _counts(one, said[index].text, counted):
                by = "tool"
            weight = one.weight * _SPEAKER[by] * (1 + _LATER * (before + one.start) / total)
            if rules(one.start):
                weight *= _TOOL_RULE if by == "tool" else _RULE
            if fences and any(start <= one.start < end for start, end in fences):
                if one.kind == "rule":
                    continue
                weight *= _FENCED
            if (known := found.get(one.key)) is not None:
                known.again(index, one, weight)
            else:
                value = said[index].text[one.start : one.end]
                found[one.key] = _Mentioned(before + one.start, index, one, value, weight)
        before += len(text) + 1
    return found


def _counts(one: Found, text: str, counted: Collection[str]) -> bool:
    """Whether what stands in a summary counted when that was made; rules always do, as no tool states any."""
    if one.kind == "rule" or one.key in counted or " ".join(text[one.start : one.end].split()) in counted:
        return True
    return any(other in counted for other in alternatives(one.key))


def _fences(text: str) -> list[tuple[int, int]]:
    """Where code blocks stand; at most 50 of them are told apart from the words around."""
    if "```" not in text:
        return []
    pieces = text.split("```", 100)
    spans: list[tuple[int, int]] = []
    at = 0
    for index, piece in enumerate(pieces):
        if index % 2:
            spans.append((at, at + len(piece)))
        at += len(piece) + 3
    return spans


def _critical(one: _Mentioned, sentences: Sentences, role: str) -> Critical:
    value = " ".join(one.value.split())
    plain = one.found.kind != "rule"
    context = sentences.clause(one.found.start, one.found.end) if plain else reported(value, role)
    return Critical(one.found.kind, value, one.found.key, round(one.total, 4), context)
