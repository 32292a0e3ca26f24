"""The fake upstream's three summarisers: one that keeps what matters, one that loses half of it, one that loses all.

They know nothing of what was planted: whatever looks like a value counts. Of a summary that is summed up anew `half`
loses half once more; but asked again about the same text it loses the same lines, as a model that overlooks something
tends to: what then stays in view is not its merit.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable

from bench.memory import tokens

VALUE = re.compile(
    r"https?://[^\s、。」<>]+|[\w.+-]+@[\w.-]+\w|(?:/[\w.-]+){2,}|\d[\d,.:年月日-]*\d|\d|“[^”]+”|「[^」]+」"
    r"|(?<=[a-z,;:] )[A-Z][a-z]+(?: [A-Z][a-z]+)*|[A-Z][a-z]+ [A-Z][a-z]+|[一-龠]{2,6}(?=さん)|[東西南北本別]館[ \w]+"
)
"""Addresses, paths, numbers, what stands in quotation marks, and names."""

WANTS = re.compile(
    r"(?:\bI (?:always |never )?(?:want|prefer)|\b(?:must|always|never)\b|please remember|お願いします|好みです)",
    re.IGNORECASE,
)
"""Words that say what a user wants."""

_WEIGHTY = re.compile(
    r"https?:|@|/[\w.-]+/|[A-Z0-9]+-[A-Z0-9]|\b(?=[a-f]*\d)[\da-f]{7,}\b|\d[\d,.:年月-]*\d{3}|\d[.:]\d|\d月\d|“|「"
    r"|[A-Z][a-z]+ [A-Z][a-z]+|[一-龠]{4,}さん|[東西南北本別]館"
)
"""What a model would not leave out for want of room: anything longer than a small number or a first name."""

_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+|\n")
_MARK = re.compile(r"</?said[^>]*>")
_ASIDE = re.compile(r"<said-(before|draft|missing)>(.*?)</said-\1>", re.DOTALL)
"""What stands beside the conversation in a question: not to be repeated, a first answer, or a list of what was lost."""

_TOOL = re.compile(r"<said tool>.*?(?=\n<said |\n</said>|\Z)", re.DOTALL)
"""What a tool returned."""

EMPTY = {
    "en": "The two of them went through the current plans together, weighed what speaks for and against them, and "
    "agreed to continue in the same friendly manner. Some things were settled, others stay open for now.",
    "ja": "二人は現在の計画を一緒に見直し、よい点と気になる点を話し合い、同じ調子で進めることにしました。"
    "決まったこともあれば、まだ決まっていないこともあります。",
}

Summarise = Callable[[str, int], str]
"""The words of a request and the tokens that the answer may take (0: nothing was said), to a summary."""


def lines(text: str) -> list[str]:
    """The sentences of a conversation that hold a value or a wish, each once."""
    found: dict[str, None] = {}
    for sentence in _SENTENCE_END.split(_MARK.sub("\n", _ASIDE.sub("\n", text))):
        short = sentence.strip().lstrip("-").strip()
        if short and (VALUE.search(short) or WANTS.search(short)):
            found[short] = None
    return list(found)


def good(text: str, limit: int) -> str:
    """Every line that holds a value, and what it is told to have lost.

    Where they do not fit, what tools returned goes first, then lines are shortened, then small numbers and first names
    go, and the oldest at last.
    """
    lost = [aside[1].splitlines() for aside in _ASIDE.findall(text) if aside[0] == "missing"]
    kept = lines(text) + _draft(text).splitlines()
    if limit and tokens.of_text(_joined(kept)) > limit:
        kept = lines(_TOOL.sub("", text)) + _draft(text).splitlines()
    told = "\n".join(kept)
    asked = [
        line for value in itertools.chain(*lost) if (line := value.strip().lstrip("-").strip()) and line not in told
    ]
    return _fitted([*asked, *kept], limit)


def half(text: str, limit: int) -> str:
    """As `good`, but about every second line is lost, and is not found again for a second question."""
    if draft := _draft(text):
        return draft
    kept = lines(text)
    if limit and tokens.of_text(_joined(kept)) > 2 * limit:
        kept = lines(_TOOL.sub("", text))
    salt = "\n".join(kept)
    return _fitted([line for line in kept if hashlib.sha256((line + salt).encode()).digest()[0] % 2], limit)


def none(text: str, limit: int) -> str:
    """Fluent words without any value."""
    return EMPTY["ja" if re.search("[ぁ-ん]", text) else "en"]


SUMMARISERS: dict[str, Summarise] = {each.__name__: each for each in (good, half, none)}


def _draft(text: str) -> str:
    """The first answer, where this is a second question; the conversation itself is not shown again then."""
    return "\n".join(aside[1].strip() for aside in _ASIDE.findall(text) if aside[0] == "draft")


def _fitted(kept: list[str], limit: int) -> str:
    text = _joined(kept)
    if not limit or tokens.of_text(text) <= limit:
        return text
    kept = [_around_values(line) for line in kept]
    if tokens.of_text(text := _joined(kept)) > limit:
        kept = [line for line in kept if _WEIGHTY.search(line) or WANTS.search(line)]
    while kept and tokens.of_text(text := _joined(kept)) > limit:
        kept = kept[max(1, len(kept) // 50) :]
    return text


def _joined(kept: list[str]) -> str:
    return "\n".join(f"- {line.removeprefix('- ')}" for line in kept)


def _around_values(line: str) -> str:
    """What stands beside a line's values: the words that say what they are."""
    spans = [found.span() for found in VALUE.finditer(line)]
    if not spans or len(line) < 60:
        return line
    return line[max(0, spans[0][0] - 40) : spans[-1][1] + 10].strip()
