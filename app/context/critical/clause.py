"""Sentences: where they end, which of them state a rule, and the clause around a token."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, TypeAlias

CLAUSE = 160
"""Characters of a clause."""

Strength: TypeAlias = Literal["strong", "weak"]

_END = re.compile(
    r"[.!?;。！？；\n](?:(?<=[。！？；\n])"
    r"|(?<!\b[DM]r[.!?;])(?<!\bMs[.!?;])(?<!\bMrs[.!?;])(?<!\bProf[.!?;])(?<!\bNo[.!?;])[.!?;]{0,30}+(?=\s))"
)
"""Begins with a set of characters, which the engine skips to at the speed of memory. Of a longer run of marks the last
ones are found: it ends where they do."""

_STATES = re.compile(
    r"\b(?:(?P<strong>must(?! have\b)|never(?! mind)|always|prefer(?:s|red|ence)?|decided|agreed (?:on|to)"
    r"|forbidden|not allowed|allergic|allergy|hates?|dislikes?|(?<!i )remember|keep in mind|from now on|no longer"
    r"|make sure|rule|constraint|deadline|(?:nothing|nobody|no [a-z]+(?: [a-z]+){0,2})"
    r" (?:before|after|without|on|until|from|except)"
    r"|(?<!i )(?<!we )(?<!they )(?<!you )(?:do not|don't)(?! (?:know|think|worry|mind|hesitate)\b)"
    r"|(?:i|we) (?:do not|don't|cannot|can't) (?:want|like|eat|drink|use|allow|need|accept|fly|work)|call me)"
    r"|(?P<weak>only|want(?:s|ed)?|likes?|needs? to|need|rather|instead(?: of)?|cannot|changed? (?:to|from)"
    r"|corrected|correction|favou?rite|vegan|vegetarian|avoid)"
    r"|(?P<raised>decision|agreed|required?|changed?|not anymore|is now|are now|important|limit))\b"
    r"|(?P<strong2>必ず|禁止|厳禁|絶対|しないで|ないで(?=[、。く]|ほし)|して(?:ほし|欲し)い|好き|好み|嫌い|苦手|アレルギー|覚えて|決定|決めました"
    r"|決まりました|に変更|にして(?:ください|ほしい)|避けて|でお願い|今後は|以後は?|これからは|厳守|必須|以外は)"
    r"|(?P<weak2>(?:場合|とき|際|前に|後に|以上|以内|限り|ずつ|まで|のまま)[^。！？\n]{0,30}(?:て|で)(?:くだ|下)さい|希望|いつも|毎回|ではなく|だけに|のみ|不可|期限|締切|締め切り)"
    r"|(?P<raised2>変更|訂正|修正|以後|今後|てください|決め|重要)"
)
_BEGINNINGS = (
    "must", "never", "always", "prefer", "decided", "agreed", "forbidden", "not a", "allerg", "hate", "dislike",
    "remember", "keep in mind", "from now on", "no ", "make sure", "rule", "constraint", "deadline", "nothing",
    "nobody", "do not", "don't", "i do not", "i don't", "i can", "we do not", "we don't", "we can", "call me", "only",
    "want", "like", "need", "rather", "instead", "cannot", "change", "correct", "favo", "vega", "vegetarian", "avoid",
    "decision", "require", "is now", "are now", "important", "limit",
)  # fmt: skip
_WIDE = """
    必ず 禁止 厳禁 絶対 しないで ないで してほし して欲し 好き 好み 嫌い 苦手 アレルギー 覚えて 決 変更 に変更 にして
    避けて でお願い 今後 以後 これからは 厳守 必須 以外は 場合 とき 際 前に 後に 以上 以内 限り ずつ まで のまま 希望
    いつも 毎回 ではなく だけに のみ 不可 期限 締 訂正 修正 てください 重要"""
_JAPANESE_BEGINNINGS = tuple(_WIDE.split())
"""How each word of `_STATES` begins: looking for these with `str.find` takes a tenth of the expression's own search."""

_EDGE = re.compile(r"[,、，:]\s?|\s")


class Sentences:
    """The sentences of one text.

    Args:
        text: what they stand in.

    Attributes:
        stated: where sentences state a rule, a wish or a decision, one place each, and how surely they do.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
        low = text.lower()
        hits = list(_stating(low if len(low) == len(text) else text))
        self._rules = {bisect_right(self._ends, at) for at, _ in hits}
        self.stated = self._strongest(hits)

    def _strongest(self, hits: list[tuple[int, str]]) -> list[tuple[int, Strength]]:
        """One place a sentence, where its strongest word stands."""
        found: dict[int, tuple[int, Strength]] = {}
        for at, way in hits:
            if way.startswith("raised"):
                continue
            sentence = bisect_right(self._ends, at)
            strength: Strength = "strong" if way.startswith("strong") else "weak"
            if sentence not in found or (strength == "strong" and found[sentence][1] == "weak"):
                found[sentence] = at, strength
        return list(found.values())

    def rules(self, at: int) -> bool:
        """Whether the sentence at a character states a rule, a wish, a decision or a correction."""
        return bisect_right(self._ends, at) in self._rules

    def around(self, at: int) -> tuple[int, int]:
        """Where the sentence at a character begins and ends."""
        index = bisect_right(self._ends, at)
        return self._ends[index - 1], self._ends[min(index, len(self._ends) - 1)]

    def before(self, left: int, right: int, most: int) -> int:
        """Where the sentence before the one at left..right begins; `left` if both are longer than `most`, or there is
        none on its line."""
        index = bisect_right(self._ends, left) - 1
        if index < 1 or self._text[left - 1] == "\n" or right - self._ends[index - 1] > most:
            return left
        return self._ends[index - 1]

    def parts(self) -> list[str]:
        """The sentences that say anything."""
        parts = (self._text[left:right] for left, right in pairwise(self._ends))
        return [part for part in parts if part.strip()]

    def clause(self, start: int, end: int, most: int = CLAUSE) -> str:
        """The sentence around a token, one line; a part of it where it is longer than `most` characters."""
        index = bisect_right(self._ends, start)
        left = self._ends[index - 1]
        right = max(self._ends[min(index, len(self._ends) - 1)], end)
        after = bisect_right(self._ends, end - 1)
        right = max(right, self._ends[min(after, len(self._ends) - 1)])
        left, right = cut(self._text, left, right, start, end, most)
        return " ".join(self._text[left:right].split()).strip(" -*#>|")


def _stating(text: str) -> Iterator[tuple[int, str]]:
    """Where words stand that state something, and their group in `_STATES`: what its `finditer` gives, but faster."""
    begins = _BEGINNINGS if text.isascii() else _BEGINNINGS + _JAPANESE_BEGINNINGS
    after = 0
    for at in sorted({at for begin in begins for at in _places(text, begin)}):
        if at >= after and (match := _STATES.match(text, at)) is not None:
            after = match.end()
            yield at, match.lastgroup or ""


def _places(text: str, words: str) -> Iterator[int]:
    at = text.find(words)
    while at >= 0:
        yield at
        at = text.find(words, at + 1)


def cut(text: str, left: int, right: int, start: int, end: int, most: int) -> tuple[int, int]:
    """A window of at most `most` characters inside left..right that holds start..end, at the edges of words."""
    if right - left <= most:
        return left, right
    room = max(most - (end - start), 0)
    begin = max(left, start - room // 2)
    stop = min(right, end + room - (start - begin))
    begin = max(left, min(begin, stop - most))
    begin = min(begin, start)
    if begin > left and (edge := _EDGE.search(text, begin, start)):
        begin = edge.end()
    elif begin > left and not text[begin - 1].isspace() and text[begin - 1].isascii():
        begin = start
    if stop < right:
        last = max((edge.start() for edge in _EDGE.finditer(text, end, stop)), default=-1)
        stop = last if last >= end else (end if text[stop].isascii() and text[stop].isalnum() else stop)
    return begin, stop
