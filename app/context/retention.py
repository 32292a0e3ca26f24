"""The retention gate: how much of what matters a summary kept, and the list that carries the rest word for word.

Whole tokens in their normal form only: INV-2093 is not kept by INV-20931, and 1,200 is kept by 1200. A day without a
year and the same day with one hold each other; an amount or a number with a unit holds the bare number, not the other
way round. A Latin name of several words is kept by its full form, or by its last word alone (that is how people are
called later on), unless that word is shared with another name or says nothing ("Street", "Inc"); a first name alone is
not enough.
Japanese names have no blanks around them, so they are kept wherever their characters stand.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

import msgspec

from app.context.critical import Critical
from app.context.critical.clause import cut
from app.context.critical.forms import alternatives, folded
from app.context.critical.names import last_name
from app.context.critical.rules import Told
from app.context.critical.scan import narrowed, scan

WEAK = 0.4
"""Weight below which a fact goes before others are cut down to their bare values."""

LIGHT = 0.3
"""Facts below this weight (noise of tool outputs) are left out before any other is shortened."""

SHORTER, VALUES = 1, 2
"""How short a line is: a short clause, or its bare values."""

SHORT = 70
"""Characters of a shortened clause."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line that is carried word for word.

    Args:
        text: what the model reads, one line. keys: the normal forms of what it holds. weight: of the heaviest of them.
    """

    text: str
    keys: tuple[str, ...] = ()
    weight: float = 0


class Verdict(msgspec.Struct, frozen=True):
    """What of the critical tokens is kept.

    Args:
        score: the weighted share, 0 to 1; 1.0 if nothing was critical.
        found: how many there were. kept: how many of them are kept. missing: the others, weightiest first.
    """

    score: float
    found: int
    kept: int
    missing: tuple[Critical, ...]


def verdict(wanted: Sequence[Critical], text: str, facts: Sequence[Fact] = ()) -> Verdict:
    """What of `wanted` stands in the text or in the facts."""
    held = _Held("\n".join((text, *(fact.text for fact in facts))), (key for fact in facts for key in fact.keys))
    lasts = _shared(one.key for one in wanted)
    missing = [one for one in wanted if not held.holds(one.key, lasts)]
    total = sum(one.weight for one in wanted)
    lost = sum(one.weight for one in missing)
    missing.sort(key=lambda one: -one.weight)
    score = 1.0 if not missing else max(0.0, 1 - lost / total) if total else 0.0
    return Verdict(score, len(wanted), len(wanted) - len(missing), tuple(missing))


def carried(
    missing: Sequence[Critical],
    budget: int,
    cost: Callable[[str], int],
    before: Sequence[Fact] = (),
    text: str = "",
) -> tuple[Fact, ...]:
    """The list of facts for the next fold: earlier ones that `text` does not hold, then the missing ones.

    As it gets tight, noise goes first; then clauses are shortened, then only the values stay, then the lightest go.
    Earlier facts come first and keep their very bytes while they stay whole.

    Args:
        budget: tokens that all lines together may take. cost: tokens of a line.
    """
    held = _Held(text, ())
    old = [fact for fact in before if not fact.keys or not all(held.holds(key) for key in fact.keys)]
    known = {key for fact in old for key in fact.keys}
    known |= {other for key in known for other in alternatives(key)}
    lines = [_Line.of_fact(fact) for fact in old]
    lines += _lines([one for one in missing if one.key not in known and not held.holds(one.key)])
    return tuple(line.fact() for line in _fitted(lines, budget, cost))


class _Held:
    """What a text holds, by normal form."""

    def __init__(self, text: str, keys: Iterable[str]) -> None:
        text = narrowed(text)
        self._keys = {one.key for one in scan(text)} | set(keys)
        self._implied = {other for key in self._keys for other in alternatives(key)}
        low = folded(text)
        self._plain = low
        words = _WORD.findall(low.replace("\u2019", "'"))
        self._text = text
        self._told: Told | None = None
        self._words = " " + " ".join(word.removesuffix("'s") for word in words) + " "

    def holds(self, key: str, shared: frozenset[str] = frozenset()) -> bool:
        if key in self._keys or key in self._implied or any(other in self._keys for other in _shorter(key)):
            return True
        kind, _, rest = key.partition(":")
        if kind == "rule":
            self._told = self._told or Told(self._text)
            return self._told.holds(rest)
        if kind == "name":
            return self._name(rest, shared)
        return kind in {"quote", "code"} and self._stands(unicodedata.normalize("NFKC", rest).casefold())

    def _name(self, name: str, shared: frozenset[str]) -> bool:
        if not name.isascii() and not any("a" <= char <= "z" for char in name):
            return name in self._plain
        words = " ".join(_WORD.findall(name))
        alone = last_name(name)
        if f" {words} " in self._words:
            return True
        return bool(alone) and alone not in shared and self._words.count(f" {alone} ") > self._of_others(alone, words)

    def _of_others(self, alone: str, words: str) -> int:
        """How often the last name stands there as part of somebody else's full name."""
        tail = f" {alone}"
        names = {" ".join(_WORD.findall(key[5:])) for key in self._keys if key.startswith("name:") and tail in key}
        return sum(self._words.count(f" {name} ") for name in names if name.endswith(tail) and name != words)

    def _stands(self, words: str) -> bool:
        """Whether the words stand in the text, whole."""
        at = self._plain.find(words)
        tries = 0
        while at >= 0 and tries < 20:
            before, after = self._plain[at - 1 : at], self._plain[at + len(words) : at + len(words) + 1]
            if not _glued(before, words[:1]) and not _glued(words[-1:], after):
                return True
            at = self._plain.find(words, at + 1)
            tries += 1
        return False


def _shorter(key: str) -> tuple[str, ...]:
    """A date with its year is also kept where the day stands without one, but not by the same day of another year."""
    return alternatives(key) if key.startswith("date:") else ()


def _glued(left: str, right: str) -> bool:
    def joins(char: str) -> bool:
        return char.isascii() and (char.isalnum() or char == "_")

    return bool(left and right) and joins(left) and joins(right)


def _shared(keys: Iterable[str]) -> frozenset[str]:
    """Last words that more than one name ends with."""
    seen: set[str] = set()
    twice: set[str] = set()
    for key in keys:
        if key.startswith("name:") and (last := last_name(key[5:])):
            (twice if last in seen else seen).add(last)
    return frozenset(twice)


class _Line:
    """A fact at one of three lengths: 0 its clause, 1 a short one, 2 the bare values.

    A rule is whole or not there: cut, it might say something else. At the last length only the values in it stay; but
    of a wish that only names something ("tea with lemon") no name says what is wished, so it has no such length.
    """

    def __init__(self, texts: tuple[str, ...], keys: tuple[str, ...], weight: float) -> None:
        self.texts = texts
        self.keys = keys
        self.weight = weight
        self.length = 0

    @classmethod
    def of_fact(cls, fact: Fact) -> _Line:
        keys = set(_typed(fact.keys))
        plain = narrowed(fact.text)
        spans = {one.key: (one.start, one.end) for one in reversed(list(scan(plain))) if one.key in keys}
        texts = [fact.text]
        if len(spans) == len(keys) and spans:
            values = ", ".join(fact.text[start:end] for start, end in sorted(spans.values()))
            if len(keys) == len(fact.keys):
                texts += _shortened(fact.text, sorted(spans.values()), values)
            elif _exact(keys):
                texts += [fact.text, values]
        return cls(tuple(texts), fact.keys, fact.weight)

    @property
    def is_rule(self) -> bool:
        return any(key.startswith("rule:") for key in self.keys)

    def fact(self) -> Fact:
        keys = self.keys if self.length < VALUES else _typed(self.keys)
        return Fact(self.texts[self.length], keys, self.weight)

    def shorten(self, to: int) -> bool:
        if to >= len(self.texts):
            return False
        self.length = to
        return True


def _exact(keys: Iterable[str]) -> bool:
    """Whether values by themselves say what a rule is about: a number, a date or an address does, a name does not."""
    return any(not key.startswith(("rule:", "name:")) for key in keys)


def _typed(keys: Sequence[str]) -> tuple[str, ...]:
    """All but rules."""
    return tuple(key for key in keys if not key.startswith("rule:"))


def _lines(missing: Sequence[Critical]) -> list[_Line]:
    """One line for each clause, its tokens in the order in which they were found. A rule takes in what stands in it."""
    wishes = [one.context for one in missing if one.kind == "rule"]
    groups: dict[str, list[Critical]] = {}
    for one in missing:
        context = one.context
        if one.kind != "rule" and wishes:
            context = next((wish for wish in wishes if context in wish and one.value in wish), context)
        groups.setdefault(context, []).append(one)
    return [_line(context, group) for context, group in groups.items()]


def _line(context: str, group: Sequence[Critical]) -> _Line:
    tokens = [one for one in group if one.kind != "rule"]
    keys = tuple(dict.fromkeys(one.key for one in group))
    weight = round(max(one.weight for one in group), 4)
    values = ", ".join(dict.fromkeys(one.value for one in tokens))
    if len(tokens) < len(group):
        return _Line((context, context, values) if _exact(keys) else (context,), keys, weight)
    spans = [(at, at + len(one.value)) for one in group if (at := context.find(one.value)) >= 0]
    whole = context if len(spans) == len(group) else f"{values}: {context}"
    texts = [whole, *(_shortened(context, sorted(spans), values) if len(spans) == len(group) else [values])]
    return _Line(tuple(texts), keys, weight)


def _shortened(text: str, spans: Sequence[tuple[int, int]], values: str) -> list[str]:
    """A short clause and the bare values; the same twice if nothing is gained."""
    start, end = spans[0][0], max(end for _, end in spans)
    left, right = cut(text, 0, len(text), start, end, max(SHORT, end - start))
    short = text[left:right].strip()
    return [short if len(short) >= len(values) else values, values]


def _fitted(lines: list[_Line], budget: int, cost: Callable[[str], int]) -> list[_Line]:
    """The lines within the budget: noise goes first, then clauses are shortened, then only values stay, then the
    lightest go. A rule is not cut down to the values in it while there is anything lighter to leave out."""
    fitting = _Fitting(lines, budget, cost)
    fitting.drop(below=LIGHT)
    fitting.shorten(SHORTER, rules=False)
    fitting.drop(below=WEAK)
    fitting.shorten(VALUES, rules=False)
    fitting.drop(below=min((line.weight for line in lines if line.is_rule), default=math.inf))
    fitting.shorten(VALUES, rules=True)
    fitting.drop(below=math.inf)
    return fitting.left


class _Fitting:
    """Makes a list of facts shorter, lightest first, and no further than it must be."""

    def __init__(self, lines: list[_Line], budget: int, cost: Callable[[str], int]) -> None:
        self._lines = lines
        self._budget = budget
        self._cost = cost
        self._costs = [_cost(line, cost) for line in lines]
        self._total = sum(self._costs)
        self._light = sorted(range(len(lines)), key=lambda index: (lines[index].weight, -index))

    def drop(self, below: float) -> None:
        for index in self._light:
            if self._total <= self._budget or self._lines[index].weight >= below:
                return
            self._total -= self._costs[index]
            self._costs[index] = 0

    def shorten(self, length: int, *, rules: bool) -> None:
        for index in self._light:
            if self._total <= self._budget:
                return
            line = self._lines[index]
            if self._costs[index] and line.is_rule == rules and line.length < length and line.shorten(length):
                self._total -= self._costs[index]
                self._costs[index] = _cost(line, self._cost)
                self._total += self._costs[index]

    @property
    def left(self) -> list[_Line]:
        return [line for line, cost in zip(self._lines, self._costs, strict=True) if cost]


def _cost(line: _Line, cost: Callable[[str], int]) -> int:
    return cost(f"- {line.texts[line.length]}\n")
