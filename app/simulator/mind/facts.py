"""What the conversation says: facts that were stated, found again when asked for, and summaries that keep them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.simulator import directives
from app.simulator.estimate import tokens
from app.simulator.mind.talk import Talk

_QUESTION = re.compile(
    r"\b(?:what(?:'s|\s+is|\s+was|\s+are|\s+were)|who(?:'s|\s+is)|where(?:'s|\s+is)|when\s+is|which\s+is|tell\s+me"
    r"|do\s+you\s+(?:remember|know|recall))\s+(?:again\s+)?(?:the\s+|my\s+|our\s+|your\s+)?([^?.!\n]{1,80}?)"
    r"(?:\s+(?:again|now|please|called))?\s*(?:[?.!\n]|$)",
    re.IGNORECASE,
)
_JAPANESE_QUESTION = re.compile(r"([^\s、。]{1,30}?)は(?:何|なん|なに|どこ|誰|だれ|いくつ|いつ)")
_VALUE = r"\s*(?:\b(?:is|are|was|means)\b|=|:)\s*(.{1,300}?)(?:[;!\n]|[.,](?:\s|$)|$)"
_NAME_STATED = re.compile(r"\b(?i:my name is|i am called|call me)\s+([^\s.,;!?]{1,80}(?: [A-Z][^\s.,;!?]{0,80}){0,3})")
_REMEMBER = re.compile(r"\bremember(?:\s+that|\s*:)\s*(.{1,300}?)(?:[;!\n]|\.(?:\s|$)|$)", re.IGNORECASE)
_ORDER_STANDS_IN = 1000  # characters at the beginning of a text
_ORDERS_SUMMARY = re.compile(
    r"(?:^|[.!?:\n\"]\s*|\b(?:you|please|now|to|and|then|must|should|will)\s+)"
    r"(?:summari[sz]e\b|condense\b|(?:write|make|update|produce)\s+(?:a|the|one)\s+(?:\w+\s+){0,2}summary\b)"
    r"|要約して|要約せよ",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?](?!\s|$)[^.!?。！？\n]+)*[.!?。！？]?")
_NOT_ASKED_FOR = re.compile(r"<said-before>.*?</said-before>|</?said[^>]{0,40}>", re.DOTALL)
_CRITICAL = re.compile(  # every branch is bounded, so that a long run of letters costs no more than its length
    r"https?://|\d\d|(?<![\w.-])[\w.-]{1,200}/\w|[A-Za-z][_-]?\d|\w_\w|(?<=[a-z,] )[A-Z][a-z]|[A-Z]{2}"
)


def recalled(talk: Talk, asked: str) -> str | None:
    """The answer to a question about something stated earlier; None if this is no such question."""
    low = asked.lower()
    if "what did i say first" in low or "my first message" in low:
        first = next((one.text for one in talk.said if one.role == "user" and one.text.strip()), "")
        return f"You said first: {directives.without(first)}"
    if "remember" in low and "?" in asked and (kept := _last(_REMEMBER, _earlier(talk))):
        return f"You asked me to remember: {kept}."
    question = _QUESTION.search(asked)
    key = question[1].strip() if question else ""
    if not key:
        japanese = _JAPANESE_QUESTION.search(asked)
        return _recalled_japanese(talk, japanese[1]) if japanese else None
    if key.lower() == "name" and (name := _last(_NAME_STATED, _earlier(talk))):
        return f"Your name is {name}."
    stated = _last(re.compile(rf"\b{re.escape(key)}{_VALUE}", re.IGNORECASE), _earlier(talk))
    if stated:
        return f"The {key} is {stated}."
    return _said_about(talk, key)


def summary(talk: Talk, limit: int) -> str:
    """The sentences that hold numbers, names, paths or links, in their order, within `limit` estimated tokens."""
    kept: dict[str, None] = {}
    spent = 0
    for text in (one.text for one in talk.said if one.role != "system"):
        for found in _SENTENCE.finditer(_NOT_ASKED_FOR.sub("", directives.without(text))):
            sentence = found[0].strip()
            if not sentence or sentence in kept or not _CRITICAL.search(sentence) or wants_summary(sentence):
                continue
            spent += tokens(sentence) + 1
            if spent > limit:
                return "\n".join(kept)
            kept[sentence] = None
    return "\n".join(kept) or "Nothing of note was said."


def wants_summary(text: str) -> bool:
    """Whether a text orders a summary. One that only speaks of summaries, or carries an earlier one, does not."""
    return _ORDERS_SUMMARY.search(text[:_ORDER_STANDS_IN]) is not None


def _earlier(talk: Talk) -> list[str]:
    """All texts but the question itself, newest first."""
    texts = [one.text for one in talk.said if one.text]
    if texts and talk.asked in texts:
        del texts[len(texts) - 1 - texts[::-1].index(talk.asked)]
    return texts[::-1]


def _last(pattern: re.Pattern[str], texts: Iterable[str]) -> str | None:
    for text in texts:
        found = list(pattern.finditer(text))
        if found:
            return found[-1][1].strip()
    return None


def _said_about(talk: Talk, key: str) -> str:
    words = [word for word in re.findall(r"\w+", key.lower()) if len(word) > 2]
    for text in _earlier(talk):
        for found in _SENTENCE.finditer(text):
            sentence = found[0].strip()
            if words and len(sentence) < 400 and all(word in sentence.lower() for word in words):
                return f"It was said: {sentence}"
    return f"I do not know: nobody has told me the {key} here."


def _recalled_japanese(talk: Talk, key: str) -> str:
    found = _last(re.compile(rf"{re.escape(key)}は(.{{1,100}}?)(?:です|だ|。|\n|$)"), _earlier(talk))
    return f"{key}は{found}です。" if found else f"{key}は聞いていません。"
