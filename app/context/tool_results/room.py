"""The room that all results of one step share: those between two answers of the model, which no fold can take away.

Without it, twenty results that are each within their own budget fill a window of 128,000 tokens, and the request is
refused for good. What stands before a result alone decides how much it may take, so that its form stays whatever comes
later; and half of what is left is the most for one that does not fit, so that something is left for those behind it.
"""

from __future__ import annotations

from app.chat import size
from app.chat.family import Family

LEAST_SHARE = 500
"""Tokens that a result may take however much those before it took already."""


class Room:
    """What is left of it, result by result.

    Args:
        tokens: of the whole room; 0: there is room for everything.
    """

    def __init__(self, tokens: int, family: Family) -> None:
        self._tokens = tokens
        self._family: Family = family
        self.empty()

    def empty(self) -> None:
        """The model speaks: a new step has the whole room."""
        self._taken = 0
        self._most = 0  # as if each character were a token: only when that is too much is anything counted
        self._uncounted: list[str] = []

    def take(self, text: str, tokens: int = 0) -> None:
        """One more result goes out as this text, of so many tokens if that was counted."""
        if not self._tokens:
            return
        self._most += tokens or len(text)
        self._taken += tokens
        if not tokens:
            self._uncounted.append(text)

    def share(self, text: str, tokens: int = 0) -> int:
        """What this result must do with; 0 if it fits as it is."""
        if not self._tokens or self._most + (tokens or len(text)) <= self._tokens:
            return 0
        self._taken += sum(size.of_text(each, self._family) for each in self._uncounted)
        self._most = self._taken
        self._uncounted.clear()
        left = self._tokens - self._taken
        wanted = tokens or size.of_text(text, self._family)
        return 0 if wanted <= max(left, LEAST_SHARE) else max(left // 2, LEAST_SHARE)
