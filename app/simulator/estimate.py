"""The simulator's token count: a simple rule that anyone can do by hand.

An ASCII character is a quarter of a token and any other one 1/1.6 (Japanese is denser), rounded up; every message costs
4 tokens more, a picture 258. Only the sums matter to clients; no provider counts exactly so.
"""

from __future__ import annotations

import math
import re

from app.simulator.shapes import canonical

PICTURE = 258
MESSAGE = 4
_SMALL_WINDOW = re.compile(r"-(\d{1,4})k$")


def tokens(text: str) -> int:
    """Estimated tokens of a text."""
    ascii_count = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_count / 4 + (len(text) - ascii_count) / 1.6)


def tokens_of(value: object) -> int:
    """Estimated tokens of a JSON value, such as a tool's schema; nothing for an empty one."""
    return tokens(canonical(value)) if value else 0


def shortened(text: str, limit: int) -> str:
    """The longest beginning of the text that takes at most `limit` tokens."""
    low, high = 0, min(len(text), max(0, limit) * 4)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) <= limit else (low, middle - 1)
    return text[:low]


def small_window(model: str) -> int | None:
    """The window in tokens of a model named like `lab-8k`, made up to reach a limit with little text; else None."""
    found = _SMALL_WINDOW.search(model)
    return int(found[1]) * 1000 if found else None
