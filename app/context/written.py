"""What a summariser has written by now: whether that is enough, and what of a text without an end still counts.

A small model of one's own does not know when to stop: it says its lines again, goes on with the conversation, or
writes until its limit cuts it. Nobody need wait for that, and what it wrote before may be a summary all the same: what
is whole of it, each line once, within its limit. Whether that keeps what matters is the retention gate's question.
"""

from __future__ import annotations

import re
from collections import Counter

from app.chat import size
from app.chat.family import Family
from app.context.flaws import MARK

OVER = 2
"""Times its limit that a summary may be written on. A good one overshoots, but comes to its end before that."""

LOOPS = 3
"""A sentence that is said so many times shows that nothing new will come."""

LEAST = 2
"""One part in so many of its limit that a text cut off by the provider must have: less is a beginning, no summary."""

ENOUGH = "enough"
"""How an answer ended that nobody listened to any longer; beside the reasons in chat/events.py."""

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_THINKS = re.compile(r"\A\s*<think>")
_UNIT = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|[。！？]|$)", re.MULTILINE)
_WHOLE = re.compile(r"[.!?。！？][\"”’』」)]*$")
_NUMBER = re.compile(r"^\s*(\d{1,3})[.)]\s+")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")


def visible(text: str) -> str:
    """The text without the thoughts that local models write in front of it; "" while they still think."""
    shown = _THOUGHTS.sub("", text)
    return "" if shown is text and _THINKS.match(text) and "</think>" not in text else shown.strip()


def enough(text: str, limit: int, family: Family) -> bool:
    """Whether nothing more of use can come: it goes on with the transcript, turns in a circle, or is far too long.

    Args:
        text: what was written by now. limit: tokens that it may take.
    """
    said = visible(text)
    if not said:
        return False
    if MARK.search(said) or size.of_text(said, family) > limit * OVER:
        return True
    times = Counter(_key(unit) for line in said.splitlines() for unit in _units(line))
    return max(times.values(), default=0) >= LOOPS


def usable(text: str, finish: str, limit: int, family: Family) -> tuple[str, str]:
    """The text and how it ended, as they are to be judged: what counts of one without an end is taken for a whole one.

    Args:
        finish: as in chat/events.py, or ENOUGH. limit: tokens that it may take.
    """
    if finish not in ("length", ENOUGH):
        return text, finish
    mark = MARK.search(text)
    short = _within(text[: mark.start()] if mark else text, limit, family)
    if short and (finish == ENOUGH or size.of_text(short, family) * LEAST >= limit):
        return short, "stop"
    return text, "stop" if mark else "length"


def unnumbered(text: str) -> str:
    """The lines of a list that was begun for the writer ("1."), without their numbers, and without empty ones."""
    lines: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        found = _NUMBER.match(line)
        counted = found is not None and int(found[1]) in (len(lines), len(lines) + 1)
        lines.append((line[found.end() :] if found and counted else line).strip())
    return "\n".join(lines)


def _units(line: str) -> list[str]:
    """The sentences of a line; the mark or number in front of it belongs to the first."""
    mark = _BULLET.match(line)
    found = [one[0].strip() for one in _UNIT.finditer(line, mark.end() if mark else 0) if any(map(str.isalnum, one[0]))]
    return [f"{mark[0].lstrip()}{found[0]}", *found[1:]] if mark and found else found


def _key(unit: str) -> str:
    """What is the same in a sentence that is said again under another number."""
    return " ".join(_BULLET.sub("", unit).casefold().split())


def _within(text: str, limit: int, family: Family) -> str:
    """The sentences of a text that are whole, each once, up to `limit` tokens."""
    lines: list[str] = []
    seen: set[str] = set()
    left = limit
    every = text.rstrip(" \t").split("\n")
    for number, line in enumerate(every):
        kept: list[str] = []
        for unit in _units(line):
            last = number == len(every) - 1 and line.rstrip().endswith(unit)
            if _key(unit) in seen or (last and not _WHOLE.search(unit)):
                continue
            seen.add(_key(unit))
            left -= size.of_text(f"{unit}\n", family)
            if left < 0:
                return _joined([*lines, " ".join(kept)])
            kept.append(unit)
        lines.append(" ".join(kept))
    return _joined(lines)


def _joined(lines: list[str]) -> str:
    return "\n".join(line for line in lines if any(map(str.isalnum, _BULLET.sub("", line))))
