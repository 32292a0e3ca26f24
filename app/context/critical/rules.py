"""Rules in plain words: what somebody must, never wants, prefers or has decided, and whether a text still says so.

Told by small tables of words, not understood. A rule is known by its content words, so that it is found again however
it is put; one that forbids is kept only by words that forbid or deny.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal

from app.context.critical.clause import Sentences, cut
from app.context.critical.forms import folded
from app.context.critical.grammar import KANJI, KATAKANA
from app.context.critical.kinds import KIND_WEIGHT, Found

LONGEST_RULE = 160
"""Characters of a rule."""

KEPT = 0.6
"""The share of a rule's content that one line or sentence must say for the rule to be kept."""

MOST_UNITS = 24
NOT = "!"
_LEAST = {"strong": 1, "weak": 2}
_SHARE = {"strong": 1.0, "weak": 0.6}
LIGHTEST = 3
"""Bytes of a rule's content at least: a word of three letters, or one character beyond ASCII."""

_ALONE = 5
"""Units from which on a rule can be understood without the sentence before it."""

_LINE = 300

_EMPTY = """
    a an the and or but if so that this these those it its is are was were be been being am to of in on at by for
    with from as into about than then there here i you he she we they me my mine your our their his her him them us
    will would can could should shall may might do does did done have has had having not no nor never always must only
    just please prefer prefers preferred want wants wanted like likes liked need needs needed rather remember keep mind
    decided decision agreed instead now any all some very also too it's i'm i'd i'll i've we're we'll let's let user
    user's users said says say note noted make makes sure thing things everything anything what which who when where how
    why get got see go going know think okay ok thanks thank well really much many more most one bit lot good great
    don't doesn't didn't won't can't cannot isn't aren't dislike hate love rule rules constraint preference hard safety
    important worry bother hesitate up out time way sorry hear be back"""
_STOP = frozenset(_EMPTY.split())
_NEGATION = re.compile(
    r"\b(?:not|never|no|nothing|nobody|none|neither|without|cannot|avoid\w*|forb[ia]d\w*|prohibit\w*|refus\w*|stop\w*"
    r"|dislik\w*|hat(?:e|es|ed)|allerg\w*|instead|exclud\w*|only)\b|n['’]t\b"
    r"|禁止|厳禁|不可|避け|ない|なし|抜き|ません|せず|嫌|苦手|アレルギー|以外|だけ|のみ|NG"
)
_WORD = re.compile(r"[a-z0-9à-ɏ]+(?:['’][a-z]+)?")
_JAPANESE = re.compile(f"[{KANJI}{KATAKANA}ぁ-ん]{{2,}}")
_GLUE = re.compile(
    "(?:でお願い|お願い)(?:いた)?(?:します|しました)?|(?:して|で)?(?:ください|下さい|ほしい|欲しい)(?:です)?|しないで|ないで"
    "|にして|いつも|必ず|絶対に?|ユーザー?|(?:し|い|り|き|み)?(?:ました|ます|ません)|でした|です|という|について|のほう|こと"
    "|覚えて|おいて|決定|変更|決め(?:た|て)?|好み|好き|嫌い|苦手|アレルギー|これから|今後|以後|から|まで|ので|だけ|のみ"
)
_TALK = re.compile(
    r"^(?:that is|that's|this is|it is|it's|sounds|i (?:do not|don't) (?:know|think|understand|see|mind|remember)"
    r"|never mind|of course|no problem|thank|sorry|there (?:is|are|was|were)|what|why|how|when|where|who|which"
    r"|(?:can|could|would|will|do|does|did|is|are|should|shall|may) (?:i|you|we|it|this|that|there|the)"
    r"|here(?:'s)?)\b"
)
_QUESTION = re.compile(
    r"(?:[?？]|[かの][。\s]*|(?:教えて|説明して|見せて|手伝って)(?:ください|下さい)[。！\s]*)[\"”」)]*$"
)
_REPORTS = re.compile(
    r"\b(?:the |this )?users?(?:'s|’s)?\b|\b(?:we|they|was|were|been|have|has) (?:\w+ )?(?:decided|agreed)\b"
    r"|\bdecided\b|\bagreed (?:on|to|that)\b|\b[A-Z]{4,}[A-Z ]*: "
    r"|ユーザー|利用者|依頼者|決定|決めました|決まり|合意|変更になり",
)
_PERSONAL = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Ww]e|[Oo]ur|[Uu]ser)\b|[ぁ-ん]")
_PARTICLES = frozenset("はをがにでとのへも")
_KANA = frozenset(map(chr, range(0x3041, 0x3097)))
_BULLET = re.compile(r"[-*•]\s")
_LIKE_CODE = re.compile(r"[{}<>=;|\\]|^\s*(?://|#!|\$ )")


def stated_rules(
    text: str, role: Literal["system", "user", "assistant", "tool", "summary"], sentences: Sentences
) -> Iterator[Found]:
    """The rules of one text, each with where it stands.

    Of users every sentence that states one; of assistants and summaries only what reports a decision or the user, and
    lists of notes; of nobody else any. Questions, small talk and code state none.
    """
    if role not in ("user", "assistant", "summary"):
        return
    notes = role != "user" and _is_notes(text)
    for at, strength in sentences.stated:
        left, right = sentences.around(at)
        sentence = text[left:right]
        if role != "user" and not notes and not _REPORTS.search(sentence):
            continue
        found = _units(sentence)
        content = [unit for unit in found if unit != NOT]
        least = _LEAST[strength] + (not _PERSONAL.search(sentence))
        if len(content) < least or sum(len(unit.encode()) for unit in content) < LIGHTEST or _says_nothing(sentence):
            continue
        if len(content) < _ALONE and role == "user" and at - left < 3:  # an order that does not say of what
            left = sentences.before(left, right, LONGEST_RULE)
        left, right = cut(text, left, right, at, at + 1, LONGEST_RULE)
        left, right = _bare(text, left, right)
        key = " ".join(found[: MOST_UNITS + 1])
        yield Found("rule", left, right, f"rule:{key}", KIND_WEIGHT["rule"] * _SHARE[strength])


def reported(sentence: str, role: str) -> str:
    """The rule as what somebody said, so that it is read as a report and never as an order of its own."""
    if sentence.startswith(("The user said:", "ユーザーの発言：", "It was noted:", "記録：")):
        return sentence
    if _JAPANESE.search(sentence):
        left, right = ("『", "』") if "「" in sentence else ("「", "」")
        return f"{'ユーザーの発言' if role == 'user' else '記録'}：{left}{sentence}{right}"
    left, right = ("“", "”") if '"' in sentence else ('"', '"')
    return f"{'The user said' if role == 'user' else 'It was noted'}: {left}{sentence}{right}"


class Told:
    """What a text says, line by line and sentence by sentence, to look rules up in.

    Args:
        lines: its lines.
    """

    def __init__(self, text: str) -> None:
        self._where: dict[str, set[int]] = {}
        number = 0
        for line in text.split("\n"):
            parts = Sentences(line).parts()
            for part in (*parts, *([line] if len(parts) > 1 and len(line) <= _LINE else ())):
                for unit in _units(part):
                    self._where.setdefault(unit, set()).add(number)
                number += 1

    def holds(self, key: str) -> bool:
        """Whether most of a rule's content (its key without "rule:") stands in one line or sentence."""
        units = key.split(" ")
        content = [unit for unit in units if unit != NOT]
        counts: dict[int, int] = {}
        for unit in content:
            for line in self._where.get(unit, ()):
                counts[line] = counts.get(line, 0) + 1
        least = KEPT * len(content)
        denied = self._where.get(NOT, set[int]()) if NOT in units else None
        return any(count >= least and (denied is None or line in denied) for line, count in counts.items())


def _units(sentence: str) -> list[str]:
    """Content, each once and in order: beginnings of words, pairs of Japanese characters; NOT first if it denies."""
    low = folded(sentence)
    found = {NOT: None} if _NEGATION.search(low) else {}
    for word in _WORD.findall(low.replace("’", "'")):
        if word not in _STOP and (len(word) > 2 or not word.isalpha()):
            found[word.removesuffix("'s")[:5]] = None
    if not low.isascii():
        for run in _JAPANESE.findall(_GLUE.sub(" ", low)):
            found |= dict.fromkeys(_pairs(run))
    return list(found)


def _pairs(run: str) -> Iterable[str]:
    """Pairs of neighbours; those of hiragana alone only where the whole run is (a word that is written so)."""
    plain = all("ぁ" <= char <= "ん" for char in run)
    if plain and len(run) < 3:
        return ()
    return (a + b for a, b in pairwise(run) if plain or not ({a, b} & _PARTICLES or {a, b} <= _KANA))


def _says_nothing(sentence: str) -> bool:
    low = sentence.strip().lstrip("-*• ").casefold()
    return bool(_QUESTION.search(low) or _TALK.match(low) or len(_LIKE_CODE.findall(sentence)) > 1)


def _is_notes(text: str) -> bool:
    lines = [line for line in text[:4000].split("\n") if line.strip()]
    return bool(lines) and sum(1 for line in lines if _BULLET.match(line)) >= 0.8 * len(lines)


def _bare(text: str, left: int, right: int) -> tuple[int, int]:
    """Without blanks and list marks around."""
    while right > left and text[right - 1].isspace():
        right -= 1
    while left < right and (text[left].isspace() or text[left] in "-*•>"):
        left += 1
    return left, right
