"""Sentences: where they end, which of them state a rule, and the clause around a token."""

from __future__ import annotations

import re
from bisect import bisect_right

CLAUSE = 160
"""Characters of a clause."""

_END = re.compile(r"[.!?;]++(?=\s)|[。！？；]|\n")
_RULE = re.compile(
    r"\b(?:must|never|always|only|prefer(?:s|red)?|decided|decision|instead of|do not|don't|cannot|required?|forbidden"
    r"|agreed|changed?|correction|corrected|not anymore|no longer|from now on|is now|are now|rule|constraint|deadline"
    r"|important|make sure|limit|want(?:s|ed)?|remember|preference)\b"
    r"|必ず|禁止|決定|変更|絶対|必須|厳守|訂正|修正|以後|今後|てください|決め|希望|ではなく|しないで|期限|締切|締め切り|重要",
    re.IGNORECASE,
)
_EDGE = re.compile(r"[,、，:]\s?|\s")


class Sentences:
    """The sentences of one text.

    Args:
        text: what they stand in.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
        self._rules = {bisect_right(self._ends, match.start()) for match in _RULE.finditer(text)}

    def rules(self, at: int) -> bool:
        """Whether the sentence at a character states a rule, a wish, a decision or a correction."""
        return bisect_right(self._ends, at) in self._rules

    def clause(self, start: int, end: int, most: int = CLAUSE) -> str:
        """The sentence around a token, one line; a part of it where it is longer than `most` characters."""
        index = bisect_right(self._ends, start)
        left = self._ends[index - 1]
        right = max(self._ends[min(index, len(self._ends) - 1)], end)
        after = bisect_right(self._ends, end - 1)
        right = max(right, self._ends[min(after, len(self._ends) - 1)])
        left, right = cut(self._text, left, right, start, end, most)
        return " ".join(self._text[left:right].split()).strip(" -*#>|")


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
